"""Rules a plan must keep, and the slips that are mended."""

from __future__ import annotations

from typing import Any

import pytest

from pipe.reading import read_plan
from pipe.validation import Circumstances, findings_of, normalise_plan
from schemas.dataset import LOGICAL_COLUMNS, Dataset, TableName
from tools.all_tools import build_registry

NAMES = {name: name for name in LOGICAL_COLUMNS}
TABLE = TableName("d", "t")
FACTS = Circumstances(
    registry=build_registry(),
    dataset=Dataset(TABLE, NAMES, {}, TABLE, NAMES),
    raw_sql=True,
    max_steps=5,
)


def step(id_: str, **changes: Any) -> dict[str, Any]:
    args = {"operation": "get_nav", "portfolio_names": ["А"], "end_date": "2024-12-31"}
    return {"id": id_, "tool": "cashflow_tool", "args": args, "show_data": True, **changes}


def found(*steps: dict[str, Any]) -> str:
    plan, _said = normalise_plan(read_plan(repr({"steps": list(steps)})), FACTS)
    return "\n".join(findings_of(plan, FACTS))


def with_args(id_: str, **args: Any) -> dict[str, Any]:
    base = step(id_)
    return {**base, "args": {**base["args"], **args}}


def test_a_good_plan_has_no_findings() -> None:
    assert found(step("a")) == ""


CASES: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "unknown_tool": ((step("a", tool="magic"),), "unknown tool 'magic'"),
    "unknown_operation": ((with_args("a", operation="get_alpha"),), "no operation 'get_alpha'"),
    "impossible_date": ((with_args("a", end_date="2024-02-30"),), "not a date of the calendar"),
    "unknown_argument": ((with_args("a", colour="red"),), "colour"),
    "wrong_type": ((with_args("a", by_date="maybe"),), "by_date"),
    "dangling": ((with_args("a", portfolio_names="${nobody}"),), "${nobody} refers to no step"),
    "unreadable": ((with_args("a", portfolio_names="${a.b.c.d}"),), "is not a reference"),
    "cycle": (
        (with_args("a", portfolio_names="${b}"), with_args("b", portfolio_names="${a}")),
        "in a circle",
    ),
    "self": ((with_args("a", portfolio_names="${a}"),), "in a circle"),
    "same_id": ((step("a"), with_args("a", end_date="2023-12-31")), "given to two steps"),
    "nothing_shown": ((step("a", show_data=False),), "nothing would be shown"),
    "twice": ((step("a"), step("b")), "repeats step"),
    "too_many": (
        tuple(with_args(f"s{n}", end_date=f"2024-12-{n + 10}") for n in range(6)),
        "too many",
    ),
}


@pytest.mark.parametrize(("steps", "finding"), CASES.values(), ids=CASES.keys())
def test_finds(steps: tuple[dict[str, Any], ...], finding: str) -> None:
    assert finding in found(*steps)


def test_all_findings_come_at_once() -> None:
    text = found(step("a", tool="magic"), with_args("b", end_date="2024-02-30"))

    assert "magic" in text
    assert "2024-02-30" in text


@pytest.mark.parametrize("written", ["resolve_portfolios", "Resolve_Portfolio", "resolveportfolio"])
def test_a_near_miss_reference_is_corrected_and_told(written: str) -> None:
    steps = [
        {
            "id": "resolve_portfolio",
            "tool": "portfolios_discovery_tool",
            "args": {"operation": "get_portfolios", "portfolio": "А"},
        },
        with_args("nav", portfolio_names=f"${{{written}}}"),
    ]
    plan, said = normalise_plan(read_plan(repr({"steps": steps})), FACTS)

    assert plan.steps[1].args["portfolio_names"] == "${resolve_portfolio}"
    assert len(said) == 1
    assert findings_of(plan, FACTS) == ()


def test_a_reference_that_differs_by_a_digit_is_not_guessed() -> None:
    assert "${step_3} refers to no step" in found(
        with_args("step_1"), with_args("step_2", portfolio_names="${step_3}")
    )


def test_an_operation_named_as_a_tool_gets_its_tool() -> None:
    plan, _said = normalise_plan(
        read_plan(repr({"steps": [step("a", tool="get_nav", args={"portfolio_names": ["А"]})]})),
        FACTS,
    )

    assert (plan.steps[0].tool, plan.steps[0].operation) == ("cashflow_tool", "get_nav")
