"""The two languages of the people who read us: a text written by hand in both."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Language = Literal["ru", "en"]

_CYRILLIC = re.compile("[а-яёА-ЯЁ]")
_LATIN = re.compile("[a-zA-Z]")


class Both(NamedTuple):
    """One text for people, in Russian and in English."""

    ru: str
    en: str

    def to(self, language: Language) -> str:
        """Return the text in `language`."""
        return self.ru if language == "ru" else self.en


def same(text: str) -> Both:
    """Return a text that reads alike in both languages, such as a name or a code."""
    return Both(text, text)


def detect_language(text: str, *, otherwise: Language = "ru") -> Language:
    """Return the language a question is written in.

    One Cyrillic word in five is enough for Russian: portfolio names in English questions
    are often Russian, and the other way round. A text without letters gives `otherwise`.
    """
    words = re.findall(r"[^\W\d_]+", text)
    cyrillic = sum(1 for word in words if _CYRILLIC.search(word) and not word.isupper())
    latin = sum(1 for word in words if _LATIN.search(word) and not word.isupper())
    if cyrillic == latin == 0:
        cyrillic = sum(1 for word in words if _CYRILLIC.search(word))
        latin = sum(1 for word in words if _LATIN.search(word))
    if cyrillic == latin == 0:
        return otherwise
    lowercase_latin = sum(1 for word in words if word.islower() and word.isascii())
    lowercase_cyrillic = sum(1 for word in words if word.islower() and _CYRILLIC.search(word))
    if lowercase_latin != lowercase_cyrillic:
        return "ru" if lowercase_cyrillic > lowercase_latin else "en"
    return "ru" if cyrillic >= latin else "en"
