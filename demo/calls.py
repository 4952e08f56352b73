"""One call for each operation and period a question asks for, with its arguments."""

from __future__ import annotations

from typing import Any

from demo.plan_shape import Question
from demo.question_words import (
    ATTRIBUTES,
    BY_STRATEGY,
    CHART,
    CONTAINS,
    DAILY,
    LENGTHS,
    LIMIT,
    LIMIT_WORD,
    LIST,
    PORTFOLIOS,
    RANK,
    RANK_ONE,
    RANK_PLACE,
    SEARCH,
    STRATEGIES,
    TABLE,
    TYPES,
    WORD_LIMITS,
    WORST,
)
from pipe.question_dates import Span

FLOWS = ("get_nav", "get_inflow", "get_outflow", "get_net_flow")
WHOLE_ALLOWED = ("rank_portfolios", "get_group_profit", "get_nav_by_type")


def said_grain(asked: Question) -> str:
    for length, rule in LENGTHS:
        if asked.has(rule):
            return length
    return "day" if asked.has(DAILY) else ""


def grain_of(asked: Question, operations: list[str]) -> str:
    """Return day, month, quarter or year where rows are wanted for each, else ""."""
    place = RANK_PLACE.search(asked.lower)
    if place:
        word = (place.group(1) or place.group(2)).lower()
        return (
            "day"
            if word in ("день", "day")
            else "month"
            if word in ("месяц", "month")
            else "quarter"
        )
    said = said_grain(asked)
    averaged = {"get_mean_profit", "get_geometric_mean_profit"} & set(operations)
    if said and not (said == "day" and averaged):
        return said
    lengths = [span.days for span in asked.days.spans]
    longest = max((days for days in lengths if days), default=0)
    if asked.has(CHART):
        return "month" if longest > 366 else "day"
    if asked.has(TABLE) and "get_nav" in operations and 1 < longest <= 100:
        return "day"
    return ""


def steps_for(
    asked: Question,
    operations: list[str],
    selection: dict[str, Any],
    spans: tuple[Span, ...],
    grain: str,
) -> list[dict[str, Any]]:
    """Return one call for each operation and period."""
    calls: list[dict[str, Any]] = []
    for span in spans[:4] or (Span(None, None),):
        for operation in operations:
            args: dict[str, Any] = {
                "operation": operation,
                **selection,
                **dates_of(operation, span, grain),
            }
            calls.append(grained(_ranked(asked, args), grain))
    return calls


def dates_of(operation: str, span: Span, grain: str) -> dict[str, str]:
    """Return the date arguments; a NAV of one day needs only its end."""
    dates = {"start_date": span.start, "end_date": span.end}
    if operation in ("get_nav", "get_nav_by_type") and not grain and span.end:
        dates.pop("start_date")
    return {key: value for key, value in dates.items() if value}


def grained(args: dict[str, Any], grain: str) -> dict[str, Any]:
    operation = args["operation"]
    args = {key: value for key, value in args.items() if key not in ("by_date", "period")}
    if operation == "get_profit_by_period":
        operation = "get_profit_of_portfolio"
    if grain == "day" and operation in (*FLOWS, "get_profit_of_portfolio"):
        return {**args, "operation": operation, "by_date": True}
    if grain in ("month", "quarter", "year"):
        if operation == "get_profit_of_portfolio":
            return {**args, "operation": "get_profit_by_period", "period": grain}
        if operation in FLOWS:
            return {**args, "period": grain}
    return {**args, "operation": operation}


def _ranked(asked: Question, args: dict[str, Any]) -> dict[str, Any]:
    if args["operation"] == "get_group_profit":
        return {**args, "group_by": "strategy" if asked.has(BY_STRATEGY) else "type"}
    if args["operation"] != "rank_portfolios":
        return args
    limit = 10 if asked.has(RANK) else 1000
    number, word = LIMIT.search(asked.lower), LIMIT_WORD.search(asked.lower)
    if number:
        limit = int(number.group(1) or number.group(2))
    elif word and asked.has(RANK):
        said = word.group(1)
        limit = WORD_LIMITS.get(said[:2]) or WORD_LIMITS[said[0]]
    elif asked.has(RANK_ONE):
        limit = 1
    return {
        **args,
        "order": "worst" if asked.has(WORST) else "best",
        "limit": max(1, min(limit, 1000)),
    }


def discovery_steps(asked: Question, measured: bool) -> list[dict[str, Any]]:
    if measured:
        return []
    chosen, selection = asked.chosen, asked.chosen.args()
    inside = CONTAINS.search(asked.text)
    if inside and (asked.has(LIST) or asked.has(PORTFOLIOS)):
        return [{"operation": "get_portfolios", "contains": inside.group(1)}]
    single = bool(chosen.names or chosen.codes or chosen.client_codes)
    if single and asked.has(SEARCH):
        named = [*chosen.codes, *chosen.client_codes, *chosen.names]
        return [{"operation": "get_portfolios", "portfolio": name} for name in named]
    if single and asked.has(ATTRIBUTES) and not asked.days.spans:
        return [{"operation": "get_portfolio_attributes", **selection}]
    if single:
        return []
    if chosen.strategies and not chosen.types and (asked.has(PORTFOLIOS) or asked.has(LIST)):
        return [{"operation": "get_portfolio_attributes", **selection}]
    if chosen.types and not asked.days.spans and (asked.has(LIST) or asked.has(PORTFOLIOS)):
        if chosen.strategies or (asked.has(ATTRIBUTES) and not asked.has(TYPES)):
            return [{"operation": "get_portfolio_attributes", **selection}]
        return [{"operation": "get_portfolios_by_type", "portfolio_types": list(chosen.types)}]
    if chosen:
        return []
    lists = [("get_portfolios_type", TYPES), ("get_strategies", STRATEGIES)]
    listed = [{"operation": operation} for operation, rule in lists if asked.has(rule)]
    if not listed and asked.has(PORTFOLIOS) and asked.has(LIST):
        return [{"operation": "get_portfolios"}]
    return listed
