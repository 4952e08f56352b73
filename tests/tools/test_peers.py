"""Our figures beside empyrical's on the same real series, and where we differ on purpose.

The demo portfolios are mixed from real daily series. Where a peer is right we agree to 1e-12;
where it is not, a test says why we differ.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from demo import data
from pipe.workplaces import workplace_for
from schemas.settings import Settings
from tests.conftest import PlanRunner

pytestmark = pytest.mark.slow

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    empyrical = pytest.importorskip("empyrical")
    import pandas as pd

CASES = json.loads((Path(__file__).parents[1] / "data" / "returns.json").read_text(encoding="utf-8"))
CLEAN = (101, 104, 105, 106, 201, 203, 206, 208, 211, 301)
WINDOWS = (("2018-01-09", "2025-12-10"), ("2020-01-01", "2022-12-31"), ("2024-01-01", "2024-12-31"))
TABLE = "Peers.series"


@pytest.fixture(scope="module")
def real(engine: Any) -> dict[int, Any]:
    """Daily returns by portfolio, as the peers take them."""
    rows = engine.query(
        f"SELECT InvestmentPortfolioID, Dt, TWR_dod FROM {data.TABLE} "
        f"WHERE InvestmentPortfolioID IN {CLEAN} ORDER BY InvestmentPortfolioID, Dt"
    ).result_rows
    found: dict[int, dict[Any, float]] = {}
    for number, day, value in rows:
        found.setdefault(number, {})[pd.Timestamp(day)] = value
    return {number: pd.Series(series) for number, series in found.items()}


async def figures(run: PlanRunner, operation: str, start: str, end: str, **args: Any) -> list[dict[str, Any]]:
    answer = await run.step(
        "profit_tool", operation, start_date=start, end_date=end, portfolio_ids=list(CLEAN), **args
    )
    assert answer.status == "ok", answer.message
    return answer.tables[0].records()


@pytest.mark.parametrize(("start", "end"), WINDOWS)
async def test_totals_means_and_risk_are_the_peers(
    run: PlanRunner, real: dict[int, Any], start: str, end: str
) -> None:
    for record in await figures(run, "get_profit_of_portfolio", start, end):
        series = real[record["InvestmentPortfolioID"]][start:end]
        assert record["TWR"] == pytest.approx(empyrical.cum_returns_final(series), rel=1e-12, abs=1e-12)
        assert record["Observations"] == len(series)
    for record in await figures(run, "get_mean_profit", start, end):
        series = real[record["InvestmentPortfolioID"]][start:end]
        assert record["MeanTWR"] == pytest.approx(series.mean(), abs=1e-12)
    for record in await figures(run, "get_risk", start, end):
        series = real[record["InvestmentPortfolioID"]][start:end]
        assert record["Volatility"] == pytest.approx(empyrical.annual_volatility(series), abs=1e-12)
        assert record["MaxDrawdown"] == pytest.approx(empyrical.max_drawdown(series), abs=1e-12)


@pytest.mark.parametrize(("length", "peer"), [("month", "monthly"), ("quarter", "quarterly"), ("year", "yearly")])
async def test_periods_are_the_peers(run: PlanRunner, real: dict[int, Any], length: str, peer: str) -> None:
    start, end = WINDOWS[1]
    found: dict[int, list[float]] = {}
    for record in await figures(run, "get_profit_by_period", start, end, period=length):
        found.setdefault(record["InvestmentPortfolioID"], []).append(record["TWR"])
    for number, values in found.items():
        series = real[number][start:end]
        assert values[:-1] == pytest.approx(list(empyrical.aggregate_returns(series, peer)), abs=1e-12)
        assert values[-1] == pytest.approx(math.prod(1 + x for x in values[:-1]) - 1, abs=1e-12)


async def test_running_totals_are_the_peers(run: PlanRunner, real: dict[int, Any]) -> None:
    start, end = WINDOWS[2]
    rows = await figures(run, "get_profit_of_portfolio", start, end, by_date=True)
    for number in CLEAN:
        ours = [row["TWR_running"] for row in rows if row["InvestmentPortfolioID"] == number]
        assert ours == pytest.approx(list(empyrical.cum_returns(real[number][start:end])), abs=1e-12)


async def test_annualising_differs_from_a_peer_that_counts_252_days(
    run: PlanRunner, real: dict[int, Any]
) -> None:
    """empyrical takes (1 + R)^(252/n): a year with 247 trading days is not a year there."""
    start, end = WINDOWS[1]
    for record in await figures(run, "get_annualised_profit", start, end):
        days = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
        assert record["AnnualisedTWR"] == pytest.approx((1 + record["TWR"]) ** (365 / days) - 1, abs=1e-12)
        peer = empyrical.annual_return(real[record["InvestmentPortfolioID"]][start:end])
        assert record["AnnualisedTWR"] != pytest.approx(peer, abs=1e-6)


@pytest.fixture(scope="module")
def series_dsn(engine: Any, demo_dsn: str) -> Iterator[str]:
    engine.command("DROP DATABASE IF EXISTS Peers")
    engine.command("CREATE DATABASE Peers")
    engine.command(
        f"CREATE TABLE {TABLE} (InvestmentPortfolioID UInt64, Portfolio String, PortfolioCode String, "
        "Dt Date, TWR_dod Nullable(Float64)) ENGINE = MergeTree ORDER BY (InvestmentPortfolioID, Dt)"
    )
    rows = []
    for number, (name, case) in enumerate(CASES.items(), 1):
        for day, value in zip(case["dates"], case["returns"], strict=True):
            rows.append([number, name, f"S{number}", date.fromisoformat(day), value])
    engine.insert("series", rows, database="Peers", column_names=["InvestmentPortfolioID", "Portfolio", "PortfolioCode", "Dt", "TWR_dod"])
    yield demo_dsn
    engine.command("DROP DATABASE Peers")


@pytest.mark.parametrize("name", CASES)
async def test_series_with_a_known_right_answer(series_dsn: str, name: str) -> None:
    settings = Settings(DSN=series_dsn, TABLE=TABLE, CATALOGUE_TABLE="")
    run = PlanRunner(await workplace_for(settings), settings)
    case = CASES[name]
    right = case["right"]
    span = {"start_date": case["dates"][0], "end_date": case["dates"][-1], "portfolio_names": [name]}
    found: dict[str, Any] = {}
    codes: set[str] = set()
    for operation in ("get_profit_of_portfolio", "get_mean_profit", "get_geometric_mean_profit", "get_risk"):
        answer = await run.step("profit_tool", operation, **span)
        (record,) = answer.tables[0].records()
        found |= record
        codes |= {notice.code for notice in answer.notices}
    for ours, theirs in (
        ("TWR", "total"), ("MeanTWR", "mean"), ("GeometricMeanTWR", "geometric_mean"),
        ("MaxDrawdown", "max_drawdown"), ("Volatility", "volatility_252"),
    ):  # fmt: skip
        if theirs in right:
            wanted = right[theirs]
            assert found[ours] == (None if wanted is None else pytest.approx(wanted, abs=1e-12)), theirs
    if right["status"] != "ok":
        assert codes


def bad(values: list[float | None]) -> Any:
    days = pd.bdate_range("2024-01-09", periods=len(values))
    return pd.Series([math.nan if value is None else value for value in values], index=days, dtype=float)


def test_what_peers_do_with_a_return_below_minus_one_is_not_done_here() -> None:
    """The product of (1 + x) with two factors below zero looks plausible; ours gives no figure."""
    assert empyrical.cum_returns_final(bad([0.02, -1.5, -1.5])) == pytest.approx(-0.745)


def test_a_peer_annualises_a_single_day() -> None:
    """1.23 % of one day becomes 2,077 % a year; ours needs 365 days (GIPS 2020, 2.A.12)."""
    assert empyrical.annual_return(bad([0.0123])) > 20


async def test_below_minus_one_and_infinite_have_no_figure(series_dsn: str, engine: Any) -> None:
    first = date(2024, 1, 9)
    strange = {51: [0.02, -1.5, -1.5], 52: [0.02, math.inf], 53: [0.5, -1.0, 0.5], 54: [math.nan, math.nan]}
    rows = [
        [number, f"Странный {number}", f"X{number}", first + timedelta(days=i), value]
        for number, values in strange.items()
        for i, value in enumerate(values)
    ]
    engine.insert("series", rows, database="Peers", column_names=["InvestmentPortfolioID", "Portfolio", "PortfolioCode", "Dt", "TWR_dod"])
    settings = Settings(DSN=series_dsn, TABLE=TABLE, CATALOGUE_TABLE="")
    run = PlanRunner(await workplace_for(settings), settings)
    answer = await run.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_codes=["X51", "X52", "X53", "X54"],
        start_date="2024-01-09", end_date="2024-01-31",
    )  # fmt: skip
    totals = {record["InvestmentPortfolioID"]: record["TWR"] for record in answer.tables[0].records()}
    assert totals == {51: None, 52: None, 53: -1.0, 54: None}
    told = [notice.text.ru for notice in answer.notices if notice.code == "bad_data"]
    assert any("10.01.2024" in text and "-1.5" in text for text in told)
