"""Return of a group of portfolios, and profit in money: returns that need NAV and flows.

Group: on each day the returns are weighted by the portfolio's previous NAV plus the day's inflow,
then the days are linked (GIPS 2020, 2.A.36 b). One currency at a time; rows of different
portfolios are never linked to each other.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.dataset import Dataset
from schemas.language import Both
from schemas.table import Column, Notice, Table
from tools.catalogue import catalogue_relation
from tools.context import ToolContext
from tools.flows import (
    BEFORE_START,
    FLOW_QUALITY,
    IN_PERIOD,
    UP_TO_END,
    daily_money,
    money_column,
    money_notices,
    money_parameters,
)
from tools.registry import Operation
from tools.returns import (
    CURRENCY_COLUMN,
    PORTFOLIO_COLUMNS,
    absent_notices,
    called,
    daily_returns,
    identity,
    return_parameters,
)
from tools.selection import PeriodArgs, Selection, period_of, portfolios_in, select_portfolios


class GroupArgs(PeriodArgs):
    """One return per group, weighted by NAV."""

    group_by: Literal["type", "strategy"] = Field(
        default="type", description="What makes a group: type or strategy."
    )


def _weights(dataset: Dataset, selection: Selection) -> str:
    """Return the subquery id, d, weight: NAV of the row before plus the inflow of the day."""
    nav = daily_money(dataset, selection, "NAV", IN_PERIOD)
    before = daily_money(dataset, selection, "NAV", BEFORE_START)
    inflow = daily_money(dataset, selection, "Inflow", IN_PERIOD)
    return f"""(
SELECT n.id AS id, n.d AS d, n.conflict OR i.conflict AS unclear,
       toFloat64(if(n.rank = 1, ifNull(b.nav, 0), n.previous)) + toFloat64(ifNull(i.amount, 0)) AS weight
FROM (
    SELECT id, d, conflict, row_number() OVER by_day AS rank,
           lagInFrame(toNullable(amount)) OVER by_day AS previous
    FROM {nav}
    WINDOW by_day AS (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
) AS n
LEFT JOIN (SELECT id, argMax(amount, d) AS nav FROM {before} WHERE isNotNull(amount) GROUP BY id) AS b
    ON b.id = n.id
LEFT JOIN (SELECT id, d, amount, conflict FROM {inflow}) AS i ON i.id = n.id AND i.d = n.d
)"""


async def get_group_profit(args: GroupArgs, context: ToolContext) -> Table:
    """Return one NAV-weighted, linked TWR per type or strategy and currency.

    A group with an impossible or contradictory day has no figure; the reason names the portfolio.
    """
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context, whole_allowed=True)
    dataset = context.dataset
    source = catalogue_relation(dataset)
    column = "PortfolioType" if args.group_by == "type" else "Strategy"
    parameters = {
        **money_parameters(dataset, selection, period),
        **return_parameters(dataset, selection, period),
        **source.parameters,
    }
    weights = _weights(dataset, selection)
    returns = daily_returns(selection)
    if dataset.split:
        weights, moved = _renamed(weights, money_parameters(dataset, selection, period))
        parameters.update(moved)
    statement = f"""
SELECT kind, currency, sum(day_portfolios_bad) AS bad_days, sum(day_missing) AS missing,
       minIf(day_bad_id, day_portfolios_bad > 0) AS bad_id, minIf(d, day_portfolios_bad > 0) AS bad_day,
       countIf(isFinite(r)) AS observations, max(day_weighted) AS most_portfolios,
       sum(day_unweighted) AS unweighted, minIf(day_unweighted_id, day_unweighted > 0) AS unweighted_id,
       minIf(d, isFinite(r)) AS first_day, maxIf(d, isFinite(r)) AS last_day, sumKahanIf(log1p(r), r > -1) AS logs,
       if(bad_days > 0 OR observations = 0, NULL,
          if(countIf(r = -1) > 0, -1, 2 * sinh(logs / 2) * exp(logs / 2))) AS TWR
FROM (
    SELECT kind, currency, d, countIf(bad OR conflict OR unclear) AS day_portfolios_bad,
           minIf(id, bad OR conflict OR unclear) AS day_bad_id,
           countIf(isNull(x) AND NOT conflict) AS day_missing,
           countIf(isNotNull(x) AND weight > 0) AS day_weighted,
           countIf(isNotNull(x) AND weight <= 0) AS day_unweighted,
           minIf(id, isNotNull(x) AND weight <= 0) AS day_unweighted_id,
           sumIf(weight * x, isNotNull(x) AND weight > 0) / sumIf(weight, isNotNull(x) AND weight > 0) AS r
    FROM (
        SELECT c.kind AS kind, c.currency AS currency, r.id AS id, r.d AS d, r.x AS x,
               r.bad AS bad, r.conflict AS conflict, ifNull(w.weight, 0) AS weight, w.unclear AS unclear
        FROM {returns} AS r
        INNER JOIN (SELECT InvestmentPortfolioID AS id, {column} AS kind, Currency AS currency FROM {source.sql}) AS c
            ON c.id = r.id
        LEFT JOIN {weights} AS w ON w.id = r.id AND w.d = r.d
    )
    GROUP BY kind, currency, d
)
GROUP BY kind, currency ORDER BY kind, currency
"""
    reply = await context.run(statement, parameters)
    rows = reply.records()
    known = await context.catalogue.by_ids(
        [row["bad_id"] for row in rows if row["bad_days"]]
        + [row["unweighted_id"] for row in rows if row["unweighted"]]
    )
    told: list[Notice] = [*said, *selection.notices]
    for row in rows:
        told.extend(_group_notices(row, known))
    told.append(
        Notice(
            "group_method",
            Both(
                "Доходность группы взвешена по СЧА предыдущего дня плюс приток; валюты раздельно.",
                "The group's return is weighted by the previous day's NAV plus inflow; "
                "currencies apart.",
            ),
            "info",
        )
    )
    label = Both("Тип", "Type") if args.group_by == "type" else Both("Стратегия", "Strategy")
    return Table(
        columns=(
            Column(column, "string", role="key", label=label),
            Column("Currency", "string", role="key", label=Both("Валюта", "Currency")),
            Column("TWR", "number", "fraction", label=Both("Доходность", "Return")),
            Column("Portfolios", "integer", "count", "detail", Both("Портфелей", "Portfolios")),
            Column("FirstDt", "date", role="detail", label=Both("Первый день", "First day")),
            Column("LastDt", "date", role="detail", label=Both("Последний день", "Last day")),
        ),
        rows=tuple(
            (row["kind"], row["currency"], row["TWR"], row["most_portfolios"], row["first_day"], row["last_day"])
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _renamed(statement: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Give the money table's places names of their own, for a statement that reads both tables."""
    moved: dict[str, Any] = {}
    for name in ("c_id", "c_dt", "t_db", "t_name"):
        statement = statement.replace(f"{{{name}:Identifier}}", f"{{m_{name}:Identifier}}")
        moved[f"m_{name}"] = parameters[name]
    return statement, moved


def _group_notices(row: dict[str, Any], known: dict[Any, Any]) -> list[Notice]:
    name = f"{row['kind']}, {row['currency']}"
    if row["bad_days"]:
        item = known.get(row["bad_id"])
        who = f"{item.name} ({item.code})" if item else str(row["bad_id"])
        return [
            Notice(
                "bad_data",
                Both(
                    f"{name}: цифры нет, у портфеля {who} за {row['bad_day']:%d.%m.%Y} "
                    "невозможные или противоречивые данные.",
                    f"{name}: no figure, portfolio {who} has impossible or contradictory data "
                    f"on {row['bad_day']}.",
                ),
            )
        ]
    notices = []
    if row["missing"]:
        notices.append(
            Notice(
                "missing_values",
                Both(
                    f"{name}: без доходности {row['missing']} строк, они не учтены.",
                    f"{name}: {row['missing']} rows without a return are left out.",
                ),
            )
        )
    if row["unweighted"]:
        item = known.get(row["unweighted_id"])
        who = called(item, row["unweighted_id"])
        notices.append(
            Notice(
                "no_weight",
                Both(
                    f"{name}: {row['unweighted']} строк не вошли: СЧА предыдущего дня с притоком "
                    f"не больше нуля или её нет (например, {who}).",
                    f"{name}: {row['unweighted']} rows are left out: the previous day's NAV plus "
                    f"inflow is not above zero or not there (such as {who}).",
                ),
            )
        )
    return notices


async def get_profit_in_money(args: PeriodArgs, context: ToolContext) -> Table:
    """Return NAV at the end less NAV before the start less net flow, in the portfolio's currency."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    dataset = context.dataset
    nav = daily_money(dataset, selection, "NAV", UP_TO_END)
    net = daily_money(dataset, selection, "NetFlow", IN_PERIOD)
    statement = f"""
SELECT e.id AS id, e.nav_end AS nav_end, e.nav_before AS nav_before, e.conflicts AS nav_conflicts,
       n.money AS net_flow, n.observations AS observations, n.conflict_days AS conflict_days,
       n.conflict_day AS conflict_day, n.doubled_days AS doubled_days, n.missing AS missing,
       if(n.conflict_days > 0 OR e.conflicts > 0 OR n.missing > 0, NULL,
          e.nav_end - ifNull(e.nav_before, 0) - n.money) AS profit
FROM (
    SELECT id, argMax(tuple(amount), d).1 AS nav_end,
           argMaxIf(tuple(toNullable(amount)), d, d < {{start:Date}}).1 AS nav_before,
           countIf(conflict) AS conflicts
    FROM {nav} WHERE isNotNull(amount) OR conflict GROUP BY id
) AS e
INNER JOIN (SELECT id, {FLOW_QUALITY}, sum(amount) AS money FROM {net} GROUP BY id) AS n ON n.id = e.id
ORDER BY id
"""
    reply = await context.run(statement, money_parameters(dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told: list[Notice] = [*said, *selection.notices]
    for row in rows:
        if row["nav_conflicts"] and not row["conflict_days"]:
            row["conflict_days"], row["conflict_day"] = row["nav_conflicts"], period.end
        told.extend(money_notices(row, known.get(row["id"]), "ProfitInMoney"))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(
            *PORTFOLIO_COLUMNS,
            CURRENCY_COLUMN,
            money_column("ProfitInMoney"),
            Column("NAVBefore", "decimal", "money", label=Both("СЧА до начала", "NAV before")),
            Column("NAVEnd", "decimal", "money", label=Both("СЧА на конец", "NAV at the end")),
            money_column("NetFlow"),
        ),
        rows=tuple(
            (
                *identity(known.get(row["id"]), row["id"]),
                known[row["id"]].currency if row["id"] in known else "",
                row["profit"],
                row["nav_before"],
                row["nav_end"],
                row["net_flow"],
            )
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


COMPOSITE_OPERATIONS = (
    Operation(
        "get_group_profit",
        "One return per type or strategy as a whole, weighted by NAV (group_by: type or strategy).",
        GroupArgs,
        get_group_profit,
        Both("доходность групп", "group returns"),
        ("TWR_dod", "NAV", "Inflow", "PortfolioType"),
    ),
    Operation(
        "get_profit_in_money",
        "Profit in money: NAV at the end less NAV before less net flow.",
        PeriodArgs,
        get_profit_in_money,
        Both("прибыль в деньгах", "profit in money"),
        ("NAV", "Inflow", "Outflow"),
    ),
)
