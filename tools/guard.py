"""Check a SELECT that a model wrote: one reading statement over allowed databases, nothing else.

The check is on the syntax tree (sqlglot). It is the first of three walls; the server's readonly
setting and the user's grants stand behind it.
"""

from __future__ import annotations

import re
from typing import Any

from schemas.errors import ConfigError, InvalidArgs
from schemas.language import Both
from tools.functions import KEYWORDS, LAMBDA_FIRST, TYPES, may_be_called

_WORD = re.compile(r"^[^\W\d]\w*$")
_LITERALS = frozenset({"STRING", "NATIONAL_STRING", "RAW_STRING", "HEREDOC_STRING"})
# What a reading statement never has; the parser's own names.
_FORBIDDEN_NODES = frozenset(
    """
    Into Settings SettingsProperty Command Insert Update Delete Create Drop Alter Set Use
    Placeholder Parameter Kill Attach Detach
    """.split()
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
        if type(node).__name__ in _FORBIDDEN_NODES:
            raise _refused(f"{type(node).__name__.upper()} is not allowed")
    _check_words(bare)
    _check_calls(bare)
    for membership in tree.find_all(exp.In):
        # A bare or dotted name there may be a table.
        listed = [item.unnest() for item in membership.expressions]
        if membership.args.get("field") is not None or any(
            isinstance(item, exp.Column | exp.Dot | exp.Identifier) for item in listed
        ):
            raise _refused("IN takes a list of values or a subquery in parentheses")
    for source in tree.find_all(exp.From, exp.Join):
        if isinstance(source, exp.Join) and str(source.kind).upper() == "ARRAY":
            continue
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
                f"allowed: {', '.join(sorted(databases))}; write database.table"
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


def _check_words(tokens: list[Any]) -> None:
    """Refuse clauses that change how a statement runs or where its result goes."""
    for place, token in enumerate(tokens):
        word = token.text.lower()
        if token.token_type.name in _LITERALS or token.token_type.name == "IDENTIFIER":
            continue
        before = tokens[place - 1].token_type.name if place else ""
        after = tokens[place + 1].token_type.name if place + 1 < len(tokens) else ""
        named = before in ("ALIAS", "DOT")
        if word in ("settings", "apply") and not named:
            raise _refused(f"{word.upper()} is not allowed")
        if word == "format" and after != "L_PAREN" and not named:
            raise _refused("FORMAT is not allowed")
        if word == "outfile":
            raise _refused("INTO OUTFILE is not allowed")


def _check_calls(tokens: list[Any]) -> None:
    """Refuse every call that is not on the list of tools.functions, as the statement has it.

    The tokens are read, not the tree: the parser renames functions it knows.
    """
    for place, token in enumerate(tokens[:-1]):
        kind, name = token.token_type.name, token.text
        if tokens[place + 1].token_type.name != "L_PAREN" or kind in _LITERALS:
            continue
        if kind != "IDENTIFIER" and (not _WORD.match(name) or name.lower() in KEYWORDS):
            continue
        if not may_be_called(name) and name.lower() not in TYPES:
            raise _refused(f"function {name[:60]} is not allowed")
        if name.lower() in LAMBDA_FIRST and not _lambda_or_alone(tokens, place + 1):
            raise _refused(f"{name} takes a lambda first, such as x -> x + 1")


def _lambda_or_alone(tokens: list[Any], opening: int) -> bool:
    """Say whether a call has one argument only, or a lambda written out as its first."""
    depth = 0
    for token in tokens[opening:]:
        kind = token.token_type.name
        if kind in ("L_PAREN", "L_BRACKET"):
            depth += 1
        elif kind in ("R_PAREN", "R_BRACKET"):
            depth -= 1
            if depth == 0:
                return True
        elif depth == 1 and kind == "ARROW":
            return True
        elif depth == 1 and kind == "COMMA":
            return False
    return False


def _refused(reason: str) -> InvalidArgs:
    return InvalidArgs(
        Both(
            "Такой запрос к базе не разрешён: только один SELECT по разрешённым таблицам.",
            "Such a statement is not allowed: only one SELECT over the allowed tables.",
        ),
        for_model=f"run_select_query: {reason}",
    )
