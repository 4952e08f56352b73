"""Find the portfolios a text may name: by the catalogue's text indexes, else by reading all names.

Finding is generous, deciding is strict: what is found here is only offered to the resolver.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from schemas.portfolio import Portfolio, PortfolioId
from tools.catalogue import ATTRIBUTES, Catalogue, catalogue_relation, id_type, portfolios_of
from tools.clickhouse import Reply
from tools.spellings import (
    CODE_FOLD,
    LOOK_ALIKES,
    code_key,
    key,
    sound,
    to_english_layout,
    to_latin,
    to_russian,
    to_russian_layout,
)
from tools.words import Words, pieces, rigid_words, root_letters, stem, word_cost, words_of

MAX_CANDIDATES = 20
_OFFERED = 10
_MOST_NAMESAKES = 500
_MOST_WORDS = 3000
_MOST_ASKED = 12
_SHORTEST_PART = 3
_TOO_FAR = 3
_SHORTEST_BEGINNING = 4

_NAME_KEY = (
    f"trimBoth(replaceRegexpAll(translateUTF8(lowerUTF8(Portfolio), '{LOOK_ALIKES[0]}', "
    f"'{LOOK_ALIKES[1]}'), '[^\\\\p{{L}}\\\\p{{N}}]+', ' '))"
)
_TYPE_KEY = (
    f"translateUTF8(lowerUTF8(PortfolioType), '{LOOK_ALIKES[0]}', '{LOOK_ALIKES[1]}')"
)
_CODE_KEY, _CLIENT_KEY = (
    f"translateUTF8(lowerUTF8(trimBoth({column})), '{CODE_FOLD[0]}', '{CODE_FOLD[1]}')"
    for column in ("PortfolioCode", "PortfolioClientCode")
)
_FOUND_COLUMNS = "InvestmentPortfolioID, " + ", ".join(ATTRIBUTES) + ", FirstDt, LastDt"

_EXACT_SCAN = (
    f"SELECT {_FOUND_COLUMNS}, [Portfolio] AS Names, count() OVER () AS Fitting "
    "FROM {relation} AS p WHERE lower(toString(InvestmentPortfolioID)) IN {ids:Array(String)}"
    f" OR {_CODE_KEY} IN {{codes:Array(String)}} OR {_CLIENT_KEY} IN {{codes:Array(String)}}"
    f" OR Portfolio IN {{names:Array(String)}} OR {_NAME_KEY} IN {{keys:Array(String)}} "
    f"ORDER BY PortfolioCode, InvestmentPortfolioID LIMIT {_MOST_NAMESAKES}"
)
_SPELLINGS = 5
_FOUND = ", ".join(
    f"arrayAvg(s -> position(name_key, s) > 0, {{w{i}:Array(String)}})" for i in range(_SPELLINGS)
)
_LIKE = ", ".join(f"ngramSearchUTF8(name_key, {{v{i}:String}})" for i in range(_SPELLINGS))
_NEAR_SCAN = (
    f"SELECT {_FOUND_COLUMNS}, [Portfolio] AS Names, countIf(found = 1) OVER () AS Fitting, "
    f"{_NAME_KEY} AS name_key, greatest({_FOUND}) AS found, greatest({_LIKE}) AS alike "
    "FROM {relation} AS p WHERE found > 0 OR alike > 0 "
    f"ORDER BY found + alike DESC, PortfolioCode, InvestmentPortfolioID LIMIT {MAX_CANDIDATES}"
)

_CATALOGUE = "{cat_db:Identifier}.{cat_table:Identifier}"
_EXACT_IDS = (
    f"SELECT DISTINCT InvestmentPortfolioID FROM {_CATALOGUE} "
    f"WHERE hasAny(Marks, {{marks:Array(String)}}) LIMIT {_MOST_NAMESAKES + 1}"
)
_SOME_IDS = (
    f"SELECT InvestmentPortfolioID FROM {_CATALOGUE} WHERE {{condition}} LIMIT {MAX_CANDIDATES + 1}"
)
# With too many to take all, a question is certain: short names are offered, whole ones among them.
# Sorting all would cost more than finding them.
_SHORT_IDS = (
    f"SELECT InvestmentPortfolioID FROM {_CATALOGUE} WHERE {{condition}} "
    f"AND NameLength <= {{longest:UInt16}} LIMIT {_OFFERED}"
)
_HOW_MANY = f"SELECT count() FROM {_CATALOGUE} WHERE {{condition}}"
# Few rows, so they are grouped here: planning an aggregation costs more than reading them.
_ROWS_OF = (
    f"SELECT {_FOUND_COLUMNS} FROM {_CATALOGUE} "
    "WHERE InvestmentPortfolioID IN {some:Array(id_type)} ORDER BY LastDt DESC, FirstDt DESC"
)
_WORDS_TABLE = "{cat_db:Identifier}.{words_table:Identifier}"
_NEAR_WORDS = (
    f"SELECT Word FROM {_WORDS_TABLE} WHERE hasAny(Pieces, {{pieces:Array(String)}}) "
    f"LIMIT {_MOST_WORDS}"
)
_PARTS = (
    f"SELECT DISTINCT Word FROM {_WORDS_TABLE} WHERE Word IN {{parts:Array(String)}}{{beginnings}} "
    f"LIMIT {_MOST_WORDS}"
)


@dataclass(frozen=True)
class Candidates:
    """Portfolios found, each with all names it has borne; `fitting` counts also those left out."""

    portfolios: tuple[Portfolio, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    fitting: int = 0

    @property
    def complete(self) -> bool:
        """Say whether nothing that fits was left out."""
        return self.fitting <= len(self.portfolios)


class NameSearch:
    """Searches the catalogue for names as they are written and for names nearly so."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    @property
    def indexed(self) -> bool:
        """Say whether the catalogue has the columns that serve the search."""
        return self.catalogue.dataset.catalogue_words is not None

    async def exactly(self, spoken: Sequence[str]) -> Candidates:
        """Return portfolios with one of these texts as id, code, client code, name or key."""
        ids = [item.strip().lower() for item in spoken]
        codes = [code_key(item) for item in spoken]
        keys = list(dict.fromkeys(key(item) for item in spoken))
        if self.indexed:
            marks = [f"name:{item}" for item in spoken] + [f"key:{item}" for item in keys]
            marks += [f"code:{item}" for item in codes] + [f"id:{item}" for item in ids]
            reply = await self._of_catalogue(_EXACT_IDS, {"marks": list(dict.fromkeys(marks))})
            return await self._by_ids([row[0] for row in reply.rows][:_MOST_NAMESAKES], len(reply.rows))
        parameters = {"ids": ids, "codes": codes, "keys": keys, "names": list(spoken)}
        return await self._scanned(_EXACT_SCAN, parameters)

    async def words_near(self, asked: str) -> list[str]:
        """Return words of the catalogue near those of the text, for `nearly`."""
        if not self.indexed:
            return []
        first, *others = _ways_to_read(asked) or [_Reading((), ())]
        wanted = {piece for word in first.words for piece in pieces(word)}
        wanted |= {
            piece for other in others for word in other.words for piece in pieces(word, endings=False)
        }
        return await self._words(_NEAR_WORDS, {"pieces": sorted(wanted)})

    async def nearly(self, asked: str, vocabulary: Sequence[str]) -> Candidates:
        """Return portfolios whose names are near in some reading of the text.

        They have all its words, or all but one where no name has all, or else any of them. Types
        are looked at only where too many names have the words.
        """
        if not self.indexed:
            return await self._scanned(_NEAR_SCAN, _scan_parameters(asked))
        readings = _ways_to_read(asked)
        if not readings:
            return Candidates()
        wanted = _wanted(readings, vocabulary)
        if not any(all(each.variants) for each in wanted):
            unknown = [
                word for word, some in zip(readings[0].words, wanted[0].variants, strict=True) if not some
            ]
            more = await self._parts(unknown)
            readings = _with_splits(readings, more)
            wanted = _wanted(readings, [*vocabulary, *more])
        for fewer in (_all_words, _all_but_one, _any_word):
            found = await self._having([less for each in wanted for less in fewer(each)])
            if found.portfolios:
                return found
        return Candidates()

    async def _having(self, wanted: Sequence[_Wanted]) -> Candidates:
        """Return names with a variant of every word in one of the lists wanted."""
        if not wanted:
            return Candidates()
        condition = ""
        parameters: dict[str, Any] = {}
        for with_types in (False, True) if any(each.types for each in wanted) else (False,):
            condition, parameters = _condition(wanted, with_types=with_types)
            reply = await self._of_catalogue(_SOME_IDS.replace("{condition}", condition), parameters)
            if len(reply.rows) <= MAX_CANDIDATES:
                ids = list(dict.fromkeys(row[0] for row in reply.rows))
                return await self._by_ids(ids, len(ids))
        longest = max(len(each.variants) + len(each.types) for each in wanted)
        counted, short = await asyncio.gather(
            self._of_catalogue(_HOW_MANY.replace("{condition}", condition), parameters),
            self._of_catalogue(
                _SHORT_IDS.replace("{condition}", condition), {**parameters, "longest": longest + 1}
            ),
        )
        ids = list(dict.fromkeys(row[0] for row in (*short.rows, *reply.rows)))[:_OFFERED]
        return await self._by_ids(ids, max(int(counted.rows[0][0]), len(ids)))

    async def _parts(self, words: Sequence[str]) -> list[str]:
        """Return words of the catalogue that begin with one of these or are a part of one."""
        long = [word for word in words if len(word) >= _SHORTEST_BEGINNING]
        if not long:
            return []
        beginnings = "".join(f" OR startsWith(Word, {{b{i}:String}})" for i in range(len(long)))
        return await self._words(
            _PARTS.replace("{beginnings}", beginnings),
            {"parts": [part for word in long for part in _parts_of(word)]}
            | {f"b{i}": word for i, word in enumerate(long)},
        )

    async def _words(self, statement: str, parameters: dict[str, Any]) -> list[str]:
        table = self.catalogue.dataset.catalogue_words
        assert table is not None
        reply = await self.catalogue.client.query(
            statement, {**parameters, "cat_db": table.database, "words_table": table.name}
        )
        # A word may stand twice until its parts are merged.
        return list(dict.fromkeys(row[0] for row in reply.rows))

    async def _by_ids(self, ids: Sequence[PortfolioId], fitting: int) -> Candidates:
        if not ids:
            return Candidates()
        statement = _ROWS_OF.replace("id_type", id_type(self.catalogue.dataset))
        rows: dict[PortfolioId, list[Portfolio]] = {}
        for portfolio in portfolios_of(await self._of_catalogue(statement, {"some": list(ids)})):
            rows.setdefault(portfolio.id, []).append(portfolio)
        latest = [
            (
                replace(found[0], first_day=min(row.first_day for row in found if row.first_day)),
                tuple(dict.fromkeys(row.name for row in found)),
            )
            for found in rows.values()
        ]
        latest.sort(key=lambda item: (item[0].code, str(item[0].id)))
        return Candidates(tuple(p for p, _names in latest), tuple(names for _p, names in latest), fitting)

    async def _of_catalogue(self, statement: str, parameters: dict[str, Any]) -> Reply:
        source = catalogue_relation(self.catalogue.dataset)
        return await self.catalogue.client.query(statement, {**source.parameters, **parameters})

    async def _scanned(self, statement: str, parameters: dict[str, Any]) -> Candidates:
        source = catalogue_relation(self.catalogue.dataset)
        filled = statement.replace("{relation}", source.sql)
        return _candidates(
            await self.catalogue.client.query(filled, {**source.parameters, **parameters})
        )


def _candidates(reply: Reply) -> Candidates:
    place = len(ATTRIBUTES) + 3
    portfolios = tuple(portfolios_of(reply))
    names = tuple(
        tuple(dict.fromkeys((portfolio.name, *row[place])))
        for portfolio, row in zip(portfolios, reply.rows, strict=True)
    )
    return Candidates(portfolios, names, int(reply.rows[0][place + 1]) if reply.rows else 0)


@dataclass(frozen=True)
class _Reading:
    """One way to read the text: words of names, and words of types that must fit as well."""

    words: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class _Wanted:
    """For each word of a reading the words of the catalogue it may stand for."""

    variants: tuple[tuple[str, ...], ...]
    types: tuple[str, ...]


def _wanted(readings: Sequence[_Reading], vocabulary: Sequence[str]) -> list[_Wanted]:
    variants: dict[str, tuple[str, ...]] = {}
    lettered = [(other, frozenset(other)) for other in vocabulary]
    for reading in readings:
        rigid = rigid_words(reading.words)
        for word in reading.words:
            if word in rigid:
                variants[word] = (word,)
            elif word not in variants:
                own = root_letters(word)
                variants[word] = tuple(
                    other
                    for other, letters in lettered
                    if len(own - letters) < _TOO_FAR and word_cost(word, other) <= _TOO_FAR
                )
    return [
        _Wanted(tuple(variants[word] for word in reading.words), reading.types)
        for reading in readings
    ]


def _condition(wanted: Sequence[_Wanted], *, with_types: bool) -> tuple[str, dict[str, Any]]:
    """Return SQL that a name has a variant of every word of one of these, and its parameters."""
    numbers: dict[tuple[str, ...], int] = {}

    def bound(words: tuple[str, ...]) -> str:
        return f"{{n{numbers.setdefault(words, len(numbers))}:Array(String)}}"

    conditions = []
    for each in wanted:
        parts = [f"hasAny(NameWords, {bound(variants)})" for variants in each.variants]
        if with_types and each.types:
            types = bound(each.types)
            parts.append(
                f"(hasAny(NameWords, {types}) OR hasAny(splitByChar(' ', {_TYPE_KEY}), {types}))"
            )
        conditions.append("(" + " AND ".join(dict.fromkeys(parts)) + ")")
    sql = "(" + " OR ".join(dict.fromkeys(conditions)) + ")"
    return sql, {f"n{number}": list(words) for words, number in numbers.items()}


def _all_words(wanted: _Wanted) -> list[_Wanted]:
    return [wanted] if all(wanted.variants) else []


def _all_but_one(wanted: _Wanted) -> list[_Wanted]:
    return [
        _Wanted(some, ())
        for some in combinations(wanted.variants, len(wanted.variants) - 1)
        if some and all(some)
    ]


def _any_word(wanted: _Wanted) -> list[_Wanted]:
    return [_Wanted((some,), ()) for some in wanted.variants if some]


def _ways_to_read(asked: str) -> list[_Reading]:
    """Return the words of the text as typed, in the other layout and alphabet, and joined."""
    latin = any("a" <= letter <= "z" for letter in asked.lower())
    cyrillic = any("а" <= letter <= "я" or letter == "ё" for letter in asked.lower())
    texts = [asked]
    if latin:
        texts += [to_russian_layout(asked), to_russian(asked), sound(asked)]
    if cyrillic:
        texts += [to_english_layout(asked), to_latin(asked)]
    found = [_reading(words_of(text)) for text in texts]
    words = found[0].words
    for i in range(len(words) - 1):
        joined = (*words[:i], words[i] + words[i + 1], *words[i + 2 :])
        found.append(_Reading(joined, found[0].types))
    return list(dict.fromkeys(item for item in found if item.words))


def _with_splits(readings: Sequence[_Reading], vocabulary: Sequence[str]) -> list[_Reading]:
    """Add readings in which a word written as one is two words of the catalogue."""
    known, found = set(vocabulary), list(readings)
    words, types = readings[0].words, readings[0].types
    for i, word in enumerate(words):
        for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
            if word[:at] in known and word[at:] in known:
                found.append(_Reading((*words[:i], word[:at], word[at:], *words[i + 1 :]), types))
    return found


def _reading(words: Words) -> _Reading:
    if words.names:
        return _Reading(tuple(word for word in words.names if word != "+")[:_MOST_ASKED], words.types)
    return _Reading(words.types, ())


def _parts_of(word: str) -> list[str]:
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return [part for at in cuts for part in (word[:at], word[at:])]


def _scan_parameters(asked: str) -> dict[str, Any]:
    spellings = [asked, to_russian_layout(asked), to_english_layout(asked), sound(asked), to_latin(asked)]
    parameters: dict[str, Any] = {}
    for i, item in enumerate(spellings):
        parameters[f"v{i}"] = key(item) or " "
        parts = words_of(item)
        parameters[f"w{i}"] = [stem(word) for word in parts.names or parts.types if word != "+"] or ["\n"]
    return parameters
