"""Run a plan: steps that need nothing unfinished run at once, the rest as soon as they can."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from graphlib import TopologicalSorter
from typing import Any

from pydantic import BaseModel

from pipe.validation import dependencies
from schemas.errors import AgentError, InvalidArgs, QueryTimeout, ToolError
from schemas.language import Both
from schemas.plan import Plan, Step
from schemas.references import Reference, references_in, substitute
from schemas.state import StepResult
from schemas.table import Table
from tools.arguments import SelectedIds
from tools.context import ToolContext
from tools.registry import Operation, Registry, read_args

_PORTFOLIO_COLUMNS = frozenset(
    {"InvestmentPortfolioID", "Portfolio", "PortfolioCode", "PortfolioClientCode"}
)


class SkippedStep(ToolError):
    """A step that could not run because one it needs failed."""

    kind = "skipped"


async def execute(
    plan: Plan,
    *,
    registry: Registry,
    context: ToolContext,
    done: Mapping[str, StepResult],
    started: Callable[[Step, int, int], None],
) -> list[StepResult]:
    """Return the results in the order of the plan; a failed step keeps its error.

    `done` are results of earlier rounds, by every name they have. `started` is told the step, its
    number and the count. Cancelling kills the running statements.
    """
    limit = asyncio.Semaphore(context.settings.CONCURRENT_STEPS)
    steps = {step.id: step for step in plan.steps}
    results: dict[str, StepResult] = {}
    sorter: TopologicalSorter[str] = TopologicalSorter(dependencies(plan))
    sorter.prepare()
    count = 0

    async def run_one(step: Step) -> StepResult:
        nonlocal count
        async with limit:
            count += 1
            started(step, count, len(steps))
            named = {**done, **{name: r for r in results.values() for name in r.names}}
            return await _run_step(step, registry, context.for_step(), named)

    async with asyncio.TaskGroup() as group:
        running: dict[asyncio.Task[StepResult], str] = {}
        while sorter.is_active():
            for step_id in sorter.get_ready():
                running[group.create_task(run_one(steps[step_id]))] = step_id
            finished, _pending = await asyncio.wait(
                running, return_when=asyncio.FIRST_COMPLETED
            )
            for task in finished:
                step_id = running.pop(task)
                results[step_id] = task.result()
                sorter.done(step_id)
    return [results[step.id] for step in plan.steps]


async def _run_step(
    step: Step, registry: Registry, context: ToolContext, named: Mapping[str, StepResult]
) -> StepResult:
    began = time.monotonic()
    args: dict[str, Any] = dict(step.args)
    table: Table | None = None
    error: AgentError | None = None
    try:
        operation = registry.operation(step.tool, step.operation)
        if operation is None:
            raise InvalidArgs(
                Both("Нет такой операции.", "There is no such operation."),
                for_model=f"{step.tool} has no operation {step.operation!r}",
            )
        args = {
            key: _filled_argument(key, value, named) for key, value in step.args.items()
        }
        async with asyncio.timeout(context.settings.STEP_TIMEOUT_S * 2 + 5):
            table = await operation.run(_read_filled(operation, step, args), context)
    except TimeoutError:
        error = QueryTimeout(
            Both("Шаг не уложился в отведённое время.", "The step did not finish in time.")
        )
    except AgentError as failure:
        error = failure
    return StepResult(
        id=step.id,
        tool=step.tool,
        args={key: _plain(value) for key, value in args.items()},
        show_data=step.show_data,
        names=step.names,
        table=table,
        error=error,
        queries=tuple(context.queries),
        duration_s=time.monotonic() - began,
    )


def _read_filled(operation: Operation, step: Step, args: Mapping[str, Any]) -> BaseModel:
    """Read the arguments; what the model is told of a wrong one never holds a cell."""
    try:
        return read_args(operation, args)
    except InvalidArgs as error:
        if not any(references_in(step.args)):
            raise
        filled = [key for key, value in step.args.items() if any(references_in(value))]
        raise InvalidArgs(
            error.text,
            for_model=f"{operation.name}: what the references in {', '.join(filled)} give does not "
            "fit, or another argument is wrong",
        ) from None


def _plain(value: Any) -> Any:
    """Return an argument as the state keeps it: a whole table as its ids."""
    if isinstance(value, Table):
        return list(value.names)
    if isinstance(value, SelectedIds):
        return list(value)
    return value


def _filled_argument(key: str, value: Any, named: Mapping[str, StepResult]) -> Any:
    about_portfolios = key.startswith("portfolio") or key in {"ids", "names", "codes"}

    def whole(reference: Reference) -> Any:
        table = _table(reference, named)
        if about_portfolios and reference.column in (None, *_PORTFOLIO_COLUMNS):
            ids = _ids(table)
            if ids is not None:
                picked = ids if reference.index is None else ids[reference.index : reference.index + 1]
                if not picked:
                    raise _empty(reference)
                return SelectedIds(dict.fromkeys(picked))
        cells = _only_column(table, reference) if reference.column is None else _cells(table, reference)
        if reference.index is not None:
            cells = cells[reference.index : reference.index + 1]
        # An empty reference must not become «everything» or «the usual period».
        if all(cell is None or not str(cell).strip() for cell in cells):
            raise _empty(reference)
        return cells if reference.index is None else cells[0]

    def inside(reference: Reference) -> str:
        table = _table(reference, named)
        cells = _cells(table, reference) if reference.column else _only_column(table, reference)
        if reference.index is not None:
            cells = cells[reference.index : reference.index + 1]
        if len(cells) != 1 or cells[0] is None:
            raise InvalidArgs(
                Both(
                    f"Ссылка {reference} внутри текста должна давать одно значение.",
                    f"The reference {reference} inside text must give one value.",
                ),
                for_model=f"{reference} gives {len(cells)} values; inside text only one may stand",
            )
        return str(cells[0])

    return substitute(value, whole, inside)


def _table(reference: Reference, named: Mapping[str, StepResult]) -> Table:
    result = named.get(reference.name)
    if result is None or result.table is None:
        raise SkippedStep(
            Both(
                f"Шаг не выполнен: нет результата шага «{reference.name}».",
                f"The step did not run: step “{reference.name}” has no result.",
            )
        )
    return result.table


def _ids(table: Table) -> list[Any] | None:
    return table.column("InvestmentPortfolioID") if "InvestmentPortfolioID" in table.names else None


def _cells(table: Table, reference: Reference) -> list[Any]:
    by_lower = {name.lower(): name for name in table.names}
    name = by_lower.get(str(reference.column).lower())
    if name is None:
        raise InvalidArgs(
            Both(
                f"В результате «{reference.name}» нет столбца {reference.column}.",
                f"The result “{reference.name}” has no column {reference.column}.",
            ),
            for_model=f"{reference}: no such column; columns: {', '.join(table.names)}",
        )
    return table.column(name)


def _only_column(table: Table, reference: Reference) -> list[Any]:
    if not table.rows:
        raise _empty(reference)
    keys = [c.name for c in table.columns if c.role == "key"] or list(table.names)
    if len(keys) != 1:
        raise InvalidArgs(
            Both(
                f"Ссылка {reference} должна называть столбец.",
                f"The reference {reference} must name a column.",
            ),
            for_model=f"{reference} must name a column: {', '.join(table.names)}",
        )
    return table.column(keys[0])


def _empty(reference: Reference) -> InvalidArgs:
    return InvalidArgs(
        Both(f"Ссылка {reference} пуста.", f"The reference {reference} is empty."),
        for_model=f"{reference} gives no value",
    )
