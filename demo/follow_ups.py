"""A question that goes on from the turn before: its calls with another portfolio, period or grain."""

from __future__ import annotations

import re
from typing import Any

from demo.calls import (
    WHOLE_ALLOWED,
    dates_of,
    discovery_steps,
    grain_of,
    grained,
    said_grain,
    steps_for,
)
from demo.plan_shape import CASH, METRICS, PROFIT, TOOLS, Question
from demo.question_words import (
    ADD,
    ATTRIBUTES,
    CHART,
    FOLLOW,
    LIMIT,
    LIST,
    RANK_ONE,
    SEARCH,
    TABLE,
)
from pipe.question_dates import Span


def earlier_steps(previous: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the shown calls of the turn before, with a selection that needs no other step."""
    plan = (previous or {}).get("plan")
    if not isinstance(plan, dict):
        return []
    entities = plan.get("entities") or {}
    keys = ("portfolio_names", "portfolio_codes", "portfolio_client_codes", "portfolio_types")
    meant = {key: list(entities[key]) for key in keys if entities.get(key)}
    calls = []
    for step in plan.get("steps") or []:
        args = step.get("args") if isinstance(step, dict) else None
        if (
            not isinstance(args, dict)
            or not step.get("show_data")
            or args.get("operation") not in TOOLS
        ):
            continue
        plain = {key: value for key, value in args.items() if "${" not in str(value)}
        if len(plain) < len(args):
            plain.update(meant)
        calls.append(plain)
    metric = entities.get("metric")
    if not calls and not plan.get("steps") and (metric or meant):
        # The turn before ended in a question or a refusal: what it named still counts.
        by_metric = {name: operation for operation, name in METRICS.items()}
        dates = {key: entities[key] for key in ("start_date", "end_date") if entities.get(key)}
        named = [by_metric[item] for item in str(metric or "").split(", ") if item in by_metric]
        calls = [
            {"operation": item, **meant, **dates} for item in named or ["get_profit_of_portfolio"]
        ]
    return calls


_SELECTION = (
    "portfolio_names",
    "portfolio_codes",
    "portfolio_client_codes",
    "portfolio_types",
    "strategies",
    "portfolio_ids",
)


def follow_up(
    asked: Question, operations: list[str], earlier: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the earlier calls changed by what the person said now; empty for a new question."""
    selection = asked.chosen.args()
    known = {key: value for key, value in earlier[0].items() if key in _SELECTION}
    if isinstance(earlier[0].get("portfolio"), str):
        known["portfolio_names"] = [earlier[0]["portfolio"]]
    dated = next((call for call in earlier if call.get("start_date")), earlier[0])
    spans = asked.days.spans or (Span(dated.get("start_date"), dated.get("end_date")),)
    before = next((_call_grain(call) for call in earlier if _call_grain(call)), "")
    grain = grain_of(asked, [*operations, *(call["operation"] for call in earlier)])
    if before and not said_grain(asked):
        # «То же графиком» keeps the months it had.
        grain = ""
    listing = not operations and not selection and bool(discovery_steps(asked, False))
    if listing:
        return []
    if asked.has(ADD) and operations:
        added = steps_for(asked, operations, selection or known, spans, grain or before)
        return _distinct([*(_changed(call, {}, (), grain) for call in earlier), *added])
    if operations:
        inherits = (
            not selection
            and known
            and (
                asked.has(FOLLOW) or any(operation not in WHOLE_ALLOWED for operation in operations)
            )
        )
        if inherits:
            calls = steps_for(asked, operations, known, spans, grain)
            limit = earlier[0].get("limit")
            if limit and not (asked.has(LIMIT) or asked.has(RANK_ONE)):
                calls = [{**call, "limit": limit} if "limit" in call else call for call in calls]
            return calls
        if (
            selection
            and not asked.days.spans
            and asked.has(FOLLOW)
            and spans[0] != Span(None, None)
        ):
            return steps_for(asked, operations, selection, spans, grain)
        return []
    if (
        not selection
        and not asked.days.spans
        and not grain
        and not (
            asked.has(CHART)
            or asked.has(TABLE)
            or re.search(r"то же|same|снова|again|повтори", asked.lower)
        )
    ):
        attributes = known and asked.has(ATTRIBUTES)
        return [{"operation": "get_portfolio_attributes", **known}] if attributes else []
    if selection and asked.has(ATTRIBUTES) and not asked.days.spans:
        return []
    if selection and not asked.has(FOLLOW) and (asked.has(LIST) or asked.has(SEARCH)):
        return []
    changed = [
        _changed(call, selection, (span or _own_span(call, spans[0], grain),), grain)
        for span in (asked.days.spans[:4] or (None,))
        for call in earlier
    ]
    return _distinct(changed)


def _own_span(call: dict[str, Any], dated: Span, grain: str) -> Span | None:
    """Return the interval for a NAV of one day that now becomes a series, else None: its own."""
    return dated if grain and "end_date" in call and "start_date" not in call else None


def _call_grain(call: dict[str, Any]) -> str:
    return "day" if call.get("by_date") else str(call.get("period") or "")


def _changed(
    call: dict[str, Any], selection: dict[str, Any], spans: tuple[Span | None, ...], grain: str
) -> dict[str, Any]:
    """Return a call with another selection, period or grain, each where one was named."""
    args = dict(call)
    operation = args["operation"]
    if selection and operation == "get_portfolios":
        args = {"operation": operation, "portfolio": next(iter(selection.values()))[0]}
    elif selection and operation not in ("get_portfolios_type", "get_strategies"):
        args = {key: value for key, value in args.items() if key not in _SELECTION} | selection
    span = spans[0] if spans else None
    if grain:
        args = grained(args, grain)
    if span is not None and TOOLS[operation] in (PROFIT, CASH):
        args = {key: value for key, value in args.items() if key not in ("start_date", "end_date")}
        kept = grain or _call_grain(args)
        args.update(dates_of(operation, span, kept))
    return args


def _distinct(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for place, call in enumerate(calls) if call not in calls[:place]]
