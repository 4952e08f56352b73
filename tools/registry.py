"""The tools and their operations: what the planner is told and what the executor calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from schemas.calling import function_schema
from schemas.dataset import Dataset
from schemas.errors import InvalidArgs
from schemas.language import Both
from schemas.table import Table
from tools.context import ToolContext

RAW_TOOL_NAME = "clickhouse_client_base"


@dataclass(frozen=True)
class Operation:
    """One operation of a tool.

    `needs` are the logical columns without which it is not offered; `title` is what a status says
    while it runs. The description is written for the planner. `on_last_day` says that without
    by_date or period the figure stands on the last day alone, whatever the first.
    """

    name: str
    description: str
    args: type[BaseModel]
    run: Callable[[Any, ToolContext], Awaitable[Table]]
    title: Both
    needs: tuple[str, ...] = ()
    on_last_day: bool = False


@dataclass(frozen=True)
class Tool:
    """A named group of operations."""

    name: str
    description: str
    operations: tuple[Operation, ...]


class Registry:
    """All tools by name. A name given twice is an error."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: dict[str, Tool] = {}
        self._operations: dict[tuple[str, str], Operation] = {}
        for tool in tools:
            if tool.name in self.tools:
                raise ValueError(f"tool {tool.name!r} is registered twice")
            self.tools[tool.name] = tool
            for operation in tool.operations:
                key = (tool.name, operation.name)
                if key in self._operations:
                    raise ValueError(f"operation {key!r} is registered twice")
                self._operations[key] = operation

    def operation(self, tool: str, name: str) -> Operation | None:
        """Return an operation, None where there is no such."""
        return self._operations.get((tool, name))

    def tool_of(self, operation: str) -> str | None:
        """Return the only tool that has an operation of this name, else None."""
        owners = [tool for tool, name in self._operations if name == operation]
        return owners[0] if len(owners) == 1 else None

    def offered(self, dataset: Dataset, *, raw_sql: bool) -> list[tuple[Tool, list[Operation]]]:
        """Return what the planner may use on this data set."""
        rows = []
        for tool in self.tools.values():
            if tool.name == RAW_TOOL_NAME and not raw_sql:
                continue
            usable = [item for item in tool.operations if dataset.has(*item.needs)]
            if usable:
                rows.append((tool, usable))
        return rows

    def schemas(self, *, raw_sql: bool = True) -> list[dict[str, Any]]:
        """Return every operation as a function-calling schema, named `tool__operation`: dots are not allowed."""
        return [
            function_schema(f"{tool}__{name}", operation.description, operation.args)
            for (tool, name), operation in self._operations.items()
            if raw_sql or tool != RAW_TOOL_NAME
        ]


def read_args(operation: Operation, args: Mapping[str, Any]) -> BaseModel:
    """Return the arguments as the operation's model.

    Raises:
        InvalidArgs: names every argument that is wrong, unknown or missing.
    """
    given = {key: value for key, value in args.items() if key != "operation"}
    try:
        return operation.args.model_validate(given)
    except ValidationError as error:
        faults = []
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            place = ".".join(str(part) for part in item["loc"]) or "arguments"
            faults.append(f"{place}: {item['msg']}")
        known = ", ".join(operation.args.model_fields)
        listed = "; ".join(faults)
        raise InvalidArgs(
            Both(
                f"Не подходят параметры операции {operation.name}: {listed}.",
                f"The arguments do not fit {operation.name}: {listed}.",
            ),
            for_model=f"{operation.name}: {listed}. Its arguments: {known}.",
        ) from None
