"""Profit in money: NAV at the end less NAV before the start less net flow between them."""

from __future__ import annotations

from typing import Any

from schemas.language import Both
from schemas.table import Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.context import ToolContext
from tools.flows import (
    FLOW_QUALITY,
    IN_PERIOD,
    UP_TO_END,
    currencies_notice,
    daily_money,
    money_column,
    money_notices,
    money_parameters,
)
from tools.interval import period_of
from tools.registry import Operation
from tools.returns import (
    CURRENCY_COLUMN,
    PORTFOLIO_COLUMNS,
    absent_notices,
    called,
    identity,
    life_notices,
)
from tools.selection import portfolios_in, select_portfolios

_STATEMENT = """
SELECT e.id AS id, e.nav_end AS nav_end, e.nav_before AS nav_before, e.end_currency AS currency,
       e.end_day AS end_day, e.before_day AS before_day,
       arrayDistinct(arrayFilter(c -> c != '', arrayConcat([e.end_currency, e.currency_before], n.flow_currencies)))
           AS currencies,
       e.end_unclear AS end_unclear, e.before_unclear AS before_unclear, n.money AS net_flow,
       n.observations AS observations, n.conflict_days AS conflict_days, n.conflict_day AS conflict_day,
       n.doubled_days AS doubled_days, n.half_days AS half_days, n.missing AS missing,
       if(n.conflict_days > 0 OR e.end_unclear OR e.before_unclear OR n.missing > 0 OR length(currencies) > 1,
          NULL, e.nav_end - e.nav_before - n.money) AS profit
FROM (
    SELECT id, argMax(tuple(amount, conflict, currency), d) AS latest, tupleElement(latest, 1) AS nav_end,
           tupleElement(latest, 2) AS end_unclear, tupleElement(latest, 3) AS end_currency, max(d) AS end_day,
           argMaxIf(tuple(toNullable(amount), conflict, currency), d, d < {start:Date}) AS earlier,
           tupleElement(earlier, 1) AS nav_before, tupleElement(earlier, 2) AS before_unclear, tupleElement(earlier, 3) AS currency_before,
           maxIf(toNullable(d), d < {start:Date}) AS before_day
    FROM @nav WHERE isNotNull(amount) OR conflict GROUP BY id
) AS e
INNER JOIN (
    SELECT id, @quality, sum(amount) AS money, groupUniqArray(4)(currency) AS flow_currencies
    FROM @net GROUP BY id
) AS n ON n.id = e.id
ORDER BY id
"""


async def get_profit_in_money(args: PeriodArgs, context: ToolContext) -> Table:
    """Return NAV at the end less NAV before the start less net flow, in the portfolio's currency.

    There is no figure without a NAV before the start, across a change of currency, or where a day
    it needs is missing or contradicts itself; the reason is told.
    """
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    dataset = context.dataset
    statement = (
        _STATEMENT.replace("@nav", daily_money(dataset, selection, "NAV", UP_TO_END))
        .replace("@net", daily_money(dataset, selection, "NetFlow", IN_PERIOD))
        .replace("@quality", FLOW_QUALITY)
    )
    reply = await context.run(statement, money_parameters(dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told: list[Notice] = [*said, *selection.notices]
    for row in rows:
        portfolio = known.get(row["id"])
        told.extend(money_notices(row, portfolio, "NetFlow"))
        told.extend(_reasons(row, called(portfolio, row["id"])))
        if len(row["currencies"]) > 1:
            told.append(currencies_notice(portfolio, row["id"], row["currencies"]))
    met = [known[row["id"]] for row in rows if row["id"] in known]
    told.extend(life_notices(met, period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(
            *PORTFOLIO_COLUMNS,
            CURRENCY_COLUMN,
            money_column("ProfitInMoney"),
            Column("NAVBefore", "decimal", "money", label=Both("СЧА до начала", "NAV before")),
            Column("NAVEnd", "decimal", "money", label=Both("СЧА на конец", "NAV at the end")),
            money_column("NetFlow"),
            Column("NAVBeforeDt", "date", role="detail", label=Both("СЧА до начала на дату", "NAV before as of")),
            Column("NAVEndDt", "date", role="detail", label=Both("СЧА на конец на дату", "NAV at the end as of")),
        ),
        rows=tuple(_cells_of(row, known.get(row["id"])) for row in rows),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _cells_of(row: dict[str, Any], portfolio: Any) -> tuple[Any, ...]:
    currency = row["currency"] or (portfolio.currency if portfolio else "")
    mixed = len(row["currencies"]) > 1
    return (
        *identity(portfolio, row["id"]),
        currency,
        row["profit"],
        None if mixed else row["nav_before"],
        row["nav_end"],
        None if mixed else row["net_flow"],
        row["before_day"],
        row["end_day"],
    )


def _reasons(row: dict[str, Any], who: str) -> list[Notice]:
    """Return why there is no profit, as far as the NAVs are the cause."""
    notices = []
    for unclear, day in ((row["before_unclear"], row["before_day"]), (row["end_unclear"], row["end_day"])):
        if unclear and day:
            notices.append(
                Notice(
                    "conflicting_rows",
                    Both(
                        f"{who}: за {day:%d.%m.%Y} записаны разные СЧА, прибыль не посчитать.",
                        f"{who}: different NAVs are stored for {day}; profit cannot be told.",
                    ),
                )
            )
    if row["before_day"] is None:
        notices.append(
            Notice(
                "no_nav_before",
                Both(
                    f"{who}: нет СЧА до начала периода, прибыль в деньгах не посчитать.",
                    f"{who}: there is no NAV before the start, so profit in money cannot be told.",
                ),
            )
        )
    return notices


MONEY_PROFIT_OPERATIONS = (
    Operation(
        "get_profit_in_money",
        "Profit in money: NAV at the end less NAV before less net flow.",
        PeriodArgs,
        get_profit_in_money,
        Both("прибыль в деньгах", "profit in money"),
        ("NAV", "Inflow", "Outflow"),
    ),
)
