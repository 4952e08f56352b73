"""One workplace per database and set of tables, shared by all questions of the process."""

from __future__ import annotations

import asyncio
import time

from pipe.agent import Workplace
from schemas.settings import Settings
from tools.all_tools import build_registry
from tools.clickhouse import ClickHouse, Limits
from tools.inspection import inspect_dataset

# New columns and tables are seen after this.
_FRESH_S = 600.0
_workplaces: dict[tuple[object, ...], tuple[float, Workplace]] = {}


def limits_of(settings: Settings) -> Limits:
    """Return the limits of one statement."""
    return Limits(
        timeout_s=settings.STEP_TIMEOUT_S,
        max_rows=settings.MAX_ROWS,
        max_read_bytes=int(settings.MAX_READ_GB * 1e9),
        max_memory_bytes=int(settings.MAX_MEMORY_GB * 1e9),
    )


async def workplace_for(settings: Settings) -> Workplace:
    """Return the workplace of these settings, made on first use.

    Raises:
        ConfigError: no database there, or tables and columns are missing.
    """
    key = (
        settings.DSN,
        settings.TABLE,
        settings.FLOWS_TABLE,
        settings.CATALOGUE_TABLE,
        settings.COLUMNS,
        limits_of(settings),
    )
    known = _workplaces.get(key)
    if known is not None and time.monotonic() - known[0] < _FRESH_S:
        return known[1]
    if known is not None:
        client = known[1].client
    else:
        client = await asyncio.to_thread(ClickHouse, settings.DSN, limits=limits_of(settings))
    try:
        dataset = await inspect_dataset(client, settings)
    except BaseException:
        if known is None:
            client.close()
        raise
    place = Workplace(client, dataset, build_registry())
    # An old one is forgotten, not closed: a question may still be using it.
    for old in [item for item in _workplaces if item != key]:
        del _workplaces[old]
    _workplaces[key] = (time.monotonic(), place)
    return place
