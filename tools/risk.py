"""Annualised return, volatility and drawdown: figures of profit_tool that need a length of time."""

from __future__ import annotations

from typing import Any

from schemas.language import Both
from schemas.periods import Period
from schemas.portfolio import Portfolio
from schemas.table import Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.context import ToolContext
from tools.interval import period_of
from tools.profit import DETAILS, TWR, figure_details, per_portfolio
from tools.registry import Operation
from tools.returns import (
    GAPS,
    PORTFOLIO_COLUMNS,
    QUALITY,
    USABLE,
    Row,
    absent_notices,
    called,
    daily_returns,
    identity,
    quality_notices,
    return_parameters,
)
from tools.selection import portfolios_in, select_portfolios

YEAR_DAYS = 365


async def get_annualised_profit(args: PeriodArgs, context: ToolContext) -> Table:
    """Return (1 + total)^(365/days) - 1; below 365 days only the period's return (GIPS 2.A.12).

    Days are calendar days from the close before the first day to the last day; a portfolio that
    began later or ended earlier has as many days as its own rows span.
    """
    period, _said = period_of(args, context)
    columns = (
        TWR,
        Column("AnnualisedTWR", "number", "fraction", label=Both("Годовая доходность", "Annualised return")),
        Column("Days", "integer", "days", "detail", Both("Календарных дней", "Calendar days")),
    )

    def notices(row: Row, portfolio: Portfolio | None) -> list[Notice]:
        days = _days_spanned(row, portfolio, period)
        if row["TWR"] is None or days is None or days >= YEAR_DAYS:
            return []
        name = called(portfolio, row["id"])
        return [
            Notice(
                "not_annualised",
                Both(
                    f"{name}: данных {days} дн., меньше года. Такая доходность в годовые не "
                    "переводится (GIPS 2.A.12), дана доходность за период.",
                    f"{name}: {days} days of data are less than a year. Such a return is not "
                    "annualised (GIPS 2.A.12); the period's return is given.",
                ),
            )
        ]

    def cells(row: Row, portfolio: Portfolio | None) -> tuple[Any, ...]:
        days = _days_spanned(row, portfolio, period)
        annualised = None
        if row["TWR"] is not None and days is not None and days >= YEAR_DAYS:
            annualised = (1 + row["TWR"]) ** (YEAR_DAYS / days) - 1
        return (row["TWR"], annualised, days)

    return await per_portfolio(
        args, context, figures="1", columns=columns, cells=cells, notices=notices
    )


def _days_spanned(row: Row, portfolio: Portfolio | None, period: Period) -> int | None:
    """Return the calendar days behind a return; holidays at either end do not shorten them."""
    if not row["observations"]:
        return None
    first, last = row["first_day"], row["last_day"]
    if portfolio and portfolio.first_day and portfolio.first_day < period.start:
        first = period.start
    if portfolio and portfolio.last_day and portfolio.last_day >= period.end:
        last = period.end
    return int((last - first).days) + 1


async def get_risk(args: PeriodArgs, context: ToolContext) -> Table:
    """Return volatility p.a. (sample deviation, √252, or √365 for calendar-day rows) and drawdown.

    Max drawdown is the deepest fall of the linked return below its peak, the start included,
    so that a loss on the first day counts.
    """
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    statement = f"""
SELECT id, {QUALITY}, {GAPS}, countIf(toDayOfWeek(d) > 5) AS weekend_days,
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
        if row["observations"] == 1 and row["volatility"] is None:
            told.append(_one_day(called(known.get(row["id"]), row["id"])))
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
                *figure_details(row),
            )
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _one_day(who: str) -> Notice:
    return Notice(
        "too_few_days",
        Both(
            f"{who}: волатильность по одному дню не посчитать.",
            f"{who}: one day has no volatility.",
        ),
    )


RISK_OPERATIONS = (
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
)
