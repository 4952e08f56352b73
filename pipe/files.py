"""Attach the full result as a CSV file and say where it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from pipe.openwebui import attach_file
from pipe.render import to_csv
from schemas.language import Both, Language
from schemas.settings import Settings
from schemas.state import Answer

files_log = logging.getLogger("portfolio_agent.files")


async def attach_tables(
    answer: Answer,
    settings: Settings,
    language: Language,
    request: Any,
    user: Mapping[str, Any],
    metadata: Mapping[str, Any],
) -> str:
    """Store each table of several rows and return one line of links; empty where there is none.

    A file that cannot be stored is no reason to lose the answer: it is logged and left out.
    """
    tables = [table for table in answer.tables if len(table.rows) > 1]
    if not (settings.FILES and tables and request is not None and metadata.get("chat_id")):
        return ""
    links = []
    for number, table in enumerate(tables, 1):
        name = "portfolio.csv" if len(tables) == 1 else f"portfolio_{number}.csv"
        try:
            data = await asyncio.to_thread(to_csv, table, language)
            address = await attach_file(request, user, metadata, name, data, "text/csv")
        except Exception as error:
            files_log.warning("file not stored: %s", type(error).__name__)
            continue
        links.append(f"[{name}]({address})")
    if not links:
        return ""
    return Both("Вся таблица: ", "The whole table: ").to(language) + ", ".join(links)
