"""Days for rows that tests store."""

from __future__ import annotations

from datetime import date, timedelta


def weekdays(first: date, count: int) -> list[date]:
    """Return `count` days from `first` on, Monday to Friday."""
    found = []
    while len(found) < count:
        if first.weekday() < 5:
            found.append(first)
        first += timedelta(days=1)
    return found
