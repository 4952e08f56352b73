"""The command line as a tester runs it: exit statuses, sentences, machine-readable output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from demo.data import prepare

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own_dsn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An embedded database for child processes: this process holds another."""
    path = tmp_path_factory.mktemp("cli") / "clickhouse"
    prepare(path, last_day=date(2025, 12, 10))
    return f"chdb://{path}"


def run_cli(*arguments: str, given: str = "") -> tuple[int, str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PORTFOLIO_")}
    done = subprocess.run(
        [sys.executable, "-m", "pipe", *arguments],
        cwd=ROOT,
        env=clean,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def plan(operation: str, name: str, tool: str = "profit_tool") -> str:
    args = {
        "operation": operation,
        "portfolio_names": [name],
        "start_date": "2024-01-01",
        "end_date": "2024-12-31",
    }
    return json.dumps({"steps": [{"id": "a", "tool": tool, "args": args, "show_data": True}]})


def test_answered(own_dsn: str) -> None:
    status, out, _err = run_cli(
        "run", "-", "--dsn", own_dsn, "--json", given=plan("get_profit_of_portfolio", "DU-000101")
    )

    data = json.loads(out)
    assert (status, data["status"]) == (0, "ok")
    (table,) = data["tables"]
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert row["InvestmentPortfolioID"] == 101
    assert isinstance(row["TWR"], float)
    assert data["state"]["step_results"][0]["result"]["rows"] == table["rows"]


def test_clarification(own_dsn: str) -> None:
    status, out, _err = run_cli(
        "run",
        "-",
        "--dsn",
        own_dsn,
        "--json",
        given=plan("get_profit_of_portfolio", "Меридиан Облигации"),
    )

    data = json.loads(out)
    assert (status, data["status"]) == (3, "clarification")
    assert len(data["clarification"]["options"]) >= 4


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("ask",), 2),
        (("nonsense",), 2),
        (("run", "no_such_file.json"), 4),
        (("check", "--dsn", "clickhouse://u:s3cret@127.0.0.1:9/d"), 4),
        (("check", "--dsn", "chdb:///no/such/folder"), 4),
        (("check", "--dsn", "what"), 4),
        (("tools",), 0),
    ],
)
def test_exit_statuses(arguments: tuple[str, ...], status: int) -> None:
    code, out, err = run_cli(*arguments)

    assert code == status
    assert out or err
    assert "s3cret" not in out + err


def test_tools_are_function_calling_schemas() -> None:
    _status, out, _err = run_cli("tools", "--json")

    schemas = json.loads(out)
    names = {schema["function"]["name"] for schema in schemas}
    assert {"profit_tool__get_profit_of_portfolio", "cashflow_tool__get_nav"} <= names
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert "$ref" not in out


def test_text_no_encoding_has_is_still_answered(own_dsn: str) -> None:
    """Half of a surrogate pair, and a terminal that knows ASCII only."""
    said = json.dumps({"needs_tools": False, "answer": "x\ud800"})
    status, out, _err = run_cli("run", "-", "--dsn", own_dsn, "--json", given=said)
    assert (status, json.loads(out)["message"]) == (0, "x?")
    nameless = plan("get_profit_of_portfolio", "Solo\ud800")
    status, out, _err = run_cli("run", "-", "--dsn", own_dsn, "--json", given=nameless)
    assert status == 3
    json.loads(out)
    done = subprocess.run(
        [sys.executable, "-m", "pipe", "tools"],
        cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert "портфел" in done.stdout.decode() or json.loads(done.stdout.decode())


def test_a_plan_nested_without_end_is_a_finding(own_dsn: str) -> None:
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    steps = [{"id": "a", "tool": "profit_tool", "args": {"operation": "get_profit_of_portfolio", "portfolio_names": deep}}]
    status, out, _err = run_cli("run", "-", "--dsn", own_dsn, "--json", given=json.dumps({"steps": steps}))
    assert status == 4
    assert "nested" in json.loads(out)["message"]


def test_a_plan_that_asks_and_acts_asks(own_dsn: str) -> None:
    asking = json.loads(plan("get_profit_of_portfolio", "DU-000101"))
    asking["clarification_question"] = "Какой период?"
    status, out, _err = run_cli("run", "-", "--dsn", own_dsn, "--json", given=json.dumps(asking))
    assert (status, json.loads(out)["message"]) == (3, "Какой период?")
