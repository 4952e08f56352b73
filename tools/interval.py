"""Which days a step is about: what was left out is filled in and said."""

from __future__ import annotations

from datetime import date

from schemas.clarification import Clarification, Option
from schemas.errors import ClarificationNeeded, NoData
from schemas.language import Both
from schemas.periods import Period, default_period
from schemas.table import Notice
from tools.arguments import PeriodArgs
from tools.context import ToolContext

_FIRST_DATE = date(1970, 1, 1)


def period_of(args: PeriodArgs, context: ToolContext) -> tuple[Period, tuple[Notice, ...]]:
    """Return the interval of a step, filling what the person left out and saying so.

    Raises:
        ClarificationNeeded: the interval is reversed.
        NoData: it begins after the last day that has data.
    """
    usual = default_period(context.settings.DEFAULT_PERIOD, context.today, context.last_day)
    start, end = args.start_date, args.end_date
    notices: tuple[Notice, ...] = ()
    if start is None and end is None:
        start, end = usual.start, usual.end
        shown = f"{start:%d.%m.%Y}–{end:%d.%m.%Y}"
        notices = (
            Notice(
                "default_period",
                Both(
                    f"Период не назван, взят {usual.name.ru}: {shown}.",
                    f"No period was named, taken: {usual.name.en}, {start}…{end}.",
                ),
                "info",
            ),
        )
    elif start is None and end is not None:
        start = end.replace(month=1, day=1)
        notices = (_filled(start, end),)
    elif end is None and start is not None:
        end = context.last_day if context.last_day and context.last_day >= start else start
        notices = (_filled(start, end),)
    if start is None or end is None:
        raise AssertionError("both ends are set above")
    if start > end:
        if context.choices.get(_interval(start, end)):
            start, end = end, start
        else:
            raise ClarificationNeeded(_reversed(start, end))
    if end < _FIRST_DATE:
        raise NoData(
            Both(
                f"За {start:%d.%m.%Y}–{end:%d.%m.%Y} данных быть не может: даты раньше 1970 года.",
                f"There can be no data for {start}…{end}: the dates are before 1970.",
            )
        )
    notices = (*notices, *_beyond(start, end, context))
    # ClickHouse dates are 1970 to 2149 and wrap around silently beyond; no row lies after the
    # last day with data, so nothing is lost by ending there.
    last = context.last_day or end
    return Period(max(start, _FIRST_DATE), min(end, last) if start <= last else end), notices


def day_of(args: PeriodArgs, context: ToolContext) -> tuple[Period, tuple[Notice, ...]]:
    """Return the day of a figure that stands on one day, as a period that ends there.

    The day is the end of the interval; without one, the last day with data.

    Raises:
        ClarificationNeeded: the interval is reversed.
        NoData: the table is empty, or the day is before the first possible one.
    """
    if args.start_date is not None and args.end_date is not None and args.start_date > args.end_date:
        return period_of(args, context)
    last = context.last_day
    if last is None:
        raise NoData(Both("В таблице нет ни одной строки.", "The table has no rows at all."))
    asked = args.end_date
    if asked is None and args.start_date is None:
        asked = default_period(context.settings.DEFAULT_PERIOD, context.today, last).end
    day = min(asked, last) if asked is not None else last
    if day < _FIRST_DATE:
        return period_of(args, context)
    notices: tuple[Notice, ...] = ()
    if asked is not None and asked > last:
        notices = (_data_until(last),)
    return Period(day.replace(month=1, day=1), day), notices


def _filled(start: date, end: date) -> Notice:
    return Notice(
        "filled_period",
        Both(f"Период: {start:%d.%m.%Y}–{end:%d.%m.%Y}.", f"Period: {start}…{end}."),
        "info",
    )


def _interval(start: date, end: date) -> str:
    return f"{start.isoformat()}/{end.isoformat()}"


def _reversed(start: date, end: date) -> Clarification:
    return Clarification(
        question=Both(
            f"Начало периода {start:%d.%m.%Y} позже конца {end:%d.%m.%Y}. "
            f"Взять {end:%d.%m.%Y}–{start:%d.%m.%Y}?",
            f"The period starts on {start}, after its end {end}. Take {end}…{start}?",
        ),
        subject="period",
        about=_interval(start, end),
        options=(
            Option(
                label=Both(
                    f"{end:%d.%m.%Y}–{start:%d.%m.%Y}", f"{end.isoformat()}…{start.isoformat()}"
                ),
                value=_interval(end, start),
            ),
        ),
        total=1,
    )


def _beyond(start: date, end: date, context: ToolContext) -> tuple[Notice, ...]:
    last = context.last_day
    if last is None:
        raise NoData(Both("В таблице нет ни одной строки.", "The table has no rows at all."))
    if start > last:
        raise NoData(
            Both(
                f"За {start:%d.%m.%Y}–{end:%d.%m.%Y} данных ещё нет: "
                f"последний день с данными — {last:%d.%m.%Y}.",
                f"There is no data yet for {start}…{end}: the last day with data is {last}.",
            )
        )
    if end > last:
        return (_data_until(last),)
    return ()


def _data_until(last: date) -> Notice:
    return Notice(
        "data_until",
        Both(f"Данные есть по {last:%d.%m.%Y}.", f"Data is available up to {last}."),
        "info",
    )
