"""Answer the host's own tasks – title, tags, follow-ups – at once and without a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pipe.memory import recall, text_of
from schemas.language import detect_language

_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_USER_LINE = re.compile(r"^(?:USER|user|User):\s*(.+)$", re.MULTILINE)
_FOLLOW_UPS = {
    "profitability": {
        "ru": ["А за прошлый год?", "То же по месяцам", "Какая просадка за этот период?"],
        "en": ["And for the previous year?", "The same by month", "What was the drawdown?"],
    },
    "cashflows": {
        "ru": ["То же по месяцам", "Какая доходность за этот период?", "СЧА по типам портфелей"],
        "en": ["The same by month", "What was the return then?", "NAV by portfolio type"],
    },
    "discovery": {
        "ru": ["Топ-3 ПИФа по доходности с начала года", "СЧА по типам портфелей"],
        "en": ["Top 3 funds by return this year", "NAV by portfolio type"],
    },
}


def answer_task(task: str, body: Mapping[str, Any]) -> str:
    """Return the JSON text the host expects of a task, empty lists where nothing fits."""
    messages = _messages(body)
    question = _question(messages)
    language = detect_language(question)
    if task == "title_generation":
        title = " ".join(question.split())
        return json.dumps({"title": title[:57] + "…" if len(title) > 58 else title or "Portfolio Agent"}, ensure_ascii=False)
    if task == "tags_generation":
        turn = recall(messages)
        words = {"ru": "Портфели", "en": "Portfolios"}[language]
        intents = {
            "profitability": ("Доходность", "Returns"),
            "cashflows": ("Потоки", "Cash flows"),
            "discovery": ("Справочник", "Catalogue"),
        }
        pair = intents.get(turn.plan.intent) if turn else None
        tags = [words, *([pair[0] if language == "ru" else pair[1]] if pair else [])]
        return json.dumps({"tags": tags}, ensure_ascii=False)
    if task == "follow_up_generation":
        turn = recall(messages)
        offered = _FOLLOW_UPS.get(turn.plan.intent, {}) if turn and not turn.asked_about else {}
        return json.dumps({"follow_ups": offered.get(language, [])}, ensure_ascii=False)
    if task in ("query_generation", "image_prompt_generation", "autocomplete_generation"):
        return json.dumps({"queries": [], "prompt": "", "text": ""})
    return "{}"


def _messages(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the chat's messages: the host passes them beside the task, or inside its prompt."""
    task_body = body.get("task_body") or {}
    for source in (task_body.get("messages"), body.get("messages")):
        if isinstance(source, list) and source:
            return source
    return []


def _question(messages: Sequence[Mapping[str, Any]]) -> str:
    users = [text_of(item.get("content")) for item in messages if item.get("role") == "user"]
    if not users:
        return ""
    history = _HISTORY.search(users[-1])
    if history is None:
        return users[0]
    found = _USER_LINE.search(history.group(1))
    return found.group(1) if found else ""
