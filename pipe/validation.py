"""Rules a plan must keep before anything runs: one pure function each, all findings at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import ValidationError

from pipe.period_check import AskedDays, period_findings
from schemas.dataset import Dataset
from schemas.language import Both
from schemas.plan import Plan, Step
from schemas.references import (
    references_in,
    rename_references,
    unreadable_references,
    whole_reference,
)
from tools.registry import RAW_TOOL_NAME, Registry


@dataclass(frozen=True)
class Circumstances:
    """What the rules may look at beside the plan; `done` are results of an earlier round."""

    registry: Registry
    dataset: Dataset
    raw_sql: bool
    max_steps: int
    done: frozenset[str] = frozenset()
    asked: AskedDays | None = None


_DEEPEST = 8

Rule = Callable[[Plan, Circumstances], Iterator[str]]


def normalise_plan(plan: Plan, facts: Circumstances) -> tuple[Plan, tuple[Both, ...]]:
    """Return the plan with unmistakable slips mended, and what was mended.

    An operation named as a tool gets its tool; a reference that differs from one name by case,
    underscores or a plural only is corrected.
    """
    said: list[Both] = []
    steps = [_named_tool(step, facts, said) for step in plan.steps]
    names = {name for step in steps for name in step.names} | facts.done
    renamed: dict[str, str] = {}
    for step in steps:
        for reference in references_in(step.args):
            if reference.name in names or reference.name in renamed:
                continue
            near = [name for name in sorted(names) if _spelling(name) == _spelling(reference.name)]
            targets = {_owner(name, steps) for name in near}
            if len(targets) == 1:
                renamed[reference.name] = near[0]
                said.append(
                    Both(
                        f"Ссылка ${{{reference.name}}} прочитана как ${{{near[0]}}}.",
                        f"The reference ${{{reference.name}}} was read as ${{{near[0]}}}.",
                    )
                )
    if renamed:
        steps = [
            step.model_copy(update={"args": rename_references(step.args, renamed)})
            for step in steps
        ]
    return plan.model_copy(update={"steps": tuple(steps)}), tuple(said)


def _owner(name: str, steps: list[Step]) -> str:
    return next((step.id for step in steps if name in step.names), name)


def _spelling(name: str) -> str:
    """Return a name without case, underscores and a final plural s; digits stay."""
    bare = re.sub(r"[_\-\s]", "", name).lower()
    return bare[:-1] if bare.endswith("s") and len(bare) > 3 else bare


def _named_tool(step: Step, facts: Circumstances, said: list[Both]) -> Step:
    if step.tool in facts.registry.tools:
        operations = facts.registry.tools[step.tool].operations
        if not step.operation and len(operations) == 1:
            return step.model_copy(update={"args": {**step.args, "operation": operations[0].name}})
        owner = facts.registry.tool_of(step.operation)
        if owner is not None and owner != step.tool:
            said.append(_moved(step.operation, owner))
            return step.model_copy(update={"tool": owner})
        return step
    owner = facts.registry.tool_of(step.tool)
    if owner is not None and step.operation in ("", step.tool):
        said.append(_moved(step.tool, owner))
        return step.model_copy(
            update={"tool": owner, "args": {**step.args, "operation": step.tool}}
        )
    owner = facts.registry.tool_of(step.operation)
    near = [name for name in facts.registry.tools if _spelling(name) == _spelling(step.tool)]
    if owner is not None and near == [owner]:
        return step.model_copy(update={"tool": owner})
    return step


def _moved(operation: str, owner: str) -> Both:
    return Both(
        f"Операция {operation} взята у инструмента {owner}.",
        f"Operation {operation} was taken from tool {owner}.",
    )


def _steps_present(plan: Plan, facts: Circumstances) -> Iterator[str]:
    if plan.needs_tools and not plan.steps:
        if not (plan.answer or plan.clarification_question):
            yield "needs_tools is true but there are no steps"
    if not plan.needs_tools and not plan.steps:
        if not (plan.answer or plan.clarification_question):
            yield "no steps, no answer and no clarification_question: say one of them"
    if len(plan.steps) > facts.max_steps:
        yield f"{len(plan.steps)} steps are too many, at most {facts.max_steps}"


def _names_unique(plan: Plan, facts: Circumstances) -> Iterator[str]:
    seen: set[str] = set()
    for step in plan.steps:
        for name in step.names:
            if name in seen:
                yield f"the name {name!r} is given to two steps"
            seen.add(name)
    for name in sorted(seen & facts.done):
        yield f"the name {name!r} belongs to a finished step"


def _tools_known(plan: Plan, facts: Circumstances) -> Iterator[str]:
    for step in plan.steps:
        tool = facts.registry.tools.get(step.tool)
        if tool is None:
            known = ", ".join(facts.registry.tools)
            yield f"step {step.id!r}: unknown tool {step.tool!r}; known: {known}"
            continue
        operation = facts.registry.operation(step.tool, step.operation)
        if operation is None:
            names = ", ".join(item.name for item in tool.operations)
            yield f"step {step.id!r}: {step.tool} has no operation {step.operation!r}; it has: {names}"
        elif not facts.dataset.has(*operation.needs):
            yield f"step {step.id!r}: {operation.name} is not possible, the data lacks its columns"
        elif step.tool == RAW_TOOL_NAME and not facts.raw_sql:
            yield f"step {step.id!r}: own SQL is switched off"


def _references_known(plan: Plan, facts: Circumstances) -> Iterator[str]:
    names = {name for step in plan.steps for name in step.names} | facts.done
    for step in plan.steps:
        for reference in references_in(step.args):
            if reference.name not in names:
                yield (
                    f"step {step.id!r}: {reference} refers to no step; "
                    f"steps: {', '.join(sorted(names))}"
                )
        for piece in unreadable_references(step.args):
            yield f"step {step.id!r}: {piece!r} is not a reference; write ${{name.Column}}"


def _no_cycles(plan: Plan, _facts: Circumstances) -> Iterator[str]:
    try:
        TopologicalSorter(dependencies(plan)).prepare()
    except CycleError as error:
        yield f"steps wait for each other in a circle: {' -> '.join(error.args[1])}"


def dependencies(plan: Plan) -> dict[str, set[str]]:
    """Return for each step id the ids of the steps it refers to."""
    owners = {name: step.id for step in plan.steps for name in step.names}
    return {
        step.id: {
            owners[reference.name]
            for reference in references_in(step.args)
            if reference.name in owners
        }
        for step in plan.steps
    }


def _arguments_fit(plan: Plan, facts: Circumstances) -> Iterator[str]:
    for step in plan.steps:
        operation = facts.registry.operation(step.tool, step.operation)
        if operation is None:
            continue
        given = {key: value for key, value in step.args.items() if key != "operation"}
        pending = {key for key, value in given.items() if any(True for _ in references_in(value))}
        try:
            operation.args.model_validate(
                {key: value for key, value in given.items() if key not in pending}
            )
        except ValidationError as error:
            for item in error.errors(
                include_url=False, include_context=False, include_input=False
            ):
                place = str(item["loc"][0]) if item["loc"] else "arguments"
                if item["type"] == "missing" and pending:
                    continue
                yield f"step {step.id!r}, {operation.name}, {place}: {item['msg']}"


def _dates_written_once(plan: Plan, _facts: Circumstances) -> Iterator[str]:
    for step in plan.steps:
        for key, value in step.args.items():
            if "date" in key and isinstance(value, str) and "${" in value:
                if whole_reference(value) is None:
                    yield f"step {step.id!r}: {key} mixes a reference with other text"


def _something_shown(plan: Plan, _facts: Circumstances) -> Iterator[str]:
    if plan.steps and not any(step.show_data for step in plan.steps):
        yield "no step has show_data: nothing would be shown"


def _no_step_twice(plan: Plan, _facts: Circumstances) -> Iterator[str]:
    seen: dict[str, str] = {}
    for step in plan.steps:
        call = repr((step.tool, sorted(step.args.items(), key=lambda item: item[0])))
        if call in seen:
            yield f"step {step.id!r} repeats step {seen[call]!r}"
        seen.setdefault(call, step.id)


def _not_too_deep(plan: Plan, _facts: Circumstances) -> Iterator[str]:
    for step in plan.steps:
        if _depth(step.args) > _DEEPEST:
            yield f"step {step.id!r}: args are nested too deep"


def _depth(value: Any) -> int:
    """Return how deep lists and objects are nested, without recursion."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list | tuple):
                inner.extend(item)
        level, depth = inner, depth + 1
    return depth


def _period_as_asked(plan: Plan, facts: Circumstances) -> Iterator[str]:
    if facts.asked is not None:
        yield from period_findings(plan, facts.registry, facts.asked)


RULES: tuple[Rule, ...] = (
    _steps_present,
    _not_too_deep,
    _names_unique,
    _tools_known,
    _references_known,
    _no_cycles,
    _arguments_fit,
    _dates_written_once,
    _period_as_asked,
    _something_shown,
    _no_step_twice,
)


def findings_of(plan: Plan, facts: Circumstances) -> tuple[str, ...]:
    """Return every finding of every rule, in the order of RULES; empty when the plan may run."""
    too_deep = tuple(_not_too_deep(plan, facts))
    return too_deep or tuple(finding for rule in RULES for finding in rule(plan, facts))


def shown_args(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as the receipt shows them, long lists cut."""
    return {
        key: [*value[:20], f"… {len(value) - 20}"]
        if isinstance(value, list) and len(value) > 20
        else value
        for key, value in args.items()
    }
