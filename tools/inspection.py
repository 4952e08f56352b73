"""Look at the administrator's tables once: which columns exist, of which types."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from schemas.dataset import (
    LOGICAL_COLUMNS,
    MONEY_COLUMNS,
    REQUIRED_COLUMNS,
    Dataset,
    TableName,
    parse_columns,
)
from schemas.errors import ConfigError, QueryError
from schemas.language import Both
from schemas.periods import DataDays
from schemas.settings import PortfolioValves
from tools.catalogue import ATTRIBUTES
from tools.clickhouse import ClickHouse

_WRAPPER = re.compile(r"^(?:Nullable|LowCardinality)\((.*)\)$", re.DOTALL)
_SIMPLE_AGGREGATE = re.compile(r"^SimpleAggregateFunction\(\w+, (.*)\)$", re.DOTALL)
_TEXT_INDEXES = 3
RECENT_DAYS = 45
_SEARCH_COLUMNS = {"NameWords", "NameLength", "Marks"}


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
        raise _lacking(table, missing, "TABLE")
    types = {name: bare_type(described[real]) for name, real in columns.items()}
    money_table, money_columns = table, columns
    if settings.FLOWS_TABLE.strip():
        money_table = TableName.parse(settings.FLOWS_TABLE, valve="FLOWS_TABLE")
        of_money = await _describe(client, money_table, valve="FLOWS_TABLE")
        money_columns = {name: real for name, real in mapping.items() if real in of_money}
        lacking = [mapping[name] for name in ("InvestmentPortfolioID", "Dt") if name not in money_columns]
        if lacking or not any(name in money_columns for name in MONEY_COLUMNS):
            raise _lacking(money_table, lacking or [mapping[name] for name in MONEY_COLUMNS], "FLOWS_TABLE")
        types.update(
            {
                name: bare_type(of_money[real])
                for name, real in money_columns.items()
                if name in MONEY_COLUMNS
            }
        )
    _check_types(types, mapping)
    remarks: list[Both] = []
    catalogue = await _catalogue(client, settings, remarks)
    negative = False
    if "Outflow" in money_columns:
        negative = await _outflow_negative(client, money_table, money_columns, remarks)
    absent = [
        name
        for name in LOGICAL_COLUMNS
        if name not in (money_columns if name in MONEY_COLUMNS else columns)
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
        catalogue_words=catalogue[1],
        outflow_negative=negative,
        remarks=tuple(remarks),
    )


def _lacking(table: TableName, columns: list[str], valve: str) -> ConfigError:
    listed = ", ".join(columns)
    return ConfigError(
        Both(
            f"В таблице {table} нет столбцов: {listed}. Проверьте настройки {valve} и COLUMNS.",
            f"Table {table} lacks columns: {listed}. Check the valves {valve} and COLUMNS.",
        )
    )


def _check_types(types: dict[str, str], mapping: dict[str, str]) -> None:
    """Refuse a column that cannot hold what it is said to hold.

    Raises:
        ConfigError: money or returns that are no numbers, a day that is no date.
    """
    for name, kind in types.items():
        fits = True
        if name in (*MONEY_COLUMNS, "TWR_dod"):
            fits = kind.startswith(("Decimal", "Float", "Int", "UInt", "BFloat"))
        elif name == "Dt":
            fits = kind.startswith("Date")
        if not fits:
            raise ConfigError(
                Both(
                    f"Столбец {mapping[name]} имеет тип {kind} и не годится для {name}: "
                    "проверьте настройку COLUMNS.",
                    f"Column {mapping[name]} has type {kind}, which does not suit {name}: "
                    "check the valve COLUMNS.",
                )
            )


async def last_data_day(client: ClickHouse, dataset: Dataset) -> date | None:
    """Return the last day with a row, None for an empty table."""
    return (await data_days(client, dataset)).last


async def data_days(client: ClickHouse, dataset: Dataset) -> DataDays:
    """Return the first and last day with a row, and the last days that have rows.

    With a catalogue the ends come from there, and only the last weeks of the table are read.
    """
    where = {
        "dt": dataset.columns["Dt"],
        "db": dataset.table.database,
        "name": dataset.table.name,
    }
    if dataset.catalogue is not None:
        ends = await client.query(
            "SELECT min(FirstDt), max(LastDt), count() FROM {db:Identifier}.{name:Identifier}",
            {"db": dataset.catalogue.database, "name": dataset.catalogue.name},
        )
    else:
        ends = await client.query(
            "SELECT toDate(min(t.{dt:Identifier})), toDate(max(t.{dt:Identifier})), count() "
            "FROM {db:Identifier}.{name:Identifier} AS t",
            where,
        )
    first, last, count = ends.rows[0]
    if not count or first is None or last is None:
        return DataDays()
    recent = await client.query(
        "SELECT DISTINCT toDate(t.{dt:Identifier}) AS d FROM {db:Identifier}.{name:Identifier} AS t "
        "WHERE t.{dt:Identifier} >= {start:Date} ORDER BY d",
        {**where, "start": (_day(last) - timedelta(days=RECENT_DAYS)).isoformat()},
    )
    trading = tuple(_day(row[0]) for row in recent.rows)
    return DataDays(_day(first), max(_day(last), *trading) if trading else _day(last), trading)


def _day(value: date) -> date:
    return value.date() if isinstance(value, datetime) else date(value.year, value.month, value.day)


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
) -> tuple[TableName | None, TableName | None]:
    """Return the catalogue and the table of its words, None for what is not there."""
    if not settings.CATALOGUE_TABLE.strip():
        return None, None
    name = TableName.parse(settings.CATALOGUE_TABLE, valve="CATALOGUE_TABLE")
    words = TableName(name.database, f"{name.name}_words")
    described = await _described_or_nothing(client, name)
    needed = {"InvestmentPortfolioID", *ATTRIBUTES, "FirstDt", "LastDt"}
    if described and not needed <= set(described):
        lacking = ", ".join(sorted(needed - set(described)))
        remarks.append(
            Both(
                f"В справочнике {name} нет столбцов {lacking}: имена ищутся в основной таблице.",
                f"Catalogue {name} lacks columns {lacking}: names are read from the main table.",
            )
        )
        return None, None
    if not described:
        remarks.append(
            Both(
                f"Справочника {name} нет: имена ищутся в основной таблице. "
                "Для большого числа портфелей выполните tools/sql/catalogue.sql.",
                f"There is no catalogue {name}: names are read from the main table. "
                "With many portfolios run tools/sql/catalogue.sql.",
            )
        )
        return None, None
    of_words = await _described_or_nothing(client, words)
    if not (set(described) >= _SEARCH_COLUMNS and {"Word", "Pieces"} <= set(of_words)):
        remarks.append(
            Both(
                f"У справочника {name} нет столбцов для поиска или таблицы {words}: имена читаются "
                "все подряд. Удалите его и создайте заново: tools/sql/catalogue.sql, catalogue_backfill.sql.",
                f"Catalogue {name} lacks columns to search by, or the table {words}: all names are "
                "read. Drop it and make it anew: tools/sql/catalogue.sql, catalogue_backfill.sql.",
            )
        )
        return name, None
    if await _text_indexes(client, name, words) < _TEXT_INDEXES:
        remarks.append(
            Both(
                f"У справочника {name} не хватает текстовых индексов: имена ищутся медленнее. "
                "Выполните tools/sql/text_index.sql.",
                f"Catalogue {name} lacks text indexes: names are found more slowly. "
                "Run tools/sql/text_index.sql.",
            )
        )
    return name, words


async def _text_indexes(client: ClickHouse, *tables: TableName) -> int:
    """Return how many text indexes the tables have; where that is not told, as many as needed."""
    try:
        reply = await client.query(
            "SELECT count(), (SELECT count() FROM system.tables WHERE database = {db:String} "
            "AND name IN {tables:Array(String)} AND engine NOT LIKE '%MergeTree') "
            "FROM system.data_skipping_indices WHERE database = {db:String} "
            "AND table IN {tables:Array(String)} AND type = 'text'",
            {"db": tables[0].database, "tables": [table.name for table in tables]},
        )
    except QueryError:
        return _TEXT_INDEXES
    # A Distributed table has its indexes on the shards, where they are not seen from here.
    return _TEXT_INDEXES if reply.rows[0][1] else int(reply.rows[0][0])


async def _described_or_nothing(client: ClickHouse, table: TableName) -> dict[str, str]:
    try:
        return await _describe(client, table, valve="CATALOGUE_TABLE")
    except ConfigError:
        return {}


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
