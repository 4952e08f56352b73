"""From what a model sent to a `Plan`: a ladder of readings, then the shapes models write.

A reply that was cut by length is never read.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from pydantic import ValidationError

from schemas.errors import ModelReplyError
from schemas.language import Both
from schemas.plan import Plan

_CLOSED_THOUGHT = re.compile(
    r"<(think|thinking|thought|reason|reasoning)\b[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL
)
_LAST_CLOSING = re.compile(
    r"</(?:think|thinking|thought|reason|reasoning)\s*>", re.IGNORECASE
)
_OPEN_THOUGHT = re.compile(
    r"<(?:think|thinking|thought|reason|reasoning)\b[^>]*>", re.IGNORECASE
)
_HARMONY_FINAL = re.compile(r"<\|channel\|>\s*final\s*(?:<\|[^|]*\|>[^<]*)*<\|message\|>|assistantfinal")
_HARMONY_TOKEN = re.compile(r"<\|[a-z_]+\|>")
_FENCE = re.compile(r"```[ \t]*[\w-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_BARE_REFERENCE = re.compile(r'(?<=[:\[,])(\s*)(\$\{[^}"\n]+\})(?=\s*[,\]}])')
_LONGEST_REPLY = 100_000
_MOST_BRACKETS = 1000
_MOST_TRIES = 20
_OPERATION_KEYS = ("operation", "op", "method", "action", "function", "tool_name", "operation_name")
# What a step may say beside its arguments; anything else was meant as an argument.
_STEP_KEYS = frozenset(
    """
    id tool name save_as show_data description reason thought comment title depends_on
    dependencies needs
    """.split()
)
_ARGS_KEYS = ("args", "arguments", "params", "parameters", "input", "kwargs")


def read_plan(text: str, *, cut: bool = False) -> Plan:
    """Return the plan in a reply.

    Raises:
        ModelReplyError: the reply is empty, was cut, or holds no plan.
    """
    if cut:
        raise _no_plan(
            Both("Ответ модели оборван по длине.", "The model's reply was cut by length."),
            "the reply was cut by length; write a shorter plan",
        )
    if len(text) > _LONGEST_REPLY or text.count("{") + text.count("[") > _MOST_BRACKETS:
        raise _no_plan(
            Both("Ответ модели слишком длинный.", "The model's reply is too long."),
            "the reply is too long or nested; reply with one short JSON object",
        )
    body = without_reasoning(text)
    if not body:
        raise _no_plan(
            Both("Модель прислала пустой ответ.", "The model sent an empty reply."),
            "the reply was empty; reply with one JSON object",
        )
    for value in _readings(body):
        found = _plan_object(value)
        if found is not None:
            return _as_plan(found)
    raise _no_plan(
        Both("Модель ответила не планом.", "The model's reply is not a plan."),
        "no JSON object with a plan was found in the reply",
    )


def without_reasoning(text: str) -> str:
    """Return the reply without thoughts: closed, only closed, or never closed."""
    body = text.replace("\ufeff", "").replace("\u00a0", " ")
    body = _CLOSED_THOUGHT.sub("", body)
    closings = list(_LAST_CLOSING.finditer(body))
    if closings:
        body = body[closings[-1].end() :]
    final = list(_HARMONY_FINAL.finditer(body))
    if final:
        body = body[final[-1].end() :]
    body = _HARMONY_TOKEN.sub("", body)
    opening = _OPEN_THOUGHT.search(body)
    if opening is not None:
        body = body[: opening.start()]
    return body.strip()


def _readings(body: str) -> list[Any]:
    """Return every value the text can be read as, the strictest reading first."""
    pieces = [piece.strip() for piece in _FENCE.findall(body)]
    pieces.append(body)
    values: list[Any] = []
    for piece in pieces:
        for text in dict.fromkeys((piece, _BARE_REFERENCE.sub(r'\1"\2"', piece))):
            values.extend(_strict(text))
    for piece in pieces:
        values.extend(_scan(_BARE_REFERENCE.sub(r'\1"\2"', piece)))
    for piece in pieces:
        values.extend(_repaired(_BARE_REFERENCE.sub(r'\1"\2"', piece)))
    return values


def _strict(text: str) -> list[Any]:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return []
    if isinstance(value, str):
        return _strict(value)
    return [value]


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _scan(text: str) -> list[Any]:
    """Find an object that begins anywhere in the text and reads to its matching brace."""
    values: list[Any] = []
    place = 0
    # Each try reads to the end of the text; a looping model writes thousands of braces.
    for _ in range(_MOST_TRIES):
        place = text.find("{", place)
        if place < 0:
            break
        end = _matching(text, place)
        found = _strict(text[place:end]) if end else []
        values.extend(found)
        place = end if found and end else place + 1
    return values


def _matching(text: str, start: int) -> int | None:
    """Return the place after the brace that closes the one at `start`, None when it stays open."""
    depth = 0
    quote = ""
    place = start
    while place < len(text):
        letter = text[place]
        if quote:
            if letter == "\\":
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return None


def _repaired(text: str) -> list[Any]:
    try:
        from json_repair import repair_json
    except ImportError:
        return []
    start = text.find("{")
    if start < 0:
        return []
    # An object that never closes is a cut reply, however well it would repair.
    if text.count("{") > text.count("}") + 1:
        return []
    try:
        value = repair_json(text[start:], return_objects=True)
    except (ValueError, RecursionError):
        return []
    if isinstance(value, list):
        return [item for item in reversed(value) if isinstance(item, dict)]
    return [value]


def _plan_object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        if all("tool" in item for item in value):
            return {"steps": value}
        return next((found for item in reversed(value) if (found := _plan_object(item))), None)
    if not isinstance(value, dict):
        return None
    for key in ("plan", "result", "output"):
        if isinstance(value.get(key), dict) and "steps" in value[key]:
            return dict(value[key])
    if "plan" in value and isinstance(value["plan"], list) and "steps" not in value:
        return {**value, "steps": value["plan"]}
    if {"steps", "needs_tools", "answer", "clarification_question"} & set(value):
        return value
    if "tool" in value:
        return {"steps": [value]}
    return None


def _as_plan(value: dict[str, Any]) -> Plan:
    data = dict(value)
    steps = data.get("steps") or []
    if isinstance(steps, dict):
        steps = [
            {"id": key, **step} if isinstance(step, dict) else step for key, step in steps.items()
        ]
    if not isinstance(steps, list | tuple):
        steps = [steps]
    data["steps"] = [_as_step(step, number) for number, step in enumerate(steps, 1)]
    if "needs_tools" not in data:
        data["needs_tools"] = bool(data["steps"])
    for key in ("answer", "clarification_question"):
        if isinstance(data.get(key), str) and not data[key].strip():
            data[key] = None
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        )
        raise _no_plan(
            Both("План модели не подходит по форме.", "The model's plan has the wrong shape."),
            f"the plan has the wrong shape: {faults}",
        ) from None


def _as_step(value: Any, number: int) -> Any:
    """Bring the shapes models write to one: operation in args, an id, true or false."""
    if not isinstance(value, dict):
        return value
    step = dict(value)
    if isinstance(step.get("function"), dict):
        step.update(step.pop("function"))
    args: dict[str, Any] = {}
    for key in _ARGS_KEYS:
        inner = step.pop(key, None)
        if isinstance(inner, str):
            inner = next(iter(_strict(inner)), inner)
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict):
            inner = inner[0]
        if isinstance(inner, dict):
            args.update(inner)
        elif inner:
            # No operation has such an argument: validation names it, nothing is left out silently.
            args[key] = inner
    tool = str(step.get("tool") or step.get("name") or "")
    if "." in tool:
        tool, _dot, operation = tool.partition(".")
        args.setdefault("operation", operation)
    for key in _OPERATION_KEYS:
        if isinstance(step.get(key), str):
            args.setdefault("operation", step[key])
        if key != "operation" and isinstance(args.get(key), str) and "operation" not in args:
            args["operation"] = args.pop(key)
    for key in _ARGS_KEYS:
        if isinstance(args.get(key), dict):
            args.update(args.pop(key))
    for key, item in step.items():
        if key not in _STEP_KEYS and key not in _OPERATION_KEYS:
            args.setdefault(key, item)
    shown = step.get("show_data", False)
    if isinstance(shown, str):
        shown = shown.strip().lower() in {"true", "yes", "1", "да"}
    save_as = step.get("save_as")
    return {
        "id": str(step.get("id") or save_as or f"step_{number}"),
        "tool": tool,
        "args": args,
        "save_as": str(save_as) if save_as else None,
        "show_data": bool(shown),
    }


def _no_plan(text: Both, for_model: str) -> ModelReplyError:
    return ModelReplyError(text, for_model=for_model)
