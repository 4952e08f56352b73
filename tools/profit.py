"""profit_tool: returns of portfolios and groups, computed in ClickHouse from daily TWR."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

from pydantic import AliasChoices, Field

from schemas.language import Both
from schemas.periods import Period
from schemas.table import TOTAL, Column, Notice, Table
from tools.context import ToolContext
from tools.registry import Operation, Tool
from tools.returns import (
    FIRST_DAY,
    LAST_DAY,
    OBSERVATIONS,
    PORTFOLIO_COLUMNS,
    QUALITY,
    TOTAL_RETURN,
    USABLE,
    Row,
    absent_notices,
    daily_returns,
    identity,
    quality_notices,
    return_parameters,
)
from tools.selection import PeriodArgs, period_of, portfolios_in, select_portfolios

TWR = Column("TWR", "number", "fraction", label=Both("Доходность", "Return"))
DETAILS = (OBSERVATIONS, FIRST_DAY, LAST_DAY)
YEAR_DAYS = 365


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


async def _per_portfolio(
    args: PeriodArgs,
    context: ToolContext,
    *,
    figures: str,
    columns: tuple[Column, ...],
    cells: Callable[[Row, Period], tuple[Any, ...]],
    notices: Callable[[Row, str], list[Notice]] = lambda _row, _name: [],
) -> Table:
    """Run one aggregate over daily returns per portfolio; `figures` may use QUALITY and TWR."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = (
        f"SELECT id, {QUALITY}, {TOTAL_RETURN}, {figures} "
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
        told.extend(notices(row, portfolio.name if portfolio else str(row["id"])))
    told.extend(absent_notices(selection, rows, period))
    rows.sort(key=lambda row: _by_code(known.get(row["id"]), row["id"]))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, *columns, *DETAILS),
        rows=tuple(
            (*identity(known.get(row["id"]), row["id"]), *cells(row, period), *_details(row))
            for row in rows
            if row["observations"] or row["conflict_days"]
        ),
        notices=tuple(told),
    )


def _by_code(portfolio: Any, id_: Any) -> tuple[str, str]:
    return (portfolio.code if portfolio else "", str(id_))


def _details(row: Row) -> tuple[Any, ...]:
    if not row["observations"]:
        return (0, None, None)
    return (row["observations"], row["first_day"], row["last_day"])


async def get_profit_of_portfolio(args: ProfitArgs, context: ToolContext) -> Table:
    """Return the total TWR per portfolio, or the daily and running TWR with `by_date`."""
    if args.by_date:
        return await _daily_profit(args, context)
    return await _per_portfolio(
        args, context, figures="1", columns=(TWR,), cells=lambda row, _period: (row["TWR"],)
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
    for id_ in dict.fromkeys(row["id"] for row in rows):
        told.extend(
            quality_notices(
                _quality_of([row for row in rows if row["id"] == id_]),
                known.get(id_),
                period,
                context,
            )
        )
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
    }


async def get_mean_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return the arithmetic mean of daily returns, zero days counted."""
    column = Column(
        "MeanTWR",
        "number",
        "fraction",
        label=Both("Средняя дневная доходность", "Mean daily return"),
    )
    return await _per_portfolio(
        args,
        context,
        figures=f"if({USABLE}, avg(x), NULL) AS mean",
        columns=(column,),
        cells=lambda row, _period: (row["mean"],),
    )


async def get_geometric_mean_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return the geometric mean of daily returns: (1 + total)^(1/n) - 1."""
    column = Column(
        "GeometricMeanTWR",
        "number",
        "fraction",
        label=Both("Средняя геометрическая дневная доходность", "Geometric mean daily return"),
    )
    return await _per_portfolio(
        args,
        context,
        figures=(
            f"if({USABLE}, if(countIf(x = -1) > 0, -1, 2 * sinh(logs / observations / 2) "
            "* exp(logs / observations / 2)), NULL) AS mean"
        ),
        columns=(column,),
        cells=lambda row, _period: (row["mean"],),
    )


async def get_annualised_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return (1 + total)^(365/days) - 1; below 365 days only the period's return (GIPS 2.A.12)."""
    columns = (
        TWR,
        Column("AnnualisedTWR", "number", "fraction", label=Both("Годовая доходность", "Annualised return")),
        Column("Days", "integer", "days", "detail", Both("Календарных дней", "Calendar days")),
    )

    def notices(row: Row, name: str) -> list[Notice]:
        days = row["days"]
        if row["TWR"] is None or days >= YEAR_DAYS:
            return []
        return [
            Notice(
                "not_annualised",
                Both(
                    f"{name}: период {days} дн., меньше года. Такая доходность в годовые не "
                    "переводится (GIPS 2.A.12), дана доходность за период.",
                    f"{name}: {days} days are less than a year. Such a return is not annualised "
                    "(GIPS 2.A.12); the period's return is given.",
                ),
            )
        ]

    return await _per_portfolio(
        args,
        context,
        figures=_ANNUALISED,
        columns=columns,
        cells=lambda row, _period: (
            row["TWR"],
            row["annualised"],
            row["days"] if row["observations"] else None,
        ),
        notices=notices,
    )


# Calendar days from the close before the first day to the last one. A week of holidays at either
# end is not a late start or an early end.
_ANNUALISED = f"""
    dateDiff('day', if(first_day <= {{start:Date}} + 10, {{start:Date}}, first_day),
                    if(last_day >= {{end:Date}} - 10, {{end:Date}}, last_day)) + 1 AS days,
    if(days >= {YEAR_DAYS}, pow(1 + TWR, {YEAR_DAYS} / days) - 1, NULL) AS annualised
"""


async def get_risk(args: PeriodArgs, context: ToolContext) -> Table:
    """Return volatility p.a. (sample deviation, √252, or √365 for calendar-day rows) and drawdown.

    Max drawdown is the deepest fall of the linked return below its peak, the start included,
    so that a loss on the first day counts.
    """
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = f"""
SELECT id, {QUALITY}, countIf(toDayOfWeek(d) > 5) AS weekend_days,
       if(weekend_days * 20 > observations, 365, 252) AS days_a_year,
       if({USABLE} AND observations > 1, stddevSampStable(x) * sqrt(days_a_year), NULL)
           AS volatility,
       if({USABLE}, min(level / greatest(peak, 1) - 1), NULL) AS drawdown
FROM (
    SELECT *, max(level) OVER running AS peak
    FROM (
        SELECT *, if(max(ifNull(x = -1, 0)) OVER running, 0,
                     exp(sumKahanIf(log1p(x), x > -1) OVER running)) AS level
        FROM {daily_returns(selection)}
        WINDOW running AS
            (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WINDOW running AS
        (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
GROUP BY id ORDER BY id
"""
    reply = await context.run(statement, return_parameters(context.dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        told.extend(quality_notices(row, known.get(row["id"]), period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(
            *PORTFOLIO_COLUMNS,
            Column("Volatility", "number", "fraction", label=Both("Волатильность, годовая", "Volatility p.a.")),
            Column("MaxDrawdown", "number", "fraction", label=Both("Макс. просадка", "Max drawdown")),
            *DETAILS,
        ),
        rows=tuple(
            (
                *identity(known.get(row["id"]), row["id"]),
                row["volatility"],
                None if row["drawdown"] is None else min(0.0, row["drawdown"]),
                *_details(row),
            )
            for row in rows
            if row["observations"]
        ),
        notices=tuple(told),
    )


async def get_profit_by_period(args: PeriodProfitArgs, context: ToolContext) -> Table:
    """Return TWR per month, quarter or year, and the linked total of the whole interval."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = f"""
SELECT id, {PERIOD_START[args.period]} AS part, grouping(part) AS whole, {QUALITY}, {TOTAL_RETURN}
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
        columns=(*PORTFOLIO_COLUMNS, PERIOD_COLUMN, TWR, *DETAILS),
        rows=tuple(
            (
                *identity(known.get(row["id"]), row["id"]),
                TOTAL if row["whole"] else period_label(row["part"], args.period),
                row["TWR"],
                *_details(row),
            )
            for row in rows
            if row["observations"] or row["conflict_days"]
        ),
        notices=tuple(told),
    )


PERIOD_START = {
    "month": "toStartOfMonth(d)",
    "quarter": "toStartOfQuarter(d)",
    "year": "toStartOfYear(d)",
}
PERIOD_COLUMN = Column("Period", "string", "period", "key", Both("Период", "Period"))


def period_label(start: Any, length: str) -> str:
    """Return 2024, 2024-Q1 or 2024-03 for the first day of a part."""
    if length == "year":
        return f"{start.year}"
    if length == "quarter":
        return f"{start.year}-Q{(start.month + 2) // 3}"
    return f"{start.year}-{start.month:02d}"


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
                    f"Не вошли {rows[0]['left_out']} портфелей без достоверной доходности: {some}.",
                    f"{rows[0]['left_out']} portfolios without a sound return are left out: {some}.",
                ),
            )
        )
    place = Column("Rank", "integer", "count", "detail", Both("Место", "Rank"))
    return Table(
        columns=(place, *PORTFOLIO_COLUMNS, TWR, *DETAILS),
        rows=tuple(
            (number, *identity(known.get(row["id"]), row["id"]), row["TWR"], *_details(row))
            for number, row in enumerate(ranked, 1)
        ),
        notices=tuple(told),
    )


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
        Operation(
            "get_annualised_profit",
            "Annualised return; for less than 365 days only the return of the interval.",
            PeriodArgs,
            get_annualised_profit,
            Both("годовая доходность", "annualised return"),
            ("TWR_dod",),
        ),
        Operation(
            "get_risk",
            "Volatility p.a. and maximum drawdown.",
            PeriodArgs,
            get_risk,
            Both("риск", "risk"),
            ("TWR_dod",),
        ),
        Operation(
            "rank_portfolios",
            "Best or worst portfolios by total return, of types, strategies or all.",
            RankArgs,
            rank_portfolios,
            Both("рейтинг портфелей", "ranking"),
            ("TWR_dod",),
        ),
    ),
)
