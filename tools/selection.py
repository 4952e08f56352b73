"""Which portfolios a step is about: names become ids, types and strategies become conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from schemas.errors import ClarificationNeeded, InvalidArgs
from schemas.language import Both
from schemas.portfolio import Portfolio, PortfolioId
from schemas.table import Notice
from tools.arguments import PortfolioArgs
from tools.asking import TYPE_CHOICE, portfolio_question, type_or_portfolio, understood_as, which_of
from tools.catalogue import catalogue_relation, id_type
from tools.context import ToolContext
from tools.spellings import key


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
        return choice.removeprefix(TYPE_CHOICE) if choice.startswith(TYPE_CHOICE) else None
    kind = await context.resolver.resolve_type(name)
    if kind is None:
        return None
    found = await context.resolver.resolve(name)
    if found.outcome == "unknown" or found.outcome == "close":
        return kind
    namesakes = [found.portfolio] if found.portfolio else list(found.candidates)
    if found.outcome == "ambiguous" and not any(_bears(item, name) for item in namesakes):
        return kind
    raise ClarificationNeeded(type_or_portfolio(name, kind, namesakes))


def _bears(portfolio: Portfolio, name: str) -> bool:
    same_key = key(name)
    return same_key in (key(portfolio.name), key(portfolio.code), key(portfolio.client_code))


def _some(ids: list[PortfolioId]) -> str:
    return ", ".join(str(item)[:40] for item in ids[:5])


async def _type_named(text: str, context: ToolContext) -> str:
    found = await context.resolver.resolve_type(text)
    if found is not None:
        return found
    raise ClarificationNeeded(await which_of("PortfolioType", text, context))


async def _strategy_named(text: str, context: ToolContext) -> str:
    found = await context.resolver.resolve_strategy(text)
    if found is not None:
        return found
    raise ClarificationNeeded(await which_of("Strategy", text, context))


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
        return resolution.portfolio, understood_as(resolution)
    raise ClarificationNeeded(portfolio_question(resolution))


async def portfolios_in(selection: Selection, ids: Iterable[PortfolioId], context: ToolContext) -> dict[PortfolioId, Portfolio]:
    """Return the portfolios behind the ids of a result."""
    known = {item.id: item for item in selection.portfolios}
    missing = [item for item in dict.fromkeys(ids) if item not in known]
    if missing:
        known.update(await context.catalogue.by_ids(missing))
    return known
