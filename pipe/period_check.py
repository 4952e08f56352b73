"""Compare the days of a plan with the period its question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pipe.question_dates import Span, find_days
from schemas.periods import DataDays
from schemas.plan import Plan, Step
from tools.arguments import read_date
from tools.registry import Operation, Registry


@dataclass(frozen=True)
class AskedDays:
    """The question, and the days its words are measured from."""

    question: str
    today: date
    data: DataDays
    follow_up: bool = False


def period_findings(plan: Plan, registry: Registry, asked: AskedDays) -> Iterator[str]:
    """Yield a finding when the plan's intervals are not the period the question names.

    With several periods, or words that compare, one step must have one of them; else every step.
    """
    question = asked.question
    for name in _names_in(plan):
        question = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE)
    spans = find_days(question, today=asked.today, last_day=asked.data.last, data=asked.data).spans
    if not spans:
        return
    dated = [
        (step, given)
        for step in plan.steps
        if (operation := registry.operation(step.tool, step.operation)) is not None
        and (given := _interval_of(step, operation)) is not None
    ]
    if not dated:
        return
    allowed = [*spans, _from_first_to_last(spans)]
    right = [any(_fits(given, span, asked) for span in allowed) for _step, given in dated]
    one_period = len(spans) == 1 and not _COMPARING.search(question)
    if all(right) or (any(right) and not one_period):
        return
    named = " and ".join(f"{span.start or '…'}..{span.end or '…'}" for span in spans)
    wrong = [step.id for (step, _given), fits in zip(dated, right, strict=True) if not fits]
    yield (
        f"the question names the period {named}, but step(s) {', '.join(map(repr, wrong))} "
        "have other dates: take start_date and end_date from the question"
    )


_COMPARING = re.compile(
    r"сравн|ранее|раньше|предыдущ|прошл|против|чем|динамик|compar|earlier|previous|versus|\bvs\b|than|ago",
    re.IGNORECASE,
)
_STARTS = ("start_date", "date_from", "start", "from_date", "from", "date", "on_date")
_ENDS = ("end_date", "date_to", "end", "to_date", "to", "date", "on_date")
_NAME_FIELDS = ("portfolio_names", "portfolio_name", "portfolios", "portfolio", "names", "name")


def _names_in(plan: Plan) -> list[str]:
    given: list[Any] = [*plan.entities.portfolio_names, plan.entities.portfolio_hint or ""]
    for step in plan.steps:
        for field in _NAME_FIELDS:
            value = step.args.get(field)
            given.extend(value if isinstance(value, list) else [value])
    return sorted({item for item in given if isinstance(item, str) and item.strip()}, key=len, reverse=True)


def _from_first_to_last(spans: Sequence[Span]) -> Span:
    """Return the interval over all spans: «за 2023 и 2024» may be one."""
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    return Span(
        None if None in starts else min(filter(None, starts)),
        None if None in ends else max(filter(None, ends)),
    )


@dataclass(frozen=True)
class _Given:
    """The days a step was given, as ISO dates; `on_last_day`: the first day does not matter."""

    start: str | None
    end: str | None
    on_last_day: bool


def _interval_of(step: Step, operation: Operation) -> _Given | None:
    """Return the days of a step, None where it takes none or they come from another step."""
    if "end_date" not in operation.args.model_fields:
        return None
    found: list[str | None] = []
    for fields in (_STARTS, _ENDS):
        value = next((step.args[name] for name in fields if step.args.get(name)), None)
        if value is None:
            found.append(None)
            continue
        try:
            day = read_date(value)
        except ValueError:
            return None
        if not isinstance(day, date):
            return None
        found.append(day.isoformat())
    start, end = found
    if start is None and end is not None:
        # What the tools fill in: the beginning of that year.
        start = f"{end[:4]}-01-01"
    series = bool(step.args.get("by_date") or step.args.get("period"))
    return _Given(start, end, operation.on_last_day and not series)


def _fits(given: _Given, span: Span, asked: AskedDays) -> bool:
    if asked.follow_up and _other_year(given, span):
        return True
    last = asked.data.last.isoformat() if asked.data.last else None
    ends = {span.end}
    if span.end is None or (last is not None and span.end >= last):
        ends |= {last, asked.today.isoformat(), None}
    if given.end not in ends:
        return False
    return span.start is None or given.on_last_day or given.start == span.start


def _other_year(given: _Given, span: Span) -> bool:
    """Say whether only the year differs: «а за третий квартал?» may mean that of the turn before."""
    return all(
        mine is not None and other is not None and mine[5:] == other[5:]
        for mine, other in ((given.start, span.start), (given.end, span.end))
    )
