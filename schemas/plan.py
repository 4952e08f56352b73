"""The plan as the model writes it: which tools to call, with what, and what to show."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Intent = Literal["profitability", "cashflows", "discovery", "other"]


class Entities(BaseModel):
    """What the model understood; kept for the next turn, never used for a figure."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    metric: str | None = None
    portfolio_hint: str | None = None
    portfolio_names: tuple[str, ...] = ()
    portfolio_types: tuple[str, ...] = ()
    portfolio_codes: tuple[str, ...] = ()
    portfolio_client_codes: tuple[str, ...] = ()
    start_date: str | None = None
    end_date: str | None = None
    by_date: bool | str | None = None

    @field_validator(
        "portfolio_names",
        "portfolio_types",
        "portfolio_codes",
        "portfolio_client_codes",
        mode="before",
    )
    @classmethod
    def _one_is_a_list(cls, value: object) -> object:
        if value is None or isinstance(value, bool | dict):
            return ()
        if isinstance(value, list | tuple):
            return tuple(str(item) for item in value if isinstance(item, str | int | float))
        return (str(value),)

    @field_validator("metric", "portfolio_hint", "start_date", "end_date", mode="before")
    @classmethod
    def _only_a_text(cls, value: object) -> object:
        """Read what drives nothing leniently: a plan is not refused for it."""
        if isinstance(value, list | tuple):
            return ", ".join(str(item) for item in value) or None
        if value is None or isinstance(value, bool | dict):
            return None
        return str(value)

    @field_validator("by_date", mode="before")
    @classmethod
    def _flag_or_nothing(cls, value: object) -> object:
        return value if isinstance(value, bool | str) else None


class Step(BaseModel):
    """One call of one operation; `save_as` or `id` names its result for later steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    tool: str = Field(min_length=1)
    args: dict[str, Any] = Field(default_factory=dict)
    save_as: str | None = None
    show_data: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names later steps may refer to it by."""
        return (self.id,) if self.save_as in (None, "", self.id) else (str(self.save_as), self.id)

    @property
    def operation(self) -> str:
        """Return the operation's name, empty where the args do not say."""
        return str(self.args.get("operation", ""))


class Plan(BaseModel):
    """A whole plan; `answer` and `clarification_question` are for plans without tools.

    `remark` is one sentence of the planner about itself, shown below the answer if it has no digit.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    needs_tools: bool = True
    intent: Intent = "other"
    entities: Entities = Field(default_factory=Entities)
    steps: tuple[Step, ...] = ()
    clarification_question: str | None = None
    answer: str | None = None
    remark: str | None = None

    @field_validator("intent", mode="before")
    @classmethod
    def _unknown_intent_is_other(cls, value: object) -> object:
        return value if value in ("profitability", "cashflows", "discovery") else "other"

    @field_validator("needs_tools", mode="before")
    @classmethod
    def _unsaid_is_yes(cls, value: object) -> object:
        return True if value is None else value

    @field_validator("clarification_question", "answer", "remark", mode="before")
    @classmethod
    def _false_is_nothing(cls, value: object) -> object:
        return value if isinstance(value, str) else None

    @field_validator("entities", mode="before")
    @classmethod
    def _no_entities(cls, value: object) -> object:
        return {} if value is None else value
