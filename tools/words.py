"""Compare names word by word: case endings, letters that differ, words left out. Pure, no I/O."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from tools.spellings import key, sound

_PLUS = "+"

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
_CURRENCIES = frozenset("usd eur rub rur cny gbp chf hkd jpy kzt try aed".split())
_LEGAL_FORMS = frozenset("ооо оао ао зао пао нко ип llc ltd inc plc jsc gmbh".split())
_ROMAN = re.compile("^[ivxх]+$")


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


@lru_cache(maxsize=8192)
def root_letters(word: str) -> frozenset[str]:
    """Return the letters of a word without its ending: another word lacking three is not near."""
    return frozenset(_root(word))


def edits(first: str, second: str, *, limit: int = 3) -> int:
    """Return how many letters must change; swapped neighbours are one. Above `limit`: limit + 1."""
    if first == second:
        return 0
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    own, others = set(first), set(second)
    if len(own - others) > limit or len(others - own) > limit:
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


def pieces(word: str, *, endings: bool = True) -> tuple[str, ...]:
    """Return what a word shares with every word that one edit or another case ending makes of it.

    The word and its beginnings without up to three last letters, each also without any one
    letter; from eight letters on also without any two. Two words within one edit of each other
    (two when both are long) have a piece in common: deletions on both sides meet, as in SymSpell
    (Garbe 2012). The catalogue stores the same pieces of its words: tools/sql/catalogue.sql.
    Without `endings` only the word and the word without one letter.
    """
    found: list[str] = []
    for cut in range(max(1, min(4, len(word) - 2)) if endings else 1):
        beginning = word[: len(word) - cut]
        found.append(beginning)
        if len(beginning) >= 4:
            found += _without_one(beginning)
    if endings and 8 <= len(word) <= 24:
        for shorter in _without_one(word):
            found += _without_one(shorter)
    return tuple(dict.fromkeys(found))


def _without_one(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(len(word))]


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
    if not asked.names or not stored.names or (asked.types and not set(asked.types) <= own_types):
        return None
    rigid_asked, rigid_stored = rigid_words(asked.names), rigid_words(stored.names)
    if rigid_asked - rigid_stored:
        return None
    best = _fit_by_words(asked.names, stored.names)
    if rigid_asked == rigid_stored:
        mine, other = " ".join(asked.names), " ".join(stored.names)
        whole = edits(mine, other, limit=2)
        if whole <= _allowed(min(len(mine), len(other))) and (best is None or best.missing or whole < best.edits):
            best = Fit(whole, 0, stored.letters)
    return best


def rigid_words(names: tuple[str, ...]) -> Counter[str]:
    """Return the words that must be the same to the letter: initials, numbers, currencies, forms."""
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
        costs = [(word_cost(word, other), i) for i, other in enumerate(free)]
        cost, place = min(costs, default=(99, -1))
        if cost > 3:
            return None
        changed += cost
        letters += len(free.pop(place))
    return Fit(changed, len(free), letters) if changed <= 3 else None


def word_cost(asked: str, stored: str) -> int:
    """Return how many letters of one word must change to be another; above 3: another word."""
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
