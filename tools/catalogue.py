"""The list of portfolios: from the catalogue table where there is one, else from the main table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from schemas.dataset import Dataset
from schemas.portfolio import Portfolio, PortfolioId
from tools.clickhouse import ClickHouse, Reply

ATTRIBUTES = ("Portfolio", "PortfolioCode", "PortfolioClientCode", "PortfolioType", "Strategy", "Currency")
_PLAIN_TYPE = re.compile(r"^[A-Za-z0-9_(), ]+$")


@dataclass(frozen=True)
class Fragment:
    """A piece of SQL and the parameters it needs."""

    sql: str
    parameters: dict[str, Any]


def id_type(dataset: Dataset) -> str:
    """Return the ClickHouse type of a portfolio id, fit for `Array(…)` parameters."""
    kind = dataset.types.get("InvestmentPortfolioID", "UInt64")
    return kind if _PLAIN_TYPE.match(kind) else "String"


def catalogue_relation(dataset: Dataset) -> Fragment:
    """Return a subquery with one row per portfolio.

    Columns: InvestmentPortfolioID, the ATTRIBUTES (empty where the table lacks one),
    FirstDt, LastDt. Attributes that changed over time are the latest.
    """
    if dataset.catalogue is not None:
        sql = (
            "(SELECT InvestmentPortfolioID, "
            + ", ".join(f"ifNull(toString(argMax(c.{name}, c.LastDt)), '') AS {name}" for name in ATTRIBUTES)
            + ", min(c.FirstDt) AS FirstDt, max(c.LastDt) AS LastDt "
            "FROM {cat_db:Identifier}.{cat_table:Identifier} AS c GROUP BY InvestmentPortfolioID)"
        )
        return Fragment(
            sql, {"cat_db": dataset.catalogue.database, "cat_table": dataset.catalogue.name}
        )
    parameters = {
        "cat_db": dataset.table.database,
        "cat_table": dataset.table.name,
        "cat_id": dataset.columns["InvestmentPortfolioID"],
        "cat_dt": dataset.columns["Dt"],
    }
    pieces = ["f.{cat_id:Identifier} AS InvestmentPortfolioID"]
    for name in ATTRIBUTES:
        if name in dataset.columns:
            parameters[f"cat_{name}"] = dataset.columns[name]
            pieces.append(
                f"ifNull(toString(argMax(f.{{cat_{name}:Identifier}}, f.{{cat_dt:Identifier}})), '') AS {name}"
            )
        else:
            pieces.append(f"'' AS {name}")
    pieces.append("toDate(min(f.{cat_dt:Identifier})) AS FirstDt")
    pieces.append("toDate(max(f.{cat_dt:Identifier})) AS LastDt")
    sql = (
        "(SELECT "
        + ", ".join(pieces)
        + " FROM {cat_db:Identifier}.{cat_table:Identifier} AS f GROUP BY InvestmentPortfolioID)"
    )
    return Fragment(sql, parameters)


_COLUMNS = "InvestmentPortfolioID, " + ", ".join(ATTRIBUTES) + ", FirstDt, LastDt"


class Catalogue:
    """Questions about portfolios themselves, not their figures."""

    def __init__(self, client: ClickHouse, dataset: Dataset) -> None:
        self.client = client
        self.dataset = dataset

    async def by_ids(self, ids: Iterable[PortfolioId]) -> dict[PortfolioId, Portfolio]:
        """Return the portfolios with these ids; unknown ids are absent."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        found: dict[PortfolioId, Portfolio] = {}
        for start in range(0, len(wanted), 2000):
            reply = await self.select(
                f"WHERE InvestmentPortfolioID IN {{ids:Array({id_type(self.dataset)})}}",
                {"ids": wanted[start : start + 2000]},
            )
            found.update((item.id, item) for item in portfolios_of(reply))
        return found

    async def select(self, condition: str, parameters: dict[str, Any]) -> Reply:
        """Return catalogue rows under a condition written by us, in the order of codes."""
        source = catalogue_relation(self.dataset)
        statement = (
            f"SELECT {_COLUMNS} FROM {source.sql} AS p {condition} "
            "ORDER BY PortfolioCode, InvestmentPortfolioID"
        )
        return await self.client.query(statement, {**source.parameters, **parameters})


def portfolios_of(reply: Reply) -> list[Portfolio]:
    """Read portfolios out of rows whose first columns are those of `Catalogue.select`."""
    return [
        Portfolio(
            id=row[0],
            name=row[1] or "",
            code=row[2] or "",
            client_code=row[3] or "",
            type=row[4] or "",
            strategy=row[5] or "",
            currency=row[6] or "",
            first_day=row[7],
            last_day=row[8],
        )
        for row in reply.rows
    ]
