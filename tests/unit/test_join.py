"""Join: full outer on equal keys, nothing repeated, nothing invented."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from pipe.headline import headline
from pipe.join import join_results
from schemas.state import StepResult, dumps
from schemas.table import Column, Table

ID = Column("InvestmentPortfolioID", "integer", role="key")
NAME = Column("Portfolio", "string", role="attribute")
DAY = Column("Dt", "date", role="key")


def money(name: str) -> Column:
    return Column(name, "decimal", "money")


def result(step: str, table: Table, **args: Any) -> StepResult:
    return StepResult(step, "t", args, True, (step,), table)


D1, D2, D3 = date(2025, 1, 1), date(2025, 1, 2), date(2025, 1, 3)


def test_missing_values_stay_empty_and_rows_are_in_order() -> None:
    nav = Table((ID, NAME, DAY, money("NAV")), ((1, "а", D1, Decimal(5)), (1, "а", D3, Decimal(7))))
    flow = Table((ID, NAME, DAY, money("Inflow")), ((1, "а", D2, Decimal(2)), (1, "а", D3, Decimal(0))))

    (table,) = join_results([result("n", nav), result("f", flow)])

    assert table.names == ("InvestmentPortfolioID", "Portfolio", "Dt", "NAV", "Inflow")
    assert table.rows == (
        (1, "а", D1, Decimal(5), None),
        (1, "а", D2, None, Decimal(2)),
        (1, "а", D3, Decimal(7), Decimal(0)),
    )


def test_a_coarser_result_is_a_table_of_its_own() -> None:
    daily = Table((ID, DAY, money("NAV")), ((1, D1, Decimal(5)),))
    total = Table((ID, money("Inflow")), ((1, Decimal(2)),))

    assert [table.names[-1] for table in join_results([result("n", daily), result("f", total)])] == [
        "NAV",
        "Inflow",
    ]


def test_the_same_measure_of_two_periods_says_which() -> None:
    def twr(value: float, year: int) -> Table:
        days = (date(year, 1, 1), date(year, 12, 31))
        return Table((ID, Column("TWR", "number", "fraction")), ((1, value),), days=days)

    (table,) = join_results(
        [
            result("a", twr(0.1, 2023)),
            result("b", twr(0.2, 2024)),
        ]
    )

    assert table.names == ("InvestmentPortfolioID", "TWR (2023)", "TWR (2024)")
    assert table.rows == ((1, 0.1, 0.2),)


def test_repeated_keys_are_never_multiplied() -> None:
    doubled = Table((ID, money("NAV")), ((1, Decimal(5)), (1, Decimal(6))))
    flow = Table((ID, money("Inflow")), ((1, Decimal(2)),))

    tables = join_results([result("n", doubled), result("f", flow)])

    assert sorted(len(table.rows) for table in tables) == [1, 2]


def test_results_that_are_not_shown_are_left_out() -> None:
    table = Table((ID, money("NAV")), ((1, Decimal(5)),))

    assert join_results([StepResult("n", "t", {}, False, ("n",), table)]) == ()


def test_json_is_exact_and_has_no_nan() -> None:
    text = dumps({"д": [Decimal("1234567890123456.78"), D1, float("nan"), 0.1, None, True]})

    assert text == '{"д": [1234567890123456.78, "2025-01-01", null, 0.1, null, true]}'


def test_two_portfolios_of_one_measure_stand_in_one_column() -> None:
    def nav(id_: int, amount: int) -> Table:
        return Table((ID, NAME, DAY, money("NAV")), ((id_, "п", D1, Decimal(amount)),))

    (table,) = join_results([result("a", nav(1, 5)), result("b", nav(2, 6))])

    assert table.names == ("InvestmentPortfolioID", "Portfolio", "Dt", "NAV")
    assert table.column("NAV") == [Decimal(5), Decimal(6)]


def test_different_measures_of_different_periods_say_which() -> None:
    first, second = (date(2025, 1, 1), date(2025, 3, 31)), (date(2025, 4, 1), date(2025, 6, 30))
    inflow = Table((ID, money("Inflow")), ((1, Decimal(5)),), days=first)
    outflow = Table((ID, money("Outflow")), ((1, Decimal(6)),), days=second)
    nav = Table((ID, money("NAV")), ((1, Decimal(7)),), days=(date(2025, 3, 31), date(2025, 3, 31)))

    (table,) = join_results([result("i", inflow), result("o", outflow)])
    assert table.names == (
        "InvestmentPortfolioID", "Inflow (2025-01-01…2025-03-31)", "Outflow (2025-04-01…2025-06-30)",
    )  # fmt: skip

    together = [result("n", nav), result("i", inflow)]
    (table,) = join_results(together)
    assert table.names == ("InvestmentPortfolioID", "NAV", "Inflow")
    assert "01.01.2025–31.03.2025" in headline((table,), together).ru
