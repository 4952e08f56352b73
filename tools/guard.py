"""Check a SELECT that a model wrote: one reading statement over allowed databases, nothing else.

The check is on the syntax tree (sqlglot). It is the first of three walls; the server's readonly
setting and the user's grants stand behind it.
"""

from __future__ import annotations

import re
from typing import Any

from schemas.errors import ConfigError, InvalidArgs
from schemas.language import Both

_FORBIDDEN_WORDS = re.compile(r"\b(into\s+outfile|settings|format(?! \())\b", re.IGNORECASE)
# Functions that read outside the tables, wait, or tell about the server.
_FORBIDDEN_FUNCTIONS = re.compile(
    r"^(file|url|s3|gcs|hdfs|remote|remotesecure|cluster|clusterallreplicas|mysql|postgresql|mongodb|"
    r"redis|sqlite|odbc|jdbc|executable|input|azureblobstorage|deltalake|iceberg|hudi|numbers|"
    r"numbers_mt|zeros|zeros_mt|generaterandom|generateseries|generate_series|values|merge|"
    r"dictionary|loop|fuzzjson|fuzzquery|view|viewifpermitted|viewexplain|python|"
    r"sleep|sleepeachrow|dictget.*|joinget.*|catboostevaluate|"
    r"getsetting.*|currentuser|user|hostname|fqdn|version|currentprofiles|currentroles|getmacro|"
    r"getserverport|getserversetting|addresstoline|demangle|addresstosymbol|throwif|"
    r"filesystem.*|connectionid|serveruuid|tcpport|displayname|getclienthttpheader|"
    r"initializeaggregation|defaultvalueofargumenttype|aithis|ai.*query)$",
    re.IGNORECASE,
)


def check_select(query: str, *, databases: frozenset[str], default_database: str) -> str:
    """Return the statement without its final semicolon when it may run.

    Raises:
        InvalidArgs: it is not one plain SELECT over `databases`; the reason is for the model.
        ConfigError: sqlglot is not installed; then no model-written SQL runs at all.
    """
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise ConfigError(
            Both(
                "Не установлен пакет sqlglot: свободные запросы отключены.",
                "The package sqlglot is not installed: free queries are off.",
            )
        ) from None
    if len(query) > 20_000 or "\x00" in query:
        raise _refused("the statement is too long or has a NUL character")
    try:
        parsed = [item for item in sqlglot.parse(query, read="clickhouse") if item is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        raise _refused(f"it does not parse as ClickHouse SQL: {type(error).__name__}") from None
    if len(parsed) != 1:
        raise _refused("exactly one statement is allowed")
    tree = parsed[0]
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise _refused("only SELECT is allowed")
    bare = sqlglot.tokenize(query, read="clickhouse")
    for node in tree.walk():
        _check_node(node, exp)
    words = " ".join(
        token.text for token in bare if token.token_type.name not in {"STRING", "IDENTIFIER"}
    )
    found = _FORBIDDEN_WORDS.search(words)
    if found:
        raise _refused(f"{found.group(1).upper()} is not allowed")
    for membership in tree.find_all(exp.In):
        if membership.args.get("field") is not None:
            raise _refused("IN takes a list or a subquery in parentheses")
    for source in tree.find_all(exp.From, exp.Join):
        if not isinstance(source.this, exp.Table | exp.Subquery | exp.Final):
            raise _refused("only tables and subqueries may be read")
    named = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            raise _refused("table functions are not allowed")
        alias = table.args.get("alias")
        if alias is not None and alias.args.get("columns") and not alias.this:
            raise _refused("table functions are not allowed")
        if table.catalog:
            raise _refused("a table is named as database.table")
        database = table.db
        if not database and table.name in named:
            continue
        if (database or default_database) not in databases:
            raise _refused(
                f"database {database or default_database!r} may not be read; "
                f"allowed: {', '.join(sorted(databases))}"
            )
    return _quoted(query, bare).strip().rstrip(";").strip()


def _quoted(query: str, tokens: list[Any]) -> str:
    """Return the statement with bare Cyrillic names quoted: ClickHouse takes them only so."""
    out, place = [], 0
    for token in tokens:
        if token.token_type.name == "VAR" and not token.text.isascii():
            out += [query[place : token.start], f"`{token.text}`"]
            place = token.end + 1
    return "".join([*out, query[place:]])


def _check_node(node: object, exp: object) -> None:
    kinds = (
        "Into", "Settings", "SettingsProperty", "Command", "Insert", "Update", "Delete", "Create",
        "Drop", "Alter", "Set", "Use", "Placeholder", "Parameter", "Kill", "Attach", "Detach",
    )
    name = type(node).__name__
    if name in kinds:
        raise _refused(f"{name.upper()} is not allowed")
    is_function = isinstance(node, getattr(exp, "Func"))  # noqa: B009 - exp is imported lazily
    if is_function or name in {"Anonymous", "CombinedParameterizedAgg", "ParameterizedAgg"}:
        called = str(getattr(node, "name", "") or "")
        own = node.sql_name() if hasattr(node, "sql_name") else ""
        for candidate in (called if name == "Anonymous" else "", own, name):
            if candidate and _FORBIDDEN_FUNCTIONS.match(candidate):
                raise _refused(f"function {candidate} is not allowed")


def _refused(reason: str) -> InvalidArgs:
    return InvalidArgs(
        Both(
            "Такой запрос к базе не разрешён: только один SELECT по разрешённым таблицам.",
            "Such a statement is not allowed: only one SELECT over the allowed tables.",
        ),
        for_model=f"run_select_query: {reason}",
    )
