"""What the model is told when it plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date

from pydantic import BaseModel

from prompts.examples import EXAMPLES
from schemas.calling import parameters_schema
from schemas.periods import Period
from schemas.plan import Plan

PLANNER_RULES = """\
You plan; you do not compute and you never see data. Turn the question into one plan in JSON.

Reply with one JSON object and nothing else:
{"needs_tools": true, "intent": "profitability|cashflows|discovery|other",
 "entities": {"metric": null, "portfolio_hint": null, "portfolio_names": [], "portfolio_types": [],
  "portfolio_codes": [], "portfolio_client_codes": [], "start_date": null, "end_date": null,
  "by_date": false},
 "steps": [{"id": "nav", "tool": "cashflow_tool", "args": {"operation": "get_nav"},
  "save_as": "nav", "show_data": true}],
 "clarification_question": null, "answer": null}

Rules
- Each step calls one operation of one tool; the operation's name goes into args.operation.
- Take portfolio names as the person wrote them. Do not correct, translate or invent names.
- A later step uses an earlier result by ${save_as}, ${save_as.Column} or ${save_as.Column[0]}.
- Dates are YYYY-MM-DD, both ends included. Take them ready-made where the periods below have them.
  If the question names no period, leave the dates out.
- show_data is true for what the person asked to see. Results with the same rows become one table.
- Steps that do not need each other run at once. No step twice, no step nobody needs.
- Advice, forecasts, holdings, rates, anything not in the data: needs_tools false, no steps, and in
  "answer" one sentence in the person's language on what is possible instead. Never a figure there.
- If the question cannot be understood: needs_tools false and clarification_question.
"""


class OfferedOperation(BaseModel):
    """One operation as the prompt shows it."""

    tool: str
    name: str
    description: str
    args: type[BaseModel]


def describe_operations(operations: Iterable[OfferedOperation]) -> str:
    """Return one line per operation: its name, arguments and purpose."""
    lines: list[str] = []
    tool = ""
    for item in operations:
        if item.tool != tool:
            tool = item.tool
            lines.append(f"\n{tool}")
        schema = parameters_schema(item.args)["properties"]
        arguments = ", ".join(_argument(name, value) for name, value in schema.items())
        lines.append(f"- {item.name}({arguments}): {item.description}")
    return "\n".join(lines).strip()


def _argument(name: str, schema: dict[str, object]) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list):
        return f"{name}: {'|'.join(str(item) for item in choices)}"
    first = schema.get("anyOf")
    kind = schema.get("type") or (first[0].get("type") if isinstance(first, list) else "string")
    return f"{name}{'[]' if kind == 'array' else ''}" + (": bool" if kind == "boolean" else "")


def render_planner_prompt(
    *,
    operations: str,
    periods: Sequence[Period],
    today: date,
    last_day: date | None,
    previous: tuple[str, Plan] | None,
    question: str,
) -> list[dict[str, str]]:
    """Return the messages for the planner: stable rules first, the question last."""
    shown = "\n\n".join(
        f"Question: {asked}\nPlan: {plan_json(plan)}" for asked, plan in EXAMPLES
    )
    system = f"{PLANNER_RULES}\nTools\n{operations}\n\nExamples\n{shown}\n"
    listed = "\n".join(
        f"- {item.name.ru} = {item.name.en}: {item.start}..{item.end}" for item in periods
    )
    parts = [
        f"Today: {today}",
        f"Last data day: {last_day or 'unknown'}",
        f"<periods>\n{listed}\n</periods>",
    ]
    if previous is not None:
        earlier = json.dumps(
            {"question": previous[0], "plan": json.loads(plan_json(previous[1]))},
            ensure_ascii=False,
        )
        parts.append(f"<previous>\n{earlier}\n</previous>")
    parts.append(f"<question>\n{question}\n</question>")
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": "\n".join(parts)},
    ]


def plan_json(plan: Plan) -> str:
    """Return a plan in its wire format."""
    return json.dumps(plan.model_dump(mode="json"), ensure_ascii=False)
