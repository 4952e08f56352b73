"""Compare names as people write them with names as they are stored. Pure, no I/O.

Three spellings of a text serve three purposes. The spelling keeps everything but case, kinds of
dash, runs of spaces and Latin look-alikes. The key drops punctuation too; SQL computes the same
key from a stored name. The sound makes Russian and its many transliterations one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

# The same pairs as in NameKey of tools/sql/catalogue.sql: keys of both sides must agree.
LOOK_ALIKES = ("ёabcehkmoptxy", "еавсенкмортху")
CODE_FOLD = (LOOK_ALIKES[0] + "‐‑–—−", LOOK_ALIKES[1] + "-----")

_CODE_FOLD = str.maketrans(*CODE_FOLD)
_FOLD = str.maketrans(*LOOK_ALIKES)
_FOLD_KEEPING_YO = str.maketrans(LOOK_ALIKES[0][1:] + "ë", LOOK_ALIKES[1][1:] + "ё")
_DASHES = re.compile("[\u2010-\u2015\u2212\u00ad-]")
_SPACES = re.compile(r"\s+")
_PLUS = "+"

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

_ENDINGS = sorted(
    "иями ями ами ием иям иях ого его ому ему ыми ими ией ых их ым им ая яя ое ее ый ий ой ей ую юю "
    "ые ие ою ею ом ем ам ям ах ях ов ев ия ию ии ье ью ья а я о е у ю ы и ь й".split(),
    key=len,
    reverse=True,
)
_SHORT_ENDINGS = frozenset("ы и а у е ов ом ам ах ами s с".split())
_CONSONANTS = frozenset("бвгджзклмнпрстфхцчшщ")

_TYPE_WORDS = frozenset("ду пиф бпиф зпиф опиф ипиф нпф".split())
_TYPE_PHRASES = (
    ("негосударственный пенсионный фонд", "нпф"), ("пенсионный фонд", "нпф"), ("pension fund", "нпф"),
    ("биржевой паевой инвестиционный фонд", "бпиф"), ("биржевой паевой фонд", "бпиф"),
    ("биржевой фонд", "бпиф"), ("exchange traded fund", "бпиф"), ("etf", "бпиф"),
    ("закрытый паевой инвестиционный фонд", "зпиф"), ("закрытый паевой фонд", "зпиф"),
    ("паевой инвестиционный фонд", "пиф"), ("паевой фонд", "пиф"), ("mutual fund", "пиф"),
    ("доверительное управление", "ду"), ("trust management", "ду"),
    ("insurance reserves", "страховые резервы"),
)  # fmt: skip
_GENERIC = frozenset(
    "портфель портфеля портфелю портфелем портфеле портфели портфелей портфелям портфелями портфелях "
    "фонд фонда фонду фондом фонде фонды фондов фондам фондами фондах клиент клиента клиенту "
    "клиентом клиенты клиентов код кода коду тип типа типу типы стратегия стратегии стратегию "
    "стратегией все всех всем по в на за для с о об the of for in all portfolio portfolios fund funds "
    "client code type strategy id".split()
)
_LEADING = re.compile(
    r"^\s*(?:портфел(?:ь|я|ю|ем|е)|клиент(?:а|у|ом)?|код(?:а|у)?|portfolio|client|code|id|№|#)[\s:]+",
    re.IGNORECASE,
)
_QUOTES = "\"'«»“”„‘’`"

_CURRENCIES = frozenset("usd eur rub rur cny gbp chf hkd jpy kzt try aed".split())
_LEGAL_FORMS = frozenset("ооо оао ао зао пао нко ип llc ltd inc plc jsc gmbh".split())
_ROMAN = re.compile("^[ivxх]+$")


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
    for latin, cyrillic in _SOUNDS:
        heard = heard.replace(latin, cyrillic)
    heard = heard.translate(_SOUND_LETTERS)
    return re.sub(r"([^\W\d])\1+", r"\1", heard)


def to_latin(text: str) -> str:
    """Return a transliteration to Latin, good enough to look for English names."""
    return text.lower().translate(_LATIN_LETTERS)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a Russian word without its case ending; short words stay whole."""
    if len(word) < 5:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _root(word: str) -> str:
    # A vowel that comes and goes: рынок, рынка.
    bare = stem(word)
    if len(bare) >= 5 and bare[-2] in "ое" and bare[-1] in _CONSONANTS and bare[-3] in _CONSONANTS:
        return bare[:-2] + bare[-1]
    return bare


def edits(first: str, second: str, *, limit: int = 3) -> int:
    """Return how many letters must change; swapped neighbours are one. Above `limit`: limit + 1."""
    if first == second:
        return 0
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, mine in enumerate(first, 1):
        older, before, row = before, row, [i] + [0] * len(second)
        for j, other in enumerate(second, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (mine != other))
            if i > 1 and j > 1 and mine == second[j - 2] and first[i - 2] == other:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def grams(text: str) -> frozenset[str]:
    """Return the three-letter pieces of a key, with edges of words marked."""
    return frozenset(
        padded[i : i + 3]
        for word in text.split()
        for padded in (f" {word} ",)
        for i in range(len(padded) - 2)
    )


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """Return how alike two sets of pieces are, 0 to 1 (Dice)."""
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def _alike(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else stem(word)


# Words are compared by key or by sound, and «fund» has another key than its letters.
_GENERIC_KEYS = frozenset(form for word in _GENERIC for form in (key(word), key(sound(word))))
_PHRASES = tuple(
    ([_alike(part) for part in key(phrase).split()], short.split()) for phrase, short in _TYPE_PHRASES
)


def _abbreviated(folded: str) -> str:
    words = folded.split()
    bare = [_alike(word) for word in words]
    for parts, short in _PHRASES:
        if parts[0] not in bare:
            continue
        for i in range(len(words) - len(parts) + 1):
            if bare[i : i + len(parts)] == parts:
                words[i : i + len(parts)] = bare[i : i + len(parts)] = short
                break
    return " ".join(words)


@dataclass(frozen=True)
class Words:
    """A name taken apart. `types` are words like «пиф»; words like «портфель» are left out."""

    types: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def letters(self) -> int:
        """Return how many letters and digits the names have."""
        return sum(len(word) for word in self.names if word != _PLUS)


def words_of(text: str) -> Words:
    """Take a name apart by its key; a plus sign is a word of its own."""
    return _apart(key(text.replace(_PLUS, " плюсзнак ")).replace("плюсзнак", _PLUS))


def sound_words_of(text: str) -> Words:
    """Take a name apart by its sound."""
    return _apart(key(sound(text.replace(_PLUS, " плюсзнак "))).replace("плиусзнак", _PLUS))


def _apart(folded: str) -> Words:
    words = _abbreviated(folded).split()
    initials = sum(1 for word in words if len(word) == 1 and word != _PLUS)
    types, names = [], []
    for word in words:
        if word in _TYPE_WORDS:
            types.append(word)
        elif word == "и" and initials == 1:
            continue
        elif word not in _GENERIC_KEYS or (len(word) == 1 and initials > 1):
            names.append(word)
    return Words(tuple(types), tuple(names))


_RIGID_KEYS = frozenset(key(word) for word in _CURRENCIES | _LEGAL_FORMS)


@dataclass(frozen=True)
class Fit:
    """How an asked name fits a stored one: letters to change, and stored words not asked."""

    edits: int
    missing: int
    letters: int

    @property
    def sure(self) -> bool:
        """Say whether so many edits in so many letters are still the same name."""
        if self.missing:
            return self.letters >= 4 and self.edits <= self.letters // 8
        return self.edits <= self.letters // 6


def fit(asked: Words, stored: Words, *, stored_type: str) -> Fit | None:
    """Say how a name fits, None if it does not: another type, or a word the stored one lacks.

    Words may come in any order and case form. Initials, numbers, currencies and legal forms
    must be the same: one letter there makes another person or another portfolio.
    """
    own_types = {*stored.types, *stored_type.split()}
    if not asked.names or (asked.types and not set(asked.types) <= own_types):
        return None
    rigid_asked, rigid_stored = _rigid(asked.names), _rigid(stored.names)
    if rigid_asked - rigid_stored:
        return None
    best = _fit_by_words(asked.names, stored.names)
    if rigid_asked == rigid_stored:
        whole = edits(" ".join(asked.names), " ".join(stored.names), limit=2)
        if whole <= 2 and (best is None or best.missing or whole < best.edits):
            best = Fit(whole, 0, stored.letters)
    return best


def _rigid(names: tuple[str, ...]) -> Counter[str]:
    return Counter(
        word
        for word in names
        if word != _PLUS
        and (
            len(word) == 1
            or word in _RIGID_KEYS
            or _ROMAN.match(word)
            or any(letter.isdigit() for letter in word)
        )
    )


def _fit_by_words(asked: tuple[str, ...], stored: tuple[str, ...]) -> Fit | None:
    free = list(stored)
    changed = letters = 0
    # Words that occur as they are take their places first, so that a typo cannot take them.
    for word in sorted(asked, key=lambda item: item not in stored):
        costs = [(_word_cost(word, other), i) for i, other in enumerate(free)]
        cost, place = min(costs, default=(99, -1))
        if cost > 3:
            return None
        changed += cost
        letters += len(free.pop(place))
    return Fit(changed, len(free), letters) if changed <= 3 else None


def _word_cost(asked: str, stored: str) -> int:
    if asked == stored:
        return 0
    if {asked, stored} in ({_PLUS, "плюс"}, {_PLUS, "рlus"}):
        return 2
    allowed = _allowed(min(len(asked), len(stored)))
    cost = edits(asked, stored, limit=2)
    if cost > allowed:
        cost = 99
    if len(stored) >= 3 and asked.startswith(stored) and asked[len(stored) :] in _SHORT_ENDINGS:
        return 0
    mine, other = _root(asked), _root(stored)
    if (mine, other) != (asked, stored):
        by_stem = edits(mine, other, limit=2)
        if by_stem <= _allowed(min(len(mine), len(other))):
            cost = min(cost, by_stem)
    if cost > 1 and len(asked) >= 4 and stored.startswith(asked):
        return 1
    return cost


def _allowed(length: int) -> int:
    if length <= 3:
        return 0
    return 1 if length < 8 else 2


def same_words(asked: str, stored: str) -> bool:
    """Say whether two texts are the same words but for case forms: «ПИФов» and «ПИФ»."""
    mine, other = _counted(asked), _counted(stored)
    return bool(mine) and len(mine) == len(other) and all(
        _same_word(first, second) for first, second in zip(mine, other, strict=True)
    )


def _counted(text: str) -> list[str]:
    return [word for word in _abbreviated(key(text)).split() if word not in _GENERIC_KEYS]


def _same_word(asked: str, stored: str) -> bool:
    if asked == stored or _root(asked) == _root(stored):
        return True
    return asked.startswith(stored) and asked[len(stored) :] in _SHORT_ENDINGS
