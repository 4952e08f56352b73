"""NAV and flows as SQL: one row per portfolio and day.

Money keeps the column's own type, so Decimal sums are exact. A day that stands twice with the
same amounts counts once; a day with different amounts or currencies has no amount and is told.
The currency is that of the day's row where the table has one, so that a portfolio that changed
its currency is never summed across the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.dataset import Dataset
from schemas.language import Both
from schemas.periods import Period
from schemas.portfolio import Portfolio
from schemas.table import Column, Notice
from tools.returns import called
from tools.selection import Selection

MONEY_LABELS = {
    "NAV": Both("СЧА", "NAV"),
    "Inflow": Both("Приток", "Inflow"),
    "Outflow": Both("Отток", "Outflow"),
    "NetFlow": Both("Чистый приток", "Net flow"),
    "ProfitInMoney": Both("Прибыль", "Profit"),
}

# @low and @high fold the rows of one day; they are equal unless the rows contradict each other.
_DAILY_MONEY = """
SELECT id, d, currency, half, copies > 1 AS doubled,
       ifNull(low != high, 0) OR (nulls > 0 AND nulls < copies) OR mixed AS conflict,
       if(conflict, NULL, low) AS amount
FROM (
    SELECT f.{c_id:Identifier} AS id, toDate(f.{c_dt:Identifier}) AS d, count() AS copies,
           any(@currency) AS currency, max(@half) AS half,
           min(cityHash64(@currency)) != max(cityHash64(@currency)) AS mixed,
           countIf(isNull(@money)) AS nulls, min(@money) AS low, max(@money) AS high
    FROM {t_db:Identifier}.{t_name:Identifier} AS f
    WHERE @condition AND @days
    GROUP BY id, d
)
"""
IN_PERIOD = "f.{c_dt:Identifier} >= {start:Date} AND f.{c_dt:Identifier} < {end:Date} + 1"
UP_TO_END = "f.{c_dt:Identifier} < {end:Date} + 1"
BEFORE_START = "f.{c_dt:Identifier} < {start:Date}"

FLOW_QUALITY = """
    count(amount) AS observations,
    countIf(isNull(amount) AND NOT conflict) AS missing,
    countIf(doubled AND NOT conflict) AS doubled_days,
    countIf(half AND NOT conflict) AS half_days,
    countIf(conflict) AS conflict_days, minIf(d, conflict) AS conflict_day,
    min(d) AS first_day, max(d) AS last_day
"""


def money_expression(dataset: Dataset, column: str) -> str:
    """Return the SQL of one money amount of a row; outflows come out positive."""
    if column == "NetFlow":
        # A day with only one of the two recorded has no other flow; both unknown is unknown.
        into, out = money_expression(dataset, "Inflow"), money_expression(dataset, "Outflow")
        return f"if(isNull({into}) AND isNull({out}), NULL, ifNull({into}, 0) - ifNull({out}, 0))"
    place = f"f.{{c_{column}:Identifier}}"
    if dataset.types.get(column, "").startswith("Float"):
        place = f"if(isFinite({place}), {place}, NULL)"
    if column == "Outflow" and dataset.outflow_negative:
        return f"(-{place})"
    return place


def currency_expression(dataset: Dataset) -> str:
    """Return the SQL of the currency of a row, '' where the table has none."""
    if "Currency" not in dataset.money_columns:
        return "''"
    return "ifNull(toString(f.{c_Currency:Identifier}), '')"


def _half_known(dataset: Dataset) -> str:
    into, out = money_expression(dataset, "Inflow"), money_expression(dataset, "Outflow")
    return f"isNull({into}) != isNull({out})"


def daily_money(dataset: Dataset, selection: Selection, column: str, days: str) -> str:
    """Return the subquery of one amount per portfolio and day, in parentheses.

    Columns: id, d, currency ('' where the table has none), half (net flow of a day with only one
    of inflow and outflow recorded), doubled, conflict, amount.
    """
    statement = (
        _DAILY_MONEY.replace("@money", money_expression(dataset, column))
        .replace("@half", _half_known(dataset) if column == "NetFlow" else "0")
        .replace("@currency", currency_expression(dataset))
        .replace("@condition", selection.condition)
        .replace("@days", days)
    )
    return "(" + statement + ")"


def money_parameters(dataset: Dataset, selection: Selection, period: Period) -> dict[str, Any]:
    """Return the parameters `daily_money` needs, for any column."""
    columns = {
        f"c_{name}": dataset.money_columns[name]
        for name in ("NAV", "Inflow", "Outflow", "Currency")
        if name in dataset.money_columns
    }
    return {
        **selection.parameters,
        **columns,
        "c_id": dataset.money_columns["InvestmentPortfolioID"],
        "c_dt": dataset.money_columns["Dt"],
        "t_db": dataset.money_table.database,
        "t_name": dataset.money_table.name,
        "start": period.start.isoformat(),
        "end": period.end.isoformat(),
    }


def money_column(name: str) -> Column:
    """Return the column of one amount."""
    return Column(name, "decimal", "money", label=MONEY_LABELS[name])


def currencies_notice(portfolio: Portfolio | None, id_: Any, currencies: Iterable[str]) -> Notice:
    """Return the notice that a portfolio's amounts are in more than one currency."""
    listed = ", ".join(sorted(currencies))
    who = called(portfolio, id_)
    return Notice(
        "several_currencies",
        Both(
            f"{who}: за эти дни суммы записаны в разных валютах ({listed}), они не складываются.",
            f"{who}: amounts of these days are in several currencies ({listed}); they are not added.",
        ),
    )


def money_notices(row: Mapping[str, Any], portfolio: Portfolio | None, name: str) -> list[Notice]:
    """Return what must be said about the days behind one amount.

    `row` has conflict_days and conflict_day, doubled_days, missing, and half_days for net flows.
    """
    who = called(portfolio, row["id"])
    what = MONEY_LABELS[name]
    notices: list[Notice] = []
    if row["conflict_days"]:
        notices.append(
            Notice(
                "conflicting_rows",
                Both(
                    f"{who}, {what.ru}: за {row['conflict_day']:%d.%m.%Y} есть разные строки, "
                    f"выбрать между ними нельзя. Таких дней: {row['conflict_days']}.",
                    f"{who}, {what.en}: different rows for {row['conflict_day']}; none is chosen "
                    f"silently. Such days: {row['conflict_days']}.",
                ),
            )
        )
    if row["doubled_days"]:
        notices.append(
            Notice(
                "duplicate_rows",
                Both(
                    f"{who}, {what.ru}: одна и та же сумма записана повторно, дней: "
                    f"{row['doubled_days']}; каждый день учтён один раз.",
                    f"{who}, {what.en}: the same amount is stored more than once on "
                    f"{row['doubled_days']} day(s); each day counts once.",
                ),
            )
        )
    if row.get("half_days"):
        notices.append(
            Notice(
                "half_known_flow",
                Both(
                    f"{who}: за {row['half_days']} дн. записан только приток или только отток, "
                    "другой принят за ноль.",
                    f"{who}: on {row['half_days']} day(s) only inflow or only outflow is recorded; "
                    "the other counts as zero.",
                ),
            )
        )
    if row["missing"]:
        notices.append(
            Notice(
                "missing_values",
                Both(
                    f"{who}, {what.ru}: нет значения за {row['missing']} дн.",
                    f"{who}, {what.en}: no value on {row['missing']} day(s).",
                ),
            )
        )
    return notices
