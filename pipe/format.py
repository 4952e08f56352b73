"""Cells as people read them: percents, money, dates in the reader's language; Markdown made safe."""

from __future__ import annotations

import html
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from schemas.language import Language
from schemas.table import TOTAL, Column

_SIGNS = {"RUB": "₽", "USD": "$", "EUR": "€"}
_SHORT_MONTHS_RU = "янв фев мар апр май июн июл авг сен окт ноя дек".split()
_SHORT_MONTHS_EN = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>&#!|$~^])")
# What begins a heading, a quote or a list when it stands first, and what browsers make a link of.
_FIRST = re.compile(r"^(\s*\d+(?=[.)](?:\s|$))|\s*(?=[-+=]))")
_LINK = re.compile(r"(?<=http)(?=s?://)|(?<=www)(?=\.)|(?<=ftp)(?=://)|(?<=mailto)(?=:)", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\x0b\x0c\u2028\u2029]+")
_NARROW = "\u202f"


def format_day(day: date, language: Language) -> str:
    """Return 31.12.2024 or 2024-12-31."""
    return f"{day:%d.%m.%Y}" if language == "ru" else day.isoformat()


def format_number(value: float | Decimal | int, digits: int, language: Language) -> str:
    """Return a number with thousands apart and a decimal comma in Russian; no negative zero."""
    text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    if language == "ru":
        return text.replace(",", "\u00a0").replace(".", ",").replace("-", "−")
    return text.replace("-", "−")


def format_period(text: str, language: Language) -> str:
    """Return мар 2024, 1 кв. 2024, 2024, Итого for a period cell."""
    if text == TOTAL:
        return "Итого" if language == "ru" else "Total"
    if re.fullmatch(r"\d{4}-Q[1-4]", text):
        return f"{text[-1]} кв. {text[:4]}" if language == "ru" else f"Q{text[-1]} {text[:4]}"
    if re.fullmatch(r"\d{4}-\d{2}", text):
        months = _SHORT_MONTHS_RU if language == "ru" else _SHORT_MONTHS_EN
        return f"{months[int(text[5:]) - 1]} {text[:4]}"
    return text


def format_cell(value: Any, column: Column, language: Language, *, currency: str = "") -> str:
    """Return a cell as text, empty for a missing value; not yet escaped."""
    if value is None:
        return ""
    if column.unit == "fraction" and isinstance(value, int | float | Decimal):
        small = 0 < abs(float(value)) < 0.0001
        return format_number(value * 100, 4 if small else 2, language) + "\u00a0%"
    if column.unit == "money" and isinstance(value, int | float | Decimal):
        sign = _SIGNS.get(currency, currency)
        shown = format_number(value, 2, language)
        return f"{shown}\u00a0{sign}" if sign else shown
    if column.unit == "period":
        return format_period(str(value), language)
    if isinstance(value, bool):
        return {"ru": ("нет", "да"), "en": ("no", "yes")}[language][value]
    if isinstance(value, datetime):
        return f"{format_day(value.date(), language)} {value:%H:%M:%S}"
    if isinstance(value, date):
        return format_day(value, language)
    if column.unit in ("count", "days") and isinstance(value, int):
        return format_number(value, 0, language)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def escape(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, link, HTML, formula or variable."""
    flat = _MARKDOWN.sub(
        lambda found: _ENTITIES.get(found.group(1), "\\" + found.group(1)), _BLANKS.sub(" ", text)
    )
    return _LINK.sub(_WORD_JOINER, _FIRST.sub(r"\1\\", flat, count=1))


_RULE_OF_TABLE = re.compile(r"^\|(?::?-+:?\|)+\n?", re.MULTILINE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def without_markup(text: str) -> str:
    """Return our Markdown as a terminal shows it best: no stars, escapes, entities or table rules."""
    plain = _RULE_OF_TABLE.sub("", text).replace("**", "").replace(_WORD_JOINER, "")
    return _ESCAPED.sub(r"\1", html.unescape(plain))


_WORD_JOINER = "\u2060"
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
