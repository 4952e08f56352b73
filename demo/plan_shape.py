"""From calls or words to a plan in the wire format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from demo.answers import ABLE, ABOUT
from demo.question_names import Chosen
from pipe.question_dates import Days
from schemas.language import Both, Language

PROFIT = "profit_tool"


CASH = "cashflow_tool"


FIND = "portfolios_discovery_tool"


BASE = "clickhouse_client_base"


TOOLS = {
    **dict.fromkeys(
        ("get_profit_of_portfolio", "get_mean_profit", "get_geometric_mean_profit", "get_profit_by_period", "get_risk",
         "get_annualised_profit", "get_profit_in_money", "rank_portfolios", "get_group_profit"), PROFIT),
    **dict.fromkeys(("get_nav", "get_inflow", "get_outflow", "get_net_flow", "get_nav_by_type"), CASH),
    **dict.fromkeys(("get_portfolios", "get_portfolios_type", "get_portfolios_by_type", "get_portfolio_attributes",
                     "get_strategies"), FIND),
    **dict.fromkeys(("list_databases", "list_tables", "run_select_query"), BASE)
}  # fmt: skip


METRICS = {
    "get_profit_of_portfolio": "return", "get_mean_profit": "mean daily return",
    "get_geometric_mean_profit": "geometric mean daily return", "get_profit_by_period": "return by period",
    "get_risk": "risk", "get_annualised_profit": "annualised return", "get_profit_in_money": "profit in money",
    "rank_portfolios": "ranking by return", "get_group_profit": "return of groups", "get_nav": "NAV",
    "get_inflow": "Inflow", "get_outflow": "Outflow", "get_net_flow": "Net flow", "get_nav_by_type": "NAV by type"
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A question taken apart; `lower` has its dates and names blanked out."""

    text: str
    lower: str
    days: Days
    chosen: Chosen
    russian: bool
    previous: dict[str, Any] | None

    def has(self, rule: re.Pattern[str]) -> bool:
        """Tell whether a pattern is in the question's own words."""
        return rule.search(self.lower) is not None


def plan_of(asked: Question, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the plan of calls, each with a name of its own and shown."""
    steps: list[dict[str, Any]] = []
    for args in calls:
        short = args["operation"].removeprefix("get_")
        taken = sum(1 for step in steps if step["args"]["operation"] == args["operation"])
        name = f"{short}_{taken + 1}" if taken else short
        steps.append(
            {"id": name, "tool": TOOLS[args["operation"]], "args": args, "save_as": name, "show_data": True}
        )
    return _shape(asked, steps)


def words_of(
    asked: Question,
    *,
    answer: Both | None = None,
    question: Both | None = None,
    operations: list[str] | None = None,
) -> dict[str, Any]:
    """Return a plan without steps: an answer or a question to the person."""
    plan = _shape(asked, [])
    language: Language = "ru" if asked.russian else "en"
    if operations:
        plan["entities"]["metric"] = (
            ", ".join(METRICS[item] for item in operations if item in METRICS) or None
        )
    plan["remark"] = ABOUT.to(language)
    plan["answer"] = answer.to(language) if answer else None
    plan["clarification_question"] = question.to(language) if question else None
    return plan


def _shape(asked: Question, steps: list[dict[str, Any]]) -> dict[str, Any]:
    tools = [step["tool"] for step in steps]
    intent = "other"
    for tool, name in ((FIND, "discovery"), (CASH, "cashflows"), (PROFIT, "profitability")):
        intent = name if tool in tools else intent
    calls = [step["args"] for step in steps]
    first: dict[str, Any] = calls[0] if calls else asked.chosen.args()
    names = list(first.get("portfolio_names") or ([first["portfolio"]] if first.get("portfolio") else []))
    metrics = dict.fromkeys(METRICS[args["operation"]] for args in calls if args["operation"] in METRICS)
    spans = asked.days.spans
    return {
        "needs_tools": bool(steps),
        "intent": intent,
        "entities": {
            "metric": ", ".join(metrics) or None,
            "portfolio_hint": names[0] if names else None,
            "portfolio_names": names,
            "portfolio_types": list(first.get("portfolio_types") or []),
            "portfolio_codes": list(first.get("portfolio_codes") or []),
            "portfolio_client_codes": list(first.get("portfolio_client_codes") or []),
            "start_date": next(
                (args["start_date"] for args in calls if args.get("start_date")),
                spans[0].start if spans else None,
            ),
            "end_date": next(
                (args["end_date"] for args in calls if args.get("end_date")), spans[0].end if spans else None
            ),
            "by_date": any(args.get("by_date", False) for args in calls),
        },
        "steps": steps,
        "clarification_question": None,
        "answer": None,
    }


def offered_only(plan: dict[str, Any], prompt: str, asked: Question) -> dict[str, Any]:
    """Drop the steps whose operation the prompt does not offer; say so when none is left."""
    offered = set(re.findall(r"^- (\w+)\(", prompt, re.MULTILINE))
    if not offered or not plan["steps"]:
        return plan
    kept = [step for step in plan["steps"] if step["args"]["operation"] in offered]
    if len(kept) == len(plan["steps"]):
        return plan
    if kept:
        return {**plan, "steps": kept}
    return words_of(
        asked,
        answer=Both(
            f"Этих данных здесь нет или доступ к ним выключен. {ABLE.ru}",
            f"That data is not here or access to it is switched off. {ABLE.en}",
        ),
    )
