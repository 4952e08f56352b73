"""clickhouse_client_base: databases, tables, and a SELECT the planner wrote itself."""

from __future__ import annotations

import math
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from schemas.errors import InvalidArgs
from schemas.language import Both
from schemas.table import Column, ColumnType, Table
from tools.context import ToolContext
from tools.discovery import NoArgs
from tools.guard import check_select
from tools.inspection import bare_type
from tools.registry import RAW_TOOL_NAME, Operation, Tool


class TablesArgs(BaseModel):
    """Tables of one database, by patterns."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    database: str | None = Field(
        default=None, description="Database; empty: the one of the portfolio table."
    )
    like: str | None = Field(default=None, description="LIKE pattern of names to keep.")
    not_like: str | None = Field(
        default=None,
        validation_alias=AliasChoices("not_like", "notlike", "notLike"),
        description="LIKE pattern of names to leave out.",
    )


class SelectArgs(BaseModel):
    """One SELECT."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    query: str = Field(
        min_length=1,
        validation_alias=AliasChoices("query", "sql", "statement"),
        description="One SELECT in the ClickHouse dialect, without SETTINGS and FORMAT.",
    )


def allowed_databases(context: ToolContext) -> frozenset[str]:
    """Return the databases model-written SQL may read: the valve, else those of our tables."""
    listed = {part.strip() for part in context.settings.RAW_DATABASES.split(",") if part.strip()}
    if listed:
        return frozenset(listed)
    return frozenset({context.dataset.table.database, context.dataset.money_table.database})


async def list_databases(args: NoArgs, context: ToolContext) -> Table:  # noqa: ARG001
    """Return the databases that may be read."""
    reply = await context.run(
        "SELECT name FROM system.databases WHERE name IN {allowed:Array(String)} ORDER BY name",
        {"allowed": sorted(allowed_databases(context))},
    )
    return Table(
        columns=(Column("database", "string", label=Both("База", "Database")),),
        rows=tuple(tuple(row) for row in reply.rows),
    )


async def list_tables(args: TablesArgs, context: ToolContext) -> Table:
    """Return the tables of a database with their columns and row counts."""
    database = args.database or context.dataset.table.database
    if database not in allowed_databases(context):
        allowed = ", ".join(sorted(allowed_databases(context)))
        raise InvalidArgs(
            Both(
                f"Базу {database[:60]} читать нельзя; можно: {allowed}.",
                f"Database {database[:60]} may not be read; allowed: {allowed}.",
            ),
            for_model=f"database {database[:60]!r} is not allowed; allowed: {allowed}",
        )
    reply = await context.run(
        "SELECT t.database, t.name, t.total_rows, "
        "arrayStringConcat(arrayMap(c -> concat(c.1, ' ', c.2), groupArray((k.name, k.type))), ', ') "
        "AS columns FROM system.tables AS t INNER JOIN system.columns AS k "
        "ON k.database = t.database AND k.table = t.name "
        "WHERE t.database IN {wanted:Array(String)} AND NOT startsWith(t.name, '.') "
        "AND (t.name LIKE {kept:String}) AND NOT (t.name LIKE {left_out:String}) "
        "GROUP BY t.database, t.name, t.total_rows ORDER BY t.name",
        {"wanted": [database], "kept": args.like or "%", "left_out": args.not_like or ""},
    )
    return Table(
        columns=(
            Column("database", "string", label=Both("База", "Database")),
            Column("table", "string", label=Both("Таблица", "Table")),
            Column("total_rows", "integer", "count", label=Both("Строк", "Rows")),
            Column("columns", "string", label=Both("Столбцы", "Columns")),
        ),
        rows=tuple(tuple(row) for row in reply.rows),
    )


async def run_select_query(args: SelectArgs, context: ToolContext) -> Table:
    """Run a SELECT the planner wrote, after the syntax-tree check."""
    statement = check_select(
        args.query,
        databases=allowed_databases(context),
        default_database=context.client.address.database or "default",
    )
    reply = await context.run(statement, {})
    return Table(
        columns=tuple(
            Column(name, column_type(kind))
            for name, kind in zip(reply.names, reply.types, strict=True)
        ),
        rows=tuple(tuple(_cell(value) for value in row) for row in reply.rows),
    )


def column_type(kind: str) -> ColumnType:
    """Return our type of a ClickHouse type."""
    bare = bare_type(kind)
    prefixes: tuple[tuple[str, ColumnType], ...] = (
        ("DateTime", "datetime"),
        ("Date", "date"),
        ("Decimal", "decimal"),
        ("Float", "number"),
        ("BFloat", "number"),
        ("UInt", "integer"),
        ("Int", "integer"),
        ("Bool", "boolean"),
        ("String", "string"),
        ("FixedString", "string"),
        ("Enum", "string"),
        ("UUID", "string"),
    )
    for prefix, ours in prefixes:
        if bare.startswith(prefix):
            return ours
    return "other"


def _cell(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value



RAW_TOOL = Tool(
    name=RAW_TOOL_NAME,
    description="ClickHouse itself, read-only; only when no other tool has the answer.",
    operations=(
        Operation(
            "list_databases",
            "Databases that may be read.",
            NoArgs,
            list_databases,
            Both("список баз", "databases"),
        ),
        Operation(
            "list_tables",
            "Tables of a database with columns.",
            TablesArgs,
            list_tables,
            Both("список таблиц", "tables"),
        ),
        Operation(
            "run_select_query",
            "Run one SELECT.",
            SelectArgs,
            run_select_query,
            Both("запрос к базе", "a query"),
        ),
    ),
)
