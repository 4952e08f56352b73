"""Named periods as dates: what «прошлый квартал» means today.

Every period is a closed interval of calendar days. A period that runs to now ends on the last
day that has data; closed calendar periods keep their calendar end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from schemas.language import Both

_MONTHS_RU = (
    "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь".split()
)
_MONTHS_EN = (
    "January February March April May June July August September October November December".split()
)


@dataclass(frozen=True)
class Period:
    """An interval of calendar days, both ends included, and what people call it."""

    start: date
    end: date
    name: Both = Both("", "")


@dataclass(frozen=True)
class DataDays:
    """The days that have data: first and last, and the last trading days in order, oldest first."""

    first: date | None = None
    last: date | None = None
    trading: tuple[date, ...] = ()


def month_end(year: int, month: int) -> date:
    """Return the last day of a month."""
    following = date(year + month // 12, month % 12 + 1, 1)
    return following - timedelta(days=1)


def quarter(year: int, number: int) -> tuple[date, date]:
    """Return first and last day of quarter 1 to 4."""
    return date(year, 3 * number - 2, 1), month_end(year, 3 * number)


def months_back(day: date, months: int) -> date:
    """Return the same day of the month `months` earlier, the month's last day if it is shorter."""
    index = day.year * 12 + day.month - 1 - months
    year, month = divmod(index, 12)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), month_end(year, month + 1))


def named_periods(
    today: date, last_data_day: date | None, data: DataDays | None = None
) -> list[Period]:
    """Return the periods handed to the planner, already as dates."""
    last = min(today, last_data_day) if last_data_day is not None else today
    year, number = today.year, (today.month - 1) // 3 + 1
    previous_month_end = date(year, today.month, 1) - timedelta(days=1)
    previous_quarter = quarter(year, number - 1) if number > 1 else quarter(year - 1, 4)
    yesterday = today - timedelta(days=1)
    rows = [
        Period(yesterday, yesterday, Both("вчера", "yesterday")),
        Period(last, last, Both("последний день с данными", "last day with data")),
        Period(date(year, 1, 1), last, Both("с начала года", "year to date (YTD)")),
        Period(
            quarter(year, number)[0], last, Both("с начала квартала", "quarter to date (QTD)")
        ),
        Period(date(year, today.month, 1), last, Both("с начала месяца", "month to date (MTD)")),
        Period(
            previous_month_end.replace(day=1),
            previous_month_end,
            Both("прошлый месяц", "previous month"),
        ),
        Period(*previous_quarter, Both("прошлый квартал", "previous quarter")),
        Period(
            date(year - 1, 1, 1), date(year - 1, 12, 31), Both("прошлый год", "previous year")
        ),
        Period(
            months_back(last + timedelta(days=1), 12),
            last,
            Both("последние 12 месяцев", "last 12 months"),
        ),
        Period(
            months_back(last + timedelta(days=1), 6),
            last,
            Both("последние 6 месяцев", "last 6 months"),
        ),
        Period(
            months_back(last + timedelta(days=1), 3),
            last,
            Both("последние 3 месяца", "last 3 months"),
        ),
        Period(last - timedelta(days=29), last, Both("последние 30 дней", "last 30 days")),
        Period(*_last_trading(last, 5, data), Both("последние 5 торговых дней", "last 5 trading days")),
    ]
    if data is not None and data.first is not None:
        rows.append(Period(data.first, last, Both("с запуска", "since inception")))
    for past in (year, year - 1, year - 2):
        rows.append(
            Period(date(past, 1, 1), date(past, 12, 31), Both(f"{past} год", f"year {past}"))
        )
    for past in (year, year - 1):
        rows.extend(
            Period(*quarter(past, part), Both(f"{part} квартал {past}", f"Q{part} {past}"))
            for part in (1, 2, 3, 4)
            if quarter(past, part)[0] <= today
        )
        for half, (first, final) in ((1, (1, 6)), (2, (7, 12))):
            if date(past, first, 1) <= today:
                rows.append(
                    Period(
                        date(past, first, 1),
                        month_end(past, final),
                        Both(f"{half} полугодие {past}", f"H{half} {past}"),
                    )
                )
    for back in range(12):
        day = months_back(today.replace(day=1), back)
        rows.append(
            Period(
                day,
                month_end(day.year, day.month),
                Both(
                    f"{_MONTHS_RU[day.month - 1]} {day.year}",
                    f"{_MONTHS_EN[day.month - 1]} {day.year}",
                ),
            )
        )
    return rows


def _last_trading(last: date, count: int, data: DataDays | None) -> tuple[date, date]:
    """Return the interval of the last days that have data; weekdays where those are not known."""
    if data is not None and len(data.trading) >= count and data.trading[-1] == last:
        return data.trading[-count], last
    return _last_weekdays(last, count)


def _last_weekdays(last: date, count: int) -> tuple[date, date]:
    day = last
    seen = 0
    while True:
        seen += day.weekday() < 5
        if seen == count:
            return day, last
        day -= timedelta(days=1)


def default_period(setting: str, today: date, last_data_day: date | None) -> Period:
    """Return the period of a question that names none: year to date, or the DEFAULT_PERIOD valve."""
    last = min(today, last_data_day) if last_data_day is not None else today
    written = _written_period(setting)
    if written is not None:
        return Period(*written, Both("период по умолчанию", "the default period"))
    return Period(last.replace(month=1, day=1), last, Both("с начала года", "year to date"))


def is_period_setting(setting: str) -> bool:
    """Say whether the DEFAULT_PERIOD valve can be read."""
    return setting.strip() == "year_to_date" or _written_period(setting) is not None


def _written_period(setting: str) -> tuple[date, date] | None:
    found = re.fullmatch(
        r"\s*(\d{4}-\d{2}-\d{2})\s*(?:/|\.\.|…|—|–)\s*(\d{4}-\d{2}-\d{2})\s*", setting
    )
    if found is None:
        return None
    try:
        start, end = date.fromisoformat(found.group(1)), date.fromisoformat(found.group(2))
    except ValueError:
        return None
    return (start, end) if start <= end else None
