"""What a tool is given beside its arguments: the database, the catalogue, the day, the choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from schemas.dataset import Dataset
from schemas.periods import DataDays
from schemas.settings import Settings
from schemas.state import Query
from tools.catalogue import Catalogue
from tools.clickhouse import ClickHouse, Reply
from tools.resolver import Resolver


@dataclass(frozen=True)
class ToolContext:
    """Invisible to the model, one per question; `for_step` gives each step its own list of queries.

    `choices` maps a name as asked to the id the person chose.
    """

    client: ClickHouse
    dataset: Dataset
    catalogue: Catalogue
    resolver: Resolver
    settings: Settings
    today: date
    data: DataDays
    choices: Mapping[str, str] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)

    @property
    def last_day(self) -> date | None:
        """Return the last day with data, None for an empty table."""
        return self.data.last

    def for_step(self) -> ToolContext:
        """Return the same context with an empty list of queries."""
        return replace(self, queries=[])

    async def run(self, statement: str, parameters: Mapping[str, Any]) -> Reply:
        """Run a statement within the step's time limit and note it for the receipt."""
        reply = await self.client.query(
            statement, parameters, timeout_s=self.settings.STEP_TIMEOUT_S
        )
        self.queries.append(
            Query(
                query_id=reply.query_id,
                statement=reply.statement,
                parameters=reply.parameters,
                rows=len(reply.rows),
                read_rows=reply.read_rows,
                elapsed_s=reply.elapsed_s,
            )
        )
        return reply
