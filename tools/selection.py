"""Which portfolios and which days a step is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from schemas.clarification import MAX_OPTIONS, Clarification, Option
from schemas.errors import ClarificationNeeded, InvalidArgs, NoData
from schemas.language import Both, same
from schemas.periods import Period, default_period
from schemas.portfolio import Portfolio, PortfolioId, Resolution
from schemas.table import Notice
from tools.catalogue import catalogue_relation, id_type
from tools.context import ToolContext
from tools.spellings import key

_FIRST_DATE = date(1970, 1, 1)
_ISO_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?$")
# A choice that is a whole type and not one portfolio.
_TYPE_CHOICE = "type:"
_DOTTED_DATE = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")


class SelectedIds(list[Any]):
    """Ids of portfolios that an earlier step found; they need no resolving."""


def _texts(value: object) -> object:
    if value is None:
        return []
    if isinstance(value, SelectedIds):
        return list(value)
    if isinstance(value, str | int):
        value = [value]
    if isinstance(value, list | tuple):
        return _flattened(value)
    return value


def _flattened(values: list[Any] | tuple[Any, ...]) -> list[str]:
    """Return the texts of a list that may hold lists; a list of blanks is not an empty list."""
    found: list[str] = []
    for item in values:
        if isinstance(item, list | tuple):
            if any(isinstance(inner, list | tuple | dict) for inner in item):
                raise ValueError("a list of names must not be nested")
            found.extend(_flattened(item))
        elif isinstance(item, dict):
            raise ValueError("a list of names holds an object")
        elif item is not None and str(item).strip():
            found.append(str(item))
    if values and not found:
        raise ValueError("only empty values are given; leave the field out or name something")
    return found


def read_date(value: object) -> object:
    """Read an ISO date, a dd.mm.yyyy date or a date with a time; a list of one is its item."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, bool | int | float):
        raise ValueError(f"{value!r} is not a date; write YYYY-MM-DD")
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or text.lower() in {"none", "null"}:
        return None
    found = _DOTTED_DATE.match(text)
    if found:
        text = f"{found.group(3)}-{int(found.group(2)):02d}-{int(found.group(1)):02d}"
    whole = _ISO_DATE.match(text)
    try:
        if whole is None:
            raise ValueError
        return date.fromisoformat(whole.group(1))
    except ValueError:
        raise ValueError(f"{value!r} is not a date of the calendar; write YYYY-MM-DD") from None


Texts = Annotated[list[str], BeforeValidator(_texts)]
# Ids keep the type the database gave them.
Ids = Annotated[list[int | str | UUID], BeforeValidator(_texts)]
OptionalDate = Annotated[date | None, BeforeValidator(read_date)]


class PortfolioArgs(BaseModel):
    """Portfolios by name, code, client code, type or strategy; each field takes a list."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    portfolio_names: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_names", "portfolio_name", "portfolios", "portfolio", "names", "name"
        ),
        description="Names as the person wrote them, or ${step} of portfolios found earlier.",
    )
    portfolio_codes: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("portfolio_codes", "portfolio_code", "codes", "code"),
        description="Portfolio codes.",
    )
    portfolio_client_codes: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_client_codes", "portfolio_client_code", "client_codes", "client_code"
        ),
        description="Client codes.",
    )
    portfolio_types: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("portfolio_types", "portfolio_type", "types", "type"),
        description="Types: every portfolio of the type.",
    )
    strategies: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("strategies", "strategy"),
        description="Strategies: every portfolio of the strategy.",
    )
    portfolio_ids: Ids = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_ids", "portfolio_id", "ids", "InvestmentPortfolioID"
        ),
        description="Ids, only as ${step.InvestmentPortfolioID}.",
    )


    @model_validator(mode="before")
    @classmethod
    def _found_earlier(cls, data: object) -> object:
        """Move portfolios an earlier step found to the ids: they need no resolving."""
        if not isinstance(data, dict):
            return data
        found: list[Any] = []
        rest: dict[str, Any] = {}
        for field, value in data.items():
            if isinstance(value, SelectedIds):
                found.extend(value)
            elif isinstance(value, list) and any(isinstance(item, SelectedIds) for item in value):
                for item in value:
                    if isinstance(item, SelectedIds):
                        found.extend(item)
                others = [item for item in value if not isinstance(item, SelectedIds)]
                if others:
                    rest[field] = others
            else:
                rest[field] = value
        if not found:
            return data
        for name in ("portfolio_ids", "portfolio_id", "ids", "InvestmentPortfolioID"):
            given = rest.pop(name, [])
            found.extend(given if isinstance(given, list | tuple) else [given])
        return {**rest, "portfolio_ids": found}


class PeriodArgs(PortfolioArgs):
    """Portfolios and a closed interval of days; no dates means the default period."""

    start_date: OptionalDate = Field(
        default=None,
        validation_alias=AliasChoices("start_date", "date_from", "start", "from_date", "from"),
        description="First day, YYYY-MM-DD.",
    )
    end_date: OptionalDate = Field(
        default=None,
        validation_alias=AliasChoices("end_date", "date_to", "end", "to_date", "to"),
        description="Last day, YYYY-MM-DD.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_day(cls, data: object) -> object:
        """Read `date` or `on_date` as an interval of one day."""
        if not isinstance(data, dict):
            return data
        named = [name for name in ("date", "on_date") if name in data]
        if not named:
            return data
        rest = {name: value for name, value in data.items() if name not in named}
        if any(name in rest for name in ("start_date", "end_date")):
            raise ValueError("give start_date and end_date, or one date, not both")
        return {**rest, "start_date": data[named[0]], "end_date": data[named[0]]}


@dataclass(frozen=True)
class Selection:
    """The portfolios of a step as a SQL condition on column `f.{c_id:Identifier}`.

    `portfolios` are known where they were named one by one; empty for whole types.
    `whole` means everything there is.
    """

    condition: str
    parameters: dict[str, Any]
    portfolios: tuple[Portfolio, ...]
    notices: tuple[Notice, ...]
    whole: bool = False


def period_of(args: PeriodArgs, context: ToolContext) -> tuple[Period, tuple[Notice, ...]]:
    """Return the interval of a step, filling what the person left out and saying so.

    Raises:
        ClarificationNeeded: the interval is reversed.
        NoData: it begins after the last day that has data.
    """
    usual = default_period(context.settings.DEFAULT_PERIOD, context.today, context.last_day)
    start, end = args.start_date, args.end_date
    notices: tuple[Notice, ...] = ()
    if start is None and end is None:
        start, end = usual.start, usual.end
        shown = f"{start:%d.%m.%Y}–{end:%d.%m.%Y}"
        notices = (
            Notice(
                "default_period",
                Both(
                    f"Период не назван, взят {usual.name.ru}: {shown}.",
                    f"No period was named, taken: {usual.name.en}, {start}…{end}.",
                ),
                "info",
            ),
        )
    elif start is None and end is not None:
        start = end.replace(month=1, day=1)
        notices = (_filled(start, end),)
    elif end is None and start is not None:
        end = context.last_day if context.last_day and context.last_day >= start else start
        notices = (_filled(start, end),)
    if start is None or end is None:
        raise AssertionError("both ends are set above")
    if start > end:
        if context.choices.get(_interval(start, end)):
            start, end = end, start
        else:
            raise ClarificationNeeded(_reversed(start, end))
    if end < _FIRST_DATE:
        raise NoData(
            Both(
                f"За {start:%d.%m.%Y}–{end:%d.%m.%Y} данных быть не может: даты раньше 1970 года.",
                f"There can be no data for {start}…{end}: the dates are before 1970.",
            )
        )
    notices = (*notices, *_beyond(start, end, context))
    # ClickHouse dates are 1970 to 2149 and wrap around silently beyond; no row lies after the
    # last day with data, so nothing is lost by ending there.
    last = context.last_day or end
    return Period(max(start, _FIRST_DATE), min(end, last) if start <= last else end), notices


def day_of(args: PeriodArgs, context: ToolContext) -> tuple[Period, tuple[Notice, ...]]:
    """Return the day of a figure that stands on one day, as a period that ends there.

    The day is the end of the interval; without one, the last day with data.

    Raises:
        ClarificationNeeded: the interval is reversed.
        NoData: the table is empty, or the day is before the first possible one.
    """
    if args.start_date is not None and args.end_date is not None and args.start_date > args.end_date:
        return period_of(args, context)
    last = context.last_day
    if last is None:
        raise NoData(Both("В таблице нет ни одной строки.", "The table has no rows at all."))
    asked = args.end_date
    if asked is None and args.start_date is None:
        asked = default_period(context.settings.DEFAULT_PERIOD, context.today, last).end
    day = min(asked, last) if asked is not None else last
    if day < _FIRST_DATE:
        return period_of(args, context)
    notices: tuple[Notice, ...] = ()
    if asked is not None and asked > last:
        notices = (_data_until(last),)
    return Period(day.replace(month=1, day=1), day), notices


def _filled(start: date, end: date) -> Notice:
    return Notice(
        "filled_period",
        Both(f"Период: {start:%d.%m.%Y}–{end:%d.%m.%Y}.", f"Period: {start}…{end}."),
        "info",
    )


def _interval(start: date, end: date) -> str:
    return f"{start.isoformat()}/{end.isoformat()}"


def _reversed(start: date, end: date) -> Clarification:
    return Clarification(
        question=Both(
            f"Начало периода {start:%d.%m.%Y} позже конца {end:%d.%m.%Y}. "
            f"Взять {end:%d.%m.%Y}–{start:%d.%m.%Y}?",
            f"The period starts on {start}, after its end {end}. Take {end}…{start}?",
        ),
        subject="period",
        about=_interval(start, end),
        options=(
            Option(
                label=Both(
                    f"{end:%d.%m.%Y}–{start:%d.%m.%Y}", f"{end.isoformat()}…{start.isoformat()}"
                ),
                value=_interval(end, start),
            ),
        ),
        total=1,
    )


def _beyond(start: date, end: date, context: ToolContext) -> tuple[Notice, ...]:
    last = context.last_day
    if last is None:
        raise NoData(Both("В таблице нет ни одной строки.", "The table has no rows at all."))
    if start > last:
        raise NoData(
            Both(
                f"За {start:%d.%m.%Y}–{end:%d.%m.%Y} данных ещё нет: "
                f"последний день с данными — {last:%d.%m.%Y}.",
                f"There is no data yet for {start}…{end}: the last day with data is {last}.",
            )
        )
    if end > last:
        return (_data_until(last),)
    return ()


def _data_until(last: date) -> Notice:
    return Notice(
        "data_until",
        Both(f"Данные есть по {last:%d.%m.%Y}.", f"Data is available up to {last}."),
        "info",
    )


async def select_portfolios(
    args: PortfolioArgs, context: ToolContext, *, whole_allowed: bool = False
) -> Selection:
    """Resolve what the arguments name.

    Raises:
        ClarificationNeeded: a name fits several portfolios, or none.
        InvalidArgs: nothing is named where something must be.
    """
    notices: list[Notice] = []
    chosen: dict[PortfolioId, Portfolio] = {}
    types: list[str] = []
    ids = _known_ids(args.portfolio_ids, context)
    named = [*args.portfolio_codes, *args.portfolio_client_codes, *args.portfolio_names]
    there = await context.catalogue.by_ids(ids)
    strangers = [item for item in ids if item not in there]
    if strangers:
        raise InvalidArgs(
            Both(
                f"Нет портфелей с такими ID: {_some(strangers)}.",
                f"There are no portfolios with these ids: {_some(strangers)}.",
            ),
            for_model=f"portfolio_ids: unknown {_some(strangers)}; name portfolios or codes",
        )
    chosen.update(there)
    by_code = await context.resolver.resolve_codes(
        [code for code in (*args.portfolio_codes, *args.portfolio_client_codes) if not context.choices.get(code)]
    )
    for name in named:
        if name in by_code:
            chosen[by_code[name].id] = by_code[name]
            continue
        kind = await _as_type(name, context) if name in args.portfolio_names else None
        if kind is not None:
            types.append(kind)
            continue
        portfolio, said = await resolve_one(name, context)
        chosen[portfolio.id] = portfolio
        notices.extend(said)
    for text in args.portfolio_types:
        types.append(await _type_named(text, context))
    strategies = [await _strategy_named(text, context) for text in args.strategies]
    if types or strategies:
        return await _group_selection(types, strategies, chosen, notices, context)
    if not chosen:
        if whole_allowed:
            return Selection("1", {}, (), tuple(notices), whole=True)
        raise InvalidArgs(
            Both("Не назван портфель.", "No portfolio is named."),
            for_model="name a portfolio: portfolio_names, portfolio_codes, portfolio_types",
        )
    return Selection(
        f"f.{{c_id:Identifier}} IN {{ids:Array({id_type(context.dataset)})}}",
        {"ids": list(chosen)},
        tuple(chosen.values()),
        tuple(notices),
    )


async def _group_selection(
    types: list[str],
    strategies: list[str],
    chosen: dict[PortfolioId, Portfolio],
    notices: list[Notice],
    context: ToolContext,
) -> Selection:
    source = catalogue_relation(context.dataset)
    parameters = dict(source.parameters)
    conditions = []
    if types:
        conditions.append("PortfolioType IN {types:Array(String)}")
        parameters["types"] = list(dict.fromkeys(types))
    if strategies:
        conditions.append("Strategy IN {strategies:Array(String)}")
        parameters["strategies"] = list(dict.fromkeys(strategies))
    where = " AND ".join(conditions)
    # GLOBAL: over a Distributed table the list is made once and sent to the shards.
    condition = (
        f"f.{{c_id:Identifier}} GLOBAL IN (SELECT InvestmentPortfolioID FROM {source.sql} WHERE {where})"
    )
    if chosen:
        condition = f"({condition} OR f.{{c_id:Identifier}} IN {{ids:Array({id_type(context.dataset)})}})"
        parameters["ids"] = list(chosen)
    return Selection(condition, parameters, (), tuple(notices))


def _known_ids(values: Iterable[object], context: ToolContext) -> list[PortfolioId]:
    kind = id_type(context.dataset)
    if not kind.startswith(("UInt", "Int")):
        return list(values)
    ids = []
    lowest = 0 if kind.startswith("U") else -(2**63)
    for value in values:
        text = str(value)
        number = int(text) if re.fullmatch(r"-?\d{1,20}", text) else None
        if number is None or not lowest <= number < 2**63:
            raise InvalidArgs(
                Both(f"Это не ID портфеля: {text[:40]}.", f"Not a portfolio id: {text[:40]}."),
                for_model=f"portfolio_ids: {text[:40]!r} is no id; name portfolios or codes",
            )
        ids.append(number)
    return ids


async def _as_type(name: str, context: ToolContext) -> str | None:
    if not context.dataset.has("PortfolioType") or len(name) > 60:
        return None
    choice = context.choices.get(name)
    if choice:
        return choice.removeprefix(_TYPE_CHOICE) if choice.startswith(_TYPE_CHOICE) else None
    kind = await context.resolver.resolve_type(name)
    if kind is None:
        return None
    found = await context.resolver.resolve(name)
    if found.outcome == "unknown" or found.outcome == "close":
        return kind
    namesakes = [found.portfolio] if found.portfolio else list(found.candidates)
    if found.outcome == "ambiguous" and not any(_bears(item, name) for item in namesakes):
        return kind
    raise ClarificationNeeded(_type_or_portfolio(name, kind, namesakes))


def _bears(portfolio: Portfolio, name: str) -> bool:
    same_key = key(name)
    return same_key in (key(portfolio.name), key(portfolio.code), key(portfolio.client_code))


def _type_or_portfolio(name: str, kind: str, namesakes: list[Portfolio]) -> Clarification:
    options = (
        Option(
            label=Both(f"все портфели типа {kind}", f"all portfolios of type {kind}"),
            value=_TYPE_CHOICE + kind,
        ),
        *(_option(item) for item in namesakes[: MAX_OPTIONS - 1]),
    )
    return Clarification(
        question=Both(
            f"«{name}» — это и тип портфелей, и портфель. Что взять?",
            f"“{name}” is a type of portfolios and a portfolio too. Which is meant?",
        ),
        subject="portfolio",
        about=name,
        options=options,
        total=len(namesakes) + 1,
    )


def _some(ids: list[PortfolioId]) -> str:
    return ", ".join(str(item)[:40] for item in ids[:5])


async def _type_named(text: str, context: ToolContext) -> str:
    found = await context.resolver.resolve_type(text)
    if found is not None:
        return found
    raise ClarificationNeeded(await _which("PortfolioType", text, context))


async def _strategy_named(text: str, context: ToolContext) -> str:
    found = await context.resolver.resolve_strategy(text)
    if found is not None:
        return found
    raise ClarificationNeeded(await _which("Strategy", text, context))


async def _which(column: str, text: str, context: ToolContext) -> Clarification:
    source = catalogue_relation(context.dataset)
    reply = await context.run(
        f"SELECT DISTINCT {column} FROM {source.sql} WHERE {column} != '' ORDER BY {column} LIMIT 50",
        source.parameters,
    )
    values = [str(row[0]) for row in reply.rows]
    if not values:
        raise InvalidArgs(
            Both(
                f"В данных нет ни одного значения в столбце {column}.",
                f"The data has no value in column {column}.",
            ),
            for_model=f"there are no values of {column}; name portfolios instead",
        )
    what = ("тип портфелей", "portfolio type") if column == "PortfolioType" else ("стратегия", "strategy")
    return Clarification(
        question=Both(
            f"Не нашёл: {what[0]} «{text[:80]}». Есть: {', '.join(values)}. Что взять?",
            f"Not found: {what[1]} “{text[:80]}”. There are: {', '.join(values)}. Which one?",
        ),
        subject="question",
        about=text,
        total=len(values),
    )


async def resolve_one(name: str, context: ToolContext) -> tuple[Portfolio, tuple[Notice, ...]]:
    """Return the one portfolio a name means, and what must be said about it.

    Raises:
        ClarificationNeeded: several fit, or none is near.
    """
    choice = context.choices.get(name)
    if choice:
        for portfolio in (await context.catalogue.by_ids(_known_ids([choice], context))).values():
            return portfolio, ()
    resolution = await context.resolver.resolve(name)
    # A question shows the name cut and cleaned; the choice comes back under that.
    if resolution.asked != name and context.choices.get(resolution.asked):
        return await resolve_one(resolution.asked, context)
    if resolution.portfolio is not None and resolution.outcome in ("exact", "close"):
        return resolution.portfolio, _understood(resolution)
    raise ClarificationNeeded(portfolio_question(resolution))


def _understood(resolution: Resolution) -> tuple[Notice, ...]:
    portfolio = resolution.portfolio
    if portfolio is None or resolution.outcome == "exact":
        return ()
    return (
        Notice(
            "understood_as",
            Both(
                f"«{resolution.asked[:80]}» понято как «{portfolio.name}» ({portfolio.code}).",
                f"“{resolution.asked[:80]}” was taken as “{portfolio.name}” ({portfolio.code}).",
            ),
            "info",
        ),
    )


def _option(item: Portfolio) -> Option:
    about = (item.code, item.type, item.strategy, item.currency)
    return Option(
        label=same(item.name or str(item.id)),
        value=str(item.id),
        detail=same(", ".join(part for part in about if part)),
    )


def portfolio_question(resolution: Resolution) -> Clarification:
    """Return the question that lets the person choose among candidates."""
    options = tuple(_option(item) for item in resolution.candidates[:MAX_OPTIONS])
    asked = resolution.asked[:80]
    rest = resolution.total - len(options)
    if resolution.outcome == "ambiguous":
        more = (f" Ещё подходит: {rest}.", f" {rest} more fit.") if rest > 0 else ("", "")
        question = Both(
            f"«{asked}» — это несколько портфелей. Какой?{more[0]}",
            f"“{asked}” fits several portfolios. Which one?{more[1]}",
        )
    elif options:
        question = Both(
            f"Портфель «{asked}» не найден. Ближайшие по названию — один из них?",
            f"No portfolio “{asked}” was found. The nearest names – is it one of these?",
        )
    else:
        question = Both(
            f"Портфель «{asked}» не найден. Назовите его иначе или укажите код.",
            f"No portfolio “{asked}” was found. Name it otherwise or give its code.",
        )
    return Clarification(
        question=question,
        subject="portfolio",
        about=resolution.asked,
        options=options,
        total=resolution.total,
    )


async def portfolios_in(selection: Selection, ids: Iterable[PortfolioId], context: ToolContext) -> dict[PortfolioId, Portfolio]:
    """Return the portfolios behind the ids of a result."""
    known = {item.id: item for item in selection.portfolios}
    missing = [item for item in dict.fromkeys(ids) if item not in known]
    if missing:
        known.update(await context.catalogue.by_ids(missing))
    return known
