"""Data as it is at some manager: other names, changed currencies, holes, contradictions.

The rows stand here; every figure expected is worked out from them by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipe.workplaces import workplace_for
from schemas.errors import ConfigError, PlanError
from schemas.settings import Settings
from schemas.state import Answer
from tests.conftest import PlanRunner
from tests.days import weekdays

TABLE = "OddData.`day rows`"
SETTINGS = {
    "TABLE": "OddData.day rows",
    "CATALOGUE_TABLE": "",
    "COLUMNS": "InvestmentPortfolioID=id, Portfolio=имя портфеля, PortfolioCode=code, PortfolioType=kind, "
    "Currency=ccy, Dt=day, TWR_dod=twr, NAV=nav, Inflow=in, Outflow=out",
}


@dataclass
class Row:
    """One stored row; money is None where nothing is recorded."""

    id: str
    name: str | None
    code: str | None
    kind: str | None
    ccy: str
    day: date
    twr: float | None
    nav: str | None
    into: str | None = None
    out: str | None = None

    def cells(self) -> list[Any]:
        money = [None if item is None else Decimal(item) for item in (self.nav, self.into, self.out)]
        evening = datetime.combine(self.day, time(18, 30))
        return [self.id, self.name, self.code, self.kind, self.ccy, evening, self.twr, *money]


D = weekdays(date(2025, 1, 8), 8)  # 8, 9, 10, 13, 14, 15, 16, 17 January


def rows() -> list[Row]:
    found = [
        # Its currency changes on the fourth day.
        *(
            Row("a-1", "Валютный", "VAL", "ДУ", "RUB" if i < 3 else "USD", day, 0.01, str(100 + i), "10", "1")
            for i, day in enumerate(D)
        ),
        # Days with only inflow or only outflow recorded.
        Row("a-2", "Половинный", "HALF", "ДУ", "RUB", D[0], 0.0, "100", "5", None),
        Row("a-2", "Половинный", "HALF", "ДУ", "RUB", D[1], 0.0, "98", None, "2"),
        Row("a-2", "Половинный", "HALF", "ДУ", "RUB", D[2], 0.0, "98", None, None),
        Row("a-2", "Половинный", "HALF", "ДУ", "RUB", D[3], 0.0, "105", "9", "2"),
        # A group of two: NAV is not recorded on one day, one portfolio has a negative NAV.
        Row("g-1", "Первый", "G1", "Группа", "RUB", D[0], 0.0, "100", "0", "0"),
        Row("g-1", "Первый", "G1", "Группа", "RUB", D[1], 0.10, None, "0", "0"),
        Row("g-1", "Первый", "G1", "Группа", "RUB", D[2], 0.10, "121", "0", "0"),
        Row("g-2", "Второй", "G2", "Группа", "RUB", D[0], 0.0, "300", "0", "0"),
        Row("g-2", "Второй", "G2", "Группа", "RUB", D[1], 0.02, "306", "0", "0"),
        Row("g-2", "Второй", "G2", "Группа", "RUB", D[2], -0.01, "302.94", "0", "0"),
        Row("g-3", "Минус", "G3", "Группа", "RUB", D[0], 0.05, "-50", "0", "0"),
        Row("g-3", "Минус", "G3", "Группа", "RUB", D[1], 0.05, "-50", "0", "0"),
        Row("g-3", "Минус", "G3", "Группа", "RUB", D[2], 0.05, "-50", "0", "0"),
        # NAV contradicts itself before the start and long ago.
        Row("c-1", "Спорный", "C1", "Спор", "RUB", D[0], 0.0, "100", "0", "0"),
        Row("c-1", "Спорный", "C1", "Спор", "RUB", D[0], 0.0, "101", "0", "0"),
        Row("c-1", "Спорный", "C1", "Спор", "RUB", D[1], 0.0, "100", "0", "0"),
        Row("c-1", "Спорный", "C1", "Спор", "RUB", D[2], 0.05, "105", "0", "0"),
        # No return at all; a hole of a month; a code that is a type; a name that is another's code.
        *(Row("n-1", "Пустой", "N1", "Прочее", "RUB", day, None, "1", "0", "0") for day in D),
        Row("h-1", "Дырявый", "H1", "Прочее", "RUB", D[0], 0.01, "1", "0", "0"),
        Row("h-1", "Дырявый", "H1", "Прочее", "RUB", D[0] + timedelta(days=30), 0.02, "1", "0", "0"),
        Row("t-1", "Третий", "Группа", "Прочее", "RUB", D[0], 0.01, "7", "0", "0"),
        Row("t-2", "Alpha", "T2", "Прочее", "RUB", D[0], 0.01, "8", "0", "0"),
        Row("t-3", "Beta", "ALPHA", "Прочее", "RUB", D[0], 0.01, "9", "0", "0"),
        Row("x-1", None, None, None, "RUB", D[0], 0.01, "9", "0", "0"),
        Row("x-2", "total", "X2", "Прочее", "RUB", D[0], 0.01, "9", "0", "0"),
    ]
    # Two hundred days of one portfolio that began in the middle of a year.
    found += [
        Row("y-1", "Молодой", "Y1", "Прочее", "RUB", day, 0.001, "1", "0", "0")
        for day in weekdays(date(2024, 4, 1), 210)
    ]
    return found


@pytest.fixture(scope="module")
def odd_dsn(engine: Any, demo_dsn: str) -> Iterator[str]:
    engine.command("CREATE DATABASE IF NOT EXISTS OddData")
    engine.command(f"DROP TABLE IF EXISTS {TABLE}")
    engine.command(
        f"CREATE TABLE {TABLE} (id String, `имя портфеля` Nullable(String), code Nullable(String), "
        "kind Nullable(String), ccy LowCardinality(String), day DateTime64(3), twr Nullable(Float64), "
        "nav Nullable(Decimal(20, 2)), `in` Nullable(Decimal(20, 2)), out Nullable(Decimal(20, 2))) "
        "ENGINE = MergeTree ORDER BY (id, day)"
    )
    columns = ["id", "имя портфеля", "code", "kind", "ccy", "day", "twr", "nav", "in", "out"]
    engine.insert("`day rows`", [row.cells() for row in rows()], column_names=columns, database="OddData")
    yield demo_dsn
    engine.command("DROP DATABASE OddData")


@pytest.fixture
async def odd(odd_dsn: str) -> PlanRunner:
    settings = Settings(DSN=odd_dsn, **SETTINGS)
    return PlanRunner(await workplace_for(settings), settings)


def record(answer: Answer) -> dict[str, Any]:
    (table,) = answer.tables
    (found,) = table.records()
    return found


def codes(answer: Answer) -> set[str]:
    return {notice.code for notice in answer.notices}


SPAN = {"start_date": "2025-01-08", "end_date": "2025-01-17"}


async def test_a_changed_currency_is_never_summed_across(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_inflow", portfolio_codes=["VAL"], **SPAN)
    (table,) = answer.tables
    assert {(r["Currency"], r["Inflow"]) for r in table.records()} == {("RUB", Decimal(30)), ("USD", Decimal(50))}
    assert "several_currencies" in codes(answer)


async def test_money_of_a_day_has_the_currency_of_its_row(odd: PlanRunner) -> None:
    before = record(await odd.step("cashflow_tool", "get_nav", portfolio_codes=["VAL"], end_date=str(D[2])))
    after = record(await odd.step("cashflow_tool", "get_nav", portfolio_codes=["VAL"], end_date=str(D[3])))
    assert (before["Currency"], after["Currency"]) == ("RUB", "USD")
    by_type = await odd.step("cashflow_tool", "get_nav_by_type", portfolio_codes=["VAL"], end_date=str(D[2]))
    assert record(by_type)["Currency"] == "RUB"


async def test_profit_in_money_is_not_told_across_currencies(odd: PlanRunner) -> None:
    answer = await odd.step(
        "profit_tool", "get_profit_in_money", portfolio_codes=["VAL"], start_date=str(D[1]), end_date=str(D[5])
    )
    assert record(answer)["ProfitInMoney"] is None
    assert "several_currencies" in codes(answer)


async def test_profit_in_money_needs_a_nav_before(odd: PlanRunner) -> None:
    answer = await odd.step("profit_tool", "get_profit_in_money", portfolio_codes=["C1"], **SPAN)
    assert record(answer)["ProfitInMoney"] is None
    assert "no_nav_before" in codes(answer)


async def test_an_old_contradiction_does_not_spoil_later_profit(odd: PlanRunner) -> None:
    good = await odd.step(
        "profit_tool", "get_profit_in_money", portfolio_codes=["C1"], start_date=str(D[2]), end_date=str(D[2])
    )
    assert record(good)["ProfitInMoney"] == Decimal(5)
    bad = await odd.step(
        "profit_tool", "get_profit_in_money", portfolio_codes=["C1"], start_date=str(D[1]), end_date=str(D[2])
    )
    assert record(bad)["ProfitInMoney"] is None
    assert any("08.01.2025" in notice.text.ru for notice in bad.notices if notice.code == "conflicting_rows")


async def test_net_flow_is_inflow_less_outflow_also_where_one_is_not_recorded(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_net_flow", portfolio_codes=["HALF"], **SPAN)
    assert record(answer)["NetFlow"] == Decimal(5 - 2 + 9 - 2)
    assert {"half_known_flow", "missing_values"} <= codes(answer)


async def test_a_group_carries_the_last_nav_and_tells_who_has_no_weight(odd: PlanRunner) -> None:
    answer = await odd.step(
        "profit_tool", "get_group_profit", portfolio_types=["Группа"], start_date=str(D[0]), end_date=str(D[2])
    )
    # The first day has no NAV before it. On the third, the first portfolio still weighs 100.
    second = (100 * 0.10 + 300 * 0.02) / 400
    third = (100 * 0.10 + 306 * -0.01) / 406
    found = record(answer)
    assert found["TWR"] == pytest.approx((1 + second) * (1 + third) - 1, abs=1e-15)
    assert (found["Portfolios"], found["FirstDt"]) == (2, D[1])
    assert "no_weight" in codes(answer)


async def test_a_contradictory_nav_before_the_start_leaves_the_group_without_a_figure(odd: PlanRunner) -> None:
    answer = await odd.step(
        "profit_tool", "get_group_profit", portfolio_types=["Спор"], start_date=str(D[1]), end_date=str(D[2])
    )
    assert record(answer)["TWR"] is None
    assert any("Спорный" in n.text.ru and "09.01.2025" in n.text.ru for n in answer.notices if n.code == "bad_data")


async def test_a_portfolio_without_any_return_keeps_its_row(odd: PlanRunner) -> None:
    answer = await odd.step("profit_tool", "get_profit_of_portfolio", portfolio_codes=["N1", "VAL"], **SPAN)
    (table,) = answer.tables
    by_code = {r["PortfolioCode"]: r for r in table.records()}
    assert (by_code["N1"]["TWR"], by_code["N1"]["Observations"]) == (None, 0)
    assert by_code["VAL"]["TWR"] == pytest.approx(1.01**8 - 1, abs=1e-15)


@pytest.mark.parametrize(
    "operation", ["get_profit_of_portfolio", "get_risk", "get_profit_by_period", "get_annualised_profit"]
)
async def test_a_hole_in_the_data_is_told(odd: PlanRunner, operation: str) -> None:
    answer = await odd.step(
        "profit_tool", operation, portfolio_codes=["H1"], start_date="2025-01-01", end_date="2025-02-28"
    )
    (told,) = [n.text.ru for n in answer.notices if n.code == "gap"]
    assert "с 09.01.2025 по 06.02.2025" in told


async def test_a_hole_is_told_by_day_too(odd: PlanRunner) -> None:
    answer = await odd.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_codes=["H1"], by_date=True,
        start_date="2025-01-01", end_date="2025-02-28",
    )  # fmt: skip
    assert "gap" in codes(answer)


async def test_less_than_a_year_of_rows_is_not_annualised_whatever_was_asked(odd: PlanRunner) -> None:
    answer = await odd.step(
        "profit_tool", "get_annualised_profit", portfolio_codes=["Y1"], start_date="2024-03-28", end_date="2025-03-28"
    )
    found = record(answer)
    assert found["AnnualisedTWR"] is None
    assert found["Days"] == (found["LastDt"] - found["FirstDt"]).days + 1 < 365


async def test_one_day_says_why_it_has_no_volatility(odd: PlanRunner) -> None:
    answer = await odd.step("profit_tool", "get_risk", portfolio_codes=["T2"], **SPAN)
    assert record(answer)["Volatility"] is None
    assert "too_few_days" in codes(answer)


async def test_a_code_is_never_read_as_a_type(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_nav", portfolio_codes=["Группа"], **SPAN)
    assert record(answer)["Portfolio"] == "Третий"


async def test_a_name_that_is_a_type_and_a_code_is_asked_about(odd: PlanRunner) -> None:
    plan = {
        "steps": [
            {
                "id": "a", "tool": "cashflow_tool", "show_data": True,
                "args": {"operation": "get_nav", "portfolio_names": ["Группа"], **SPAN},
            }
        ]
    }  # fmt: skip
    asked = await odd(plan)
    assert asked.status == "clarification"
    assert asked.clarification is not None
    values = [option.value for option in asked.clarification.options]
    assert values == ["type:Группа", "t-1"]
    whole = await odd(plan, Группа="type:Группа")
    assert {r["PortfolioCode"] for r in whole.tables[0].records()} == {"G1", "G2", "G3"}
    one = await odd(plan, Группа="t-1")
    assert record(one)["Portfolio"] == "Третий"


@pytest.mark.parametrize("asked", ["Alpha", "alpha", "ALPHA"])
async def test_case_does_not_decide_between_a_name_and_anothers_code(odd: PlanRunner, asked: str) -> None:
    answer = await odd.step("cashflow_tool", "get_nav", portfolio_names=[asked], **SPAN)
    assert answer.status == "clarification"
    assert answer.clarification is not None
    assert {option.value for option in answer.clarification.options} == {"t-2", "t-3"}


async def test_a_name_nobody_has_fits_no_nameless_or_short_one(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_nav", portfolio_names=["Zzzqqq"], **SPAN)
    assert answer.status == "clarification"
    assert answer.clarification is not None
    assert "не найден" in answer.clarification.question.ru


async def test_null_names_and_codes_do_not_stop_the_search(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_nav", portfolio_names=["Половиный"], **SPAN)
    assert record(answer)["PortfolioCode"] == "HALF"


async def test_two_periods_are_two_columns_and_say_their_days(odd: PlanRunner) -> None:
    def step(name: str, code: str, start: date, end: date) -> dict[str, Any]:
        args = {
            "operation": "get_inflow", "portfolio_codes": [code],
            "start_date": str(start), "end_date": str(end),
        }  # fmt: skip
        return {"id": name, "tool": "cashflow_tool", "args": args, "show_data": True}

    answer = await odd({"steps": [step("c", "VAL", D[0], D[2]), step("d", "HALF", D[0], D[3])]})
    (table,) = answer.tables
    named = [name for name in table.names if name.startswith("Inflow")]
    assert named == ["Inflow (2025-01-08…2025-01-10)", "Inflow (2025-01-08…2025-01-13)"]


async def test_months_and_quarters_do_not_share_a_table(odd: PlanRunner) -> None:
    def step(length: str) -> dict[str, Any]:
        args = {"operation": "get_profit_by_period", "portfolio_codes": ["VAL"], "period": length, **SPAN}
        return {"id": length, "tool": "profit_tool", "args": args, "show_data": True}

    answer = await odd({"steps": [step("month"), step("quarter")]})
    assert [table.column("Period") for table in answer.tables] == [["2025-01", "total"], ["2025-Q1", "total"]]


EMPTY_REFERENCES = [
    {"strategies": "${e.Portfolio}"},
    {"portfolio_types": "${e.PortfolioType}"},
    {"portfolio_names": "${e.PortfolioClientCode}"},
    {"start_date": "${e.FirstDt[0]}"},
]


@pytest.mark.parametrize("args", EMPTY_REFERENCES, ids=str)
async def test_an_empty_reference_never_means_everything(odd: PlanRunner, args: dict[str, Any]) -> None:
    answer = await odd(
        {
            "steps": [
                {
                    "id": "e", "tool": "portfolios_discovery_tool",
                    "args": {"operation": "get_portfolios", "contains": "нет такого"},
                },
                {
                    "id": "r", "tool": "profit_tool", "show_data": True,
                    "args": {"operation": "rank_portfolios", **SPAN, **args},
                },
            ]
        }
    )  # fmt: skip
    assert answer.status == "error"
    assert not answer.tables


async def test_a_list_of_blanks_is_refused_before_anything_runs(odd: PlanRunner) -> None:
    with pytest.raises(PlanError, match="only empty values"):
        await odd.step("profit_tool", "rank_portfolios", portfolio_names=[None, " "], **SPAN)


async def test_references_beside_names_and_ids_lose_nothing(odd: PlanRunner) -> None:
    def plan(**args: Any) -> dict[str, Any]:
        return {
            "steps": [
                {
                    "id": "f", "tool": "portfolios_discovery_tool",
                    "args": {"operation": "get_portfolios", "portfolio": "VAL"},
                },
                {
                    "id": "r", "tool": "cashflow_tool", "show_data": True,
                    "args": {"operation": "get_nav", **SPAN, **args},
                },
            ]
        }  # fmt: skip

    for args in (
        {"portfolio_names": "${f}", "portfolio_ids": ["a-2"]},
        {"portfolio_names": ["${f}", "Половинный"]},
        {"portfolio_ids": ["${f.InvestmentPortfolioID[0]}", "a-2"]},
    ):
        answer = await odd(plan(**args))
        assert {r["PortfolioCode"] for r in answer.tables[0].records()} == {"VAL", "HALF"}, args
    stranger = await odd(plan(portfolio_ids=["a-2", "nobody"]))
    assert stranger.status == "error"
    assert "nobody" in stranger.message.ru


@pytest.mark.parametrize(
    "given",
    ["2025-01-01 - 2025-01-31", "2025-01-10/2025-01-12", "2025-01-310", "2025-01-10abc", "2025-W03", 0, 20250110],
)
async def test_a_date_is_read_whole_or_refused(odd: PlanRunner, given: Any) -> None:
    with pytest.raises(PlanError, match="is not a date"):
        await odd.step("cashflow_tool", "get_inflow", portfolio_codes=["VAL"], start_date=given)


async def test_nav_on_a_day_in_a_year_without_rows_yet(odd: PlanRunner) -> None:
    answer = await odd.step("cashflow_tool", "get_nav", portfolio_codes=["VAL"], end_date="2026-01-05")
    assert record(answer)["NAVDt"] == D[-1]


async def test_a_table_whose_column_cannot_be_what_it_is_said_to_be(odd_dsn: str) -> None:
    for columns in ("NAV=имя портфеля", "Dt=code", "NAV=in, NAV=out"):
        with pytest.raises(ConfigError):
            await workplace_for(Settings(DSN=odd_dsn, **{**SETTINGS, "COLUMNS": f"{SETTINGS['COLUMNS']}, {columns}"}))


async def test_an_empty_list_of_types_is_not_asked_about(odd: PlanRunner, odd_dsn: str) -> None:
    columns = SETTINGS["COLUMNS"].replace("PortfolioType=kind", "PortfolioType=nothing")
    settings = Settings(DSN=odd_dsn, **{**SETTINGS, "COLUMNS": columns})
    run = PlanRunner(await workplace_for(settings), settings)
    answer = await run.step("cashflow_tool", "get_nav", portfolio_types=["ПИФ"], **SPAN)
    assert answer.status == "error"
