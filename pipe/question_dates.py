"""The days a question is about: explicit dates, months, quarters, years and named periods.

Dates stay text: a day the calendar lacks, or a reversed interval, goes on as the person gave it.
Words stand for a period only where they can hardly mean anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from schemas.periods import DataDays, month_end, months_back, named_periods, quarter

# Stands for every letter of the question that the dates have used up.
USED = "¦"

_MONTHS = (
    r"январ\w*|янв\b|january|jan\b",
    r"феврал\w*|фев\b|february|feb\b",
    r"март(?:а|е|ом)?\b|march|mar\b",
    r"апрел\w*|апр\b|april|apr\b",
    r"ма[йяе]\b|маем\b|may\b",
    r"июн[ьяе]\w*|june|jun\b",
    r"июл[ьяе]\w*|july|jul\b",
    r"август\w*|авг\b|august|aug\b",
    r"сентябр\w*|сент?\b|september|sept?\b",
    r"октябр\w*|окт\b|october|oct\b",
    r"ноябр\w*|нояб?\b|november|nov\b",
    r"декабр\w*|дек\b|december|dec\b",
)
_MONTH = "(?:" + "|".join(_MONTHS) + ")"
_YEAR = r"(?:19|20)\d\d"
_YEAR_TAIL = r"(?:\s*(?:годами|годах|годов|годом|годы|года|году|год|гг\.?|г\.|г\b))?"
_DAY = (
    rf"(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}|\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}}|\d\d)(?!\d)"
    rf"|\d{{1,2}}(?:-?го|st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\.?(?:,?\s+{_YEAR})?"
    rf"|{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+{_YEAR})?)"
)
_LEAD = (
    r"(?:\b(?:за\s+период|за|в|во|на|со|с|по|for|in|during|over|from|between|of|on|the)\s+"
    r"(?:the\s+)?)?"
)
_BETWEEN = r"\s*(?:по|до|and|и|through|until|till|to|—|–|-|\.\.\.?|…)\s*"
_NUMBERS = {
    "1": r"1|i|перв\w+|first",
    "2": r"2|ii|втор\w+|second",
    "3": r"3|iii|трет\w+|third",
    "4": r"4|iv|четв[её]рт\w+|fourth",
}
_NUMBER = "|".join(f"(?:{text})" for text in _NUMBERS.values())
_COUNTS = {
    "два": 2, "две": 2, "три": 3, "четыре": 4, "пять": 5, "шесть": 6, "десять": 10,
    "двенадцать": 12, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10,
    "twelve": 12
}  # fmt: skip
_COUNT = r"\d{1,4}|" + "|".join(_COUNTS)

# What people say for a period, and the name it has in the list of named periods.
_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"последн\w+ д(?:ень|ня) с данными|last day with data|последн\w+ (?:дату|день)|latest (?:date|day)", "last day with data"),
    (r"вчера\w*|yesterday", "yesterday"),
    ((r"с начала (?:этого |текущего )?года|ytd|year[- ]to[- ]date|since the start of the year"
     r"|эт(?:от|ом) году?|текущ\w+ году?|this year"), "year to date"),
    ((r"с начала (?:этого |текущего )?квартала|qtd|quarter[- ]to[- ]date"
     r"|эт(?:от|ом) квартале?|текущ\w+ квартале?|this quarter"), "quarter to date"),
    ((r"с начала (?:этого |текущего )?месяца|mtd|month[- ]to[- ]date"
     r"|эт(?:от|ом) месяце?|текущ\w+ месяце?|this month"), "month to date"),
    (r"(?:прошл|предыдущ|последн)\w+ месяце?|(?:last|previous) month", "previous month"),
    (r"(?:прошл|предыдущ|последн)\w+ квартале?|(?:last|previous) quarter", "previous quarter"),
    (r"(?:прошл|предыдущ)\w+ году?|(?:last|previous) year", "previous year"),
    (r"последн\w+ год|за год|последн\w+ 12 мес\w*|12 мес\w*|past year|last 12 months", "last 12 months"),
    (r"(?:последн\w+ )?полгода|past half[- ]year|last six months", "last 6 months")
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """An interval of a question; an open end is None. `on_day` is a single day."""

    start: str | None
    end: str | None

    @property
    def on_day(self) -> bool:
        """Tell whether it is one day."""
        return self.start == self.end

    @property
    def days(self) -> int | None:
        """Return its length, None where an end is open or not in the calendar."""
        try:
            first, last = (date.fromisoformat(self.start or ""), date.fromisoformat(self.end or ""))
        except ValueError:
            return None
        return (last - first).days + 1


@dataclass(frozen=True)
class Days:
    """The spans of a question in their order, and the question with their words used up."""

    spans: tuple[Span, ...]
    rest: str


def find_days(
    question: str,
    *,
    today: date,
    last_day: date | None,
    named: Mapping[str, Span] | None = None,
    data: DataDays | None = None,
) -> Days:
    """Return the periods a question names; `named` wins over own arithmetic."""
    known = {
        name.lower(): Span(period.start.isoformat(), period.end.isoformat())
        for period in named_periods(today, last_day, data)
        for name in (period.name.ru, re.sub(r"\s*\([^)]*\)", "", period.name.en))
    }
    known.update(named or {})
    trading = list(data.trading) if data is not None else []
    first = data.first.isoformat() if data is not None and data.first is not None else "2000-01-01"
    last = min(today, last_day) if last_day is not None else today
    found: list[tuple[int, Span]] = []
    rest = question

    def take(pattern: str, read: Callable[[re.Match[str]], Span | tuple[Span, ...] | None]) -> None:
        nonlocal rest

        def use(match: re.Match[str]) -> str:
            spans = read(match)
            if spans is None:
                return match.group(0)
            for span in spans if isinstance(spans, tuple) else (spans,):
                found.append((match.start(), _at_one_end(span, question[: match.start()])))
            return USED * len(match.group(0))

        rest = re.sub(pattern, use, rest, flags=re.IGNORECASE)

    def day(text: str, year: int) -> str:
        return _iso(text, year)

    def interval(match: re.Match[str]) -> Span:
        years = re.findall(_YEAR, match["b"])
        year = int(years[0]) if years else today.year
        return Span(day(match["a"], year), day(match["b"], year))

    # «с 1 по 15 марта 2025», «1–15 марта»: the first day has only its number.
    take(
        rf"(?:\b(?:с|со|from|between)\s+(?:the\s+)?(?P<a>\d{{1,2}})(?:-?го|st|nd|rd|th)?{_BETWEEN}"
        rf"|(?<![\w.])(?P<c>\d{{1,2}})\s*[—–-]\s*)(?P<b>\d{{1,2}}(?:-?го|st|nd|rd|th)?\s+(?:of\s+)?"
        rf"{_MONTH}\.?(?:,?\s+{_YEAR})?){_YEAR_TAIL}",
        lambda match: _same_month(match["a"] or match["c"], day(match["b"], today.year)),
    )
    take(rf"{_LEAD}(?P<a>{_DAY}){_YEAR_TAIL}{_BETWEEN}(?P<b>{_DAY}){_YEAR_TAIL}", interval)
    take(
        rf"\b(?:after|после)\s+(?P<a>{_DAY}){_YEAR_TAIL}",
        lambda match: Span(_day_after(day(match["a"], today.year)), None),
    )
    take(
        rf"\b(?:с|со) начала\s+(?P<m>{_MONTH})\.?(?:\s+(?P<y>{_YEAR}))?{_YEAR_TAIL}",
        lambda match: Span(
            (_whole_month(int(match["y"]), _month(match["m"])) if match["y"] else _recent_month(_month(match["m"]), today)).start,
            None,
        ),
    )
    take(
        rf"\b(?:с|со|от|начиная с|since|from)\s+(?P<a>{_DAY}){_YEAR_TAIL}",
        lambda match: Span(day(match["a"], today.year), None),
    )
    take(
        rf"\b(?:до|по|until|till|before|up to)\s+(?P<a>{_DAY}){_YEAR_TAIL}",
        lambda match: Span(None, day(match["a"], today.year)),
    )
    take(
        rf"(?:\bas of\s+|{_LEAD})(?P<a>{_DAY}){_YEAR_TAIL}",
        lambda match: Span(day(match["a"], today.year), day(match["a"], today.year)),
    )
    take(
        rf"{_LEAD}(?P<a>{_MONTH})\.?\s+(?:и|and)\s+(?P<b>{_MONTH})\.?\s+(?P<z>{_YEAR}){_YEAR_TAIL}",
        lambda match: (
            _whole_month(int(match["z"]), _month(match["a"])),
            _whole_month(int(match["z"]), _month(match["b"])),
        ),
    )
    take(
        rf"{_LEAD}(?<![\w-])(?P<n>{_NUMBER})(?:-?(?:й|го|м|ый|ом|е))?\s+(?:и|and)\s+(?P<k>{_NUMBER})"
        rf"(?:-?(?:й|го|м|ый|ом|е))?[ -]?(?:кв\.?|квартал\w*|quarters?)(?![а-яa-z])(?:,?\s*(?:of\s+)?(?P<y>{_YEAR}))?{_YEAR_TAIL}",
        lambda match: (_quarter(match["n"], match["y"], today), _quarter(match["k"], match["y"], today)),
    )
    take(
        rf"{_LEAD}(?P<a>{_MONTH})\.?(?:\s+(?P<y>{_YEAR}))?{_YEAR_TAIL}{_BETWEEN}"
        rf"(?P<b>{_MONTH})\.?\s+(?P<z>{_YEAR}){_YEAR_TAIL}",
        lambda match: Span(
            date(int(match["y"] or match["z"]), _month(match["a"]), 1).isoformat(),
            month_end(int(match["z"]), _month(match["b"])).isoformat(),
        ),
    )
    take(
        rf"{_LEAD}\b(?P<a>{_YEAR})(?:\s*(?:год\w*|г\.))?\s*(?:по|to|—|–|-|\.\.)\s*(?P<b>{_YEAR})\b{_YEAR_TAIL}",
        lambda match: Span(f"{match['a']}-01-01", f"{match['b']}-12-31"),
    )
    for name in sorted(known, key=len, reverse=True):
        take(rf"{_LEAD}(?<!\w){re.escape(name)}(?!\w|\.\d)", lambda _match, name=name: known[name])  # type: ignore[misc]
    take(
        rf"{_LEAD}(?<![\w-])(?P<n>{_NUMBER})(?:-?(?:й|го|м|ый|ом|е))?[ -]?(?:кв\.?|квартал\w*|quarters?)"
        rf"(?![а-яa-z])(?:,?\s*(?:of\s+)?(?P<y>{_YEAR}))?{_YEAR_TAIL}",
        lambda match: _quarter(match["n"], match["y"], today),
    )
    take(
        rf"{_LEAD}\b(?:q(?P<n>[1-4])|(?P<m>[1-4])q)[ '’]*(?P<y>{_YEAR}|\d\d(?!\d))?\b",
        lambda match: _quarter(match["n"] or match["m"], match["y"], today),
    )
    take(rf"{_LEAD}(?P<y>{_YEAR})[ -]?q(?P<n>[1-4])\b", lambda match: _quarter(match["n"], match["y"], today))
    take(
        rf"{_LEAD}\b(?:(?P<n>[12]|i|ii|перв\w+|втор\w+)(?:-?(?:е|ом|го))?\s+полугоди\w+"
        rf"|(?P<e>first|second) half|h(?P<h>[12]))(?:\s+(?:of\s+)?(?P<y>{_YEAR}))?{_YEAR_TAIL}(?!\w)",
        lambda match: _half(match["n"] or match["e"] or match["h"], match["y"], today),
    )
    take(
        rf"{_LEAD}\b(?P<m>{_MONTH})\.?,?\s+(?P<y>{_YEAR})\b{_YEAR_TAIL}",
        lambda match: _whole_month(int(match["y"]), _month(match["m"])),
    )
    take(
        rf"{_LEAD}\b(?:(?P<y>{_YEAR})-(?P<m>0[1-9]|1[0-2])|(?P<n>0[1-9]|1[0-2])\.(?P<z>{_YEAR}))\b(?![-.]\d)",
        lambda match: _whole_month(int(match["y"] or match["z"]), int(match["m"] or match["n"])),
    )
    # A bare month needs its preposition: «май» and may, март and march are other words too.
    take(
        rf"\b(?:за|в|во|in|for|during)\s+(?P<m>{_MONTH})(?!\w)",
        lambda match: _recent_month(_month(match["m"]), today),
    )
    for pattern, name in _SAYINGS:
        take(
            rf"{_LEAD}(?<!\w)(?:{pattern})(?!\w)",
            lambda _match, name=name: known.get(name),  # type: ignore[misc]
        )
    take(
        rf"{_LEAD}\b(?:последн\w+|прошедш\w+|прошл\w+|last|past)\s+(?P<n>{_COUNT})\s+"
        r"(?P<t>торгов\w+ |рабоч\w+ |trading |business )?"
        r"(?P<u>д(?:ень|ня|ней)|недел\w+|мес\w*|квартал\w*|года?|лет|days?|weeks?|months?|quarters?|years?)(?!\w)",
        lambda match: _latest(match, last, trading),
    )
    take(rf"{_LEAD}\b(?:сегодня\w*|today)(?!\w)", lambda _match: Span(today.isoformat(), today.isoformat()))
    take(
        rf"{_LEAD}(?<!\w)(?:прошл\w+ недел\w+|last week|previous week)",
        lambda _match: Span(
            (today - timedelta(days=today.weekday() + 7)).isoformat(),
            (today - timedelta(days=today.weekday() + 1)).isoformat(),
        ),
    )
    take(
        rf"{_LEAD}(?<!\w)(?:последн\w+ недел\w+|за неделю|past week|for a week)(?!\w)",
        lambda _match: Span((last - timedelta(days=6)).isoformat(), last.isoformat()),
    )
    take(
        rf"{_LEAD}(?<!\w)(?:вс[её] время|весь период|вс[ею]\w* истори\w+|(?:с|со)(?: момента| дня)? (?:запуска|основания|создания)"
        r"|since inception|since launch|all time)(?!\w)",
        lambda _match: Span(first, last.isoformat()),
    )
    take(
        rf"\b(?:с|со|since|from)\s+(?P<y>{_YEAR})\b{_YEAR_TAIL}",
        lambda match: Span(f"{match['y']}-01-01", last.isoformat()),
    )
    take(
        rf"{_LEAD}(?<![\w.-])(?:year |fy ?)?(?P<y>{_YEAR})(?![\w-]|\.\d){_YEAR_TAIL}",
        lambda match: Span(f"{match['y']}-01-01", f"{match['y']}-12-31"),
    )
    ordered = [span for _place, span in sorted(found, key=lambda item: item[0])]
    return Days(tuple(dict.fromkeys(ordered)), rest)


def _day_after(iso: str) -> str:
    try:
        return (date.fromisoformat(iso) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return iso


def _same_month(first: str, last: str) -> Span:
    return Span(f"{last[:8]}{int(first):02d}", last)


_END_OF = re.compile(r"(?:на|к)\s+конец\s*$|(?:end|close)(?: of(?: the)?)?\s*$", re.IGNORECASE)
_START_OF = re.compile(r"на\s+начало\s*$|(?:start|beginning)(?: of(?: the)?)?\s*$", re.IGNORECASE)


def _at_one_end(span: Span, before: str) -> Span:
    """Return the one day meant by «на конец 2024 года»."""
    if _END_OF.search(before):
        return Span(span.end, span.end)
    if _START_OF.search(before):
        return Span(span.start, span.start)
    return span


def _iso(text: str, year: int) -> str:
    """Return a written day as YYYY-MM-DD without asking whether the calendar has it."""
    numbers = re.findall(r"\d+", text)
    if re.match(r"\d{4}-", text):
        return f"{numbers[0]}-{int(numbers[1]):02d}-{int(numbers[2]):02d}"
    if re.match(r"\d{1,2}\.", text):
        written = int(numbers[2]) + (2000 if len(numbers[2]) == 2 else 0)
        return f"{written}-{int(numbers[1]):02d}-{int(numbers[0]):02d}"
    written = int(numbers[1]) if len(numbers) > 1 else year
    return f"{written}-{_month(text):02d}-{int(numbers[0]):02d}"


def _month(text: str) -> int:
    for number, pattern in enumerate(_MONTHS, 1):
        if re.search(rf"(?<![^\W\d_])(?:{pattern})", text, re.IGNORECASE):
            return number
    raise AssertionError(f"{text!r} was matched as a month")


def _whole_month(year: int, month: int) -> Span:
    return Span(date(year, month, 1).isoformat(), month_end(year, month).isoformat())


def _recent_month(month: int, today: date) -> Span:
    """Return the month of this year, or of the last one while it has not begun."""
    return _whole_month(today.year - (month > today.month), month)


def _ordinal(text: str) -> int:
    for number, pattern in _NUMBERS.items():
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return int(number)
    raise AssertionError(f"{text!r} was matched as a number")


def _full_year(text: str) -> int:
    return int(text) + (2000 if len(text) == 2 else 0)


def _quarter(number: str, year: str | None, today: date) -> Span:
    part = _ordinal(number)
    chosen = _full_year(year) if year else today.year
    if not year and quarter(chosen, part)[0] > today:
        chosen -= 1
    first, last = quarter(chosen, part)
    return Span(first.isoformat(), last.isoformat())


def _half(number: str, year: str | None, today: date) -> Span:
    part = _ordinal(number)
    chosen = int(year) if year else today.year
    if not year and date(chosen, 6 * part - 5, 1) > today:
        chosen -= 1
    return Span(date(chosen, 6 * part - 5, 1).isoformat(), month_end(chosen, 6 * part).isoformat())


def _latest(match: re.Match[str], last: date, trading: list[date]) -> Span:
    """Return the last N days, trading days, weeks, months, quarters or years up to `last`."""
    text, unit = match["n"].lower(), match["u"].lower()
    count = max(1, _COUNTS.get(text) or int(text))
    if match["t"] and len(trading) >= count:
        start = trading[-count]
    elif match["t"]:
        start, seen = last, 0
        while True:
            seen += start.weekday() < 5
            if seen == count:
                break
            start -= timedelta(days=1)
    elif unit.startswith(("д", "day")):
        start = last - timedelta(days=count - 1)
    elif unit.startswith(("нед", "week")):
        start = last - timedelta(days=7 * count - 1)
    else:
        months = 1 if unit.startswith(("мес", "month")) else 3 if unit[0] in "кq" else 12
        start = months_back(last + timedelta(days=1), min(months * count, 12 * 100))
    return Span(start.isoformat(), last.isoformat())
