"""What the agent tells while it works: statuses, and the answer last."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.language import Both
from schemas.state import Answer


@dataclass(frozen=True)
class Progress:
    """One line of status; the last one of a question has `done`."""

    text: Both
    done: bool = False


Event = Progress | Answer
