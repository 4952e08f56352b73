"""The valves, and the frozen snapshot of them that one question runs with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

PREFIX = "PORTFOLIO_"
_SECRET: dict[str, Any] = {"input": {"type": "password"}}


class PortfolioValves(BaseModel):
    """What an administrator sets; every field has a safe default and a unit in its words."""

    model_config = ConfigDict(extra="ignore", validate_assignment=True)

    DSN: str = Field(
        default="",
        description="Database: `clickhouse://user:password@host:8123/db`, `clickhouses://…` for TLS, "
        "or `chdb:///path` for the embedded engine. Use a read-only user.",
        json_schema_extra=_SECRET,
    )
    TABLE: str = Field(
        default="Contribution.contribution_twr_1s_mcp",
        description="Table with one row per portfolio and day, as `database.table`.",
    )
    FLOWS_TABLE: str = Field(
        default="",
        description="Table with NAV and flows where they live apart, same keys. Empty: the same table.",
    )
    CATALOGUE_TABLE: str = Field(
        default="Contribution.portfolio_catalogue",
        description="Catalogue of portfolios with text indexes (tools/sql/catalogue.sql). "
        "Where it is missing, names are read from the main table.",
    )
    COLUMNS: str = Field(
        default="",
        description="Column names that differ, as `NAV=nav_rub, Dt=date`. Empty: the default names.",
    )
    MODEL: str = Field(
        default="",
        description="Model that plans, by its id in Open WebUI. Empty: the first that is not this pipe.",
    )
    MODEL_URL: str = Field(
        default="",
        description="External OpenAI-compatible address, such as `https://host/v1`. "
        "Empty: a model of Open WebUI.",
    )
    MODEL_KEY: str = Field(
        default="", description="Key for MODEL_URL.", json_schema_extra=_SECRET
    )
    MODEL_TIMEOUT_S: float = Field(
        default=120, gt=0, le=3600, description="Longest wait for one model reply, seconds."
    )
    LANGUAGE: Literal["auto", "ru", "en"] = Field(
        default="auto", description="Language of answers; auto: the language of the question."
    )
    DEFAULT_PERIOD: str = Field(
        default="year_to_date",
        description="Period when none is named: `year_to_date`, or `2025-01-01/2025-12-31`.",
    )
    ROWS_IN_CHAT: int = Field(default=60, ge=1, le=1000, description="Rows shown in the chat.")
    COLUMNS_IN_CHAT: int = Field(default=12, ge=2, le=40, description="Columns shown in the chat.")
    FILES: bool = Field(default=True, description="Attach the full result as a CSV file.")
    RECEIPT: bool = Field(
        default=True, description="Add the collapsed block with the plan, the names and the SQL."
    )
    CHOICE_CARD: bool = Field(
        default=True,
        description="Ask which portfolio is meant in a card above the input box, where the page is open.",
    )
    RAW_SQL: bool = Field(
        default=True, description="Let the planner write SELECT statements of its own."
    )
    RAW_DATABASES: str = Field(
        default="",
        description="Databases such statements may read, comma-separated. "
        "Empty: those of the tables above.",
    )
    MAX_STEPS: int = Field(default=12, ge=1, le=50, description="Most steps in one plan.")
    MAX_REPLANS: int = Field(
        default=2, ge=0, le=5, description="How often a failed step may be planned anew."
    )
    CONCURRENT_STEPS: int = Field(
        default=4, ge=1, le=16, description="Steps of one question that run at once."
    )
    STEP_TIMEOUT_S: float = Field(
        default=30, gt=0, le=600, description="Longest time for one statement of a step, seconds."
    )
    MAX_ROWS: int = Field(
        default=200_000, ge=1, le=5_000_000, description="Most rows one step may return."
    )
    MAX_READ_GB: float = Field(
        default=50, gt=0, le=10_000, description="Most gigabytes one statement may read."
    )
    MAX_MEMORY_GB: float = Field(
        default=4, gt=0, le=1000, description="Most memory of the database for one statement, GB."
    )


class Settings(PortfolioValves):
    """A frozen snapshot of the valves for one question."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def valves_from_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the valves set by `PORTFOLIO_<VALVE>` variables, as text for pydantic to read."""
    source = os.environ if environment is None else environment
    return {
        name: source[PREFIX + name]
        for name in PortfolioValves.model_fields
        if source.get(PREFIX + name, "") != ""
    }
