"""Spell a text in the ways people type a name: by key, by sound, in another layout or alphabet.

Three spellings of a text serve three purposes. The spelling keeps everything but case, kinds of
dash, runs of spaces and Latin look-alikes. The key drops punctuation too; SQL computes the same
key from a stored name. The sound makes Russian and its many transliterations one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

# The same pairs as in NameKey of tools/sql/catalogue.sql: keys of both sides must agree.
LOOK_ALIKES = ("ёabcehkmoptxy", "еавсенкмортху")
CODE_FOLD = (LOOK_ALIKES[0] + "‐‑–—−", LOOK_ALIKES[1] + "-----")

_CODE_FOLD = str.maketrans(*CODE_FOLD)
_FOLD = str.maketrans(*LOOK_ALIKES)
_FOLD_KEEPING_YO = str.maketrans(LOOK_ALIKES[0][1:] + "ë", LOOK_ALIKES[1][1:] + "ё")
_DASHES = re.compile("[\u2010-\u2015\u2212\u00ad-]")
_SPACES = re.compile(r"\s+")

_ENGLISH_KEYS = "`qwertyuiop[]asdfghjkl;'zxcvbnm,./" + '~QWERTYUIOP{}ASDFGHJKL:"ZXCVBNM<>?@#^&'
_RUSSIAN_KEYS = "ёйцукенгшщзхъфывапролджэячсмитьбю." + 'ЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ,"№:?'
_TO_RUSSIAN_KEYS = str.maketrans(_ENGLISH_KEYS, _RUSSIAN_KEYS)
_TO_ENGLISH_KEYS = str.maketrans(_RUSSIAN_KEYS, _ENGLISH_KEYS)

_SOUNDS = (
    ("shch", "ш"), ("sch", "ш"), ("zh", "ж"), ("kh", "х"), ("ts", "ц"), ("tz", "ц"), ("ch", "ч"),
    ("sh", "ш"), ("yu", "иу"), ("ju", "иу"), ("ya", "иа"), ("ja", "иа"), ("yo", "е"), ("ph", "ф"),
    ("ck", "к"), ("ce", "це"), ("ci", "ци"), ("cy", "ци"),
)  # fmt: skip
_SOUND_LETTERS = str.maketrans(
    {
        **dict(zip("abcdefghijklmnopqrstuvwyz", "абкдефгхийклмнопкрстуввиз", strict=True)),
        "x": "кс", "й": "и", "ы": "и", "э": "е", "ё": "е", "щ": "ш", "я": "иа", "ю": "иу",
        "j": "и", "ь": "", "ъ": "", "'": "", "’": "",
    }
)
_LATIN_LETTERS = str.maketrans(
    {
        **dict(zip("абвгдеёзийклмнопрстуфхыэ", "abvgdeeziiklmnoprstufhye", strict=True)),
        "ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ю": "yu", "я": "ya",
        "ь": "", "ъ": "",
    }
)

_RUSSIAN_SYLLABLES = (
    ("shch", "щ"), ("sch", "щ"), ("zh", "ж"), ("kh", "х"), ("ts", "ц"), ("tz", "ц"), ("ch", "ч"),
    ("sh", "ш"), ("yu", "ю"), ("ju", "ю"), ("ya", "я"), ("ja", "я"), ("yo", "е"), ("jo", "е"),
    ("ye", "е"), ("ph", "ф"), ("ck", "к"), ("iy", "ий"), ("ij", "ий"), ("yi", "ый"), ("yj", "ый"),
    ("oy", "ой"), ("ey", "ей"), ("ay", "ай"),
)  # fmt: skip
_RUSSIAN_LETTERS = str.maketrans(
    {**dict(zip("abcdefghijklmnopqrstuvwyz", "абкдефгхийклмнопкрстуввыз", strict=True)), "x": "кс", "'": "ь"}
)

_LEADING = re.compile(
    r"^\s*(?:портфел(?:ь|я|ю|ем|е)|клиент(?:а|у|ом)?|код(?:а|у)?|portfolio|client|code|id|№|#)[\s:]+",
    re.IGNORECASE,
)
_ROMAN_DIGITS = str.maketrans("ivx", "159")
_ROMAN_NUMERAL = re.compile(r"(?<!\w)[ivx]{1,5}(?!\w)")
_QUOTES = "\"'«»“”„‘’`"


def key(text: str) -> str:
    """Return letters and digits in lower case with look-alikes folded, one space between words."""
    folded = unicodedata.normalize("NFC", text).lower().translate(_FOLD)
    kept = (letter if unicodedata.category(letter)[0] in "LN" else " " for letter in folded)
    return " ".join("".join(kept).split())


def code_key(text: str) -> str:
    """Return a code in lower case with look-alikes and dashes folded, as SQL does."""
    return text.strip().lower().translate(_CODE_FOLD)


def spelling(text: str) -> str:
    """Return the text with only case, kinds of dash, runs of spaces and look-alikes folded."""
    folded = unicodedata.normalize("NFC", text).lower().translate(_FOLD_KEEPING_YO)
    return _SPACES.sub(" ", _DASHES.sub("-", folded)).strip()


def signs(text: str) -> Counter[str]:
    """Return the signs that tell namesakes apart, with their counts."""
    return Counter(letter for letter in text if letter in "+%_")


def spoken_as(text: str) -> tuple[str, ...]:
    """Return the text, and without outer quotes and words like «портфель» before it."""
    found = [text]
    for _ in range(3):
        bare = _LEADING.sub("", found[-1]).strip()
        if len(bare) > 1 and bare[0] in _QUOTES and bare[-1] in _QUOTES:
            inner = bare[1:-1].strip()
            # «АО «Якорь» ends in a quote of its own; a pair around nothing quoted is outer.
            if not any(mark in inner for mark in _QUOTES) or bare[0] == bare[-1]:
                bare = inner
        if not bare or bare == found[-1]:
            break
        found.append(bare)
    return tuple(dict.fromkeys(found))


def to_russian_layout(text: str) -> str:
    """Return what the same keys give in the Russian layout: ujhbpjyn -> горизонт."""
    return text.translate(_TO_RUSSIAN_KEYS)


def to_english_layout(text: str) -> str:
    """Return what the same keys give in the English layout: ифдешс -> baltic."""
    return text.translate(_TO_ENGLISH_KEYS)


def _mixed(word: str) -> bool:
    cyrillic = any("а" <= letter <= "я" or letter == "ё" for letter in word)
    return cyrillic and any("a" <= letter <= "z" for letter in word)


def sound(text: str) -> str:
    """Return Cyrillic by sound, alike for Russian and its transliterations: Aktsii -> акци."""
    heard = unicodedata.normalize("NFC", text).lower()
    # A look-alike inside a Cyrillic word is a slip of the layout, not a transliteration.
    heard = re.sub(
        r"\w+", lambda word: word.group().translate(_FOLD) if _mixed(word.group()) else word.group(), heard
    )
    # A numeral is no sound: «II» would shrink to «и» and be lost.
    heard = _ROMAN_NUMERAL.sub(lambda word: "римское" + word.group().translate(_ROMAN_DIGITS), heard)
    for latin, cyrillic in _SOUNDS:
        heard = heard.replace(latin, cyrillic)
    heard = heard.translate(_SOUND_LETTERS)
    return re.sub(r"([^\W\d])\1+", r"\1", heard)


def to_latin(text: str) -> str:
    """Return a transliteration to Latin, good enough to look for English names."""
    return text.lower().translate(_LATIN_LETTERS)


def to_russian(text: str) -> str:
    """Return what a transliteration most likely stands for: Severnyi -> северный."""
    spelled = text.lower()
    for latin, cyrillic in _RUSSIAN_SYLLABLES:
        spelled = spelled.replace(latin, cyrillic)
    return spelled.translate(_RUSSIAN_LETTERS)
