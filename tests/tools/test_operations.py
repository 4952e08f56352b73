"""Every operation on the demo data, against figures computed here from the raw rows."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from schemas.state import Answer
from tests.conftest import PlanRunner
from tools.clickhouse import ClickHouse

YEAR = {"start_date": "2024-01-01", "end_date": "2024-12-31"}
HORIZON = {"portfolio_names": ["ДУ Горизонт Акции"]}
MARCH = {"start_date": "2025-03-01", "end_date": "2025-03-31"}


async def rows_of(client: ClickHouse, id_: int) -> list[dict[str, Any]]:
    reply = await client.query(
        "SELECT Dt, TWR_dod, NAV, Inflow, Outflow FROM Contribution.contribution_twr_1s_mcp "
        "WHERE InvestmentPortfolioID = {id:UInt64} ORDER BY Dt",
        {"id": id_},
    )
    return reply.records()


def within(rows: list[dict[str, Any]], start: str, end: str) -> list[dict[str, Any]]:
    return [r for r in rows if date.fromisoformat(start) <= r["Dt"] <= date.fromisoformat(end)]


def linked(returns: list[float]) -> float:
    return math.prod(1 + value for value in returns) - 1


def only(answer: Answer) -> dict[str, Any]:
    (table,) = answer.tables
    (record,) = table.records()
    return record


def codes(answer: Answer) -> set[str]:
    return {notice.code for notice in answer.notices}


async def test_total_is_the_linked_return(run: PlanRunner, client: ClickHouse) -> None:
    rows = within(await rows_of(client, 101), "2024-01-01", "2024-12-31")

    record = only(await run.step("profit_tool", "get_profit_of_portfolio", **HORIZON, **YEAR))

    assert record["TWR"] == pytest.approx(linked([r["TWR_dod"] for r in rows]), rel=1e-12)
    assert record["Observations"] == len(rows)
    assert (record["FirstDt"], record["LastDt"]) == (rows[0]["Dt"], rows[-1]["Dt"])


async def test_daily_returns_and_running_total(run: PlanRunner, client: ClickHouse) -> None:
    rows = within(await rows_of(client, 101), "2024-01-01", "2024-12-31")

    answer = await run.step(
        "profit_tool", "get_profit_of_portfolio", by_date=True, **HORIZON, **YEAR
    )

    records = answer.tables[0].records()
    assert [r["TWR_dod"] for r in records] == [r["TWR_dod"] for r in rows]
    for place in (0, 100, len(rows) - 1):
        expected = linked([r["TWR_dod"] for r in rows[: place + 1]])
        assert records[place]["TWR_running"] == pytest.approx(expected, rel=1e-12)


async def test_means(run: PlanRunner, client: ClickHouse) -> None:
    returns = [r["TWR_dod"] for r in within(await rows_of(client, 101), "2024-01-01", "2024-12-31")]

    mean = only(await run.step("profit_tool", "get_mean_profit", **HORIZON, **YEAR))
    geometric = only(await run.step("profit_tool", "get_geometric_mean_profit", **HORIZON, **YEAR))

    assert mean["MeanTWR"] == pytest.approx(statistics.fmean(returns), rel=1e-12)
    expected = math.exp(math.fsum(map(math.log1p, returns)) / len(returns)) - 1
    assert geometric["GeometricMeanTWR"] == pytest.approx(expected, rel=1e-10)


async def test_risk_counts_a_first_day_loss(run: PlanRunner, client: ClickHouse) -> None:
    rows = await rows_of(client, 101)
    loss = next(r["Dt"] for r in rows if r["TWR_dod"] < -0.01 and r["Dt"].year == 2024)
    returns = [r["TWR_dod"] for r in rows if loss <= r["Dt"] <= date(2024, 12, 31)]

    record = only(
        await run.step(
            "profit_tool", "get_risk", **HORIZON, start_date=str(loss), end_date="2024-12-31"
        )
    )

    level = peak = 1.0
    deepest = 0.0
    for value in returns:
        level *= 1 + value
        peak = max(peak, level)
        deepest = min(deepest, level / peak - 1)
    assert record["MaxDrawdown"] == pytest.approx(deepest, rel=1e-12)
    assert record["Volatility"] == pytest.approx(
        statistics.stdev(returns) * math.sqrt(252), rel=1e-10
    )


async def test_periods_link_to_their_total(run: PlanRunner) -> None:
    answer = await run.step(
        "profit_tool", "get_profit_by_period", period="quarter", **HORIZON, **YEAR
    )

    records = answer.tables[0].records()
    assert [r["Period"] for r in records] == ["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4", "total"]
    assert records[-1]["TWR"] == pytest.approx(linked([r["TWR"] for r in records[:-1]]), rel=1e-12)


async def test_annualised_needs_a_year(run: PlanRunner) -> None:
    year = only(await run.step("profit_tool", "get_annualised_profit", **HORIZON, **YEAR))
    quarter = await run.step(
        "profit_tool",
        "get_annualised_profit",
        **HORIZON,
        start_date="2024-07-01",
        end_date="2024-09-30",
    )

    assert year["Days"] == 366
    assert year["AnnualisedTWR"] == pytest.approx((1 + year["TWR"]) ** (365 / 366) - 1, rel=1e-12)
    assert only(quarter)["AnnualisedTWR"] is None
    assert only(quarter)["TWR"] is not None
    assert "not_annualised" in codes(quarter)


async def test_profit_in_money(run: PlanRunner, client: ClickHouse) -> None:
    rows = await rows_of(client, 101)
    inside = within(rows, "2024-01-01", "2024-12-31")
    before = [r for r in rows if r["Dt"] < date(2024, 1, 1)][-1]["NAV"]

    record = only(await run.step("profit_tool", "get_profit_in_money", **HORIZON, **YEAR))

    net = sum((r["Inflow"] - r["Outflow"] for r in inside), Decimal(0))
    assert record["ProfitInMoney"] == inside[-1]["NAV"] - before - net


async def test_ranking(run: PlanRunner, client: ClickHouse) -> None:
    answer = await run.step(
        "profit_tool", "rank_portfolios", portfolio_types=["ПИФ"], limit=3, **YEAR
    )

    totals = {}
    for id_ in (201, 202, 203, 204, 205, 206, 207, 210, 211, 212):
        rows = within(await rows_of(client, id_), "2024-01-01", "2024-12-31")
        totals[id_] = linked([r["TWR_dod"] for r in rows])
    best = sorted(totals, key=lambda id_: -totals[id_])[:3]
    assert answer.tables[0].column("InvestmentPortfolioID") == best


async def test_group_return_is_weighted_and_per_currency(
    run: PlanRunner, client: ClickHouse
) -> None:
    answer = await run.step(
        "profit_tool", "get_group_profit", portfolio_types=["ПИФ"], **YEAR
    )

    for currency, ids in (("EUR", (211, 212)), ("RUB", (201, 202, 203, 204, 205, 206, 207))):
        weighted: dict[date, list[tuple[float, float]]] = defaultdict(list)
        for id_ in ids:
            previous = Decimal(0)
            for row in await rows_of(client, id_):
                if row["Dt"].year == 2024:
                    weight = float(previous) + float(row["Inflow"])
                    weighted[row["Dt"]].append((weight, row["TWR_dod"]))
                previous = row["NAV"]
        days = [
            sum(w * x for w, x in pairs) / sum(w for w, _x in pairs)
            for _day, pairs in sorted(weighted.items())
        ]
        record = next(r for r in answer.tables[0].records() if r["Currency"] == currency)
        assert record["TWR"] == pytest.approx(linked(days), rel=1e-11)


async def test_flows_sum_exactly(run: PlanRunner, client: ClickHouse) -> None:
    rows = within(await rows_of(client, 202), "2025-07-01", "2025-09-30")

    for operation, column, name in (
        ("get_inflow", "Inflow", "Inflow"),
        ("get_outflow", "Outflow", "Outflow"),
    ):
        record = only(
            await run.step(
                "cashflow_tool",
                operation,
                portfolio_codes=["PIF-000202"],
                start_date="2025-07-01",
                end_date="2025-09-30",
            )
        )
        assert record[name] == sum((r[column] for r in rows), Decimal(0))


async def test_three_columns_per_day_in_one_table(run: PlanRunner, client: ClickHouse) -> None:
    days = {"start_date": "2025-12-01", "end_date": "2025-12-10", "by_date": True}
    steps = [
        {
            "id": "resolve_portfolio",
            "tool": "portfolios_discovery_tool",
            "args": {"operation": "get_portfolios", "portfolio": "ПИФ Горизонт Технологии"},
            "show_data": False,
        },
        *(
            {
                "id": name,
                "tool": "cashflow_tool",
                "args": {
                    "operation": f"get_{name}",
                    "portfolio_names": "${resolve_portfolios}",
                    **days,
                },
                "show_data": True,
            }
            for name in ("nav", "inflow", "outflow")
        ),
    ]
    answer = await run(f"<think>план</think>\n```json\n{ {'steps': steps}!r}\n```")

    (table,) = answer.tables
    expected = within(await rows_of(client, 202), "2025-12-01", "2025-12-10")
    assert table.select(["Dt", "NAV", "Inflow", "Outflow"]).rows == tuple(
        (r["Dt"], r["NAV"], r["Inflow"], r["Outflow"]) for r in expected
    )
    assert len(answer.corrections) == 1
    assert [text.split(":")[0] for text in run.statuses[:-1]] == [
        f"Шаг {number} из 4" for number in (1, 2, 3, 4)
    ]


async def test_nav_on_a_day_without_a_row(run: PlanRunner, client: ClickHouse) -> None:
    answer = await run.step(
        "cashflow_tool",
        "get_nav",
        portfolio_names=["ДУ Меридиан Облигации"],
        end_date="2025-12-07",
    )

    last = [r for r in await rows_of(client, 104) if r["Dt"] <= date(2025, 12, 7)][-1]
    record = only(answer)
    assert (record["NAV"], record["NAVDt"]) == (last["NAV"], last["Dt"])
    assert "nav_on_earlier_day" in codes(answer)


async def test_nav_by_type_leaves_closed_portfolios_out(
    run: PlanRunner, client: ClickHouse
) -> None:
    answer = await run.step("cashflow_tool", "get_nav_by_type", end_date="2025-12-10")

    reply = await client.query(
        "SELECT PortfolioType, Currency, sum(NAV), count() "
        "FROM Contribution.contribution_twr_1s_mcp WHERE Dt = '2025-12-10' "
        "GROUP BY PortfolioType, Currency ORDER BY PortfolioType, Currency"
    )
    assert list(answer.tables[0].rows) == [tuple(row) for row in reply.rows]


DIRTY = {
    "ДУ Полная потеря": (-1.0, "effective_days"),
    "ДУ Битые данные": (None, "bad_data"),
    "ДУ Конфликт строк": (None, "conflicting_rows"),
}


@pytest.mark.parametrize("name", DIRTY)
async def test_dirty_portfolios(run: PlanRunner, name: str) -> None:
    total, code = DIRTY[name]

    answer = await run.step("profit_tool", "get_profit_of_portfolio", portfolio_names=[name], **MARCH)

    assert only(answer)["TWR"] == total
    assert code in codes(answer)


async def test_identical_rows_count_once(run: PlanRunner, client: ClickHouse) -> None:
    answer = await run.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_names=["ДУ Дубли строк"], **MARCH
    )

    once = {r["Dt"]: r["TWR_dod"] for r in await rows_of(client, 903)}
    assert only(answer)["TWR"] == pytest.approx(linked(list(once.values())), rel=1e-12)
    assert "duplicate_rows" in codes(answer)


async def test_a_missing_value_is_left_out_and_told(run: PlanRunner, client: ClickHouse) -> None:
    answer = await run.step(
        "profit_tool", "get_profit_of_portfolio", portfolio_names=["ДУ Пропуски"], **MARCH
    )

    known = [r["TWR_dod"] for r in await rows_of(client, 905) if r["TWR_dod"] is not None]
    assert only(answer)["TWR"] == pytest.approx(linked(known), rel=1e-12)
    assert only(answer)["Observations"] == len(known) == 2
    assert "missing_values" in codes(answer)


async def test_no_rows_is_no_data_and_never_a_figure(run: PlanRunner) -> None:
    answer = await run.step(
        "profit_tool",
        "get_profit_of_portfolio",
        portfolio_names=["ДУ Один день"],
        start_date="2024-01-01",
        end_date="2024-12-31",
    )

    assert not any(table.rows for table in answer.tables)
    assert "нет данных" in answer.message.ru
    assert "03.03.2025" in answer.message.ru


async def test_a_future_period_is_told(run: PlanRunner) -> None:
    answer = await run.step(
        "profit_tool",
        "get_profit_of_portfolio",
        **HORIZON,
        start_date="2027-01-01",
        end_date="2027-12-31",
    )

    assert "10.12.2025" in answer.message.ru
    assert answer.tables == ()


@pytest.mark.parametrize("end", ["2149-12-31", "9999-12-31"])
async def test_an_end_far_away_loses_nothing(run: PlanRunner, end: str) -> None:
    near = await run.step(
        "profit_tool", "get_profit_of_portfolio", **HORIZON, start_date="2024-01-01", end_date="2025-12-10"
    )
    far = await run.step(
        "profit_tool", "get_profit_of_portfolio", **HORIZON, start_date="2024-01-01", end_date=end
    )

    assert only(far) == only(near)
    assert "data_until" in codes(far)


@pytest.mark.parametrize("value", [-1, "abc", 10**30])
async def test_an_impossible_id_is_told(run: PlanRunner, value: object) -> None:
    answer = await run.step("cashflow_tool", "get_nav", portfolio_ids=[value])

    assert answer.status == "error"


async def test_a_reversed_period_is_asked_and_swapped(run: PlanRunner) -> None:
    reversed_period = {"start_date": "2024-12-31", "end_date": "2024-01-01"}
    plan = {
        "steps": [
            {
                "id": "a",
                "tool": "profit_tool",
                "args": {"operation": "get_profit_of_portfolio", **HORIZON, **reversed_period},
                "show_data": True,
            }
        ]
    }
    asked = await run(plan)
    assert asked.status == "clarification"
    assert asked.clarification is not None

    chosen = asked.clarification.options[0].value
    swapped = await run(plan, **{asked.clarification.about: chosen})
    straight = await run.step("profit_tool", "get_profit_of_portfolio", **HORIZON, **YEAR)
    assert only(swapped)["TWR"] == only(straight)["TWR"]


async def test_an_ambiguous_name_is_asked_and_the_choice_continues(run: PlanRunner) -> None:
    plan = {
        "steps": [
            {
                "id": "a",
                "tool": "profit_tool",
                "args": {
                    "operation": "get_profit_of_portfolio",
                    "portfolio_names": ["Меридиан Облигации"],
                    **YEAR,
                },
                "show_data": True,
            }
        ]
    }
    asked = await run(plan)
    assert asked.clarification is not None
    assert {option.value for option in asked.clarification.options} >= {"104", "105", "204", "205"}

    answer = await run(plan, **{"Меридиан Облигации": "105"})
    assert only(answer)["PortfolioCode"] == "DU-000105"


async def test_discovery(run: PlanRunner) -> None:
    funds = await run.step(
        "portfolios_discovery_tool", "get_portfolios_by_type", portfolio_types=["ПИФы"]
    )
    one = await run.step(
        "portfolios_discovery_tool", "get_portfolio_attributes", portfolio_names=["C-10111"]
    )
    types = await run.step("portfolios_discovery_tool", "get_portfolios_type")
    every = await run.step("portfolios_discovery_tool", "get_portfolios")
    strategies = await run.step("portfolios_discovery_tool", "get_strategies")

    assert len(funds.tables[0].rows) == 10
    assert set(funds.tables[0].column("PortfolioType")) == {"ПИФ"}
    assert only(one)["InvestmentPortfolioID"] == 111
    assert sum(types.tables[0].column("Portfolios")) == 36
    assert len(every.tables[0].rows) == 36
    assert sum(strategies.tables[0].column("Portfolios")) == 36


async def test_a_select_of_the_planner(run: PlanRunner) -> None:
    answer = await run.step(
        "clickhouse_client_base",
        "run_select_query",
        query="WITH t AS (SELECT PortfolioType AS тип, count() AS n FROM "
        "Contribution.contribution_twr_1s_mcp GROUP BY тип) "
        "SELECT тип, n, sum(n) OVER () AS всего FROM t ORDER BY тип",
    )

    assert answer.status == "ok"
    assert sum(answer.tables[0].column("n")) == answer.tables[0].column("всего")[0] == 55235


REFUSED = (
    "DROP TABLE Contribution.contribution_twr_1s_mcp",
    "INSERT INTO Contribution.contribution_twr_1s_mcp SELECT * FROM Contribution.contribution_twr_1s_mcp",
    "SELECT 1; SELECT 2",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT 1 INTO OUTFILE '/tmp/x'",
    "SELECT * FROM file('/etc/passwd')",
    "SELECT * FROM url('http://127.0.0.1/', CSV, 'a String')",
    "SELECT * FROM s3('http://127.0.0.1/a.csv')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT * FROM numbers(1000000000000)",
    "SELECT sleep(3)",
    "SELECT * FROM system.users",
    "SELECT * FROM (SELECT * FROM file('/etc/passwd'))",
    "WITH t AS (SELECT * FROM system.tables) SELECT * FROM t",
    "SET readonly = 0",
    "SHOW TABLES",
    "SELECT * FROM dictionary('a')",
    "SELECT Portfolio FROM Contribution.contribution_twr_1s_mcp WHERE Portfolio IN system.users",
)


@pytest.mark.parametrize("query", REFUSED)
async def test_refuses_what_is_not_one_plain_select(run: PlanRunner, query: str) -> None:
    answer = await run.step("clickhouse_client_base", "run_select_query", query=query)

    assert answer.status == "error"
    assert answer.tables == ()


# What a read-only session must stop by itself, were the check not there.
STOPPED = (
    "DROP TABLE Contribution.contribution_twr_1s_mcp",
    "INSERT INTO Contribution.contribution_twr_1s_mcp SELECT * FROM Contribution.contribution_twr_1s_mcp",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT * FROM file('/etc/passwd')",
    "SELECT * FROM url('http://127.0.0.1/', CSV, 'a String')",
    "SELECT * FROM s3('http://127.0.0.1/a.csv')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    "SET readonly = 0",
    "SELECT 1 INTO OUTFILE 'never_written'",
)


@pytest.mark.parametrize("query", STOPPED)
async def test_the_server_refuses_it_too(client: ClickHouse, query: str) -> None:
    with pytest.raises(Exception, match=r"."):
        await client.query(query)
