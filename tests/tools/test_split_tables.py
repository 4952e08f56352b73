"""NAV and flows in a second table, outflows stored negative, columns of other names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from pipe.workplaces import workplace_for
from schemas.errors import ConfigError
from schemas.settings import Settings
from tests.conftest import PlanRunner

DAYS = [date(2025, 3, day) for day in (3, 4, 5)]
SPLIT = {
    "TABLE": "Apart.returns", "FLOWS_TABLE": "Apart.money", "CATALOGUE_TABLE": "",
    "COLUMNS": "InvestmentPortfolioID=pid, Dt=day, TWR_dod=ret, NAV=nav, Inflow=cash_in, Outflow=cash_out",
}  # fmt: skip


@pytest.fixture(scope="module")
def apart_dsn(engine: Any, demo_dsn: str) -> Iterator[str]:
    engine.command("DROP DATABASE IF EXISTS Apart")
    engine.command("CREATE DATABASE Apart")
    engine.command(
        "CREATE TABLE Apart.returns (pid UInt32, Portfolio String, PortfolioCode String, PortfolioType String, "
        "Currency String, day Date, ret Float64, nav String) ENGINE = MergeTree ORDER BY (pid, day)"
    )
    engine.command(
        "CREATE TABLE Apart.money (pid UInt32, day DateTime, nav Float64, cash_in Float64, cash_out Float64) "
        "ENGINE = MergeTree ORDER BY (pid, day)"
    )
    engine.command("CREATE TABLE Apart.keyless (nav Float64) ENGINE = MergeTree ORDER BY nav")
    engine.command("CREATE TABLE Apart.poor (InvestmentPortfolioID UInt32, Portfolio String, PortfolioCode String, FirstDt Date, LastDt Date) ENGINE = MergeTree ORDER BY tuple()")
    for i, day in enumerate(DAYS):
        engine.command(f"INSERT INTO Apart.returns VALUES (7, 'Раздельный', 'R7', 'ДУ', 'RUB', '{day}', {i / 100}, 'x')")
        engine.command(f"INSERT INTO Apart.money VALUES (7, '{day} 18:00:00', {100 + i}, {2 * i}, {-i})")
    yield demo_dsn
    engine.command("DROP DATABASE Apart")


async def step(dsn: str, tool: str, operation: str, **args: Any) -> list[dict[str, Any]]:
    settings = Settings(DSN=dsn, **SPLIT)
    run = PlanRunner(await workplace_for(settings), settings)
    answer = await run.step(tool, operation, start_date=str(DAYS[0]), end_date=str(DAYS[-1]), **args)
    assert answer.status == "ok", answer.message
    return answer.tables[0].records()


async def test_money_comes_from_the_second_table_and_outflow_is_positive(apart_dsn: str) -> None:
    (outflow,) = await step(apart_dsn, "cashflow_tool", "get_outflow", portfolio_codes=["R7"])
    (net,) = await step(apart_dsn, "cashflow_tool", "get_net_flow", portfolio_codes=["R7"])
    (nav,) = await step(apart_dsn, "cashflow_tool", "get_nav", portfolio_codes=["R7"])
    assert (outflow["Outflow"], net["NetFlow"], nav["NAV"]) == (3.0, 3.0, 102.0)
    assert (nav["NAVDt"], nav["Currency"]) == (DAYS[-1], "RUB")


async def test_returns_come_from_the_first_table(apart_dsn: str) -> None:
    (total,) = await step(apart_dsn, "profit_tool", "get_profit_of_portfolio", portfolio_codes=["R7"])
    assert total["TWR"] == pytest.approx(1.01 * 1.02 - 1, abs=1e-12)
    (group,) = await step(apart_dsn, "profit_tool", "get_group_profit", portfolio_types=["ДУ"])
    assert group["TWR"] == pytest.approx(1.01 * 1.02 - 1, abs=1e-12)


async def test_one_date_is_one_day(apart_dsn: str) -> None:
    settings = Settings(DSN=apart_dsn, **SPLIT)
    run = PlanRunner(await workplace_for(settings), settings)
    answer = await run.step("cashflow_tool", "get_inflow", portfolio_codes=["R7"], date=str(DAYS[1]))
    assert answer.tables[0].column("Inflow") == [2.0]


async def test_a_second_table_without_keys_is_named(apart_dsn: str) -> None:
    with pytest.raises(ConfigError, match="keyless"):
        await workplace_for(Settings(DSN=apart_dsn, **{**SPLIT, "FLOWS_TABLE": "Apart.keyless"}))


async def test_a_poor_catalogue_is_not_used_and_the_lack_is_told(apart_dsn: str) -> None:
    settings = Settings(DSN=apart_dsn, **{**SPLIT, "CATALOGUE_TABLE": "Apart.poor"})
    place = await workplace_for(settings)
    assert place.dataset.catalogue is None
    assert any("Strategy" in remark.en for remark in place.dataset.remarks)
    run = PlanRunner(place, settings)
    answer = await run.step("cashflow_tool", "get_nav", portfolio_names=["Раздельный"])
    assert answer.tables[0].column("NAV") == [102.0]
