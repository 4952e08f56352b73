"""A portfolio as the catalogue knows it, and what became of a name a person wrote."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from schemas.language import Both

# An id has the type of the column InvestmentPortfolioID: int as a rule, str or UUID at some.
PortfolioId = Any


@dataclass(frozen=True)
class Portfolio:
    """One portfolio; texts are as stored, empty where the column is missing.

    `first_day` and `last_day` are the first and last day with a row.
    """

    id: PortfolioId
    name: str
    code: str = ""
    client_code: str = ""
    type: str = ""
    strategy: str = ""
    currency: str = ""
    first_day: date | None = None
    last_day: date | None = None


Outcome = Literal["exact", "close", "ambiguous", "unknown"]


@dataclass(frozen=True)
class Resolution:
    """What a name became.

    exact: one portfolio bears this id, code, client code or name. close: one clear winner by a
    margin, to be said aloud. ambiguous: several fit. unknown: none near; `candidates` are the
    nearest, best first. `total` counts all that fit, `candidates` may be fewer.
    """

    asked: str
    outcome: Outcome
    portfolio: Portfolio | None
    candidates: tuple[Portfolio, ...]
    total: int
    reason: Both
