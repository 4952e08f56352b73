"""A question into a plan by keyword rules: no model, no data, never a figure.

The rules know the operations of the product's tools and common Russian and English wording. What
they do not know they say plainly.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

from demo.answers import (
    ABLE,
    ABOUT,
    NO_ADVICE,
    NO_FORECAST,
    NO_HOLDINGS,
    NO_INDEX,
    NO_RATES,
    NO_SUCH,
    REASONS,
    TOO_LONG,
    WHAT_ABOUT_IT,
    WHICH_PORTFOLIO,
)
from demo.named_periods import read_periods
from demo.plan_shape import CASH, METRICS, PROFIT, TOOLS, Question, offered_only, plan_of, words_of
from demo.question_names import Chosen, find_portfolios
from demo.question_words import (
    ADD,
    ADVICE,
    ALL,
    ANNUAL,
    ATTRIBUTES,
    BY_STRATEGY,
    BY_TYPE,
    CHART,
    CONTAINS,
    DAILY,
    DATABASE,
    DATABASES,
    EXACT_RETURN,
    FLOW,
    FOLLOW,
    FORECAST,
    GEOMETRIC,
    HELLO,
    HELP,
    HOLDINGS,
    INDEX,
    INFLOW,
    LENGTHS,
    LIMIT,
    LIMIT_WORD,
    LIST,
    MEAN,
    MONEY,
    NAV,
    NET,
    OUTFLOW,
    PORTFOLIOS,
    RANK,
    RANK_ONE,
    RANK_PLACE,
    RATES,
    RETURN,
    RISK,
    SEARCH,
    SQL,
    STRATEGIES,
    TABLE,
    TABLES,
    TYPES,
    UNSUPPORTED,
    WHY,
    WORD_LIMITS,
    WORST,
)
from demo.unread import cannot_read, unread_words
from pipe.question_dates import Days, Span, find_days
from schemas.language import Both, detect_language

# The rules look back and forth over the text; a longer one is no question for keywords.
MAX_LETTERS = 2000

_FLOWS = ("get_nav", "get_inflow", "get_outflow", "get_net_flow")
_WHOLE_ALLOWED = ("rank_portfolios", "get_group_profit", "get_nav_by_type")


def plan_for(question: str, prompt: str, *, previous: dict[str, Any] | None) -> dict[str, Any]:
    """Return the plan of a question in the wire format.

    `prompt` gives today, the last data day, the named periods and the operations on offer, each
    where it has them; `previous` is {"question", "plan"} of the turn before.
    """
    text = _unquoted(question.strip())
    if len(text) > MAX_LETTERS:
        none = Question("", "", Days((), ""), Chosen(), detect_language(text[:MAX_LETTERS]) == "ru", None)
        return words_of(none, question=TOO_LONG)
    lowered = INDEX.sub(" ", text) if INDEX.search(text) else text
    today = _day(prompt, "Today") or date.today()
    days = find_days(
        lowered,
        today=_year_before(text, today, previous),
        last_day=_day(prompt, "Last data day"),
        named=read_periods(prompt),
    )
    chosen = find_portfolios(days.rest)
    lower = _without_names(days.rest, chosen).lower()
    russian = detect_language(text) == "ru"
    asked = Question(text, lower, days, chosen, russian, previous)
    plan = offered_only(_decide(asked), prompt, asked)
    if plan["steps"]:
        about = ABOUT.to("ru" if russian else "en")
        index = NO_INDEX.to("ru" if russian else "en") if INDEX.search(text) else ""
        plan["remark"] = f"{index} {about}".strip()
    return plan


def _year_before(text: str, today: date, previous: dict[str, Any] | None) -> date:
    """Return the day a follow-up without a year is read from: «а за третий квартал?» keeps the year."""
    calls = _earlier_steps(previous)
    ends = [str(call["end_date"]) for call in calls if call.get("end_date")]
    if not FOLLOW.search(text) or re.search(r"(?:19|20)\d\d", text) or not ends:
        return today
    year = int(ends[0][:4]) if ends[0][:4].isdigit() else today.year
    return date(year, 12, 31) if year < today.year else today


def _unquoted(text: str) -> str:
    whole = re.fullmatch(r"[«\"“]([^«»\"“”]{20,})[»\"”]", text)
    return whole.group(1) if whole else text


def _day(prompt: str, label: str) -> date | None:
    found = re.findall(rf"^{label}:\s*(\d{{4}}-\d\d-\d\d)\s*$", prompt, re.MULTILINE)
    try:
        return datetime.strptime(found[-1], "%Y-%m-%d").date() if found else None
    except ValueError:
        return None


def _without_names(text: str, chosen: Chosen) -> str:
    """Blank the names out, so that words in them (Индекс, Дивидендный) ask for nothing."""
    for name in sorted(chosen.names, key=len, reverse=True):
        text = text.replace(name, "¦")
        bare = re.sub(r"^\S+\s+", "", name)
        text = text.replace(bare, "¦") if " " in name else text
    return text


def _decide(asked: Question) -> dict[str, Any]:
    refusal = _refusal(asked)
    if refusal is not None:
        return words_of(asked, answer=refusal)
    database = _database_steps(asked)
    if database:
        return plan_of(asked, database)
    unread = unread_words(asked)
    if unread and not asked.has(WHY):
        return words_of(asked, question=cannot_read(unread))
    operations = _operations(asked)
    earlier = _earlier_steps(asked.previous)
    if earlier and not operations and not asked.chosen and asked.has(WHY):
        plan = words_of(asked, answer=REASONS)
        return {
            **plan,
            "entities": {**plan["entities"], **(asked.previous or {})["plan"].get("entities", {})},
        }
    if earlier and (followed := _follow_up(asked, operations, earlier)):
        return plan_of(asked, followed)
    found = _discovery_steps(asked, bool(operations))
    if found:
        return plan_of(asked, found)
    if not operations and asked.chosen and asked.days.spans:
        operations = ["get_profit_of_portfolio"]
    if operations:
        return _measured(asked, operations)
    if INDEX.search(asked.text) and asked.chosen:
        return _measured(asked, ["get_profit_of_portfolio"])
    if INDEX.search(asked.text):
        return words_of(asked, answer=NO_RATES)
    if asked.chosen:
        return words_of(asked, question=WHAT_ABOUT_IT)
    if asked.has(HELLO) or asked.has(HELP):
        return words_of(asked, answer=Both(f"{ABOUT.ru} {ABLE.ru}", f"{ABOUT.en} {ABLE.en}"))
    return words_of(
        asked,
        question=Both(
            f"Не понял вопрос. {ABOUT.ru} {ABLE.ru}", f"I did not understand. {ABOUT.en} {ABLE.en}"
        ),
    )


def _refusal(asked: Question) -> Both | None:
    for rule, text in (
        (ADVICE, NO_ADVICE),
        (FORECAST, NO_FORECAST),
        (HOLDINGS, NO_HOLDINGS),
        (RATES, NO_RATES),
        (UNSUPPORTED, NO_SUCH),
    ):
        if asked.has(rule):
            return text
    ranked = asked.has(RANK) and any(asked.has(rule) for rule in (NAV, INFLOW, OUTFLOW, RISK))
    if ranked and not asked.has(EXACT_RETURN) and not asked.chosen.names:
        return NO_SUCH
    if asked.has(NAV) and asked.has(BY_STRATEGY):
        return NO_SUCH
    return None


def _operations(asked: Question) -> list[str]:
    """Return the operations on returns and flows a question asks for, in the order of its words."""
    text = asked.lower
    places: dict[str, int] = {}

    def note(operation: str, rule: re.Pattern[str], within: str) -> bool:
        found = rule.search(within)
        if found:
            places.setdefault(operation, found.start())
        return found is not None

    note("get_net_flow", NET, text)
    flows = NET.sub(lambda match: "¦" * len(match.group(0)), text)
    note("get_nav", NAV, flows)
    note("get_inflow", INFLOW, flows)
    note("get_outflow", OUTFLOW, flows)
    found = FLOW.search(flows)
    if found:
        for operation in ("get_inflow", "get_outflow", "get_net_flow"):
            places.setdefault(operation, found.start())
    money = note("get_profit_in_money", MONEY, flows)
    geometric = note("get_geometric_mean_profit", GEOMETRIC, text)
    mean = bool(MEAN.search(text)) and (not geometric or re.search("арифм|arithm", text) is not None)
    if mean:
        note("get_mean_profit", MEAN, text)
    risk = note("get_risk", RISK, text)
    annual = note("get_annualised_profit", ANNUAL, text) if not (risk and not RETURN.search(text)) else False
    if not (mean or geometric or annual) and (not money or EXACT_RETURN.search(text)):
        note("get_profit_of_portfolio", RETURN, text)
    if asked.has(RANK) and not asked.has(RANK_PLACE) and not (set(places) & set(_FLOWS)):
        return ["rank_portfolios"]
    if not places and re.search(r"динамик", text):
        places["get_profit_of_portfolio"] = 0
    if asked.has(RANK_PLACE) and not places:
        places["get_profit_of_portfolio"] = 0
    ordered = sorted(places, key=lambda operation: places[operation])
    grouped = asked.has(BY_TYPE) or asked.has(BY_STRATEGY)
    if grouped and not asked.chosen.names:
        swap = {"get_profit_of_portfolio": "get_group_profit", "get_nav": "get_nav_by_type"}
        ordered = [swap.get(operation, operation) for operation in ordered]
    if not asked.chosen and asked.has(ALL):
        swap = {"get_profit_of_portfolio": "rank_portfolios", "get_nav": "get_nav_by_type"}
        ordered = [swap.get(operation, operation) for operation in ordered]
    return list(dict.fromkeys(ordered))


def _said_grain(asked: Question) -> str:
    for length, rule in LENGTHS:
        if asked.has(rule):
            return length
    return "day" if asked.has(DAILY) else ""


def _grain(asked: Question, operations: list[str]) -> str:
    """Return day, month, quarter or year where rows are wanted for each, else ""."""
    place = RANK_PLACE.search(asked.lower)
    if place:
        word = (place.group(1) or place.group(2)).lower()
        return "day" if word in ("день", "day") else "month" if word in ("месяц", "month") else "quarter"
    said = _said_grain(asked)
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


def _measured(asked: Question, operations: list[str]) -> dict[str, Any]:
    needy = [operation for operation in operations if operation not in _WHOLE_ALLOWED]
    if needy and not asked.chosen:
        return words_of(asked, question=WHICH_PORTFOLIO, operations=operations)
    selection: dict[str, Any] = asked.chosen.args()
    return plan_of(asked, _steps(asked, operations, selection, asked.days.spans, _grain(asked, operations)))


def _steps(
    asked: Question, operations: list[str], selection: dict[str, Any], spans: tuple[Span, ...], grain: str
) -> list[dict[str, Any]]:
    """Return one call for each operation and period."""
    calls: list[dict[str, Any]] = []
    for span in spans[:4] or (Span(None, None),):
        for operation in operations:
            args: dict[str, Any] = {"operation": operation, **selection, **_dates(operation, span, grain)}
            calls.append(_grained(_ranked(asked, args), grain))
    return calls


def _dates(operation: str, span: Span, grain: str) -> dict[str, str]:
    """Return the date arguments; a NAV of one day needs only its end."""
    dates = {"start_date": span.start, "end_date": span.end}
    if operation in ("get_nav", "get_nav_by_type") and not grain and span.end:
        dates.pop("start_date")
    return {key: value for key, value in dates.items() if value}


def _grained(args: dict[str, Any], grain: str) -> dict[str, Any]:
    operation = args["operation"]
    args = {key: value for key, value in args.items() if key not in ("by_date", "period")}
    if operation == "get_profit_by_period":
        operation = "get_profit_of_portfolio"
    if grain == "day" and operation in (*_FLOWS, "get_profit_of_portfolio"):
        return {**args, "operation": operation, "by_date": True}
    if grain in ("month", "quarter", "year"):
        if operation == "get_profit_of_portfolio":
            return {**args, "operation": "get_profit_by_period", "period": grain}
        if operation in _FLOWS:
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
    return {**args, "order": "worst" if asked.has(WORST) else "best", "limit": max(1, min(limit, 1000))}


def _discovery_steps(asked: Question, measured: bool) -> list[dict[str, Any]]:
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


def _database_steps(asked: Question) -> list[dict[str, Any]]:
    if SQL.search(asked.text):
        return [{"operation": "run_select_query", "query": asked.text.rstrip("; ")}]
    if asked.has(TABLES):
        found = DATABASE.search(asked.text)
        return [{"operation": "list_tables", **({"database": found.group(1)} if found else {})}]
    if asked.has(DATABASES):
        return [{"operation": "list_databases"}]
    return []


def _earlier_steps(previous: dict[str, Any] | None) -> list[dict[str, Any]]:
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
        if not isinstance(args, dict) or not step.get("show_data") or args.get("operation") not in TOOLS:
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
        calls = [{"operation": item, **meant, **dates} for item in named or ["get_profit_of_portfolio"]]
    return calls


_SELECTION = (
    "portfolio_names",
    "portfolio_codes",
    "portfolio_client_codes",
    "portfolio_types",
    "strategies",
    "portfolio_ids",
)


def _follow_up(asked: Question, operations: list[str], earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the earlier calls changed by what the person said now; empty for a new question."""
    selection = asked.chosen.args()
    known = {key: value for key, value in earlier[0].items() if key in _SELECTION}
    if isinstance(earlier[0].get("portfolio"), str):
        known["portfolio_names"] = [earlier[0]["portfolio"]]
    dated = next((call for call in earlier if call.get("start_date")), earlier[0])
    spans = asked.days.spans or (Span(dated.get("start_date"), dated.get("end_date")),)
    before = next((_call_grain(call) for call in earlier if _call_grain(call)), "")
    grain = _grain(asked, [*operations, *(call["operation"] for call in earlier)])
    if before and not _said_grain(asked):
        # «То же графиком» keeps the months it had.
        grain = ""
    listing = not operations and not selection and bool(_discovery_steps(asked, False))
    if listing:
        return []
    if asked.has(ADD) and operations:
        added = _steps(asked, operations, selection or known, spans, grain or before)
        return _distinct([*(_changed(call, {}, (), grain) for call in earlier), *added])
    if operations:
        inherits = (
            not selection
            and known
            and (asked.has(FOLLOW) or any(operation not in _WHOLE_ALLOWED for operation in operations))
        )
        if inherits:
            calls = _steps(asked, operations, known, spans, grain)
            limit = earlier[0].get("limit")
            if limit and not (asked.has(LIMIT) or asked.has(RANK_ONE)):
                calls = [{**call, "limit": limit} if "limit" in call else call for call in calls]
            return calls
        if selection and not asked.days.spans and asked.has(FOLLOW) and spans[0] != Span(None, None):
            return _steps(asked, operations, selection, spans, grain)
        return []
    if (
        not selection
        and not asked.days.spans
        and not grain
        and not (
            asked.has(CHART) or asked.has(TABLE) or re.search(r"то же|same|снова|again|повтори", asked.lower)
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
        args = _grained(args, grain)
    if span is not None and TOOLS[operation] in (PROFIT, CASH):
        args = {key: value for key, value in args.items() if key not in ("start_date", "end_date")}
        kept = grain or _call_grain(args)
        args.update(_dates(operation, span, kept))
    return args


def _distinct(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for place, call in enumerate(calls) if call not in calls[:place]]
