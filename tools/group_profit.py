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
from schemas.table import Column, Notice, Table
from tools.catalogue import catalogue_relation
from tools.context import ToolContext
from tools.flows import (
    IN_PERIOD,
    daily_money,
    money_parameters,
)
from tools.registry import Operation
from tools.returns import (
    called,
    daily_returns,
    return_parameters,
)
from tools.selection import PeriodArgs, Selection, period_of, select_portfolios


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


def _weights(dataset: Dataset, selection: Selection) -> str:
    """Return the subquery id, d, currency, unclear, weight: last NAV before the day plus its inflow.

    Without a NAV before, the weight is zero: the row is left out and told. `unclear` means that
    the NAV or the inflow has contradictory rows.
    """
    nav = daily_money(dataset, selection, "NAV", _WITH_DAYS_BEFORE)
    inflow = daily_money(dataset, selection, "Inflow", IN_PERIOD)
    return f"""(
SELECT n.id AS id, n.d AS d, n.currency AS currency, n.contradicted OR i.conflict AS unclear,
       if(isNull(n.before), 0, toFloat64(n.before) + toFloat64(ifNull(i.amount, 0))) AS weight
FROM (
    SELECT id, d, currency, anyLast(toNullable(amount)) OVER earlier AS before,
           ifNull(anyLast(if(isNull(amount) AND NOT conflict, NULL, conflict)) OVER earlier, 0) AS contradicted
    FROM {nav}
    WINDOW earlier AS (PARTITION BY id ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS n
LEFT JOIN (SELECT id, d, amount, conflict FROM {inflow}) AS i ON i.id = n.id AND i.d = n.d
WHERE n.d >= {{start:Date}}
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
        SELECT c.kind AS kind, if(w.currency = '', c.currency, w.currency) AS currency, r.id AS id, r.d AS d, r.x AS x,
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
