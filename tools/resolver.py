"""What a person called a portfolio becomes one portfolio, or a question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.language import Both
from schemas.portfolio import Outcome, Portfolio, Resolution
from tools.catalogue import Catalogue, catalogue_relation
from tools.name_search import Candidates, NameSearch
from tools.spellings import (
    code_key,
    key,
    signs,
    sound,
    spelling,
    spoken_as,
    to_english_layout,
    to_russian_layout,
)
from tools.words import Fit, Words, fit, grams, likeness, same_words, sound_words_of, words_of

MAX_NAME_LENGTH = 300
NEAREST = 7
_NEAR_ENOUGH = 0.3


@dataclass(frozen=True)
class _Ranked:
    portfolio: Portfolio
    fit: Fit | None
    likeness: float


class Resolver:
    """Finds portfolios, types and strategies by the words people use for them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.search = NameSearch(catalogue)
        self._stored: dict[str, list[str]] = {}

    async def resolve(self, asked: str) -> Resolution:
        """Return what a name, a code, a client code or an id means.

        Nothing is chosen silently: `exact` is the very name or code, `close` is to be said aloud.
        """
        text = "".join(sign for sign in asked[:MAX_NAME_LENGTH] if sign.isprintable() or sign in " \t")
        if not key(text):
            return _resolution(text, "unknown", (), 0, _EMPTY)
        bare = spoken_as(text)[-1]
        found, words = await asyncio.gather(self._exactly(text), self.search.words_near(bare))
        if found is not None and len(asked) <= MAX_NAME_LENGTH:
            return found
        near = await self.search.nearly(bare, words)
        ranked = _ranked(text, near)
        if len(asked) > MAX_NAME_LENGTH:
            return _resolution(text, "unknown", _nearest(ranked), 0, _TOO_LONG)
        return _decide(text, ranked, near)

    async def resolve_codes(self, codes: Sequence[str]) -> dict[str, Portfolio]:
        """Return those of many codes that are the code, client code or id of just one portfolio."""
        if not codes:
            return {}
        found = await self.search.exactly(codes)
        if not found.complete:
            return {}
        by_code: dict[str, list[Portfolio]] = {}
        for portfolio in found.portfolios:
            own = (portfolio.code, portfolio.client_code, str(portfolio.id), portfolio.name)
            for mark in {code_key(item) for item in own if item}:
                by_code.setdefault(mark, []).append(portfolio)
        return {
            code: bearers[0]
            for code in codes
            if len(bearers := by_code.get(code_key(code), [])) == 1 and not _named_only(code, bearers[0])
        }

    async def resolve_type(self, asked: str) -> str | None:
        """Return the stored portfolio type that these words are, in any number and case."""
        return await self._one_of("PortfolioType", asked)

    async def resolve_strategy(self, asked: str) -> str | None:
        """Return the stored strategy that these words are, in any number and case."""
        return await self._one_of("Strategy", asked)

    async def _exactly(self, text: str) -> Resolution | None:
        spoken = spoken_as(text)
        found = await self.search.exactly(spoken)
        codes, ids = {code_key(item) for item in spoken}, {item.strip().lower() for item in spoken}
        keys = {key(item) for item in spoken}
        coded, named, keyed = [], [], []
        for portfolio in found.portfolios:
            own_codes = {code_key(portfolio.code), code_key(portfolio.client_code)}
            if codes & own_codes or str(portfolio.id).lower() in ids:
                coded.append(portfolio)
            elif portfolio.name in spoken:
                named.append(portfolio)
            elif key(portfolio.name) in keys:
                keyed.append(portfolio)
        left_out = found.fitting - len(found.portfolios)
        if coded:
            # Only case and signs may tell a code from a name: then both are meant.
            return _of_codes(text, coded, [*named, *keyed], left_out)
        if named:
            # The text as it came goes before the text without its outer quotes.
            for item in spoken:
                alike = [portfolio for portfolio in named if portfolio.name == item]
                if len(alike) == 1 and not left_out:
                    return _resolution(text, "exact", alike, 1, _THE_NAME)
                if alike:
                    return _resolution(text, "ambiguous", alike, len(alike) + left_out, _NAMESAKES)
        return _of_keys(text, keyed, left_out) if keyed else None

    async def _one_of(self, column: str, asked: str) -> str | None:
        if column not in self.catalogue.dataset.columns or not key(asked[:MAX_NAME_LENGTH]):
            return None
        if column not in self._stored:
            source = catalogue_relation(self.catalogue.dataset)
            reply = await self.catalogue.client.query(
                f"SELECT DISTINCT {column} FROM {source.sql} AS p WHERE {column} != '' "
                f"ORDER BY {column} LIMIT 1000",
                source.parameters,
            )
            self._stored[column] = [str(row[0]) for row in reply.rows]
        stored = self._stored[column]
        text = asked[:MAX_NAME_LENGTH]
        for same in (
            [value for value in stored if value == text],
            [value for value in stored if key(value) == key(text)],
            [value for value in stored if same_words(text, value)],
            [value for value in stored if same_words(to_russian_layout(text), value)],
            [value for value in stored if same_words(sound(text), sound(value))],
        ):
            if same:
                return same[0] if len(same) == 1 else None
        return None


def _named_only(code: str, portfolio: Portfolio) -> bool:
    codes = {code_key(portfolio.code), code_key(portfolio.client_code), code_key(str(portfolio.id))}
    return code_key(code) not in codes


def _ranked(text: str, found: Candidates) -> list[_Ranked]:
    asked = spoken_as(text)[-1]
    spellings = [asked, to_russian_layout(asked), to_english_layout(asked)]
    by_key = [words_of(item) for item in dict.fromkeys(spellings)]
    heard = sound_words_of(asked)
    parts = [grams(key(item)) for item in (*spellings, sound(asked))]
    ranked = [
        _rank(portfolio, names, by_key, heard, parts)
        for portfolio, names in zip(found.portfolios, found.names, strict=True)
    ]
    return sorted(ranked, key=_order)


def _rank(
    portfolio: Portfolio,
    names: Sequence[str],
    by_key: Sequence[Words],
    heard: Words,
    parts: Sequence[frozenset[str]],
) -> _Ranked:
    kind = key(portfolio.type)
    fits: list[Fit | None] = []
    for name in names:
        stored = words_of(name)
        fits += [fit(words, stored, stored_type=kind) for words in by_key]
        fits.append(fit(heard, sound_words_of(name), stored_type=kind))
    best = min(
        (item for item in fits if item is not None),
        key=lambda item: (item.missing > 0, item.edits, item.missing),
        default=None,
    )
    like = max(likeness(grams(key(name)), part) for name in names for part in parts)
    return _Ranked(portfolio, best, like)


def _order(item: _Ranked) -> tuple[bool, bool, int, float]:
    if item.fit is None:
        return True, True, 0, -item.likeness
    return False, item.fit.missing > 0, item.fit.edits, -item.likeness


def _of_codes(
    text: str, coded: list[Portfolio], named: list[Portfolio], left_out: int
) -> Resolution:
    wanted = text.strip()
    very = [item for item in coded if wanted in (item.code, item.client_code, str(item.id))]
    found = [*(very or coded), *named]
    if len(found) == 1 and not left_out:
        return _resolution(text, "exact", found, 1, _THE_CODE)
    return _resolution(text, "ambiguous", found, len(found) + left_out, _SHARED_CODE)


def _of_keys(text: str, keyed: list[Portfolio], left_out: int) -> Resolution | None:
    asked = spoken_as(text)[-1]
    wanted = signs(asked)
    if len(keyed) == 1 and not left_out:
        # A plus nobody has is the name of some other portfolio: ranking will ask.
        if wanted["+"] > signs(keyed[0].name)["+"]:
            return None
        return _resolution(text, "exact", keyed, 1, _THE_NAME)
    alike = [item for item in keyed if spelling(item.name) == spelling(asked)]
    if not alike and wanted:
        alike = [item for item in keyed if signs(item.name) == wanted]
    if len(alike) == 1 and not left_out:
        return _resolution(text, "exact", alike, 1, _THE_NAME)
    return _resolution(text, "ambiguous", keyed, len(keyed) + left_out, _SAME_BUT_SIGNS)


def _decide(text: str, ranked: list[_Ranked], found: Candidates) -> Resolution:
    fits = [(item.portfolio, item.fit) for item in ranked if item.fit is not None]
    if not fits:
        near = _nearest(ranked)
        return _resolution(text, "unknown", near, len(near), _NOTHING if near else _NOTHING_NEAR)
    whole = [pair for pair in fits if not pair[1].missing]
    rivals = whole or fits
    best = rivals[0][1]
    # A whole name with a slip does not beat a longer one that has the very words.
    closer = [pair for pair in fits if pair[1].missing and pair[1].edits < best.edits]
    rivals = [*[pair for pair in rivals if pair[1].edits <= best.edits + 1], *(closer if whole else [])]
    everyone = [portfolio for portfolio, _fit in fits]
    if len(rivals) > 1 or not found.complete:
        total = len(fits) if found.complete else max(len(fits), found.fitting)
        return _resolution(text, "ambiguous", everyone, total, _SEVERAL)
    if not best.sure:
        return _resolution(text, "unknown", _nearest(ranked), len(fits), _NOT_SURE)
    return _resolution(text, "close", [rivals[0][0]], 1, _CLEAR if best.missing == 0 else _PART)


def _nearest(ranked: list[_Ranked]) -> list[Portfolio]:
    return [
        item.portfolio for item in ranked if item.fit is not None or item.likeness >= _NEAR_ENOUGH
    ][:NEAREST]


def _resolution(
    text: str, outcome: Outcome, found: Sequence[Portfolio], total: int, reason: Both
) -> Resolution:
    one = found[0] if outcome in ("exact", "close") else None
    return Resolution(text, outcome, one, tuple(found), total, reason)


_EMPTY = Both("Имя не написано.", "No name is written.")
_TOO_LONG = Both("Это слишком длинно для имени портфеля.", "This is too long for a portfolio name.")
_THE_NAME = Both("Так называется один портфель.", "One portfolio bears this name.")
_THE_CODE = Both("Это код одного портфеля.", "This is the code of one portfolio.")
_SHARED_CODE = Both("Этот код подходит нескольким портфелям.", "Several portfolios share this code.")
_NAMESAKES = Both("Так называются несколько портфелей.", "Several portfolios bear this name.")
_SAME_BUT_SIGNS = Both(
    "Имена отличаются только регистром, знаками или пробелами.",
    "The names differ only by case, signs or spaces.",
)
_SEVERAL = Both("Подходят несколько портфелей.", "Several portfolios fit.")
_CLEAR = Both("Имя написано почти так, и другого похожего нет.", "Spelled almost so, nothing else is near.")
_PART = Both("Эта часть имени есть у одного портфеля.", "One portfolio has this part in its name.")
_NOT_SURE = Both("Похожее есть, но не настолько.", "Something is near, but not near enough.")
_NOTHING = Both("Такого портфеля нет, есть похожие.", "There is no such portfolio, some are near.")
_NOTHING_NEAR = Both("Такого портфеля нет, и похожих тоже.", "There is no such portfolio and nothing near.")
