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
from demo.calls import FLOWS, WHOLE_ALLOWED, discovery_steps, grain_of, steps_for
from demo.follow_ups import earlier_steps, follow_up
from demo.named_periods import read_periods
from demo.plan_shape import Question, offered_only, plan_of, words_of
from demo.question_names import Chosen, find_portfolios
from demo.question_words import (
    ADVICE,
    ALL,
    ANNUAL,
    BY_STRATEGY,
    BY_TYPE,
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
    MEAN,
    MONEY,
    NAV,
    NET,
    OUTFLOW,
    RANK,
    RANK_PLACE,
    RATES,
    RETURN,
    RISK,
    SQL,
    TABLES,
    UNSUPPORTED,
    WHY,
)
from demo.unread import cannot_read, unread_words
from pipe.question_dates import Days, find_days
from schemas.language import Both, detect_language

# The rules look back and forth over the text; a longer one is no question for keywords.
MAX_LETTERS = 2000



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
    calls = earlier_steps(previous)
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
    earlier = earlier_steps(asked.previous)
    if earlier and not operations and not asked.chosen and asked.has(WHY):
        plan = words_of(asked, answer=REASONS)
        return {
            **plan,
            "entities": {**plan["entities"], **(asked.previous or {})["plan"].get("entities", {})},
        }
    if earlier and (followed := follow_up(asked, operations, earlier)):
        return plan_of(asked, followed)
    found = discovery_steps(asked, bool(operations))
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
    if asked.has(RANK) and not asked.has(RANK_PLACE) and not (set(places) & set(FLOWS)):
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


def _measured(asked: Question, operations: list[str]) -> dict[str, Any]:
    needy = [operation for operation in operations if operation not in WHOLE_ALLOWED]
    if needy and not asked.chosen:
        return words_of(asked, question=WHICH_PORTFOLIO, operations=operations)
    selection: dict[str, Any] = asked.chosen.args()
    return plan_of(asked, steps_for(asked, operations, selection, asked.days.spans, grain_of(asked, operations)))


def _database_steps(asked: Question) -> list[dict[str, Any]]:
    if SQL.search(asked.text):
        return [{"operation": "run_select_query", "query": asked.text.rstrip("; ")}]
    if asked.has(TABLES):
        found = DATABASE.search(asked.text)
        return [{"operation": "list_tables", **({"database": found.group(1)} if found else {})}]
    if asked.has(DATABASES):
        return [{"operation": "list_databases"}]
    return []
