"""Daily returns as SQL: one row per portfolio and day, with everything that is wrong about it.

Formulas: total return is the product of (1 + x) less 1 (GIPS 2020, 2.A.24.f), computed as
2·sinh(S/2)·exp(S/2) with S the Kahan sum of log1p(x), which keeps 1e-16 near zero.
A day that stands twice with the same return counts once; a day with two different returns has
no return; a return below −1 or infinite makes the total impossible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from schemas.dataset import Dataset
from schemas.language import Both
from schemas.periods import Period
from schemas.portfolio import Portfolio, PortfolioId
from schemas.table import Column, Notice
from tools.context import ToolContext
from tools.selection import Selection

# A row of a reply, by column.
Row = Mapping[str, Any]

# f.… places are bound identifiers; {condition} is written by tools.selection, never by a model.
_DAILY = """
SELECT id, d, copies > 1 AS doubled,
       ifNull(low != high, 0) OR (nulls > 0 AND nulls < copies) AS conflict,
       if(conflict, NULL, low) AS x, low, high,
       ifNull(low < -1 OR isInfinite(low) OR isInfinite(high), 0) AS bad
FROM (
    SELECT id, d, count() AS copies, countIf(isNull(r)) AS nulls, min(r) AS low, max(r) AS high
    FROM (
        SELECT f.{c_id:Identifier} AS id, toDate(f.{c_dt:Identifier}) AS d,
               toFloat64(f.{c_twr:Identifier}) AS raw, if(isNaN(raw), NULL, raw) AS r
        FROM {t_db:Identifier}.{t_name:Identifier} AS f
        WHERE @condition AND f.{c_dt:Identifier} >= {start:Date}
          AND f.{c_dt:Identifier} < {end:Date} + 1
    )
    GROUP BY id, d
)
"""

# Over rows of _DAILY. `logs` is -inf with a total loss, hence the separate count.
QUALITY = """
    count(x) AS observations,
    countIf(isNull(x) AND NOT conflict) AS missing,
    countIf(doubled AND NOT conflict) AS doubled_days,
    countIf(conflict) AS conflict_days, minIf(d, conflict) AS conflict_day,
    argMinIf(low, d, conflict) AS conflict_low, argMinIf(high, d, conflict) AS conflict_high,
    countIf(bad) AS bad_days, minIf(d, bad) AS bad_day, argMinIf(low, d, bad) AS bad_value,
    minIf(d, isNotNull(x)) AS first_day, maxIf(d, isNotNull(x)) AS last_day
"""
# A pause longer than the longest holidays is told. Days are numbers of days since 1970-01-01.
LONGEST_PAUSE_DAYS = 11
_EPOCH = date(1970, 1, 1).toordinal()
GAPS = """
    arraySort(groupArrayIf(toInt32(d), isNotNull(x))) AS day_numbers,
    arrayDifference(day_numbers) AS pauses, arrayMax(pauses) AS gap,
    day_numbers[indexOf(pauses, gap) - 1] AS gap_start
"""
USABLE = "(observations > 0 AND bad_days = 0 AND conflict_days = 0)"
TOTAL_RETURN = f"""
    sumKahanIf(log1p(x), x > -1) AS logs,
    if({USABLE}, if(countIf(x = -1) > 0, -1, 2 * sinh(logs / 2) * exp(logs / 2)), NULL) AS TWR
"""

PORTFOLIO_COLUMNS = (
    Column("InvestmentPortfolioID", "integer", role="key", label=Both("ID портфеля", "Portfolio ID")),
    Column("Portfolio", "string", role="attribute", label=Both("Портфель", "Portfolio")),
    Column("PortfolioCode", "string", role="attribute", label=Both("Код", "Code")),
)
CURRENCY_COLUMN = Column("Currency", "string", role="attribute", label=Both("Валюта", "Currency"))
OBSERVATIONS = Column(
    "Observations", "integer", "count", "detail", Both("Дней с данными", "Days with data")
)
FIRST_DAY = Column("FirstDt", "date", role="detail", label=Both("Первый день", "First day"))
LAST_DAY = Column("LastDt", "date", role="detail", label=Both("Последний день", "Last day"))


def daily_returns(selection: Selection) -> str:
    """Return the subquery of daily returns for a selection, in parentheses."""
    return "(" + _DAILY.replace("@condition", selection.condition) + ")"


def return_parameters(
    dataset: Dataset, selection: Selection, period: Period
) -> dict[str, Any]:
    """Return the parameters `daily_returns` needs."""
    return {
        **selection.parameters,
        "c_id": dataset.columns["InvestmentPortfolioID"],
        "c_dt": dataset.columns["Dt"],
        "c_twr": dataset.columns["TWR_dod"],
        "t_db": dataset.table.database,
        "t_name": dataset.table.name,
        "start": period.start.isoformat(),
        "end": period.end.isoformat(),
    }


def by_portfolio(rows: Iterable[dict[str, Any]]) -> dict[PortfolioId, list[dict[str, Any]]]:
    """Return the rows of each portfolio, in their order."""
    found: dict[PortfolioId, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row)
    return found


def identity(portfolio: Portfolio | None, id_: PortfolioId) -> tuple[Any, ...]:
    """Return id, name and code for a row of a result."""
    if portfolio is None:
        return (id_, "", "")
    return (id_, portfolio.name, portfolio.code)


def called(portfolio: Portfolio | None, id_: PortfolioId) -> str:
    """Return how a notice names a portfolio: name and code."""
    if portfolio is None:
        return str(id_)
    return f"{portfolio.name} ({portfolio.code})" if portfolio.code else portfolio.name


def quality_notices(
    row: Mapping[str, Any], portfolio: Portfolio | None, period: Period, context: ToolContext
) -> list[Notice]:
    """Return what must be said about the days behind one figure."""
    name = called(portfolio, row["id"])
    notices: list[Notice] = []
    if row["bad_days"]:
        notices.append(
            Notice(
                "bad_data",
                Both(
                    f"{name}: {row['bad_day']:%d.%m.%Y} записана невозможная доходность "
                    f"{row['bad_value']:g} (ниже −100 % или бесконечная), поэтому цифры нет.",
                    f"{name}: an impossible return {row['bad_value']:g} is stored on "
                    f"{row['bad_day']} (below −100 % or infinite), so there is no figure.",
                ),
            )
        )
    if row["conflict_days"]:
        notices.append(
            Notice(
                "conflicting_rows",
                Both(
                    f"{name}: за {row['conflict_day']:%d.%m.%Y} есть разные строки "
                    f"({_shown(row['conflict_low'])} и {_shown(row['conflict_high'])}), выбрать "
                    f"между ними нельзя. Таких дней: {row['conflict_days']}.",
                    f"{name}: different rows for {row['conflict_day']} "
                    f"({_shown(row['conflict_low'])} and {_shown(row['conflict_high'])}); none is "
                    f"chosen silently. Such days: {row['conflict_days']}.",
                ),
            )
        )
    if row["doubled_days"]:
        notices.append(
            Notice(
                "duplicate_rows",
                Both(
                    f"{name}: одна и та же доходность записана повторно, дней: "
                    f"{row['doubled_days']}; каждый день учтён один раз.",
                    f"{name}: the same return is stored more than once on {row['doubled_days']} "
                    "day(s); each day counts once.",
                ),
            )
        )
    if row["missing"]:
        notices.append(
            Notice(
                "missing_values",
                Both(
                    f"{name}: без доходности {row['missing']} дн., они не учтены.",
                    f"{name}: {row['missing']} day(s) have no return and are left out.",
                ),
            )
        )
    if row.get("gap") and row["gap"] > LONGEST_PAUSE_DAYS:
        first = date.fromordinal(_EPOCH + row["gap_start"] + 1)
        last = date.fromordinal(_EPOCH + row["gap_start"] + row["gap"] - 1)
        notices.append(
            Notice(
                "gap",
                Both(
                    f"{name}: нет ни одного дня с доходностью с {first:%d.%m.%Y} по {last:%d.%m.%Y}.",
                    f"{name}: no day with a return from {first} to {last}.",
                ),
            )
        )
    return notices + life_notices([portfolio] if portfolio else [], period, context)


def life_notices(
    portfolios: Iterable[Portfolio], period: Period, context: ToolContext
) -> list[Notice]:
    """Return notices on portfolios that began after the period's start or ended before its end."""
    notices: list[Notice] = []
    end = period.end if context.last_day is None else min(period.end, context.last_day)
    for item in portfolios:
        late = item.first_day if item.first_day and item.first_day > period.start else None
        early = item.last_day if item.last_day and item.last_day < _last_workday(end) else None
        if late is None and early is None:
            continue
        ru = [f"начинаются {late:%d.%m.%Y}" if late else "", f"заканчиваются {early:%d.%m.%Y}" if early else ""]
        en = [f"begins on {late}" if late else "", f"ends on {early}" if early else ""]
        name = called(item, item.id)
        notices.append(
            Notice(
                "effective_days",
                Both(
                    f"{name}: данные {' и '.join(part for part in ru if part)}.",
                    f"{name}: data {' and '.join(part for part in en if part)}.",
                ),
            )
        )
    return notices


def absent_notices(
    selection: Selection, rows: Iterable[Row], period: Period
) -> list[Notice]:
    """Return a notice for each portfolio that was named and has no row in the period."""
    present = {row["id"] for row in rows}
    return [
        _no_data_notice(item, period) for item in selection.portfolios if item.id not in present
    ]


def _no_data_notice(portfolio: Portfolio, period: Period) -> Notice:
    known = portfolio.last_day
    tail = (
        (f" Последний день с данными — {known:%d.%m.%Y}.", f" The last day with data is {known}.")
        if known
        else ("", "")
    )
    return Notice(
        "no_data",
        Both(
            f"{called(portfolio, portfolio.id)}: нет данных за "
            f"{period.start:%d.%m.%Y}–{period.end:%d.%m.%Y}.{tail[0]}",
            f"{called(portfolio, portfolio.id)}: no data for {period.start}…{period.end}.{tail[1]}",
        ),
    )


def _last_workday(day: date) -> date:
    return date.fromordinal(day.toordinal() - max(0, day.weekday() - 4))


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:g}"
