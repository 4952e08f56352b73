"""A result: typed columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from schemas.language import Both, same

ColumnType = Literal["string", "integer", "number", "decimal", "date", "datetime", "boolean", "other"]
Unit = Literal["", "fraction", "money", "count", "days", "period"]
Role = Literal["key", "attribute", "value", "detail"]
NoticeLevel = Literal["info", "warning"]

# A cell is what ClickHouse gave: str, int, float, Decimal, date, datetime, bool, None, list.
Cell = Any


@dataclass(frozen=True)
class Column:
    """One column.

    `role`: key = identifies the row, attribute = follows from the key (a name, a currency),
    value = what was asked, detail = about the value (observations, first and last day).
    `unit` "fraction" means 0.05 for 5 %; "money" is in the currency of the row;
    "period" is 2024, 2024-Q1, 2024-03 or `TOTAL`.
    """

    name: str
    type: ColumnType
    unit: Unit = ""
    role: Role = "value"
    label: Both = Both("", "")

    def title(self) -> Both:
        """Return the label for people, the name where there is none."""
        return self.label if self.label.ru else same(self.name)


# The period cell of a row that links or sums all the periods above it.
TOTAL = "total"


@dataclass(frozen=True)
class Notice:
    """Something the reader must know beside the figures. `code` names its kind."""

    code: str
    text: Both
    level: NoticeLevel = "warning"


@dataclass(frozen=True)
class Table:
    """Columns, rows in order, and what the reader must know.

    An empty result has columns and no rows. `truncated` means rows were left out. `days` are the
    first and the last day the figures are about; equal where they stand on one day.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notices: tuple[Notice, ...] = ()
    truncated: bool = False
    caption: Both = Both("", "")
    days: tuple[date, date] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the column names in order."""
        return tuple(column.name for column in self.columns)

    def position(self, name: str) -> int | None:
        """Return where column `name` stands, or None."""
        return self.names.index(name) if name in self.names else None

    def column(self, name: str) -> list[Cell]:
        """Return the cells of column `name`.

        Raises:
            KeyError: there is no such column.
        """
        place = self.position(name)
        if place is None:
            raise KeyError(name)
        return [row[place] for row in self.rows]

    def records(self) -> list[dict[str, Cell]]:
        """Return the rows as dictionaries, in order."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def of_role(self, *roles: Role) -> tuple[Column, ...]:
        """Return the columns that have one of `roles`."""
        return tuple(column for column in self.columns if column.role in roles)

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with only the columns `names`, in that order."""
        places = [self.names.index(name) for name in names]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
        )
