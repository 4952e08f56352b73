"""The logical columns the tools speak of, and where they are in the administrator's database."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from schemas.errors import ConfigError
from schemas.language import Both

# Logical name -> default physical name. Optional ones may be missing; operations that need them
# are then not offered.
LOGICAL_COLUMNS = (
    "InvestmentPortfolioID",
    "Portfolio",
    "PortfolioCode",
    "PortfolioClientCode",
    "PortfolioType",
    "Strategy",
    "Currency",
    "Dt",
    "TWR_dod",
    "NAV",
    "Inflow",
    "Outflow",
)
REQUIRED_COLUMNS = ("InvestmentPortfolioID", "Portfolio", "Dt")
MONEY_COLUMNS = ("NAV", "Inflow", "Outflow")

_NAME = re.compile(r"^[^`'\"\\;\s.](?:[^`'\"\\;\r\n\t.]*[^`'\"\\;\s.])?$")


@dataclass(frozen=True)
class TableName:
    """A table as database and name; both are bound as identifiers, never pasted."""

    database: str
    name: str

    @classmethod
    def parse(cls, text: str, *, valve: str) -> TableName:
        """Read `database.table`.

        Raises:
            ConfigError: the text is not of that form.
        """
        parts = [part.strip().strip("`").strip() for part in text.strip().split(".")]
        if len(parts) != 2 or not all(_NAME.match(part) for part in parts):
            raise ConfigError(
                Both(
                    f"Настройка {valve}: ожидается «база.таблица», а указано «{text}».",
                    f"Valve {valve}: expected “database.table”, got “{text}”.",
                )
            )
        return cls(parts[0], parts[1])

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass(frozen=True)
class Dataset:
    """Where the data is: tables, physical column names and their ClickHouse types.

    `columns` maps logical to physical names of columns that exist in `table`; `money_columns`
    the same for `money_table`, which is `table` unless NAV and flows live apart.
    `catalogue_words` is the table of words in names where the catalogue can be searched by them.
    `types` holds the ClickHouse type of each logical column, without Nullable and LowCardinality.
    """

    table: TableName
    columns: dict[str, str]
    types: dict[str, str]
    money_table: TableName
    money_columns: dict[str, str]
    catalogue: TableName | None = None
    catalogue_words: TableName | None = None
    outflow_negative: bool = False
    remarks: tuple[Both, ...] = field(default=())

    @property
    def split(self) -> bool:
        """Say whether NAV and flows live in another table than returns."""
        return self.money_table != self.table

    def has(self, *names: str) -> bool:
        """Say whether the logical columns exist."""
        return all(
            name in (self.money_columns if name in MONEY_COLUMNS else self.columns) for name in names
        )


def parse_columns(text: str) -> dict[str, str]:
    """Read the COLUMNS valve: `NAV=nav_rub, Dt=date`, one pair per comma or line.

    Raises:
        ConfigError: a pair without `=`, an unknown logical name or an impossible column name.
    """
    mapping = {name: name for name in LOGICAL_COLUMNS}
    given: dict[str, str] = {}
    by_lower = {name.lower(): name for name in LOGICAL_COLUMNS}
    for piece in re.split(r"[,\n;]+", text):
        if not piece.strip():
            continue
        logical, equals, physical = (part.strip().strip("`").strip() for part in piece.partition("="))
        name = by_lower.get(logical.lower())
        if not equals or name is None or not physical or not _NAME.match(physical):
            known = ", ".join(LOGICAL_COLUMNS)
            raise ConfigError(
                Both(
                    f"Настройка COLUMNS: не понимаю «{piece.strip()}». "
                    f"Нужно «Имя=столбец»; имена: {known}.",
                    f"Valve COLUMNS: cannot read “{piece.strip()}”. "
                    f"Expected “Name=column”; names: {known}.",
                )
            )
        if name in given and given[name] != physical:
            raise ConfigError(
                Both(
                    f"Настройка COLUMNS: для {name} указаны два столбца, {given[name]} и {physical}.",
                    f"Valve COLUMNS: two columns are given for {name}, {given[name]} and {physical}.",
                )
            )
        mapping[name] = given[name] = physical
    return mapping
