"""profit_tool: returns of portfolios and groups, computed in ClickHouse from daily TWR."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field

from schemas.language import Both
from schemas.portfolio import Portfolio
from schemas.table import TOTAL, Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.context import ToolContext
from tools.interval import period_of
from tools.registry import Operation, Tool
from tools.returns import (
    FIRST_DAY,
    GAPS,
    LAST_DAY,
    OBSERVATIONS,
    PORTFOLIO_COLUMNS,
    QUALITY,
    TOTAL_RETURN,
    USABLE,
    Row,
    absent_notices,
    by_portfolio,
    daily_returns,
    identity,
    quality_notices,
    return_parameters,
)
from tools.selection import portfolios_in, select_portfolios

TWR = Column("TWR", "number", "fraction", label=Both("Доходность", "Return"))
DETAILS = (OBSERVATIONS, FIRST_DAY, LAST_DAY)


class ProfitArgs(PeriodArgs):
    """A total per portfolio, or with by_date one row per day."""

    by_date: bool = Field(
        default=False, description="true: the daily return and the running total, a row per day."
    )


class PeriodProfitArgs(PeriodArgs):
    """A row per month, quarter or year and a linked total."""

    period: Literal["month", "quarter", "year"] = Field(
        default="month", description="Length of one row."
    )


async def per_portfolio(
    args: PeriodArgs,
    context: ToolContext,
    *,
    figures: str,
    columns: tuple[Column, ...],
    cells: Callable[[Row, Portfolio | None], tuple[Any, ...]],
    notices: Callable[[Row, Portfolio | None], list[Notice]] = lambda _row, _portfolio: [],
) -> Table:
    """Run one aggregate over daily returns per portfolio; `figures` may use QUALITY and TWR."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = (
        f"SELECT id, {QUALITY}, {GAPS}, {TOTAL_RETURN}, {figures} "
        f"FROM {daily_returns(selection)} GROUP BY id ORDER BY id"
    )
    reply = await context.run(
        statement, return_parameters(context.dataset, selection, period)
    )
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        portfolio = known.get(row["id"])
        told.extend(quality_notices(row, portfolio, period, context))
        told.extend(notices(row, portfolio))
    told.extend(absent_notices(selection, rows, period))
    rows.sort(key=lambda row: _by_code(known.get(row["id"]), row["id"]))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, *columns, *DETAILS),
        rows=tuple(
            (*identity(known.get(row["id"]), row["id"]), *cells(row, known.get(row["id"])), *figure_details(row))
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _by_code(portfolio: Any, id_: Any) -> tuple[str, str]:
    return (portfolio.code if portfolio else "", str(id_))


def figure_details(row: Row) -> tuple[Any, ...]:
    """Return the cells of DETAILS: observations, first and last day used."""
    if not row["observations"]:
        return (0, None, None)
    return (row["observations"], row["first_day"], row["last_day"])


async def get_profit_of_portfolio(args: ProfitArgs, context: ToolContext) -> Table:
    """Return the total TWR per portfolio, or the daily and running TWR with `by_date`."""
    if args.by_date:
        return await _daily_profit(args, context)
    return await per_portfolio(
        args, context, figures="1", columns=(TWR,), cells=lambda row, _portfolio: (row["TWR"],)
    )


async def _daily_profit(args: ProfitArgs, context: ToolContext) -> Table:
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    # From the first impossible or contradictory day on the running total is unknown.
    statement = f"""
SELECT id, d, if(conflict, NULL, x) AS daily, doubled, conflict, bad, low, high,
       max(bad OR conflict) OVER running AS broken, max(ifNull(x = -1, 0)) OVER running AS lost,
       sumKahanIf(log1p(x), x > -1) OVER running AS logs,
       if(broken, NULL, if(lost, -1, 2 * sinh(logs / 2) * exp(logs / 2))) AS total
FROM {daily_returns(selection)}
WINDOW running AS (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY id, d
"""
    reply = await context.run(statement, return_parameters(context.dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for id_, own in by_portfolio(rows).items():
        told.extend(quality_notices(_quality_of(own), known.get(id_), period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(
            *PORTFOLIO_COLUMNS,
            Column("Dt", "date", role="key", label=Both("Дата", "Date")),
            Column("TWR_dod", "number", "fraction", label=Both("Доходность за день", "Daily return")),
            Column(
                "TWR_running",
                "number",
                "fraction",
                label=Both("Доходность с начала периода", "Return to date"),
            ),
        ),
        rows=tuple(
            (*identity(known.get(row["id"]), row["id"]), row["d"], row["daily"], row["total"])
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _quality_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what QUALITY gives, from daily rows of one portfolio."""
    bad = [row for row in rows if row["bad"]]
    conflicts = [row for row in rows if row["conflict"]]
    return {
        "id": rows[0]["id"],
        "bad_days": len(bad),
        "bad_day": bad[0]["d"] if bad else None,
        "bad_value": bad[0]["low"] if bad else None,
        "conflict_days": len(conflicts),
        "conflict_day": conflicts[0]["d"] if conflicts else None,
        "conflict_low": conflicts[0]["low"] if conflicts else None,
        "conflict_high": conflicts[0]["high"] if conflicts else None,
        "doubled_days": sum(1 for row in rows if row["doubled"] and not row["conflict"]),
        "missing": sum(1 for row in rows if row["daily"] is None and not row["conflict"]),
        **_gap_of([row["d"] for row in rows if row["daily"] is not None]),
    }


def _gap_of(days: list[date]) -> dict[str, int]:
    """Return what GAPS gives, from days in order."""
    pauses = [(later - earlier).days for earlier, later in pairwise(days)]
    if not pauses:
        return {"gap": 0, "gap_start": 0}
    longest = max(pauses)
    return {"gap": longest, "gap_start": (days[pauses.index(longest)] - date(1970, 1, 1)).days}


async def get_mean_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return the arithmetic mean of daily returns, zero days counted."""
    column = Column(
        "MeanTWR",
        "number",
        "fraction",
        label=Both("Средняя дневная доходность", "Mean daily return"),
    )
    return await per_portfolio(
        args,
        context,
        figures=f"if({USABLE}, avg(x), NULL) AS mean",
        columns=(column,),
        cells=lambda row, _portfolio: (row["mean"],),
    )


async def get_geometric_mean_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return the geometric mean of daily returns: (1 + total)^(1/n) - 1."""
    column = Column(
        "GeometricMeanTWR",
        "number",
        "fraction",
        label=Both("Средняя геометрическая дневная доходность", "Geometric mean daily return"),
    )
    return await per_portfolio(
        args,
        context,
        figures=(
            f"if({USABLE}, if(countIf(x = -1) > 0, -1, 2 * sinh(logs / observations / 2) "
            "* exp(logs / observations / 2)), NULL) AS mean"
        ),
        columns=(column,),
        cells=lambda row, _portfolio: (row["mean"],),
    )


async def get_profit_by_period(args: PeriodProfitArgs, context: ToolContext) -> Table:
    """Return TWR per month, quarter or year, and the linked total of the whole interval."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = f"""
SELECT id, {PERIOD_START[args.period]} AS part, grouping(part) AS whole, {QUALITY}, {GAPS}, {TOTAL_RETURN}
FROM {daily_returns(selection)}
GROUP BY GROUPING SETS ((id, part), (id)) ORDER BY id, whole, part
"""
    reply = await context.run(statement, return_parameters(context.dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        if row["whole"]:
            told.extend(quality_notices(row, known.get(row["id"]), period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, period_column(args.period), TWR, *DETAILS),
        rows=tuple(
            (
                *identity(known.get(row["id"]), row["id"]),
                TOTAL if row["whole"] else period_label(row["part"], args.period),
                row["TWR"],
                *figure_details(row),
            )
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


PERIOD_START = {
    "month": "toStartOfMonth(d)",
    "quarter": "toStartOfQuarter(d)",
    "year": "toStartOfYear(d)",
}


def period_column(length: str) -> Column:
    """Return the key column of parts of one length: months and quarters never share a table."""
    labels = {
        "month": Both("Месяц", "Month"), "quarter": Both("Квартал", "Quarter"), "year": Both("Год", "Year")
    }  # fmt: skip
    return Column("Period", "string", "period", "key", labels[length])


def period_label(start: Any, length: str) -> str:
    """Return 2024, 2024-Q1 or 2024-03 for the first day of a part."""
    if length == "year":
        return f"{start.year}"
    if length == "quarter":
        return f"{start.year}-Q{(start.month + 2) // 3}"
    return f"{start.year}-{start.month:02d}"


PROFIT_TOOL = Tool(
    name="profit_tool",
    description="Returns of portfolios (time-weighted, from daily TWR).",
    operations=(
        Operation(
            "get_profit_of_portfolio",
            "Total return per portfolio for an interval. by_date=true: daily return and running total.",
            ProfitArgs,
            get_profit_of_portfolio,
            Both("доходность", "returns"),
            ("TWR_dod",),
        ),
        Operation(
            "get_mean_profit",
            "Arithmetic mean of daily returns.",
            PeriodArgs,
            get_mean_profit,
            Both("средняя доходность", "mean return"),
            ("TWR_dod",),
        ),
        Operation(
            "get_geometric_mean_profit",
            "Geometric mean of daily returns.",
            PeriodArgs,
            get_geometric_mean_profit,
            Both("средняя геометрическая доходность", "geometric mean return"),
            ("TWR_dod",),
        ),
        Operation(
            "get_profit_by_period",
            "Return per month, quarter or year with a linked total.",
            PeriodProfitArgs,
            get_profit_by_period,
            Both("доходность по периодам", "returns by period"),
            ("TWR_dod",),
        ),
    ),
)
