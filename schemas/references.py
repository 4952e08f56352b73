"""References between steps: `${name}`, `${name.Column}`, `${name.Column[0]}`.

One grammar, parsed: a reference that is the whole argument keeps the type of what it names,
inside other text only a single value may stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_REFERENCE = re.compile(
    r"\$\{\s*(?P<name>\w[\w-]*)\s*(?:\.\s*(?P<column>\w[\w ]*?)\s*)?(?:\[\s*(?P<index>\d+)\s*\])?\s*\}"
)
_LOOKS_LIKE = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Reference:
    """One reference; without a column it is the whole table, without an index the whole column."""

    name: str
    column: str | None = None
    index: int | None = None

    def __str__(self) -> str:
        column = f".{self.column}" if self.column else ""
        index = f"[{self.index}]" if self.index is not None else ""
        return f"${{{self.name}{column}{index}}}"


def _read(found: re.Match[str]) -> Reference:
    index = found.group("index")
    return Reference(
        found.group("name"), found.group("column"), int(index) if index is not None else None
    )


def whole_reference(text: str) -> Reference | None:
    """Return the reference that `text` is as a whole, or None."""
    found = _REFERENCE.fullmatch(text.strip())
    return _read(found) if found else None


def references_in(value: Any) -> Iterator[Reference]:
    """Yield the references anywhere inside an argument: text, list or dictionary."""
    if isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            yield _read(found)
    elif isinstance(value, dict):
        for item in value.values():
            yield from references_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references_in(item)


def unreadable_references(value: Any) -> Iterator[str]:
    """Yield pieces that look like a reference and are none, such as `${a.b.c}` or `${}`."""
    if isinstance(value, str):
        for found in _LOOKS_LIKE.finditer(value):
            if not _REFERENCE.fullmatch(found.group(0)):
                yield found.group(0)
    elif isinstance(value, dict):
        for item in value.values():
            yield from unreadable_references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from unreadable_references(item)


def rename_references(value: Any, names: dict[str, str]) -> Any:
    """Return the argument with the names of its references replaced by `names`."""
    if isinstance(value, str):
        return _REFERENCE.sub(
            lambda found: str(
                Reference(
                    names.get(found.group("name"), found.group("name")),
                    found.group("column"),
                    int(found.group("index")) if found.group("index") else None,
                )
            ),
            value,
        )
    if isinstance(value, dict):
        return {key: rename_references(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rename_references(item, names) for item in value]
    return value


def substitute(
    value: Any, whole: Callable[[Reference], Any], inside: Callable[[Reference], str]
) -> Any:
    """Return the argument with its references replaced.

    `whole` gives the typed value of a reference that is the whole text, `inside` the text of
    one that stands among other words.
    """
    if isinstance(value, str):
        reference = whole_reference(value)
        if reference is not None:
            return whole(reference)
        return _REFERENCE.sub(lambda found: inside(_read(found)), value)
    if isinstance(value, dict):
        return {key: substitute(item, whole, inside) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [substitute(item, whole, inside) for item in value]
    return value
