"""Bugs that peers had with returns and flows, each kind once: here they do not occur.

The source of each kind stands beside it: a project and its issue or pull request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipe.workplaces import workplace_for
from schemas.settings import Settings
from tests.conftest import PlanRunner
from tests.days import weekdays

pytestmark = pytest.mark.slow

MONDAY = date(2025, 3, 3)


@dataclass(frozen=True)
class Kind:
    """A series, an operation over it, and the cells it must give."""

    name: str
    source: str
    returns: list[float | None]
    operation: str
    expected: dict[str, Any]
    days: list[date] = field(default_factory=list)
    args: dict[str, Any] = field(default_factory=dict)

    def dated(self) -> list[tuple[date, float | None]]:
        return list(zip(self.days or weekdays(MONDAY, len(self.returns)), self.returns, strict=True))


YEAR_AND_A_HALF = [date(2023, 7, 3) + timedelta(days=i) for i in range(575)]
CALENDAR_DAYS = [MONDAY + timedelta(days=i) for i in range(28)]
KINDS = [
    Kind("the growth, not the total, is annualised", "quantstats #1, #3; ghostfolio #585",
         [0.2374, *[0.0] * 574], "get_annualised_profit", {"AnnualisedTWR": 1.2374 ** (365 / 575) - 1, "Days": 575},
         YEAR_AND_A_HALF),
    Kind("days are calendar days of the interval, not rows over 252", "quantstats #291, #355, #458",
         [0.3, *[0.0] * 520, 0.0], "get_annualised_profit", {"AnnualisedTWR": 1.3 ** (365 / 730) - 1, "Days": 730},
         [*weekdays(date(2023, 3, 6), 521), date(2025, 3, 4)],),
    Kind("a short period keeps its sign and is not annualised", "ghostfolio #585, #2823",
         [-0.0124, 0.0], "get_annualised_profit", {"TWR": -0.0124, "AnnualisedTWR": None}),
    Kind("a loss on the first day is a drawdown", "quantstats #438; pyfolio #179",
         [-0.1, 0.05], "get_risk", {"MaxDrawdown": -0.1}),
    Kind("returns above one are not taken for prices", "quantstats PR #541",
         [0.5, 1.2, 0.1], "get_profit_of_portfolio", {"TWR": 2.63}),
    Kind("rows of calendar days are scaled by 365", "quantstats #40, #74; wealthfolio PR #1645",
         [0.01 if i % 2 else -0.01 for i in range(28)], "get_risk",
         {"Volatility": math.sqrt(28 * 0.01**2 / 27) * math.sqrt(365)}, CALENDAR_DAYS),
    Kind("returns are linked, not summed", "pandas-ta #271; quantstats #178",
         [0.5, -0.5, 0.1], "get_profit_of_portfolio", {"TWR": 1.5 * 0.5 * 1.1 - 1}),
    Kind("a missing return is left out, not zero", "zipline PR #1674; PerformanceAnalytics #172",
         [0.01, None, 0.03], "get_mean_profit", {"MeanTWR": 0.02, "Observations": 2}),
    Kind("missing returns do not change the root of a geometric mean", "ffn PR #336",
         [0.01, None, -0.02, 0.03], "get_geometric_mean_profit",
         {"GeometricMeanTWR": (1.01 * 0.98 * 1.03) ** (1 / 3) - 1}),
    Kind("leading missing values do not begin the series", "backtesting.py PR #1346",
         [None, None, 0.1], "get_profit_of_portfolio",
         {"TWR": 0.1, "Observations": 1, "FirstDt": weekdays(MONDAY, 3)[2]}),
    Kind("one missing day does not empty the total", "wealthfolio #1425; ffn #241",
         [0.1, None, 0.1], "get_profit_of_portfolio", {"TWR": 1.1 * 1.1 - 1}),
    Kind("zero days count in a mean", "quantstats avg_return",
         [0.04, 0.0, 0.0, 0.0], "get_mean_profit", {"MeanTWR": 0.01}),
    Kind("a total loss is −100 % and stays so", "Portfolio Performance #423, #372",
         [0.02, -1.0, 0.5], "get_profit_of_portfolio", {"TWR": -1.0}),
    Kind("a constant return has no volatility and no NaN", "ClickHouse #8688",
         [0.01] * 20, "get_risk", {"Volatility": 0.0, "MaxDrawdown": 0.0}),
    Kind("NaN does not swallow minimum and maximum", "ClickHouse #79776",
         [math.nan, 0.02, -0.01], "get_risk", {"MaxDrawdown": -0.01, "Observations": 2}),
]  # fmt: skip


@pytest.fixture(scope="module")
def bugs_dsn(engine: Any, demo_dsn: str) -> Iterator[str]:
    engine.command("DROP DATABASE IF EXISTS Bugs")
    engine.command("CREATE DATABASE Bugs")
    engine.command(
        "CREATE TABLE Bugs.series (InvestmentPortfolioID UInt64, Portfolio String, PortfolioCode String, "
        "PortfolioType String, Currency String, Dt Date, TWR_dod Nullable(Float64), NAV Nullable(Decimal(18, 2)), "
        "Inflow Decimal(18, 2), Outflow Decimal(18, 2)) ENGINE = MergeTree ORDER BY (InvestmentPortfolioID, Dt)"
    )
    rows: list[list[Any]] = []
    for number, kind in enumerate(KINDS, 1):
        rows += [
            [number, f"Ряд {number}", f"K{number}", "Ряды", "RUB", day, value, None, 0, 0]
            for day, value in kind.dated()
        ]
    one, two, three = weekdays(MONDAY, 3)
    # A deposit is no gain; a missing NAV is no zero; two portfolios bear one name.
    rows += [
        [101, "Взнос", "F1", "Потоки", "RUB", one, 0.0, Decimal(100), 0, 0],
        [101, "Взнос", "F1", "Потоки", "RUB", two, 0.02, Decimal(153), Decimal(50), 0],
        [101, "Взнос", "F1", "Потоки", "RUB", three, 0.0, None, 0, 0],
        [102, "Тёзка", "N1", "Тёзки", "RUB", one, 0.1, Decimal(1), 0, 0],
        [103, "Тёзка", "N2", "Тёзки", "RUB", one, 0.1, Decimal(1), 0, 0],
        # A group: one of the two takes a large deposit, which is no return of the group.
        [104, "Большой", "G1", "Группа", "RUB", one, 0.0, Decimal(100), 0, 0],
        [104, "Большой", "G1", "Группа", "RUB", two, 0.1, Decimal(110), 0, 0],
        [104, "Большой", "G1", "Группа", "RUB", three, -0.1, Decimal(99), 0, 0],
        [105, "Взнос в группе", "G2", "Группа", "RUB", one, 0.0, Decimal(900), 0, 0],
        [105, "Взнос в группе", "G2", "Группа", "RUB", two, -0.01, Decimal(891), 0, 0],
        [105, "Взнос в группе", "G2", "Группа", "RUB", three, 0.05, Decimal("1985.55"), Decimal(1000), 0],
        # Three months with the middle one empty.
        [106, "Дыра", "H1", "Дыры", "RUB", date(2025, 1, 31), 0.1, None, 0, 0],
        [106, "Дыра", "H1", "Дыры", "RUB", date(2025, 3, 31), 0.2, None, 0, 0],
    ]
    columns = [
        "InvestmentPortfolioID", "Portfolio", "PortfolioCode", "PortfolioType", "Currency", "Dt", "TWR_dod",
        "NAV", "Inflow", "Outflow",
    ]  # fmt: skip
    engine.insert("series", rows, database="Bugs", column_names=columns)
    yield demo_dsn
    engine.command("DROP DATABASE Bugs")


@pytest.fixture
async def bugs(bugs_dsn: str) -> PlanRunner:
    settings = Settings(DSN=bugs_dsn, TABLE="Bugs.series", CATALOGUE_TABLE="")
    return PlanRunner(await workplace_for(settings), settings)


@pytest.mark.parametrize("number", range(1, len(KINDS) + 1), ids=[kind.name for kind in KINDS])
async def test_a_kind_of_bug_does_not_occur(bugs: PlanRunner, number: int) -> None:
    kind = KINDS[number - 1]
    days = [day for day, _value in kind.dated()]
    answer = await bugs.step(
        "profit_tool", kind.operation, portfolio_codes=[f"K{number}"],
        start_date=str(days[0]), end_date=str(days[-1]), **kind.args,
    )  # fmt: skip
    (record,) = answer.tables[0].records()
    for name, wanted in kind.expected.items():
        exact = pytest.approx(wanted, abs=1e-12) if isinstance(wanted, float) else wanted
        assert record[name] == exact, (name, kind.source)


async def test_a_deposit_is_no_gain(bugs: PlanRunner) -> None:
    """Portfolio Performance #30: a transfer counted as performance."""
    one, two, _three = weekdays(MONDAY, 3)
    answer = await bugs.step(
        "profit_tool", "get_profit_in_money", portfolio_codes=["F1"], start_date=str(two), end_date=str(two)
    )
    (record,) = answer.tables[0].records()
    assert record["ProfitInMoney"] == Decimal(3)
    assert record["NAVBeforeDt"] == one


async def test_a_missing_nav_is_not_zero(bugs: PlanRunner) -> None:
    """Portfolio Performance #278; a LEFT JOIN in ClickHouse gives 0 for an absent row."""
    one, _two, three = weekdays(MONDAY, 3)
    answer = await bugs.step(
        "cashflow_tool", "get_nav", portfolio_codes=["F1"], by_date=True, start_date=str(one), end_date=str(three)
    )
    assert answer.tables[0].column("NAV") == [Decimal(100), Decimal(153), None]


async def test_namesakes_are_not_one_portfolio(bugs: PlanRunner) -> None:
    """Grouping by name links the returns of two portfolios: 1.1 · 1.1."""
    day = weekdays(MONDAY, 1)[0]
    answer = await bugs.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_types=["Тёзки"], start_date=str(day), end_date=str(day)
    )
    records = answer.tables[0].records()
    assert [(r["PortfolioCode"], r["TWR"]) for r in records] == [
        ("N1", pytest.approx(0.1, abs=1e-12)),
        ("N2", pytest.approx(0.1, abs=1e-12)),
    ]


async def test_a_deposit_into_one_of_a_group_is_no_return_of_the_group(bugs: PlanRunner) -> None:
    """wealthfolio #1414; GIPS 2020, 2.A.36: weights are the values before plus the flow."""
    _one, two, three = weekdays(MONDAY, 3)
    answer = await bugs.step(
        "profit_tool", "get_group_profit", portfolio_types=["Группа"], start_date=str(two), end_date=str(three)
    )
    (record,) = answer.tables[0].records()
    first = (100 * 0.1 - 900 * 0.01) / 1000
    second = (110 * -0.1 + (891 + 1000) * 0.05) / (110 + 891 + 1000)
    assert record["TWR"] == pytest.approx((1 + first) * (1 + second) - 1, abs=1e-12)


async def test_an_empty_month_is_neither_a_row_nor_silent(bugs: PlanRunner) -> None:
    """ffn #1, #64: the last month lost, a month missing; #86: months added instead of linked."""
    answer = await bugs.step(
        "profit_tool", "get_profit_by_period", portfolio_codes=["H1"], period="month",
        start_date="2025-01-01", end_date="2025-03-31",
    )  # fmt: skip
    rows = {record["Period"]: record["TWR"] for record in answer.tables[0].records()}
    assert list(rows) == ["2025-01", "2025-03", "total"]
    assert rows["total"] == pytest.approx(1.1 * 1.2 - 1, abs=1e-12)
    assert "gap" in {notice.code for notice in answer.notices}


async def test_daily_and_running_returns_are_told_apart(bugs: PlanRunner) -> None:
    """zipline #2103: cumulative returns under the title of daily ones; rebasing is by division."""
    days = weekdays(MONDAY, 3)
    answer = await bugs.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_codes=["K7"], by_date=True,
        start_date=str(days[0]), end_date=str(days[-1]),
    )  # fmt: skip
    (table,) = answer.tables
    assert table.column("TWR_dod") == [0.5, -0.5, 0.1]
    assert table.column("TWR_running") == [
        pytest.approx(value, abs=1e-12) for value in (0.5, 1.5 * 0.5 - 1, 1.5 * 0.5 * 1.1 - 1)
    ]
