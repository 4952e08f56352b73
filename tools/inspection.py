"""Look at the administrator's tables once: which columns exist, of which types."""

from __future__ import annotations

import re
from datetime import date, datetime

from schemas.dataset import MONEY_COLUMNS, REQUIRED_COLUMNS, Dataset, TableName, parse_columns
from schemas.errors import ConfigError, QueryError
from schemas.language import Both
from schemas.settings import PortfolioValves
from tools.clickhouse import ClickHouse

_WRAPPER = re.compile(r"^(?:Nullable|LowCardinality)\((.*)\)$", re.DOTALL)
_SIMPLE_AGGREGATE = re.compile(r"^SimpleAggregateFunction\(\w+, (.*)\)$", re.DOTALL)
_KEY_COLUMN = "NameKey"


def bare_type(kind: str) -> str:
    """Return a ClickHouse type without Nullable, LowCardinality and SimpleAggregateFunction."""
    while True:
        found = _WRAPPER.match(kind) or _SIMPLE_AGGREGATE.match(kind)
        if found is None:
            return kind
        kind = found.group(1)


async def inspect_dataset(client: ClickHouse, settings: PortfolioValves) -> Dataset:
    """Describe the tables the valves name.

    Raises:
        ConfigError: a table or a column nothing can be answered without is missing.
    """
    mapping = parse_columns(settings.COLUMNS)
    table = TableName.parse(settings.TABLE, valve="TABLE")
    described = await _describe(client, table, valve="TABLE")
    columns = {name: real for name, real in mapping.items() if real in described}
    missing = [mapping[name] for name in REQUIRED_COLUMNS if name not in columns]
    if missing:
        raise ConfigError(
            Both(
                f"В таблице {table} нет столбцов: {', '.join(missing)}. "
                "Проверьте настройки TABLE и COLUMNS.",
                f"Table {table} lacks columns: {', '.join(missing)}. "
                "Check the valves TABLE and COLUMNS.",
            )
        )
    types = {name: bare_type(described[real]) for name, real in columns.items()}
    money_table, money_columns = table, columns
    if settings.FLOWS_TABLE.strip():
        money_table = TableName.parse(settings.FLOWS_TABLE, valve="FLOWS_TABLE")
        of_money = await _describe(client, money_table, valve="FLOWS_TABLE")
        money_columns = {name: real for name, real in mapping.items() if real in of_money}
        types.update({name: bare_type(of_money[real]) for name, real in money_columns.items()})
    remarks: list[Both] = []
    catalogue = await _catalogue(client, settings, remarks)
    negative = False
    if "Outflow" in money_columns:
        negative = await _outflow_negative(client, money_table, money_columns, remarks)
    absent = [
        name
        for name in (*MONEY_COLUMNS, "TWR_dod", "PortfolioType", "Strategy", "Currency")
        if name not in columns and name not in money_columns
    ]
    if absent:
        remarks.append(
            Both(
                f"Нет столбцов {', '.join(absent)}: связанные операции отключены.",
                f"Columns {', '.join(absent)} are missing: their operations are off.",
            )
        )
    return Dataset(
        table=table,
        columns=columns,
        types=types,
        money_table=money_table,
        money_columns=money_columns,
        catalogue=catalogue[0],
        catalogue_has_key=catalogue[1],
        outflow_negative=negative,
        remarks=tuple(remarks),
    )


async def last_data_day(client: ClickHouse, dataset: Dataset) -> date | None:
    """Return the last day with a row, None for an empty table."""
    reply = await client.query(
        "SELECT toDate(max(t.{dt:Identifier})), count() FROM "
        "{db:Identifier}.{name:Identifier} AS t",
        {
            "dt": dataset.columns["Dt"],
            "db": dataset.table.database,
            "name": dataset.table.name,
        },
    )
    day, count = reply.rows[0]
    if not count or day is None:
        return None
    return day.date() if isinstance(day, datetime) else date(day.year, day.month, day.day)


async def _describe(client: ClickHouse, table: TableName, *, valve: str) -> dict[str, str]:
    try:
        reply = await client.query(
            "DESCRIBE TABLE {db:Identifier}.{name:Identifier}",
            {"db": table.database, "name": table.name},
        )
    except QueryError as error:
        raise ConfigError(
            Both(
                f"Таблицы {table} нет в базе или к ней нет доступа: проверьте настройку {valve}.",
                f"Table {table} is not in the database or not readable: check the valve {valve}.",
            )
        ) from error
    return {row[0]: row[1] for row in reply.rows}


async def _catalogue(
    client: ClickHouse, settings: PortfolioValves, remarks: list[Both]
) -> tuple[TableName | None, bool]:
    if not settings.CATALOGUE_TABLE.strip():
        return None, False
    name = TableName.parse(settings.CATALOGUE_TABLE, valve="CATALOGUE_TABLE")
    try:
        described = await _describe(client, name, valve="CATALOGUE_TABLE")
    except ConfigError:
        described = {}
    needed = {"InvestmentPortfolioID", "Portfolio", "PortfolioCode", "FirstDt", "LastDt"}
    if needed <= set(described):
        return name, _KEY_COLUMN in described
    remarks.append(
        Both(
            f"Справочника {name} нет: имена ищутся в основной таблице. "
            "Для большого числа портфелей выполните tools/sql/catalogue.sql.",
            f"There is no catalogue {name}: names are read from the main table. "
            "With many portfolios run tools/sql/catalogue.sql.",
        )
    )
    return None, False


async def _outflow_negative(
    client: ClickHouse, table: TableName, columns: dict[str, str], remarks: list[Both]
) -> bool:
    reply = await client.query(
        "SELECT countIf(t.{c:Identifier} < 0), countIf(t.{c:Identifier} > 0) FROM "
        "{db:Identifier}.{name:Identifier} AS t",
        {"c": columns["Outflow"], "db": table.database, "name": table.name},
    )
    below, above = reply.rows[0]
    if below and above:
        remarks.append(
            Both(
                "В столбце оттока есть и положительные, и отрицательные значения: "
                "отток берётся как записан.",
                "The outflow column has both signs: outflows are taken as stored.",
            )
        )
    return bool(below) and not above
