"""What the person is asked, and told, about the portfolios a step names."""

from __future__ import annotations

from schemas.clarification import MAX_OPTIONS, Clarification, Option
from schemas.errors import InvalidArgs
from schemas.language import Both, same
from schemas.portfolio import Portfolio, Resolution
from schemas.table import Notice
from tools.catalogue import catalogue_relation
from tools.context import ToolContext

# A choice that is a whole type and not one portfolio.
TYPE_CHOICE = "type:"


def type_or_portfolio(name: str, kind: str, namesakes: list[Portfolio]) -> Clarification:
    """Return the question whether a whole type or a portfolio of that name is meant."""
    options = (
        Option(
            label=Both(f"все портфели типа {kind}", f"all portfolios of type {kind}"),
            value=TYPE_CHOICE + kind,
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


async def which_of(column: str, text: str, context: ToolContext) -> Clarification:
    """Return the question which type or strategy is meant, with those there are.

    Raises:
        InvalidArgs: there are none.
    """
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


def understood_as(resolution: Resolution) -> tuple[Notice, ...]:
    """Return the notice that a name was taken for another spelling, nothing for an exact one."""
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
