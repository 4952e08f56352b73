"""Make catalogues of names, and spoil names the way people spoil them."""

from __future__ import annotations

import random
from collections.abc import Callable

from tools.spellings import to_english_layout, to_latin, to_russian_layout

_CONSONANTS, _VOWELS = "бвгджзклмнпрстфхч", "аоуеиыя"
_TYPES = ("ДУ", "ПИФ", "БПИФ", "ЗПИФ", "НПФ")
_STRATEGIES = (
    "Акции Облигации Сбалансированный Индекс Технологии Дивидендный Консервативный Агрессивный Рост "
    "Доход Валютный Недвижимость Капитал Резерв Золото Энергетика Металлы Потребительский"
).split()
_TAILS = ("Плюс", "+", "II", "2", "(USD)", "(EUR)", "Глобальный", "– Серия А")
_LATIN = (
    "Global Equity", "Fixed Income", "Money Market", "Family Trust", "Growth Fund", "Balanced", "High Yield",
)
_INITIALS = "АБВГДЕИКЛМНОПРСТ"


def catalogue(count: int, *, seed: int = 7) -> list[tuple[int, str, str, str, str]]:
    """Return `count` portfolios as id, name, code, client code, type.

    Invented brands, surnames and firms; about one name in a hundred is borne twice.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    brands = _words(rng, max(12, min(20_000, count // 20)), ("",))
    surnames = _words(rng, max(8, min(60_000, count // 8)), ("ов", "ев", "ин", "ский", "енко"))
    rows: list[tuple[int, str, str, str, str]] = []
    for number in range(1, count + 1):
        kind = rng.choice(_TYPES)
        chance = rng.random()
        if rows and chance < 0.01:
            name = rng.choice(rows)[1]
        elif chance < 0.35:
            kind = "ДУ"
            name = f"ДУ {rng.choice(surnames)} {rng.choice(_INITIALS)}.{rng.choice(_INITIALS)}."
        elif chance < 0.82:
            name = f"{kind} {rng.choice(brands)} {rng.choice(_STRATEGIES)}"
            if rng.random() < 0.3:
                name += f" {rng.choice(_TAILS)}"
        elif chance < 0.92:
            name = f"ДУ ООО «{rng.choice(brands)} {rng.choice(brands)}»"
        else:
            name = f"{to_latin(rng.choice(brands)).capitalize()} {rng.choice(_LATIN)}"
        rows.append((number, name, f"P-{number:07d}", f"C-{count + number:07d}", kind))
    return rows


def _words(rng: random.Random, count: int, endings: tuple[str, ...]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        word = "".join(
            rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + (rng.choice(_CONSONANTS) if rng.random() < 0.35 else "")
            for _ in range(rng.choice((2, 2, 3, 3, 4)))
        )
        found[(word + rng.choice(endings)).capitalize()] = None
    return list(found)


def _at_a_letter(change: Callable[[str, int, random.Random], str]) -> Callable[[str, random.Random], str]:
    def spoil(name: str, rng: random.Random) -> str:
        places = [i for i, sign in enumerate(name[:-1]) if sign.isalpha() and name[i + 1].isalpha()]
        return change(name, rng.choice(places), rng) if places else name

    return spoil


def _cased(name: str, rng: random.Random) -> str:
    words = name.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha() and "а" <= word.lower()[-1] <= "я"]
    if not long:
        return name
    i = rng.choice(long)
    word = words[i]
    bare = word[:-1] if word[-1] in "аеиоуыьяй" else word
    words[i] = bare + rng.choice(("у", "а", "ом", "е", "ам", "ах"))
    return " ".join(words)


_DAMAGE: dict[str, Callable[[str, random.Random], str]] = {
    "as stored": lambda name, _rng: name,
    "missing letter": _at_a_letter(lambda name, i, _rng: name[:i] + name[i + 1 :]),
    "doubled letter": _at_a_letter(lambda name, i, _rng: name[:i] + name[i] + name[i:]),
    "swapped letters": _at_a_letter(lambda name, i, _rng: name[:i] + name[i + 1] + name[i] + name[i + 2 :]),
    "wrong letter": _at_a_letter(
        lambda name, i, rng: name[:i] + rng.choice("абвгдежзиклмнопрстуфхцчшэюя") + name[i + 1 :]
    ),
    "upper case": lambda name, _rng: name.upper(),
    "lower case": lambda name, _rng: name.lower(),
    "no quotes or dashes": lambda name, _rng: " ".join("".join(s if s not in "«»–()." else " " for s in name).split()),
    "extra spaces": lambda name, _rng: "  " + name.replace(" ", "  "),
    "Latin look-alikes": lambda name, _rng: name.translate(str.maketrans("асеорхАСЕОРХМТНК", "aceopxACEOPXMTHK")),
    "other layout": lambda name, _rng: to_russian_layout(name) if name.isascii() else to_english_layout(name),
    "transliterated": lambda name, _rng: to_latin(name),
    "case ending": _cased,
    "no type word": lambda name, _rng: name.split(" ", 1)[-1],
    "one word left out": lambda name, rng: " ".join(
        word for i, word in enumerate(name.split()) if i != rng.randrange(1, max(2, len(name.split())))
    ),
    "after «портфель»": lambda name, _rng: f"портфель {name}",
}


def damaged(name: str, kind: str, rng: random.Random) -> str:
    """Return the name spoilt in one way; the kinds are `KINDS`."""
    return _DAMAGE[kind](name, rng)


KINDS = tuple(_DAMAGE)
