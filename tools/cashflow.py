"""cashflow_tool: NAV, inflow, outflow and net flow, per day, per period or in all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from schemas.errors import NoData
from schemas.language import Both
from schemas.table import TOTAL, Column, Notice, Table
from tools.arguments import PeriodArgs
from tools.catalogue import catalogue_relation
from tools.context import ToolContext
from tools.flows import (
    FLOW_QUALITY,
    IN_PERIOD,
    UP_TO_END,
    currencies_notice,
    daily_money,
    money_column,
    money_notices,
    money_parameters,
)
from tools.interval import day_of, period_of
from tools.profit import PERIOD_START, period_column, period_label
from tools.registry import Operation, Tool
from tools.returns import (
    CURRENCY_COLUMN,
    PORTFOLIO_COLUMNS,
    Row,
    absent_notices,
    by_portfolio,
    called,
    identity,
    life_notices,
)
from tools.selection import portfolios_in, select_portfolios

# A portfolio whose last row is older than this on the asked day is closed and not in a type's NAV.
STALE_DAYS = 14
_NAV_DAY = Column("NAVDt", "date", role="detail", label=Both("СЧА на дату", "NAV as of"))
_DAYS = Column("Days", "integer", "count", "detail", Both("Дней с данными", "Days with data"))
_DT = Column("Dt", "date", role="key", label=Both("Дата", "Date"))

def _no_period(value: object) -> object:
    return None if value in ("", "none", "total", "all") else value


class FlowArgs(PeriodArgs):
    """An amount in all, per day (by_date) or per month, quarter or year (period)."""

    by_date: bool = Field(default=False, description="true: a row per day.")
    period: Annotated[
        Literal["month", "quarter", "year"] | None, BeforeValidator(_no_period)
    ] = Field(default=None, description="A row per month, quarter or year.")

    @model_validator(mode="after")
    def _one_grain(self) -> FlowArgs:
        if self.by_date and self.period:
            raise ValueError("by_date and period exclude each other: a row per day or per period")
        return self


async def get_nav(args: FlowArgs, context: ToolContext) -> Table:
    """Return NAV on or before the last day; per day or at each period's end when asked."""
    if args.by_date:
        return await _by_date(args, context, "NAV")
    if args.period:
        return await _nav_by_period(args, context)
    return await _nav_on_day(args, context)


async def get_inflow(args: FlowArgs, context: ToolContext) -> Table:
    """Return money that came in."""
    return await _flow(args, context, "Inflow")


async def get_outflow(args: FlowArgs, context: ToolContext) -> Table:
    """Return money that went out, as a positive amount."""
    return await _flow(args, context, "Outflow")


async def get_net_flow(args: FlowArgs, context: ToolContext) -> Table:
    """Return inflow less outflow."""
    return await _flow(args, context, "NetFlow")


async def _flow(args: FlowArgs, context: ToolContext, name: str) -> Table:
    if args.by_date:
        return await _by_date(args, context, name)
    return await _sums(args, context, name)


async def _by_date(args: FlowArgs, context: ToolContext, name: str) -> Table:
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    source = daily_money(context.dataset, selection, name, IN_PERIOD)
    reply = await context.run(
        f"SELECT id, d, currency AS day_currency, half, amount, doubled, conflict FROM {source} ORDER BY id, d",
        money_parameters(context.dataset, selection, period),
    )
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for id_, own in by_portfolio(rows).items():
        told.extend(money_notices(_quality(own), known.get(id_), name))
    told.extend(life_notices(_met(known, rows), period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, CURRENCY_COLUMN, _DT, money_column(name)),
        rows=tuple(
            (*_who(known, row), row["d"], row["amount"]) for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


def _quality(rows: list[dict[str, Any]]) -> dict[str, Any]:
    conflicts = [row for row in rows if row["conflict"]]
    return {
        "id": rows[0]["id"],
        "conflict_days": len(conflicts),
        "conflict_day": conflicts[0]["d"] if conflicts else None,
        "doubled_days": sum(1 for row in rows if row["doubled"] and not row["conflict"]),
        "half_days": sum(1 for row in rows if row["half"] and not row["conflict"]),
        "missing": sum(1 for row in rows if row["amount"] is None and not row["conflict"]),
    }


async def _sums(args: FlowArgs, context: ToolContext, name: str) -> Table:
    """Sum a flow per portfolio, or per portfolio and period with a total; conflicts leave no sum."""
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    source = daily_money(context.dataset, selection, name, IN_PERIOD)
    amount = "if(conflict_days > 0 OR observations = 0, NULL, sum(amount)) AS money"
    if args.period:
        statement = (
            f"SELECT id, currency AS day_currency, {PERIOD_START[args.period]} AS part, grouping(part) AS whole, "
            f"{FLOW_QUALITY}, {amount} FROM {source} "
            "GROUP BY GROUPING SETS ((id, currency, part), (id, currency)) "
            "ORDER BY id, currency, whole, part"
        )
    else:
        statement = (
            f"SELECT id, currency AS day_currency, 1 AS whole, {FLOW_QUALITY}, {amount} FROM {source} "
            "GROUP BY id, currency ORDER BY id, currency"
        )
    reply = await context.run(statement, money_parameters(context.dataset, selection, period))
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        if row["whole"]:
            told.extend(money_notices(row, known.get(row["id"]), name))
    told.extend(_changed_currencies(rows, known))
    told.extend(life_notices(_met(known, rows), period, context))
    told.extend(absent_notices(selection, rows, period))
    between = (period_column(args.period),) if args.period else ()

    def cells(row: Row) -> tuple[Any, ...]:
        if not args.period:
            return ()
        return (TOTAL if row["whole"] else period_label(row["part"], args.period),)

    return Table(
        columns=(*PORTFOLIO_COLUMNS, CURRENCY_COLUMN, *between, money_column(name), _DAYS),
        rows=tuple(
            (*_who(known, row), *cells(row), row["money"], row["observations"])
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


async def _nav_on_day(args: FlowArgs, context: ToolContext) -> Table:
    period, said = day_of(args, context)
    selection = await select_portfolios(args, context)
    source = daily_money(context.dataset, selection, "NAV", UP_TO_END)
    reply = await context.run(
        f"SELECT id, {FLOW_QUALITY}, argMax(tuple(amount, conflict, currency), d) AS latest, "
        "tupleElement(latest, 1) AS money, tupleElement(latest, 2) AS unclear, tupleElement(latest, 3) AS day_currency, max(d) AS nav_day "
        f"FROM {source} WHERE isNotNull(amount) OR conflict GROUP BY id ORDER BY id",
        money_parameters(context.dataset, selection, period),
    )
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        if row["unclear"]:
            told.extend(money_notices({**row, "doubled_days": 0, "missing": 0, "conflict_day": row["nav_day"]}, known.get(row["id"]), "NAV"))
        if row["nav_day"] < period.end:
            told.append(_older_nav(known.get(row["id"]), row, period.end))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, CURRENCY_COLUMN, money_column("NAV"), _NAV_DAY),
        rows=tuple((*_who(known, row), row["money"], row["nav_day"]) for row in rows),
        notices=tuple(told),
        days=(period.end, period.end),
    )


def _older_nav(portfolio: Any, row: Row, asked: date) -> Notice:
    name = portfolio.name if portfolio else str(row["id"])
    return Notice(
        "nav_on_earlier_day",
        Both(
            f"{name}: за {asked:%d.%m.%Y} строки нет, СЧА дана на {row['nav_day']:%d.%m.%Y}.",
            f"{name}: there is no row for {asked}; NAV is as of {row['nav_day']}.",
        ),
    )


async def _nav_by_period(args: FlowArgs, context: ToolContext) -> Table:
    period, said = period_of(args, context)
    selection = await select_portfolios(args, context)
    source = daily_money(context.dataset, selection, "NAV", IN_PERIOD)
    length = args.period or "month"
    reply = await context.run(
        f"SELECT id, {PERIOD_START[length]} AS part, {FLOW_QUALITY}, "
        "argMax(tuple(amount, currency), d) AS latest, tupleElement(latest, 1) AS money, tupleElement(latest, 2) AS day_currency, "
        "max(d) AS nav_day "
        f"FROM {source} WHERE isNotNull(amount) OR conflict GROUP BY id, part ORDER BY id, part",
        money_parameters(context.dataset, selection, period),
    )
    rows = reply.records()
    known = await portfolios_in(selection, [row["id"] for row in rows], context)
    told = [*said, *selection.notices]
    for row in rows:
        told.extend(money_notices(row, known.get(row["id"]), "NAV"))
    told.extend(life_notices(_met(known, rows), period, context))
    told.extend(absent_notices(selection, rows, period))
    return Table(
        columns=(*PORTFOLIO_COLUMNS, CURRENCY_COLUMN, period_column(length), money_column("NAV"), _NAV_DAY),
        rows=tuple(
            (*_who(known, row), period_label(row["part"], length), row["money"], row["nav_day"])
            for row in rows
        ),
        notices=tuple(told),
        days=(period.start, period.end),
    )


async def get_nav_by_type(args: PeriodArgs, context: ToolContext) -> Table:
    """Return the sum of the last NAV on or before the last day, per type and currency.

    Portfolios without a row in the STALE_DAYS before that day are closed and left out.
    """
    period, said = day_of(args, context)
    selection = await select_portfolios(args, context, whole_allowed=True)
    source = daily_money(context.dataset, selection, "NAV", f"{UP_TO_END} AND f.{{c_dt:Identifier}} >= {{end:Date}} - {STALE_DAYS}")
    catalogue = catalogue_relation(context.dataset)
    # The sum keeps the column's type: Decimals add exactly. A portfolio whose last row contradicts
    # itself has no NAV and is told.
    reply = await context.run(
        f"""
SELECT kind, currency, sum(money) AS nav, countIf(NOT unclear) AS portfolios,
       groupArrayIf(10)(id, unclear) AS unclear_ids, countIf(unclear) AS unclear_portfolios,
       countIf(nav_day < {{end:Date}} AND NOT unclear) AS earlier, min(nav_day) AS earliest
FROM (
    SELECT id, argMax(tuple(amount, conflict, currency), d) AS latest, tupleElement(latest, 1) AS money,
           tupleElement(latest, 2) AS unclear, tupleElement(latest, 3) AS row_currency, max(d) AS nav_day
    FROM {source} WHERE isNotNull(amount) OR conflict GROUP BY id
) AS n
INNER JOIN (
    SELECT InvestmentPortfolioID, PortfolioType AS kind, Currency AS stored FROM {catalogue.sql}
) AS c ON c.InvestmentPortfolioID = n.id
GROUP BY kind, if(row_currency = '', stored, row_currency) AS currency ORDER BY kind, currency
""",
        {**catalogue.parameters, **money_parameters(context.dataset, selection, period)},
    )
    rows = reply.records()
    if not rows:
        raise NoData(
            Both(
                f"На {period.end:%d.%m.%Y} нет ни одной СЧА.",
                f"There is no NAV on {period.end}.",
            )
        )
    told = [*said, *selection.notices]
    unclear_ids = [id_ for row in rows for id_ in row["unclear_ids"]]
    if unclear_ids:
        known = await portfolios_in(selection, unclear_ids, context)
        listed = ", ".join(called(known.get(id_), id_) for id_ in unclear_ids[:10])
        told.append(
            Notice(
                "conflicting_rows",
                Both(
                    f"Без однозначной СЧА и не вошли в сумму: {listed}.",
                    f"Without an unambiguous NAV and not in the sum: {listed}.",
                ),
            )
        )
    earlier = sum(row["earlier"] for row in rows)
    if earlier:
        earliest = min(row["earliest"] for row in rows)
        told.append(
            Notice(
                "nav_on_earlier_day",
                Both(
                    f"За {period.end:%d.%m.%Y} нет строки у портфелей: {earlier}; взята их последняя "
                    f"СЧА, самая ранняя — за {earliest:%d.%m.%Y}.",
                    f"{earlier} portfolio(s) have no row on {period.end}; their last NAV is taken, the "
                    f"earliest of {earliest}.",
                ),
            )
        )
    return Table(
        columns=(
            Column("PortfolioType", "string", role="key", label=Both("Тип", "Type")),
            Column("Currency", "string", role="key", label=Both("Валюта", "Currency")),
            money_column("NAV"),
            Column("Portfolios", "integer", "count", "detail", Both("Портфелей", "Portfolios")),
        ),
        rows=tuple((row["kind"], row["currency"], row["nav"], row["portfolios"]) for row in rows),
        notices=tuple(told),
        days=(period.end, period.end),
    )


def _met(known: Mapping[Any, Any], rows: list[dict[str, Any]]) -> list[Any]:
    """Return the portfolios that rows are about, each once."""
    return [known[id_] for id_ in dict.fromkeys(row["id"] for row in rows) if id_ in known]


def _who(known: Mapping[Any, Any], row: Row) -> tuple[Any, ...]:
    portfolio = known.get(row["id"])
    currency = row["day_currency"] or (portfolio.currency if portfolio else "")
    return (*identity(portfolio, row["id"]), currency)


def _changed_currencies(rows: list[dict[str, Any]], known: Mapping[Any, Any]) -> list[Notice]:
    return [
        currencies_notice(known.get(id_), id_, currencies)
        for id_, own in by_portfolio(rows).items()
        if len(currencies := {row["day_currency"] for row in own}) > 1
    ]


CASHFLOW_TOOL = Tool(
    name="cashflow_tool",
    description="NAV and money flows of portfolios.",
    operations=(
        Operation(
            "get_nav",
            "NAV on or before end_date; by_date=true: every day; period: at each period's end.",
            FlowArgs,
            get_nav,
            Both("СЧА", "NAV"),
            ("NAV",),
            on_last_day=True,
        ),
        Operation(
            "get_inflow",
            "Inflow: the sum; by_date=true: every day; period: per month, quarter, year.",
            FlowArgs,
            get_inflow,
            Both("притоки", "inflows"),
            ("Inflow",),
        ),
        Operation(
            "get_outflow",
            "Outflow: the sum; by_date=true: every day; period: per month, quarter, year.",
            FlowArgs,
            get_outflow,
            Both("оттоки", "outflows"),
            ("Outflow",),
        ),
        Operation(
            "get_net_flow",
            "Inflow less outflow: the sum; by_date=true: every day; period: per month and so on.",
            FlowArgs,
            get_net_flow,
            Both("чистые притоки", "net flows"),
            ("Inflow", "Outflow"),
        ),
        Operation(
            "get_nav_by_type",
            "NAV per portfolio type and currency on or before end_date.",
            PeriodArgs,
            get_nav_by_type,
            Both("СЧА по типам", "NAV by type"),
            ("NAV", "PortfolioType"),
            on_last_day=True,
        ),
    ),
)
