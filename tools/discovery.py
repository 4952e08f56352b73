"""portfolios_discovery_tool: which portfolios, types and strategies there are."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from schemas.language import Both
from schemas.portfolio import Portfolio
from schemas.table import Column, Notice, Table
from tools.arguments import PortfolioArgs, SelectedIds
from tools.catalogue import catalogue_relation, portfolios_of
from tools.context import ToolContext
from tools.registry import Operation, Tool
from tools.returns import CURRENCY_COLUMN, PORTFOLIO_COLUMNS
from tools.selection import Selection, resolve_one, select_portfolios

_LISTED = (
    *PORTFOLIO_COLUMNS,
    Column("PortfolioClientCode", "string", role="value", label=Both("Код клиента", "Client code")),
    Column("PortfolioType", "string", role="value", label=Both("Тип", "Type")),
    Column("Strategy", "string", role="value", label=Both("Стратегия", "Strategy")),
    CURRENCY_COLUMN,
    Column("FirstDt", "date", role="detail", label=Both("Данные с", "Data since")),
    Column("LastDt", "date", role="detail", label=Both("Данные по", "Data until")),
)


def _one_text(value: object) -> object:
    if isinstance(value, SelectedIds) and len(value) == 1:
        return str(value[0])
    if isinstance(value, list | tuple) and len(value) == 1:
        return value[0]
    return value


OptionalText = Annotated[str | None, BeforeValidator(_one_text)]


class NoArgs(BaseModel):
    """No arguments."""

    model_config = ConfigDict(extra="forbid")


class FindArgs(BaseModel):
    """One portfolio as the person wrote it, or a part that several names contain, or all."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    portfolio: OptionalText = Field(
        default=None,
        validation_alias=AliasChoices(
            "portfolio", "portfolio_name", "portfolio_names", "name", "names", "portfolio_hint",
            "portfolio_code", "portfolio_codes", "portfolio_client_code", "portfolio_client_codes",
        ),
        description="The one portfolio meant: name, code or client code. Empty: all portfolios.",
    )
    contains: OptionalText = Field(
        default=None, description="List portfolios whose name contains this text."
    )

    @model_validator(mode="after")
    def _one_way(self) -> FindArgs:
        if self.portfolio and self.contains:
            raise ValueError("portfolio and contains exclude each other: one portfolio or a list")
        return self


class TypeArgs(BaseModel):
    """Types of portfolios."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    portfolio_types: Annotated[
        list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field(
        validation_alias=AliasChoices("portfolio_types", "portfolio_type", "types", "type"),
        min_length=1,
        description="Types, such as ПИФ.",
    )


def _listing(portfolios: list[Portfolio], notices: tuple[Notice, ...] = ()) -> Table:
    return Table(
        columns=_LISTED,
        rows=tuple(
            (
                item.id,
                item.name,
                item.code,
                item.client_code,
                item.type,
                item.strategy,
                item.currency,
                item.first_day,
                item.last_day,
            )
            for item in portfolios
        ),
        notices=notices,
    )


async def get_portfolios(args: FindArgs, context: ToolContext) -> Table:
    """Return the one portfolio that is meant, those that contain a text, or all."""
    if args.portfolio:
        portfolio, said = await resolve_one(args.portfolio, context)
        return _listing([portfolio], said)
    if args.contains:
        return await _list(
            context,
            "WHERE positionCaseInsensitiveUTF8(Portfolio, {part:String}) > 0",
            {"part": args.contains[:200]},
        )
    return await _list(context, "", {})


async def _list(context: ToolContext, condition: str, parameters: dict[str, object]) -> Table:
    source = catalogue_relation(context.dataset)
    columns = (
        "InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode, PortfolioType, "
        "Strategy, Currency, FirstDt, LastDt"
    )
    reply = await context.run(
        f"SELECT {columns} FROM {source.sql} AS p {condition} "
        "ORDER BY PortfolioType, PortfolioCode, InvestmentPortfolioID",
        {**source.parameters, **parameters},
    )
    return _listing(portfolios_of(reply))


async def get_portfolios_by_type(args: TypeArgs, context: ToolContext) -> Table:
    """Return the portfolios of the types."""
    kinds = [
        found
        for found in [await context.resolver.resolve_type(text) for text in args.portfolio_types]
        if found
    ]
    if len(kinds) < len(args.portfolio_types):
        await select_portfolios(PortfolioArgs(portfolio_types=args.portfolio_types), context)
    return await _list(context, "WHERE PortfolioType IN {kinds:Array(String)}", {"kinds": kinds})


async def get_portfolio_attributes(args: PortfolioArgs, context: ToolContext) -> Table:
    """Return code, client code, type, strategy, currency and days with data."""
    selection: Selection = await select_portfolios(args, context)
    if selection.portfolios:
        return _listing(list(selection.portfolios), selection.notices)
    source = catalogue_relation(context.dataset)
    return await _list(
        context,
        "WHERE " + selection.condition.replace("f.{c_id:Identifier}", "p.InvestmentPortfolioID"),
        {**source.parameters, **selection.parameters},
    )


async def _count_by(column: str, label: Both, context: ToolContext) -> Table:
    source = catalogue_relation(context.dataset)
    reply = await context.run(
        f"SELECT {column}, count() AS n FROM {source.sql} AS p GROUP BY {column} ORDER BY {column}",
        source.parameters,
    )
    return Table(
        columns=(
            Column(column, "string", role="key", label=label),
            Column("Portfolios", "integer", "count", label=Both("Портфелей", "Portfolios")),
        ),
        rows=tuple(tuple(row) for row in reply.rows),
    )


async def get_portfolios_type(args: NoArgs, context: ToolContext) -> Table:  # noqa: ARG001
    """Return the types and how many portfolios each has."""
    return await _count_by("PortfolioType", Both("Тип", "Type"), context)


async def get_strategies(args: NoArgs, context: ToolContext) -> Table:  # noqa: ARG001
    """Return the strategies and how many portfolios each has."""
    return await _count_by("Strategy", Both("Стратегия", "Strategy"), context)


DISCOVERY_TOOL = Tool(
    name="portfolios_discovery_tool",
    description="Which portfolios there are and what they are.",
    operations=(
        Operation(
            "get_portfolios",
            "Find the portfolio a person means (portfolio), list by a part of the name (contains), or all.",
            FindArgs,
            get_portfolios,
            Both("поиск портфеля", "finding the portfolio"),
        ),
        Operation(
            "get_portfolios_type",
            "Types of portfolios with their counts.",
            NoArgs,
            get_portfolios_type,
            Both("типы портфелей", "portfolio types"),
            ("PortfolioType",),
        ),
        Operation(
            "get_portfolios_by_type",
            "Portfolios of the types.",
            TypeArgs,
            get_portfolios_by_type,
            Both("портфели по типу", "portfolios of a type"),
            ("PortfolioType",),
        ),
        Operation(
            "get_portfolio_attributes",
            "Code, client code, type, strategy, currency and days with data of portfolios.",
            PortfolioArgs,
            get_portfolio_attributes,
            Both("свойства портфеля", "portfolio attributes"),
        ),
        Operation(
            "get_strategies",
            "Strategies with their counts.",
            NoArgs,
            get_strategies,
            Both("стратегии", "strategies"),
            ("Strategy",),
        ),
    ),
)
