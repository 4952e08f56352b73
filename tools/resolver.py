"""What a person called a portfolio becomes one portfolio, or a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.language import Both
from schemas.portfolio import Outcome, Portfolio, Resolution
from tools.catalogue import ATTRIBUTES, Catalogue, catalogue_relation, id_type, portfolios_of
from tools.names import (
    CODE_FOLD,
    LOOK_ALIKES,
    Fit,
    Words,
    code_key,
    fit,
    grams,
    key,
    likeness,
    same_words,
    signs,
    sound,
    sound_words_of,
    spelling,
    spoken_as,
    stem,
    to_english_layout,
    to_latin,
    to_russian_layout,
    words_of,
)

MAX_NAME_LENGTH = 300
MAX_CANDIDATES = 50
NEAREST = 7
_NEAR_ENOUGH = 0.3

# The text of this expression is that of the name index in tools/sql: it serves only word for word.
_NAME_KEY = (
    f"trimBoth(replaceRegexpAll(translateUTF8(lowerUTF8(Portfolio), '{LOOK_ALIKES[0]}', "
    f"'{LOOK_ALIKES[1]}'), '[^\\\\p{{L}}\\\\p{{N}}]+', ' '))"
)
_CODE_KEY, _CLIENT_KEY = (
    f"translateUTF8(lowerUTF8(trimBoth({column})), '{CODE_FOLD[0]}', '{CODE_FOLD[1]}')"
    for column in ("PortfolioCode", "PortfolioClientCode")
)
_COLUMNS_OF = "InvestmentPortfolioID, " + ", ".join(ATTRIBUTES) + ", FirstDt, LastDt"

# 0: a code or an id, 1: the name byte for byte, 2: the key of the name.
_EXACT = (
    f"SELECT {_COLUMNS_OF}, multiIf("
    "lower(toString(InvestmentPortfolioID)) IN {ids:Array(String)}"
    f" OR {_CODE_KEY} IN {{codes:Array(String)}} OR {_CLIENT_KEY} IN {{codes:Array(String)}}, 0, "
    f"Portfolio IN {{names:Array(String)}}, 1, {_NAME_KEY} IN {{keys:Array(String)}}, 2, 3) AS level, "
    "count() OVER (PARTITION BY level) AS fitting FROM {relation} AS p WHERE level < 3 {only} "
    f"ORDER BY level, PortfolioCode, InvestmentPortfolioID LIMIT {MAX_CANDIDATES} BY level"
)
_SPELLINGS = 5
_FOUND = ", ".join(
    f"arrayAvg(s -> position(name_key, s) > 0, {{w{i}:Array(String)}})" for i in range(_SPELLINGS)
)
_LIKE = ", ".join(f"ngramSearchUTF8(name_key, {{v{i}:String}})" for i in range(_SPELLINGS))
_NEAR = (
    f"SELECT {_COLUMNS_OF}, {_NAME_KEY} AS name_key, greatest({_FOUND}) AS found, "
    f"greatest({_LIKE}) AS alike, countIf(found = 1) OVER () AS fitting "
    "FROM {relation} AS p WHERE (found > 0 OR alike > 0) {only} "
    f"ORDER BY found + alike DESC, PortfolioCode, InvestmentPortfolioID LIMIT {MAX_CANDIDATES}"
)

# With a catalogue that stores keys, these find the few ids worth grouping: a million names are
# read once, without a regular expression for each.
_EXACT_IDS = (
    "SELECT DISTINCT InvestmentPortfolioID FROM {cat_db:Identifier}.{cat_table:Identifier} "
    "WHERE NameKey IN {keys:Array(String)} OR Portfolio IN {names:Array(String)} "
    f"OR {_CODE_KEY} IN {{codes:Array(String)}} OR {_CLIENT_KEY} IN {{codes:Array(String)}} "
    "OR lower(toString(InvestmentPortfolioID)) IN {ids:Array(String)} LIMIT 5000"
)
_NEAR_IDS = (
    f"SELECT InvestmentPortfolioID, NameKey AS name_key, greatest({_FOUND}) AS found, "
    f"greatest({_LIKE}) AS alike, countIf(found = 1) OVER () AS fitting "
    "FROM {cat_db:Identifier}.{cat_table:Identifier} WHERE found > 0 OR alike > 0 "
    f"ORDER BY found + alike DESC, InvestmentPortfolioID LIMIT {MAX_CANDIDATES}"
)


@dataclass(frozen=True)
class _Ranked:
    portfolio: Portfolio
    fit: Fit | None
    likeness: float


class Resolver:
    """Finds portfolios, types and strategies by the words people use for them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    async def resolve(self, asked: str) -> Resolution:
        """Return what a name, a code, a client code or an id means.

        Nothing is chosen silently: `exact` is the very name or code, `close` is to be said aloud.
        """
        text = "".join(sign for sign in asked[:MAX_NAME_LENGTH] if sign.isprintable() or sign in " \t")
        if not key(text):
            return _resolution(text, "unknown", (), 0, _EMPTY)
        if len(asked) <= MAX_NAME_LENGTH:
            found = await self._exactly(text)
            if found is not None:
                return found
        ranked, fitting = await self._nearly(text)
        if len(asked) > MAX_NAME_LENGTH:
            return _resolution(text, "unknown", _nearest(ranked), 0, _TOO_LONG)
        return _decide(text, ranked, fitting)

    async def resolve_type(self, asked: str) -> str | None:
        """Return the stored portfolio type that these words are, in any number and case."""
        return await self._one_of("PortfolioType", asked)

    async def resolve_strategy(self, asked: str) -> str | None:
        """Return the stored strategy that these words are, in any number and case."""
        return await self._one_of("Strategy", asked)

    async def _exactly(self, text: str) -> Resolution | None:
        spoken = spoken_as(text)
        rows = await self._rows(
            _EXACT,
            {
                "ids": [item.strip().lower() for item in spoken],
                "codes": [code_key(item) for item in spoken],
                "keys": list(dict.fromkeys(key(item) for item in spoken)),
                "names": list(spoken),
            },
        )
        by_level: list[list[Portfolio]] = [[], [], []]
        totals = [0, 0, 0]
        for portfolio, row in rows:
            by_level[row[-2]].append(portfolio)
            totals[row[-2]] = row[-1]
        coded, named, keyed = by_level
        if coded:
            return _of_codes(text, coded, named, totals[0] + totals[1])
        if named:
            # The text as it came goes before the text without its outer quotes.
            for item in spoken:
                alike = [portfolio for portfolio in named if portfolio.name == item]
                if len(alike) == 1:
                    return _resolution(text, "exact", alike, 1, _THE_NAME)
                if alike:
                    total = max(totals[1], len(alike)) if len(alike) == len(named) else len(alike)
                    return _resolution(text, "ambiguous", alike, total, _NAMESAKES)
        return _of_keys(text, keyed, totals[2]) if keyed else None

    async def _nearly(self, text: str) -> tuple[list[_Ranked], int]:
        asked = spoken_as(text)[-1]
        spellings = [asked, to_russian_layout(asked), to_english_layout(asked), sound(asked), to_latin(asked)]
        parameters: dict[str, Any] = {}
        for i, item in enumerate(spellings):
            parameters[f"v{i}"] = key(item) or " "
            parts = words_of(item)
            parameters[f"w{i}"] = [stem(word) for word in parts.names or parts.types if word != "+"] or ["\n"]
        rows = await self._rows(_NEAR, parameters)
        by_key = [words_of(item) for item in dict.fromkeys(spellings[:3])]
        heard = sound_words_of(asked)
        pieces = [grams(key(item)) for item in spellings[:4]]
        ranked = [_rank(portfolio, by_key, heard, pieces) for portfolio, _row in rows]
        ranked.sort(key=_order)
        return ranked, rows[0][1][-1] if rows else 0

    async def _rows(
        self, statement: str, parameters: dict[str, Any]
    ) -> list[tuple[Portfolio, tuple[Any, ...]]]:
        dataset, client = self.catalogue.dataset, self.catalogue.client
        source = catalogue_relation(dataset)
        bound, only = {**source.parameters, **parameters}, ""
        fitting: int | None = None
        if dataset.catalogue is not None and dataset.catalogue_has_key:
            found = await client.query(_EXACT_IDS if statement == _EXACT else _NEAR_IDS, bound)
            if not found.rows:
                return []
            if statement == _NEAR:
                fitting = found.rows[0][-1]
            bound["some"] = [row[0] for row in found.rows]
            only = f"AND InvestmentPortfolioID IN {{some:Array({id_type(dataset)})}}"
        filled = statement.replace("{relation}", source.sql).replace("{only}", only)
        reply = await client.query(filled, bound)
        rows = [row if fitting is None else (*row[:-1], fitting) for row in reply.rows]
        return list(zip(portfolios_of(reply), rows, strict=True))

    async def _one_of(self, column: str, asked: str) -> str | None:
        if column not in self.catalogue.dataset.columns or not key(asked[:MAX_NAME_LENGTH]):
            return None
        source = catalogue_relation(self.catalogue.dataset)
        reply = await self.catalogue.client.query(
            f"SELECT DISTINCT {column} FROM {source.sql} AS p WHERE {column} != '' "
            f"ORDER BY {column} LIMIT 1000",
            source.parameters,
        )
        stored = [str(row[0]) for row in reply.rows]
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


def _rank(
    portfolio: Portfolio, by_key: Sequence[Words], heard: Words, pieces: Sequence[frozenset[str]]
) -> _Ranked:
    stored, kind = words_of(portfolio.name), key(portfolio.type)
    fits = [fit(words, stored, stored_type=kind) for words in by_key]
    fits.append(fit(heard, sound_words_of(portfolio.name), stored_type=kind))
    best = min(
        (item for item in fits if item is not None),
        key=lambda item: (item.missing > 0, item.edits, item.missing),
        default=None,
    )
    own = grams(key(portfolio.name))
    return _Ranked(portfolio, best, max(likeness(own, piece) for piece in pieces))


def _order(item: _Ranked) -> tuple[bool, bool, int, float]:
    if item.fit is None:
        return True, True, 0, -item.likeness
    return False, item.fit.missing > 0, item.fit.edits, -item.likeness


def _of_codes(
    text: str, coded: list[Portfolio], named: list[Portfolio], total: int
) -> Resolution:
    wanted = text.strip()
    very = [item for item in coded if wanted in (item.code, item.client_code, str(item.id))]
    found = [*(very or coded), *named]
    if len(found) == 1:
        return _resolution(text, "exact", found, 1, _THE_CODE)
    return _resolution(text, "ambiguous", found, len(found) if very else total, _SHARED_CODE)


def _of_keys(text: str, keyed: list[Portfolio], total: int) -> Resolution | None:
    asked = spoken_as(text)[-1]
    wanted = signs(asked)
    if len(keyed) == 1:
        # A plus nobody has is the name of some other portfolio: ranking will ask.
        if wanted["+"] > signs(keyed[0].name)["+"]:
            return None
        return _resolution(text, "exact", keyed, 1, _THE_NAME)
    alike = [item for item in keyed if spelling(item.name) == spelling(asked)]
    if not alike and wanted:
        alike = [item for item in keyed if signs(item.name) == wanted]
    if len(alike) == 1 and total <= len(keyed):
        return _resolution(text, "exact", alike, 1, _THE_NAME)
    return _resolution(text, "ambiguous", keyed, total, _SAME_BUT_SIGNS)


def _decide(text: str, ranked: list[_Ranked], fitting: int) -> Resolution:
    fits = [(item.portfolio, item.fit) for item in ranked if item.fit is not None]
    if not fits:
        near = _nearest(ranked)
        return _resolution(text, "unknown", near, len(near), _NOTHING if near else _NOTHING_NEAR)
    whole = [pair for pair in fits if not pair[1].missing]
    rivals = whole or fits
    best = rivals[0][1]
    rivals = [pair for pair in rivals if pair[1].edits <= best.edits + 1]
    everyone = [portfolio for portfolio, _fit in fits]
    if len(rivals) > 1:
        total = max(len(fits), fitting) if len(fits) >= MAX_CANDIDATES else len(fits)
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
