"""What a question has gathered: the result of every step, and the answer made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from schemas.clarification import Clarification
from schemas.errors import AgentError
from schemas.language import Both, Language
from schemas.plan import Plan
from schemas.table import Notice, Table

Status = Literal["ok", "clarification", "error"]


@dataclass(frozen=True)
class Query:
    """One statement that ran, as the receipt shows it."""

    query_id: str
    statement: str
    parameters: Mapping[str, Any]
    rows: int
    read_rows: int
    elapsed_s: float


@dataclass(frozen=True)
class StepResult:
    """One finished step; exactly one of `table` and `error` is set."""

    id: str
    tool: str
    args: Mapping[str, Any]
    show_data: bool
    names: tuple[str, ...] = ()
    table: Table | None = None
    error: AgentError | None = None
    queries: tuple[Query, ...] = ()
    duration_s: float = 0.0


@dataclass(frozen=True)
class Answer:
    """Everything the reader gets; the renderer and the command line print it.

    `message` is the headline or the plain sentence; `corrections` tell what was mended in the plan.
    """

    status: Status
    message: Both
    results: tuple[StepResult, ...] = ()
    tables: tuple[Table, ...] = ()
    notices: tuple[Notice, ...] = ()
    clarification: Clarification | None = None
    plan: Plan | None = None
    question: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    corrections: tuple[Both, ...] = ()
    model_calls: int = 0
    elapsed_s: float = 0.0


def _table_to_json(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.names),
        "rows": [list(row) for row in table.rows],
        "types": [column.type for column in table.columns],
        "units": [column.unit for column in table.columns],
        "roles": [column.role for column in table.columns],
    }


def _notices_to_json(notices: tuple[Notice, ...], language: Language) -> list[dict[str, str]]:
    return [
        {"code": notice.code, "level": notice.level, "text": notice.text.to(language)}
        for notice in notices
    ]


def answer_to_json(answer: Answer, language: Language) -> dict[str, Any]:
    """Return the answer as plain data for `--json`; see `dumps` for exactness."""
    steps = []
    for result in answer.results:
        item: dict[str, Any] = {
            "id": result.id,
            "tool": result.tool,
            "args": dict(result.args),
            "show_data": result.show_data,
            "result": {"columns": [], "rows": []},
            "row_count": 0,
            "truncated": False,
            "duration_s": round(result.duration_s, 4),
            "query_ids": [query.query_id for query in result.queries],
            "warnings": [],
        }
        if result.table is not None:
            item["result"] = {
                "columns": list(result.table.names),
                "rows": [list(row) for row in result.table.rows],
            }
            item["row_count"] = len(result.table.rows)
            item["truncated"] = result.table.truncated
            item["warnings"] = _notices_to_json(result.table.notices, language)
        if result.error is not None:
            item["error"] = {"kind": result.error.kind, "message": result.error.say(language)}
        steps.append(item)
    clarification = None
    if answer.clarification is not None:
        clarification = {
            "question": answer.clarification.question.to(language),
            "options": [
                {
                    "label": option.label.to(language),
                    "detail": option.detail.to(language),
                    "value": option.value,
                }
                for option in answer.clarification.options
            ],
            "total": answer.clarification.total,
        }
    return {
        "status": answer.status,
        "message": answer.message.to(language),
        "state": {"step_results": steps},
        "tables": [
            {**_table_to_json(table), "labels": [c.title().to(language) for c in table.columns]}
            for table in answer.tables
        ],
        "warnings": _notices_to_json(answer.notices, language),
        "clarification": clarification,
        "corrections": [text.to(language) for text in answer.corrections],
        "remark": (answer.plan.remark or "") if answer.plan else "",
    }


_WORDS = {None: "null", True: "true", False: "false"}
_json_text = json.JSONEncoder(ensure_ascii=False).encode


def whole_text(text: str) -> str:
    """Return the text with halves of surrogate pairs, which no encoding has, as question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def dumps(value: Any) -> str:
    """Return JSON with Cyrillic readable, Decimals as exact number literals, dates as ISO.

    NaN and infinities become null: they are not JSON. What JSON has no form for becomes text.
    """
    if isinstance(value, str):
        return _json_text(whole_text(value))
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else "null"
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else "null"
    if isinstance(value, datetime | date):
        return f'"{value.isoformat()}"'
    if isinstance(value, UUID):
        return json.dumps(str(value))
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_json_text(whole_text(str(key)))}: {dumps(item)}"
            for key, item in value.items()
        )
        return "{" + inner + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(dumps(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)
