"""The best and the worst portfolios by total return."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import AliasChoices, Field

from schemas.language import Both
from schemas.portfolio import Portfolio
from schemas.table import Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.context import ToolContext
from tools.interval import period_of
from tools.profit import DETAILS, TWR, figure_details
from tools.registry import Operation
from tools.returns import (
    CURRENCY_COLUMN,
    PORTFOLIO_COLUMNS,
    QUALITY,
    TOTAL_RETURN,
    daily_returns,
    identity,
    quality_notices,
    return_parameters,
)
from tools.selection import portfolios_in, select_portfolios


class RankArgs(PeriodArgs):
    """The best or worst portfolios by total return."""

    order: Literal["best", "worst", "desc", "asc"] = Field(
        default="best",
        validation_alias=AliasChoices("order", "direction", "sort"),
        description="best or worst first.",
    )
    limit: int = Field(
        default=10,
        ge=1,
        le=1000,
        validation_alias=AliasChoices("limit", "top", "n"),
        description="How many portfolios.",
    )


async def rank_portfolios(args: RankArgs, context: ToolContext) -> Table:
    """Return the best or worst portfolios by total TWR; those without an honest figure are told."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context, whole_allowed=True)
    direction = "DESC" if args.order in ("best", "desc") else "ASC"
    statement = f"""
SELECT *, count() OVER () AS all_portfolios, countIf(isNull(TWR)) OVER () AS left_out,
       groupArrayIf(5)(id, isNull(TWR)) OVER () AS left_out_ids,
       countIf(first_day > {{late:Date}}) OVER () AS late_portfolios
FROM (SELECT id, {QUALITY}, {TOTAL_RETURN} FROM {daily_returns(selection)} GROUP BY id)
ORDER BY isNull(TWR), TWR {direction}, id
LIMIT {{limit:UInt32}}
"""
    parameters = return_parameters(context.dataset, selection, period)
    parameters["limit"] = args.limit
    parameters["late"] = (period.start + timedelta(days=10)).isoformat()
    reply = await context.run(statement, parameters)
    rows = reply.records()
    told = [*said, *selection.notices]
    ids = [row["id"] for row in rows]
    if rows and rows[0]["left_out"]:
        ids.extend(rows[0]["left_out_ids"])
    known = await portfolios_in(selection, ids, context)
    ranked = [row for row in rows if row["TWR"] is not None]
    for row in ranked:
        told.extend(quality_notices(row, known.get(row["id"]), period, context))
    if rows:
        told.append(
            Notice(
                "ranked_among",
                Both(
                    f"Выбрано из {rows[0]['all_portfolios'] - rows[0]['left_out']} портфелей.",
                    f"Out of {rows[0]['all_portfolios'] - rows[0]['left_out']} portfolios.",
                ),
                "info",
            )
        )
    if rows and rows[0]["left_out"]:
        some = ", ".join(
            known[item].code or known[item].name
            for item in rows[0]["left_out_ids"]
            if item in known
        )
        told.append(
            Notice(
                "left_out",
                Both(
                    f"Не вошли портфели без достоверной доходности ({rows[0]['left_out']}): {some}.",
                    f"{rows[0]['left_out']} portfolios without a sound return are left out: {some}.",
                ),
            )
        )
    place = Column("Rank", "integer", "count", "detail", Both("Место", "Rank"))
    return Table(
        columns=(place, *PORTFOLIO_COLUMNS, CURRENCY_COLUMN, TWR, *DETAILS),
        rows=tuple(
            (number, *identity(known.get(row["id"]), row["id"]), _currency_of(known.get(row["id"])), row["TWR"], *figure_details(row))
            for number, row in enumerate(ranked, 1)
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _currency_of(portfolio: Portfolio | None) -> str:
    return portfolio.currency if portfolio else ""


RANKING_OPERATIONS = (
    Operation(
        "rank_portfolios",
        "Best or worst portfolios by total return, of types, strategies or all.",
        RankArgs,
        rank_portfolios,
        Both("рейтинг портфелей", "ranking"),
        ("TWR_dod",),
    ),
)
