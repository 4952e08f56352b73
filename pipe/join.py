"""Join the shown results into tables: by full outer join on equal keys, never by guess.

Results with the same key columns become one table; a missing value stays empty. A result of
coarser grain keeps a table of its own, so that no value is repeated where a reader could add it
twice. Results without keys (a model's own SELECT) stand alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from schemas.language import Both, same
from schemas.state import StepResult
from schemas.table import TOTAL, Column, Table

Key = tuple[Any, ...]


def join_results(results: Sequence[StepResult]) -> tuple[Table, ...]:
    """Return the tables to show, in the order of the plan.

    Rows keep the order of the first result; rows only later results have are put in by key.
    """
    groups: dict[tuple[str, ...], list[StepResult]] = {}
    for result in results:
        if result.table is None or not result.show_data:
            continue
        # Months and quarters are both called Period, but their titles differ.
        keys = tuple(sorted(f"{c.name}/{c.title().en}" for c in result.table.of_role("key")))
        if not keys or _repeats_keys(result.table):
            groups[(result.id, "alone")] = [result]
            continue
        groups.setdefault(keys, []).append(result)
    return tuple(_joined(group) for group in groups.values())


def _repeats_keys(table: Table) -> bool:
    places = _places(table, "key")
    seen = [tuple(row[place] for place in places) for row in table.rows]
    return len(set(map(repr, seen))) != len(seen)


def _places(table: Table, *roles: Any) -> list[int]:
    return [place for place, column in enumerate(table.columns) if column.role in roles]


def _stacked(group: list[StepResult]) -> list[StepResult]:
    """Put results of the same columns over other rows under each other: two portfolios, one column.

    Only rows of different keys are stacked; the same key twice is two measures, not two rows.
    """
    kept: list[StepResult] = []
    for result in group:
        table = result.table
        for place, other in enumerate(kept):
            if table is None or other.table is None:
                continue
            if (other.table.columns, other.table.days) != (table.columns, table.days):
                continue
            keys = _places(table, "key")
            first = {tuple(row[at] for at in keys) for row in other.table.rows}
            if any(tuple(row[at] for at in keys) in first for row in table.rows):
                continue
            both = replace(
                other.table,
                rows=(*other.table.rows, *table.rows),
                notices=_notices([other.table, table]),
                truncated=other.table.truncated or table.truncated,
            )
            kept[place] = replace(other, table=both)
            break
        else:
            kept.append(result)
    return kept


def _joined(group: list[StepResult]) -> Table:
    group = _stacked(group)
    tables = [result.table for result in group if result.table is not None]
    if len(tables) == 1:
        return tables[0]
    if not any(table.rows for table in tables):
        return replace(tables[0], notices=_notices(tables))
    first = tables[0]
    key_names = [column.name for column in first.of_role("key")]
    attributes = _attributes(tables)
    rows: dict[Key, dict[str, Any]] = {}
    order: list[Key] = []
    columns: list[Column] = []
    taken: dict[str, Column] = {}
    for number, (result, table) in enumerate(zip(group, tables, strict=True)):
        names = _value_names(result, table, tables, number, taken)
        columns.extend(names[column.name] for column in table.columns if column.name in names)
        at_key = [table.names.index(name) for name in key_names]
        for row in table.rows:
            key = tuple(row[place] for place in at_key)
            cells = rows.get(key)
            if cells is None:
                cells = rows[key] = {}
                order.append(key)
            for place, column in enumerate(table.columns):
                if column.role == "attribute":
                    if cells.get(column.name) in (None, ""):
                        cells[column.name] = row[place]
                elif column.name in names:
                    cells[names[column.name].name] = row[place]
    own, later = order[: len(first.rows)], order[len(first.rows) :]
    if own == sorted(own, key=_sortable):
        order.sort(key=_sortable)
    else:
        # A ranking keeps its order; what only later results have follows.
        order = [*own, *sorted(later, key=_sortable)]
    keys = [column for column in first.columns if column.role == "key"]
    identity = _identity_order(keys, attributes)
    _fill_attributes(rows, key_names, attributes)
    values = [column for column in columns if column.role == "value"]
    details = [column for column in columns if column.role == "detail"]
    ordered = [*identity, *values, *details]
    return Table(
        columns=tuple(ordered),
        rows=tuple(
            tuple(
                key[key_names.index(column.name)]
                if column.role == "key"
                else rows[key].get(column.name)
                for column in ordered
            )
            for key in order
        ),
        notices=_notices(tables),
        truncated=any(table.truncated for table in tables),
    )


def _fill_attributes(
    rows: dict[Key, dict[str, Any]], key_names: list[str], attributes: list[Column]
) -> None:
    """Give a portfolio its name and currency also in rows of results that do not carry them."""
    if "InvestmentPortfolioID" not in key_names:
        return
    place = key_names.index("InvestmentPortfolioID")
    known: dict[tuple[Any, str], Any] = {}
    for key, cells in rows.items():
        for column in attributes:
            if cells.get(column.name) not in (None, ""):
                known.setdefault((key[place], column.name), cells[column.name])
    for key, cells in rows.items():
        for column in attributes:
            if cells.get(column.name) in (None, ""):
                cells[column.name] = known.get((key[place], column.name), cells.get(column.name))


def _identity_order(keys: list[Column], attributes: list[Column]) -> list[Column]:
    """Return keys with the portfolio's attributes right after its id."""
    if keys and keys[0].name == "InvestmentPortfolioID":
        return [keys[0], *attributes, *keys[1:]]
    return [*keys, *attributes]


def _attributes(tables: Iterable[Table]) -> list[Column]:
    found: dict[str, Column] = {}
    for table in tables:
        for column in table.of_role("attribute"):
            found.setdefault(column.name, column)
    return list(found.values())


def _value_names(
    result: StepResult,
    table: Table,
    tables: list[Table],
    number: int,
    taken: dict[str, Column],
) -> dict[str, Column]:
    """Return the columns this table adds, renamed by their period where names clash.

    A detail that says the same in every table stands once; one that differs is told per value.
    """
    added: dict[str, Column] = {}
    for column in table.columns:
        if column.role not in ("value", "detail"):
            continue
        if column.role == "detail" and column.name in taken:
            if all(_same_details(column.name, table, other) for other in tables[:number]):
                continue
        clashes = sum(1 for other in tables if column.name in other.names) > 1
        clashes = clashes or (column.role == "value" and _of_several_intervals(tables))
        if not clashes or (column.role == "detail" and column.name not in taken):
            taken[column.name] = column
            added[column.name] = column
            continue
        suffix = _suffix(result, table, number)
        name = f"{column.name} ({suffix.en})"
        if name in taken:
            suffix = Both(f"{suffix.ru}, {result.id}", f"{suffix.en}, {result.id}")
            name = f"{column.name} ({suffix.en})"
        title = column.title()
        renamed = replace(
            column, name=name, label=Both(f"{title.ru} ({suffix.ru})", f"{title.en} ({suffix.en})")
        )
        taken[name] = renamed
        added[column.name] = renamed
    return added


def _of_several_intervals(tables: Iterable[Table]) -> bool:
    """Say whether the figures are of more than one interval; those of one day say it themselves."""
    return len({table.days for table in tables if table.days and table.days[0] != table.days[1]}) > 1


def _same_details(name: str, left: Table, right: Table) -> bool:
    if name not in left.names or name not in right.names or len(left.rows) != len(right.rows):
        return name not in right.names
    return left.column(name) == right.column(name)


def _suffix(result: StepResult, table: Table, number: int) -> Both:
    """Return what tells a column from its namesake: its days, else its step."""
    if table.days is None:
        return same(result.id or str(number + 1))
    first, last = table.days
    if first == last:
        return Both(f"{last:%d.%m.%Y}", last.isoformat())
    if (first.month, first.day) == (1, 1) and (last.year, last.month, last.day) == (first.year, 12, 31):
        return same(str(first.year))
    return Both(f"{first:%d.%m.%Y}–{last:%d.%m.%Y}", f"{first}…{last}")


def _sortable(key: Key) -> tuple[Any, ...]:
    """Return a key that sorts mixed types, the total after its periods."""
    return tuple((item == TOTAL, type(item).__name__, item if item is not None else "") for item in key)


def _notices(tables: Iterable[Table]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(notice for table in tables for notice in table.notices))
