"""A question to the person, with numbered options that continue the same plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schemas.language import Both

MAX_OPTIONS = 7

Subject = Literal["portfolio", "period", "question"]


@dataclass(frozen=True)
class Option:
    """One choice.

    `value` is what continues the plan: a portfolio id as text, or "start/end" as ISO dates.
    """

    label: Both
    value: str
    detail: Both = Both("", "")


@dataclass(frozen=True)
class Clarification:
    """What is asked, about which words of the person, and the choices.

    `about` is the name or interval as the plan has it; `total` counts all that fit, shown or not.
    """

    question: Both
    subject: Subject
    about: str = ""
    options: tuple[Option, ...] = ()
    total: int = 0
