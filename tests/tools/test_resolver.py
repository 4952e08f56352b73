"""A name becomes the portfolio it means, or a question; never another portfolio."""

from __future__ import annotations

import asyncio
import csv
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.dataset import Dataset
from schemas.portfolio import Resolution
from tools.catalogue import Catalogue
from tools.clickhouse import ClickHouse
from tools.resolver import NEAREST, Resolver
from tools.spellings import spelling, to_english_layout, to_latin, to_russian_layout

pytestmark = pytest.mark.slow

CATALOGUE = Path(__file__).parents[2] / "demo" / "catalogue.csv"
LETTERS_DAMAGED = int(os.environ.get("NAMES_LETTERS_DAMAGED", "2"))
TO_LATIN_TWINS = str.maketrans("авсенкмортхуАВСЕНКМОРТХУ", "abcehkmoptxyABCEHKMOPTXY")


@pytest.fixture
def resolver(client: ClickHouse, dataset: Dataset) -> Resolver:
    return Resolver(Catalogue(client, dataset))


def stored_names() -> dict[int, str]:
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        return {
            int(line["InvestmentPortfolioID"]): line["Portfolio"] for line in csv.DictReader(file)
        }


@dataclass(frozen=True)
class Case:
    asked: str
    ids: tuple[int, ...]


ONE = [
    Case("ДУ Горизонт Акции", (101,)),
    Case("ДУ Горизонт Акции Плюс", (102,)),
    Case("ДУ Горизонт – Акции +", (103,)),
    Case("ДУ Меридиан Сбалансированый", (107,)),
    Case("ДУ ООО «Ромашка»", (108,)),
    Case('ДУ ООО "Ромашка"', (109,)),
    Case("ДУ Семёнов С.С.", (112,)),
    Case("ДУ Семенов С. С.", (113,)),
    Case("O'Neill Family Trust", (114,)),
    Case("ДУ Рост_100%", (115,)),
    Case("ДУ  Вектор ", (116,)),
    Case("ДУ Вектор", (116,)),
    Case("ду горизонт акции", (101,)),
    Case("ДУ Горизонт Акции +", (103,)),
    Case("Meridian Global Equity", (210,)),
    Case("портфель «ДУ Горизонт Акции»", (101,)),
    Case("ДУ-Mеридиан Cбалансированый", (107,)),
    Case("DU-000101", (101,)),
    Case("du-000101", (101,)),
    Case("du–000101", (101,)),
    Case("C-10111", (111,)),
    Case("С-10111", (111,)),
    Case("клиент C-10111", (111,)),
    Case("101", (101,)),
]


@pytest.mark.parametrize("case", ONE, ids=lambda case: case.asked)
async def test_names_codes_and_ids_are_exact(resolver: Resolver, case: Case) -> None:
    found = await resolver.resolve(case.asked)
    assert (found.outcome, found.portfolio and found.portfolio.id) == ("exact", case.ids[0])


CLOSE = [
    Case("Ладога Дивидендный", (207,)),
    Case("Северный квартал", (208,)),
    Case("Вектору", (116,)),
    Case("ДУ Вектр", (116,)),
    Case("по Горизонту Индекс", (201,)),
    Case("фонд Горизонт Индекс", (201,)),
    Case("паевой фонд Горизонт Индекс", (201,)),
    Case("Меридиану облигаций USD", (105,)),
    Case("нефть и газ", (203,)),
    Case("нефти и газу", (203,)),
    Case("Ладога денежного рынка", (206,)),
    Case("gorizont aktsii plyus", (102,)),
    Case("severnyi kvartal", (208,)),
    Case("Severniy Kvartal", (208,)),
    Case("gba kfljuf lbdbltylysq", (207,)),
    Case("Ифдешс Ашчув", (212,)),
    Case("балтик фиксед инком", (212,)),
    Case("якорю", (302,)),
    Case("ONeill", (114,)),
    Case("the Baltic portfolio", (212,)),
    Case("fund Gorizont Indeks", (201,)),
    Case("рост 100", (115,)),
    Case("Meridian Globl Equity", (210,)),
]


@pytest.mark.parametrize("case", CLOSE, ids=lambda case: case.asked)
async def test_a_clear_winner_is_close(resolver: Resolver, case: Case) -> None:
    found = await resolver.resolve(case.asked)
    assert (found.outcome, found.portfolio and found.portfolio.id) == ("close", case.ids[0])


AMBIGUOUS = [
    Case("Меридиан Облигации", (104, 105, 204, 205)),
    Case("Горизонт", (101, 102, 103, 201, 202, 203, 209)),
    Case("ПИФ Горизонт", (201, 202, 203)),
    Case("ДУ Иванов И.И.", (110, 111)),
    Case("Иванова", (110, 111)),
    Case("Ромашка", (108, 109)),
    Case("ДУ ООО Ромашка", (108, 109)),
    Case("ДУ Семенов С.С.", (112, 113)),
    Case("ДУ Горизонт – Акции", (101, 103)),
    Case("меридиан сбалансированый", (106, 107)),
    Case("Ладога", (206, 207, 301)),
    Case("meridian global", (210, 211)),
    Case("ПИФ Меридиан Облигации +", (204, 205)),
]


@pytest.mark.parametrize("case", AMBIGUOUS, ids=lambda case: case.asked)
async def test_several_fits_are_all_offered(resolver: Resolver, case: Case) -> None:
    found = await resolver.resolve(case.asked)
    assert (found.outcome, found.portfolio) == ("ambiguous", None)
    assert sorted(item.id for item in found.candidates) == list(case.ids)
    assert found.total == len(case.ids)


UNKNOWN = [
    Case("Газпромбанк Облигации", (104, 204)),
    Case("ДУ Иванов И.К.", (110, 111)),
    Case("ДУ ОАО «Ромашка»", (108, 109)),
    Case("ДУ Горизонт Индекс", (201,)),
    Case("БПИФ Северный квартал", (208,)),
    Case("Meridian Global Equity (USD)", (210, 211)),
    Case("ДУ Рост_10%", (115,)),
    Case("ДУ Вектор +", (116,)),
    Case("ДУ Мост", (115,)),
    Case("C-99999", ()),
    Case("x'; DROP TABLE Contribution.contribution_twr_1s_mcp; --", ()),
    Case("' OR 1=1 --", ()),
    Case("%", ()),
    Case("_", ()),
    Case("'", ()),
    Case("\\", ()),
    Case("{ids:String}", ()),
    Case("\x00\ud800", ()),
    Case("", ()),
    Case(" \t\n", ()),
]


@pytest.mark.parametrize("case", UNKNOWN, ids=lambda case: repr(case.asked))
async def test_a_name_nobody_has_is_unknown_with_the_nearest(resolver: Resolver, case: Case) -> None:
    """One initial, number, legal form, currency or type apart is another portfolio, not a typo."""
    found = await resolver.resolve(case.asked)
    assert (found.outcome, found.portfolio) == ("unknown", None)
    assert set(case.ids) <= {item.id for item in found.candidates}
    assert len(found.candidates) <= NEAREST
    assert found.reason.ru and found.reason.en


async def test_every_stored_name_resolves_to_its_bearers(resolver: Resolver) -> None:
    names = stored_names()
    for number, name in names.items():
        found = await resolver.resolve(name)
        bearers = [other for other, its in names.items() if its == name]
        assert number in [item.id for item in found.candidates], name
        assert found.outcome == ("exact" if len(bearers) == 1 else "ambiguous"), name
        assert len(found.candidates) == len(bearers), name


async def test_a_very_long_text_is_cut_and_unknown(resolver: Resolver) -> None:
    found = await resolver.resolve("ДУ Горизонт Акции " * 6000)
    assert found.outcome == "unknown"
    assert len(found.asked) < 1000


def damages(name: str, chance: random.Random) -> list[tuple[str, str]]:
    """Return (kind, damaged name) pairs; a few of each kind that has many."""
    letters = [i for i, sign in enumerate(name) if not sign.isspace()]
    made: list[tuple[str, str]] = []
    for i in chance.sample(letters, min(LETTERS_DAMAGED, len(letters))):
        other = chance.choice("абвгдежзиклмнопрстуфхцчшэюя")
        made.append(("deleted", name[:i] + name[i + 1 :]))
        made.append(("doubled", name[:i] + name[i] + name[i:]))
        made.append(("replaced", name[:i] + other + name[i + 1 :]))
        if i + 1 < len(name):
            made.append(("swapped", name[:i] + name[i + 1] + name[i] + name[i + 2 :]))
    without_marks = "".join(sign for sign in name if sign not in "«»\"'")
    made += [("case", name.lower()), ("case", name.upper()), ("quotes", without_marks)]
    made += [("quotes", f"«{name}»"), ("quotes", f'"{name}"'), ("spaces", f"  {name.replace(' ', '  ')} ")]
    made += [("look-alikes", name.translate(TO_LATIN_TWINS)), ("yo", name.replace("ё", "е"))]
    made += [("layout", to_english_layout(name)), ("layout", to_russian_layout(name))]
    made += [("translit", to_latin(name)), ("word", name.split(" ", 1)[-1]), ("word", name.rsplit(" ", 1)[0])]
    return [(kind, text) for kind, text in made if text != name]


def verdict(found: Resolution, number: int) -> str:
    if found.portfolio is None:
        return "asked" if number in [item.id for item in found.candidates] else "lost"
    return "right" if found.portfolio.id == number else "wrong"


async def test_no_damage_to_a_name_gives_another_portfolio_silently(resolver: Resolver) -> None:
    """Damage that spells another stored name does not count: that name is then what was asked."""
    names = stored_names()
    spelled = {number: spelling(name) for number, name in names.items()}
    chance = random.Random(20251210)
    tries = [
        (number, kind, text)
        for number, name in names.items()
        for kind, text in damages(name, chance)
        if all(spelling(text) != its for other, its in spelled.items() if other != number)
    ]
    gate = asyncio.Semaphore(4)

    async def judged(number: int, kind: str, text: str) -> tuple[str, str, int, str, Resolution]:
        async with gate:
            found = await resolver.resolve(text)
        return kind, verdict(found, number), number, text, found

    outcomes = await asyncio.gather(*(judged(*item) for item in tries))
    counts = Counter((kind, what) for kind, what, *_rest in outcomes)
    for kind in dict.fromkeys(item[0] for item in outcomes):
        print(kind, {what: counts[kind, what] for what in ("right", "asked", "lost", "wrong")})
    wrong = [
        (number, text, found.portfolio.id)
        for _kind, what, number, text, found in outcomes
        if what == "wrong" and found.portfolio is not None
    ]
    assert not wrong
    right = sum(count for (_kind, what), count in counts.items() if what == "right")
    lost = sum(count for (_kind, what), count in counts.items() if what == "lost")
    assert right > 0.6 * len(outcomes)
    assert lost < 0.03 * len(outcomes)


TYPES = {
    "ПИФы": "ПИФ", "ПИФов": "ПИФ", "пиф": "ПИФ", "pif": "ПИФ", "PIFs": "ПИФ", "БПИФ": "БПИФ",
    "ЗПИФы": "ЗПИФ", "дoверительное управление": "ДУ", "доверительного управления": "ДУ",
    "портфели ДУ": "ДУ", "страховых резервов": "Страховые резервы", "НПФ": "НПФ",
    "паевые фонды": "ПИФ", "mutual funds": "ПИФ", "ПИФ Горизонт": None, "ПИФы и ДУ": None,
    "фонды": None, "": None, "хедж-фонды": None, "' OR 1=1": None,
}  # fmt: skip


@pytest.mark.parametrize("asked", TYPES)
async def test_types_are_found_in_any_form_and_only_whole(resolver: Resolver, asked: str) -> None:
    assert await resolver.resolve_type(asked) == TYPES[asked]


STRATEGIES = {
    "акциям": "Акции", "Акции": "Акции", "консервативной": "Консервативная",
    "индексные": "Индексная", "денежного рынка": "Денежный рынок", "global equity": "Global Equity",
    "сбалансированные": "Сбалансированная", "стратегия Акции": "Акции", "Equity": None, "": None,
}  # fmt: skip


@pytest.mark.parametrize("asked", STRATEGIES)
async def test_strategies_are_found_in_any_case_form(resolver: Resolver, asked: str) -> None:
    assert await resolver.resolve_strategy(asked) == STRATEGIES[asked]
