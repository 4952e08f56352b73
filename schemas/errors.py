"""Every error the agent raises, sorted by who can help.

AgentError
├── ConfigError            the administrator: a valve, a table or a right is missing
├── ModelError             the model did not help
│   ├── ModelUnavailable   no answer: address, key, network
│   ├── ModelTimeout       no answer in time
│   └── ModelReplyError    an answer that holds no plan
├── PlanError              a plan that must not run; carries all findings
├── ToolError              one step failed
│   ├── InvalidArgs        the model may repair the arguments
│   ├── NoData             the question is right, the data has no answer
│   ├── QueryError         ClickHouse refused; carries its code and hint
│   ├── QueryTimeout       stopped after the time limit
│   └── ResultTooLarge     more rows or bytes than allowed
├── ClarificationNeeded    the person must choose; carries the question
└── JoinError              results that do not fit together
"""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.clarification import Clarification
from schemas.language import Both, Language

Remedy = Literal["administrator", "model", "person", "retry"]


class AgentError(Exception):
    """An error with a sentence for the person and the party that can help.

    `text` never holds a DSN, a password or a cell value: it is shown as it is.
    """

    remedy: ClassVar[Remedy] = "administrator"
    kind: ClassVar[str] = "error"

    def __init__(self, text: Both) -> None:
        super().__init__(text.en)
        self.text = text

    def say(self, language: Language) -> str:
        """Return the sentence for the person."""
        return self.text.to(language)


class ConfigError(AgentError):
    """A setting, a table, a column or a right is missing or wrong."""

    kind = "configuration"


class ModelError(AgentError):
    """The language model could not be used."""

    kind = "model"


class ModelUnavailable(ModelError):
    """The model's address did not answer, or refused."""


class ModelTimeout(ModelError):
    """The model did not answer within the time limit."""

    remedy = "retry"


class ModelReplyError(ModelError):
    """The reply holds no plan; `for_model` says what was wrong with it."""

    remedy = "model"

    def __init__(self, text: Both, *, for_model: str) -> None:
        super().__init__(text)
        self.for_model = for_model


class PlanError(AgentError):
    """The plan must not run; `findings` are sentences that go back to the model."""

    remedy = "model"
    kind = "plan"

    def __init__(self, text: Both, *, findings: tuple[str, ...]) -> None:
        super().__init__(text)
        self.findings = findings


class ToolError(AgentError):
    """One step of the plan failed."""

    kind = "tool"


class InvalidArgs(ToolError):
    """The arguments do not fit the operation; `for_model` names each of them."""

    remedy = "model"
    kind = "arguments"

    def __init__(self, text: Both, *, for_model: str) -> None:
        super().__init__(text)
        self.for_model = for_model


class NoData(ToolError):
    """Nothing in the data answers the question; never to be replaced by a zero."""

    remedy = "person"
    kind = "no_data"


class QueryError(ToolError):
    """ClickHouse refused the statement.

    `code` and `name` are ClickHouse's own; `hint` is its "maybe you meant", without values.
    """

    remedy = "model"
    kind = "query"

    def __init__(self, text: Both, *, code: int | None, name: str, hint: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.name = name
        self.hint = hint


class QueryTimeout(ToolError):
    """The statement was stopped after the time limit."""

    remedy = "person"
    kind = "timeout"


class ResultTooLarge(ToolError):
    """More rows, bytes or memory than a valve allows; nothing is returned."""

    remedy = "person"
    kind = "too_large"


class ClarificationNeeded(AgentError):
    """The person must choose before the plan can go on."""

    remedy = "person"
    kind = "clarification"

    def __init__(self, clarification: Clarification) -> None:
        super().__init__(clarification.question)
        self.clarification = clarification


class JoinError(AgentError):
    """Results that cannot stand in one table."""

    kind = "join"
