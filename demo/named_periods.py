"""The named periods a planner prompt hands over, read back from it."""

from __future__ import annotations

import re

from pipe.question_dates import Span


def read_periods(prompt: str) -> dict[str, Span]:
    """Return the periods between <periods> and </periods> by name, lower case.

    A line may give several names joined with " = "; a note in brackets is not part of a name.
    """
    block = re.search(r"<periods>(.*?)</periods>", prompt, re.DOTALL)
    named: dict[str, Span] = {}
    for line in (block.group(1) if block else "").splitlines():
        found = re.match(r"\s*-\s*(.+?):\s*(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)\s*$", line)
        if found:
            for name in found.group(1).split(" = "):
                plain = re.sub(r"\s*\([^)]*\)", "", name).strip().lower()
                named[plain] = Span(found.group(2), found.group(3))
    return named
