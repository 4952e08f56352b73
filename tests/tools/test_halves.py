"""Every operation over a table that lies in two pieces gives what it gives over one.

A Merge table of two halves stands for a Distributed one, which needs servers of its own: both
hand the statement to the pieces and put the pieces' states together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from demo import data
from pipe.workplaces import workplace_for
from schemas.settings import Settings
from schemas.table import Table
from tests.conftest import PlanRunner

pytestmark = pytest.mark.slow

YEAR = {"start_date": "2024-01-01", "end_date": "2024-12-31"}
ONE = {"portfolio_codes": ["DU-000104"]}
TYPES = {"portfolio_types": ["ДУ", "ПИФ"]}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("profit_tool", "get_profit_of_portfolio", {**TYPES, **YEAR}),
    ("profit_tool", "get_profit_of_portfolio", {**ONE, **YEAR, "by_date": True}),
    ("profit_tool", "get_mean_profit", {**TYPES, **YEAR}),
    ("profit_tool", "get_geometric_mean_profit", {**TYPES, **YEAR}),
    ("profit_tool", "get_profit_by_period", {**TYPES, **YEAR, "period": "quarter"}),
    ("profit_tool", "get_annualised_profit", {**TYPES, **YEAR}),
    ("profit_tool", "get_risk", {**TYPES, **YEAR}),
    ("profit_tool", "rank_portfolios", YEAR),
    ("profit_tool", "get_group_profit", YEAR),
    ("profit_tool", "get_group_profit", {**YEAR, "group_by": "strategy"}),
    ("profit_tool", "get_profit_in_money", {**TYPES, **YEAR}),
    ("cashflow_tool", "get_nav", {**TYPES, "end_date": "2024-12-31"}),
    ("cashflow_tool", "get_nav", {**ONE, **YEAR, "period": "month"}),
    ("cashflow_tool", "get_inflow", {**TYPES, **YEAR}),
    ("cashflow_tool", "get_outflow", {**ONE, **YEAR, "by_date": True}),
    ("cashflow_tool", "get_net_flow", {**TYPES, **YEAR, "period": "year"}),
    ("cashflow_tool", "get_nav_by_type", {"end_date": "2024-12-31"}),
    ("portfolios_discovery_tool", "get_portfolios", {}),
    ("portfolios_discovery_tool", "get_portfolios", {"portfolio": "Меридиан Облигации USD"}),
    ("portfolios_discovery_tool", "get_portfolios_type", {}),
    ("portfolios_discovery_tool", "get_strategies", {}),
    ("portfolios_discovery_tool", "get_portfolio_attributes", TYPES),
    ("portfolios_discovery_tool", "get_portfolios_by_type", TYPES),
    (
        "clickhouse_client_base",
        "run_select_query",
        {"query": "SELECT PortfolioType, count() AS n, sum(Inflow) AS s FROM @table GROUP BY 1 ORDER BY 1"},
    ),
]


@pytest.fixture(scope="module")
def halves_dsn(engine: Any, demo_dsn: str) -> Iterator[str]:
    engine.command("DROP DATABASE IF EXISTS Halves")
    engine.command("CREATE DATABASE Halves")
    for number in (0, 1):
        engine.command(f"CREATE TABLE Halves.half_{number} AS {data.TABLE}")
        engine.command(
            f"INSERT INTO Halves.half_{number} SELECT * FROM {data.TABLE} "
            f"WHERE InvestmentPortfolioID % 2 = {number}"
        )
    engine.command(f"CREATE TABLE Halves.whole AS {data.TABLE} ENGINE = Merge('Halves', '^half_')")
    yield demo_dsn
    engine.command("DROP DATABASE Halves")


async def shown(settings: Settings, tool: str, operation: str, args: dict[str, Any]) -> list[Table]:
    run = PlanRunner(await workplace_for(settings), settings)
    answer = await run.step(tool, operation, **args)
    assert answer.status == "ok", answer.message
    return list(answer.tables)


@pytest.mark.parametrize(
    ("tool", "operation", "args"), CASES, ids=[f"{case[1]} {number}" for number, case in enumerate(CASES)]
)
async def test_two_halves_are_the_whole(
    halves_dsn: str, tool: str, operation: str, args: dict[str, Any]
) -> None:
    def of(table: str) -> dict[str, Any]:
        return {key: value.replace("@table", table) if key == "query" else value for key, value in args.items()}

    whole = await shown(Settings(DSN=halves_dsn, CATALOGUE_TABLE=""), tool, operation, of(data.TABLE))
    halves = await shown(
        Settings(DSN=halves_dsn, CATALOGUE_TABLE="", TABLE="Halves.whole"), tool, operation, of("Halves.whole")
    )
    assert len(whole) == len(halves) >= 1
    for one, other in zip(whole, halves, strict=True):
        assert one.names == other.names
        assert len(one.rows) == len(other.rows) > 0
        for row, same in zip(one.rows, other.rows, strict=True):
            assert list(row) == [pytest.approx(cell, rel=1e-13) if isinstance(cell, float) else cell for cell in same]
        assert one.notices == other.notices
