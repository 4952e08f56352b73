"""What one turn leaves for the next, inside the message itself: no server-side session.

A Markdown reference definition is invisible to the reader and comes back with the chat's history,
so it works over several workers, after a reload and in a shared chat.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from schemas.clarification import Clarification
from schemas.plan import Plan
from schemas.state import Answer

_LINE = re.compile(r"\[//\]: # \(portfolio-agent:([A-Za-z0-9_=-]+)\)")
_MOST_BYTES = 200_000


@dataclass(frozen=True)
class PendingOption:
    """One option of a question that waits for an answer."""

    value: str
    label: str
    detail: str


@dataclass(frozen=True)
class Turn:
    """An earlier turn: its question and plan, choices made, and what was asked back."""

    question: str
    plan: Plan
    choices: Mapping[str, str] = field(default_factory=dict)
    asked_about: str = ""
    subject: str = ""
    options: tuple[PendingOption, ...] = ()


def remember(answer: Answer) -> str:
    """Return the invisible line for an answer that has a plan, empty otherwise."""
    plan = answer.plan
    if plan is None or not (plan.steps or plan.clarification_question):
        return ""
    asked: Clarification | None = answer.clarification
    data: dict[str, Any] = {
        "question": answer.question[:2000],
        "plan": plan.model_dump(mode="json"),
        "choices": dict(answer.choices),
    }
    if asked is not None:
        data["asked_about"] = asked.about
        data["subject"] = asked.subject
        data["options"] = [
            [option.value, option.label.ru, option.detail.ru] for option in asked.options
        ]
    packed = zlib.compress(json.dumps(data, ensure_ascii=False).encode(), 9)
    line = base64.urlsafe_b64encode(packed).decode()
    return f"\n\n[//]: # (portfolio-agent:{line})\n"


def turn_of(answer: Answer) -> Turn | None:
    """Return what an answer would leave for the next turn, None without a plan."""
    found = _LINE.findall(remember(answer))
    return _read_turn(found[-1]) if found else None


def recall(messages: Sequence[Mapping[str, Any]]) -> Turn | None:
    """Return the last turn that an assistant message remembers; a damaged line counts as none."""
    for message in reversed(messages):
        if message.get("role") != "assistant":
            continue
        found = _LINE.findall(text_of(message.get("content")))
        if found:
            return _read_turn(found[-1])
    return None


def text_of(content: Any) -> str:
    """Return the text of a message, which may be a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text", "")) for part in content if isinstance(part, dict)
        )
    return ""


def _read_turn(line: str) -> Turn | None:
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(base64.urlsafe_b64decode(line), _MOST_BYTES)
        data = json.loads(raw)
        return Turn(
            question=str(data["question"]),
            plan=Plan.model_validate(data["plan"]),
            choices={str(key): str(value) for key, value in data.get("choices", {}).items()},
            asked_about=str(data.get("asked_about", "")),
            subject=str(data.get("subject", "")),
            options=tuple(
                PendingOption(*(str(part) for part in option))
                for option in data.get("options", [])
            ),
        )
    except (ValueError, KeyError, TypeError, zlib.error, binascii.Error, ValidationError):
        return None


_ORDINALS = {
    "перв": 1, "втор": 2, "трет": 3, "четв": 4, "пят": 5, "шест": 6, "седьм": 7,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
}
_COUNTED = frozenset("вариант портфель из option one portfolio".split())
_YES = frozenset({"да", "ага", "верно", "yes", "y", "ok", "ок"})


def chosen_option(reply: str, options: Sequence[PendingOption]) -> PendingOption | None:
    """Return the option a reply names: by number, ordinal, code, name or a part of only one."""
    words = reply.strip().strip(".!)»\"«").lower()
    if not words or not options or len(words) > 120:
        return None
    if words in _YES and len(options) == 1:
        return options[0]
    number = _number_of(words)
    if number is not None:
        return options[number - 1] if 1 <= number <= len(options) else None
    for option in options:
        codes = [part.strip().lower() for part in option.detail.split(",")]
        if words in (option.label.lower(), codes[0] if codes else ""):
            return option
    fitting = [
        option for option in options if words in f"{option.label}, {option.detail}".lower()
    ]
    return fitting[0] if len(fitting) == 1 and len(words) > 2 else None


def _number_of(words: str) -> int | None:
    bare = re.fullmatch(r"(?:№|#|номер|number|вариант|option)?\s*(\d{1,2})[.)]?", words)
    if bare:
        return int(bare.group(1))
    parts = words.split()
    if len(parts) == 1 or (len(parts) == 2 and parts[1] in _COUNTED):
        for stem, number in _ORDINALS.items():
            if parts[0].startswith(stem):
                return number
    return None
