"""Replies as models send them, and the exact plan or the refusal each gives."""

from __future__ import annotations

import json

import pytest

from pipe.reading import read_plan
from schemas.errors import ModelReplyError

STEP = {
    "id": "nav",
    "tool": "cashflow_tool",
    "args": {"operation": "get_nav", "portfolio_names": ["ДУ «Ромашка»"], "by_date": True},
    "save_as": "nav",
    "show_data": True,
}
PLAN = {"needs_tools": True, "intent": "cashflows", "steps": [STEP]}
TEXT = json.dumps(PLAN, ensure_ascii=False)

READABLE = {
    "plain": TEXT,
    "fence": f"Вот план:\n```json\n{TEXT}\n```\nГотово.",
    "fence_without_language": f"```\n{TEXT}\n```",
    "closed_think": f"<think>maybe {{'steps': []}} ?</think>\n{TEXT}",
    "only_closing_think": f"I should use get_nav.\n</think>{TEXT}",
    "thinking_tag": f"<thinking>{{</thinking>{TEXT}",
    "harmony": f"<|channel|>analysis<|message|>hm {{}}<|end|><|channel|>final<|message|>{TEXT}",
    "python_literals": repr(PLAN),
    "prose_around": f"Sure! {TEXT} Anything else?",
    "encoded_twice": json.dumps(TEXT),
    "bom": "\ufeff" + TEXT,
    "trailing_commas": TEXT.replace("}]}", "},]}"),
    "smart_quotes": TEXT.replace('"needs_tools"', "“needs_tools”"),
    "wrapped": json.dumps({"plan": PLAN}, ensure_ascii=False),
    "a_list_of_steps": json.dumps([STEP], ensure_ascii=False),
    "operation_beside_args": json.dumps(
        {
            "steps": [
                {
                    **STEP,
                    "operation": "get_nav",
                    "args": {"portfolio_names": ["ДУ «Ромашка»"], "by_date": True},
                }
            ]
        },
        ensure_ascii=False,
    ),
    "tool_with_a_dot": json.dumps(
        {
            "steps": [
                {
                    **STEP,
                    "tool": "cashflow_tool.get_nav",
                    "args": {"portfolio_names": ["ДУ «Ромашка»"], "by_date": True},
                }
            ]
        },
        ensure_ascii=False,
    ),
    "arguments_as_text": json.dumps(
        {"steps": [{**{k: v for k, v in STEP.items() if k != "args"}, "arguments": json.dumps(STEP["args"])}]}
    ),
    "show_data_as_text": json.dumps({"steps": [{**STEP, "show_data": "True"}]}),
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_reads_the_plan(text: str) -> None:
    plan = read_plan(text)

    assert [step.model_dump() for step in plan.steps] == [STEP]


def test_reads_a_bare_reference_as_a_reference() -> None:
    plan = read_plan(
        '{"steps": [{"id": "a", "tool": "cashflow_tool", "show_data": true, '
        '"args": {"operation": "get_nav", "portfolio_ids": ${found.InvestmentPortfolioID}, "end_date": null}}]}'
    )

    assert plan.steps[0].args == {
        "operation": "get_nav",
        "portfolio_ids": "${found.InvestmentPortfolioID}",
        "end_date": None,
    }


REFUSED = {
    "empty": "",
    "prose": "Sorry, I cannot help with that.",
    "unclosed_think": "<think>I would call get_nav {",
    "cut": TEXT[: len(TEXT) // 2],
    "html": "<html><body>502</body></html>",
    "other_json": '{"error": "overloaded"}',
    "a_number": "42",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(text: str) -> None:
    with pytest.raises(ModelReplyError):
        read_plan(text)


def test_a_reply_cut_by_length_is_never_read() -> None:
    with pytest.raises(ModelReplyError):
        read_plan(TEXT, cut=True)


def test_arguments_beside_args_are_arguments() -> None:
    flat = {"id": "nav", "tool": "cashflow_tool", "save_as": "nav", "show_data": True, **STEP["args"]}

    assert [step.model_dump() for step in read_plan(json.dumps({"steps": [flat]})).steps] == [STEP]


@pytest.mark.parametrize(
    "steps", [5, [5], {"a": 5}, "get_nav", [None]], ids=["number", "in_list", "in_dict", "text", "null"]
)
def test_steps_of_another_shape_are_refused(steps: object) -> None:
    with pytest.raises(ModelReplyError):
        read_plan(json.dumps({"steps": steps}))


def test_unreadable_arguments_are_kept_for_validation_to_name() -> None:
    plan = read_plan(
        '{"steps": [{"id": "a", "tool": "profit_tool", "operation": "rank_portfolios", '
        '"args": "{limit: 1, bad", "show_data": true}]}'
    )

    assert "args" in plan.steps[0].args


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 3000, "[" * 50_000, "{ " * 900])
def test_a_looping_model_is_refused(text: str) -> None:
    with pytest.raises(ModelReplyError):
        read_plan(text)
