"""Return of a group of portfolios as a whole.

On each day the returns are weighted by the portfolio's previous NAV plus the day's inflow,
then the days are linked (GIPS 2020, 2.A.36 b). One currency at a time; rows of different
portfolios are never linked to each other.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.dataset import Dataset
from schemas.language import Both
from schemas.periods import Period
from schemas.table import Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.catalogue import Fragment, catalogue_relation
from tools.context import ToolContext
from tools.flows import (
    IN_PERIOD,
    currency_expression,
    daily_money,
    money_expression,
    money_parameters,
)
from tools.interval import period_of
from tools.registry import Operation
from tools.returns import (
    called,
    daily_returns,
    return_parameters,
)
from tools.selection import Selection, select_portfolios


class GroupArgs(PeriodArgs):
    """One return per group, weighted by NAV."""

    group_by: Literal["type", "strategy"] = Field(
        default="type", description="What makes a group: type or strategy."
    )


# A NAV older than this before the start no longer weighs.
LOOK_BACK_DAYS = 31
_WITH_DAYS_BEFORE = (
    f"f.{{c_dt:Identifier}} >= {{start:Date}} - {LOOK_BACK_DAYS} AND f.{{c_dt:Identifier}} < {{end:Date}} + 1"
)
# The last NAV before the day; NaN where that row contradicts itself, NULL where there is none.
_EARLIER = "anyLast(toNullable(if(@unclear, nan, toFloat64(@nav)))) OVER earlier AS before"
_WINDOW = (
    "WINDOW earlier AS (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
)
_WEIGHT = "if(isNull(before) OR isNaN(before), 0, before + toFloat64(ifNull(@inflow, 0))) AS weight"

# Returns, NAV and inflow of one table in one reading.
_TOGETHER = """
SELECT id, d, currency, x, bad, conflict, ifNull(isNaN(before), 0) OR i_unclear AS unclear, @weight
FROM (
    SELECT id, d, currency, nav, n_unclear, inflow, i_unclear,
           ifNull(low != high, 0) OR (nulls > 0 AND nulls < copies) AS conflict,
           if(conflict, NULL, low) AS x, @earlier,
           ifNull(low < -1 OR isInfinite(low) OR isInfinite(high), 0) AS bad
    FROM (
        SELECT f.{c_id:Identifier} AS id, toDate(f.{c_dt:Identifier}) AS d, count() AS copies,
               any(@currency) AS currency,
               min(if(isNaN(@return), NULL, @return)) AS low, max(if(isNaN(@return), NULL, @return)) AS high,
               countIf(isNull(@return) OR isNaN(@return)) AS nulls,
               min(@nav_money) AS n_low, max(@nav_money) AS n_high, countIf(isNull(@nav_money)) AS n_nulls,
               min(@in_money) AS i_low, max(@in_money) AS i_high, countIf(isNull(@in_money)) AS i_nulls,
               ifNull(n_low != n_high, 0) OR (n_nulls > 0 AND n_nulls < copies)
                   OR min(cityHash64(@currency)) != max(cityHash64(@currency)) AS n_unclear,
               ifNull(i_low != i_high, 0) OR (i_nulls > 0 AND i_nulls < copies) AS i_unclear,
               if(n_unclear, NULL, n_low) AS nav, if(i_unclear, NULL, i_low) AS inflow
        FROM {t_db:Identifier}.{t_name:Identifier} AS f
        WHERE @condition AND @days
        GROUP BY id, d
    )
    @window
)
WHERE d >= {start:Date}
"""
# Returns of one table, NAV and inflow of another.
_APART = """
SELECT r.id AS id, r.d AS d, w.currency AS currency, r.x AS x, r.bad AS bad, r.conflict AS conflict,
       w.unclear AS unclear, ifNull(w.weight, 0) AS weight
FROM @returns AS r
LEFT JOIN (
    SELECT n.id AS id, n.d AS d, n.currency AS currency, ifNull(isNaN(n.before), 0) OR i.conflict AS unclear,
           n.before AS before, @weight
    FROM (SELECT id, d, currency, @earlier FROM @nav_days @window) AS n
    LEFT JOIN (SELECT id, d, amount, conflict FROM @inflow_days) AS i ON i.id = n.id AND i.d = n.d
    WHERE n.d >= {start:Date}
) AS w ON w.id = r.id AND w.d = r.d
"""


def weighted_days(dataset: Dataset, selection: Selection, period: Period) -> Fragment:
    """Return the subquery id, d, currency, x, bad, conflict, unclear, weight, in parentheses.

    The weight is the last NAV before the day plus the day's inflow; zero without such a NAV.
    `unclear` means that the NAV or the inflow has contradictory rows.
    """
    money = money_parameters(dataset, selection, period)
    parameters = {**money, **return_parameters(dataset, selection, period)}
    if not dataset.split:
        filled = (
            _TOGETHER.replace("@weight", _WEIGHT.replace("@inflow", "inflow"))
            .replace("@earlier", _EARLIER.replace("@nav", "nav").replace("@unclear", "n_unclear"))
            .replace("@return", "toFloat64(f.{c_twr:Identifier})")
            .replace("@nav_money", money_expression(dataset, "NAV"))
            .replace("@in_money", money_expression(dataset, "Inflow"))
            .replace("@currency", currency_expression(dataset))
            .replace("@condition", selection.condition)
            .replace("@days", _WITH_DAYS_BEFORE)
            .replace("@window", _WINDOW)
        )
        return Fragment(f"({filled})", parameters)
    nav = daily_money(dataset, selection, "NAV", _WITH_DAYS_BEFORE)
    inflow = daily_money(dataset, selection, "Inflow", IN_PERIOD)
    moved = {}
    for name in ("c_id", "c_dt", "t_db", "t_name"):
        nav = nav.replace(f"{{{name}:Identifier}}", f"{{m_{name}:Identifier}}")
        inflow = inflow.replace(f"{{{name}:Identifier}}", f"{{m_{name}:Identifier}}")
        moved[f"m_{name}"] = money[name]
    filled = (
        _APART.replace("@weight", _WEIGHT.replace("@inflow", "i.amount"))
        .replace("@earlier", _EARLIER.replace("@nav", "amount").replace("@unclear", "conflict"))
        .replace("@nav_days", nav)
        .replace("@inflow_days", inflow)
        .replace("@returns", daily_returns(selection))
        .replace("@window", _WINDOW)
    )
    return Fragment(f"({filled})", {**parameters, **moved})


async def get_group_profit(args: GroupArgs, context: ToolContext) -> Table:
    """Return one NAV-weighted, linked TWR per type or strategy and currency.

    A group with an impossible or contradictory day has no figure; the reason names the portfolio.
    """
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context, whole_allowed=True)
    dataset = context.dataset
    source = catalogue_relation(dataset)
    column = "PortfolioType" if args.group_by == "type" else "Strategy"
    days = weighted_days(dataset, selection, period)
    parameters = {**source.parameters, **days.parameters}
    statement = f"""
SELECT kind, currency, sum(day_portfolios_bad) AS bad_days, sum(day_missing) AS missing,
       argMinIf(day_bad_id, d, day_portfolios_bad > 0) AS bad_id, minIf(d, day_portfolios_bad > 0) AS bad_day,
       countIf(isFinite(r)) AS observations, max(day_weighted) AS most_portfolios,
       sum(day_unweighted) AS unweighted, argMinIf(day_unweighted_id, d, day_unweighted > 0) AS unweighted_id,
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
        SELECT c.kind AS kind, if(w.currency = '', c.currency, w.currency) AS currency, w.id AS id, w.d AS d,
               w.x AS x, w.bad AS bad, w.conflict AS conflict, w.weight AS weight, w.unclear AS unclear
        FROM {days.sql} AS w
        INNER JOIN (SELECT InvestmentPortfolioID AS id, {column} AS kind, Currency AS currency FROM {source.sql}) AS c
            ON c.id = w.id
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


GROUP_OPERATIONS = (
    Operation(
        "get_group_profit",
        "One return per type or strategy as a whole, weighted by NAV (group_by: type or strategy).",
        GroupArgs,
        get_group_profit,
        Both("доходность групп", "group returns"),
        ("TWR_dod", "NAV", "Inflow", "PortfolioType"),
    ),
)
