"""What a step may be told: portfolios in any of their names, and days. Texts become values here."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_ISO_DATE = re.compile(r"^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?$")
_DOTTED_DATE = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")


class SelectedIds(list[Any]):
    """Ids of portfolios that an earlier step found; they need no resolving."""


def _texts(value: object) -> object:
    if value is None:
        return []
    if isinstance(value, SelectedIds):
        return list(value)
    if isinstance(value, str | int):
        value = [value]
    if isinstance(value, list | tuple):
        return _flattened(value)
    return value


def _flattened(values: list[Any] | tuple[Any, ...]) -> list[str]:
    """Return the texts of a list that may hold lists; a list of blanks is not an empty list."""
    found: list[str] = []
    for item in values:
        if isinstance(item, list | tuple):
            if any(isinstance(inner, list | tuple | dict) for inner in item):
                raise ValueError("a list of names must not be nested")
            found.extend(_flattened(item))
        elif isinstance(item, dict):
            raise ValueError("a list of names holds an object")
        elif item is not None and str(item).strip():
            found.append(str(item))
    if values and not found:
        raise ValueError("only empty values are given; leave the field out or name something")
    return found


def read_date(value: object) -> object:
    """Read an ISO date, a dd.mm.yyyy date or a date with a time; a list of one is its item."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, bool | int | float):
        raise ValueError(f"{value!r} is not a date; write YYYY-MM-DD")
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or text.lower() in {"none", "null"}:
        return None
    found = _DOTTED_DATE.match(text)
    if found:
        text = f"{found.group(3)}-{int(found.group(2)):02d}-{int(found.group(1)):02d}"
    whole = _ISO_DATE.match(text)
    try:
        if whole is None:
            raise ValueError
        return date.fromisoformat(whole.group(1))
    except ValueError:
        raise ValueError(f"{value!r} is not a date of the calendar; write YYYY-MM-DD") from None


Texts = Annotated[list[str], BeforeValidator(_texts)]
# Ids keep the type the database gave them.
Ids = Annotated[list[int | str | UUID], BeforeValidator(_texts)]
OptionalDate = Annotated[date | None, BeforeValidator(read_date)]


class PortfolioArgs(BaseModel):
    """Portfolios by name, code, client code, type or strategy; each field takes a list."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    portfolio_names: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_names", "portfolio_name", "portfolios", "portfolio", "names", "name"
        ),
        description="Names as the person wrote them, or ${step} of portfolios found earlier.",
    )
    portfolio_codes: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("portfolio_codes", "portfolio_code", "codes", "code"),
        description="Portfolio codes.",
    )
    portfolio_client_codes: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_client_codes", "portfolio_client_code", "client_codes", "client_code"
        ),
        description="Client codes.",
    )
    portfolio_types: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("portfolio_types", "portfolio_type", "types", "type"),
        description="Types: every portfolio of the type.",
    )
    strategies: Texts = Field(
        default_factory=list,
        validation_alias=AliasChoices("strategies", "strategy"),
        description="Strategies: every portfolio of the strategy.",
    )
    portfolio_ids: Ids = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "portfolio_ids", "portfolio_id", "ids", "InvestmentPortfolioID"
        ),
        description="Ids, only as ${step.InvestmentPortfolioID}.",
    )


    @model_validator(mode="before")
    @classmethod
    def _found_earlier(cls, data: object) -> object:
        """Move portfolios an earlier step found to the ids: they need no resolving."""
        if not isinstance(data, dict):
            return data
        found: list[Any] = []
        rest: dict[str, Any] = {}
        for field, value in data.items():
            if isinstance(value, SelectedIds):
                found.extend(value)
            elif isinstance(value, list) and any(isinstance(item, SelectedIds) for item in value):
                for item in value:
                    if isinstance(item, SelectedIds):
                        found.extend(item)
                others = [item for item in value if not isinstance(item, SelectedIds)]
                if others:
                    rest[field] = others
            else:
                rest[field] = value
        if not found:
            return data
        for name in ("portfolio_ids", "portfolio_id", "ids", "InvestmentPortfolioID"):
            given = rest.pop(name, [])
            found.extend(given if isinstance(given, list | tuple) else [given])
        return {**rest, "portfolio_ids": found}


class PeriodArgs(PortfolioArgs):
    """Portfolios and a closed interval of days; no dates means the default period."""

    start_date: OptionalDate = Field(
        default=None,
        validation_alias=AliasChoices("start_date", "date_from", "start", "from_date", "from"),
        description="First day, YYYY-MM-DD.",
    )
    end_date: OptionalDate = Field(
        default=None,
        validation_alias=AliasChoices("end_date", "date_to", "end", "to_date", "to"),
        description="Last day, YYYY-MM-DD.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_day(cls, data: object) -> object:
        """Read `date` or `on_date` as an interval of one day."""
        if not isinstance(data, dict):
            return data
        named = [name for name in ("date", "on_date") if name in data]
        if not named:
            return data
        rest = {name: value for name, value in data.items() if name not in named}
        if any(name in rest for name in ("start_date", "end_date")):
            raise ValueError("give start_date and end_date, or one date, not both")
        return {**rest, "start_date": data[named[0]], "end_date": data[named[0]]}
