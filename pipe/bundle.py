"""Write the one uploadable file: every module the function needs, copied verbatim, in order.

    python3 -m pipe.bundle [--check] [--where LINE] [--no-requirements] [--out dist]

Standard library only, so that it runs on a bare clone. Starting from `pipe/pipe.py` it follows
internal imports, so what the function does not need is not in it. Only internal imports and the
future import are commented out. What cannot be copied is refused with its file and line. The same
input gives the same bytes.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOMS = ("schemas", "prompts", "tools", "pipe")
ENTRY = "pipe/pipe.py"
FUNCTION = "portfolio_agent"
TITLE = "Portfolio Agent"
DESCRIPTION = "Ask in Russian or English: portfolio returns, NAV and flows out of ClickHouse."
# What Open WebUI ships itself.
SHIPPED = frozenset({"pydantic", "requests", "open-webui"})
# The host replaces these four texts anywhere in a function, strings included; they are written
# in two pieces so that this file does not hold them.
REWRITTEN = tuple("from " + word for word in ("utils", "apps", "main", "config"))


class BundleError(Exception):
    """A module that cannot be copied into one file; the message names file and line."""


@dataclass(frozen=True)
class Module:
    """One source file and what it binds and needs; `blanked` are lines to comment out."""

    path: str
    text: str
    needs: tuple[str, ...]
    binds: dict[str, int]
    imports: dict[str, str]
    blanked: frozenset[int]


def read_module(root: Path, path: str) -> Module:
    """Read a module and refuse what one file cannot hold.

    Raises:
        BundleError: with file, line and reason.
    """
    text = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(text, filename=path)
    for number, line in enumerate(text.splitlines(), 1):
        for words in REWRITTEN:
            if words in line:
                raise BundleError(f"{path}:{number}: the host rewrites the text {words!r}")
    needs: list[str] = []
    binds: dict[str, int] = {}
    imports: dict[str, str] = {}
    blanked: set[int] = set()
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        _refuse(node, path)
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in ROOMS:
                    raise BundleError(f"{path}:{node.lineno}: write `from room.module import Name`")
                if id(node) in top:
                    name = alias.asname or alias.name.split(".")[0]
                    imports[name] = f"import {alias.name} as {name}"
            continue
        if node.level:
            raise BundleError(f"{path}:{node.lineno}: a relative import")
        source = node.module or ""
        internal = source.split(".")[0] in ROOMS
        if any(alias.name == "*" for alias in node.names):
            raise BundleError(f"{path}:{node.lineno}: a star import")
        if internal:
            if id(node) not in top:
                raise BundleError(f"{path}:{node.lineno}: an internal import inside code")
            if any(alias.asname for alias in node.names):
                raise BundleError(f"{path}:{node.lineno}: an internal import under another name")
            target = source.replace(".", "/") + ".py"
            if not (root / target).is_file():
                raise BundleError(f"{path}:{node.lineno}: {source} is not a module")
            needs.append(target)
            blanked.update(lines)
        elif source == "__future__":
            blanked.update(lines)
        elif id(node) in top:
            for alias in node.names:
                imports[alias.asname or alias.name] = f"from {source} import {alias.name}"
    for statement in tree.body:
        for name in _bound(statement):
            binds[name] = statement.lineno
    return Module(
        path, text, tuple(dict.fromkeys(needs)), binds, imports, frozenset(blanked)
    )


def _refuse(node: ast.AST, path: str) -> None:
    if isinstance(node, ast.Name) and node.id in ("__file__", "__all__"):
        raise BundleError(f"{path}:{node.lineno}: {node.id} means nothing in one file")
    if (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and node.left.id == "__name__"
    ):
        raise BundleError(f"{path}:{node.lineno}: a test of __name__")


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [
            node.id
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def ordered_modules(root: Path, entry: str = ENTRY) -> list[Module]:
    """Return the entry and all it needs, each after what it needs itself.

    Raises:
        BundleError: a module is refused, modules need each other, or a name is bound twice.
    """
    modules: dict[str, Module] = {}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if path in modules:
            continue
        modules[path] = read_module(root, path)
        waiting.extend(modules[path].needs)
        package = (root / path).parent / "__init__.py"
        if package.is_file() and len(ast.parse(package.read_text(encoding="utf-8")).body) > 1:
            raise BundleError(f"{package.relative_to(root)}:1: only a docstring may stand here")
    graph = {path: sorted(modules[path].needs) for path in sorted(modules)}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise BundleError(f"{error.args[1][0]}:1: modules need each other") from None
    _refuse_clashes([modules[path] for path in order])
    return [modules[path] for path in order]


def _refuse_clashes(modules: list[Module]) -> None:
    owner: dict[str, Module] = {}
    imported: dict[str, tuple[str, Module]] = {}
    for module in modules:
        for name, statement in module.imports.items():
            known = imported.setdefault(name, (statement, module))
            if known[0] != statement:
                raise BundleError(
                    f"{module.path}:1: {name} is `{statement}`, in {known[1].path} `{known[0]}`"
                )
        for name, line in module.binds.items():
            first = owner.setdefault(name, module)
            if first is not module:
                raise BundleError(f"{module.path}:{line}: {name} is bound in {first.path} too")
    for name, module in owner.items():
        if name in imported:
            raise BundleError(
                f"{module.path}:{module.binds[name]}: {name} hides an import of "
                f"{imported[name][1].path}"
            )


def frontmatter(root: Path, *, requirements: bool) -> list[str]:
    """Return the lines the host reads: keys out of pyproject.

    Raises:
        BundleError: a requirement has a comma, on which the host would split it.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = []
    for item in project.get("dependencies", []):
        if re.split(r"[<>=~!\[; ]", item, maxsplit=1)[0] in SHIPPED:
            continue
        if "," in item:
            raise BundleError(f"pyproject.toml:1: {item!r} has a comma; use == or ~=")
        needed.append(item.replace(" ", ""))
    lines = [
        '"""',
        f"title: {TITLE}",
        "author: Portfolio Agent contributors",
        f"version: {project['version']}",
        "license: MIT",
        f"description: {DESCRIPTION}",
        "required_open_webui_version: 0.12.0",
    ]
    if requirements and needed:
        lines.append(f"requirements: {', '.join(needed)}")
    return [*lines, '"""']


def bundle_lines(root: Path, *, requirements: bool = True) -> tuple[list[str], list[str]]:
    """Return the lines of the bundle, and for each the `file:line` it comes from."""
    head = frontmatter(root, requirements=requirements)
    head += [
        "",
        "# Generated by `python3 -m pipe.bundle` out of the packages of Portfolio Agent: do not edit.",
        "# Each module stands as it is in the repository; only internal imports are commented out.",
        "",
        "from __future__ import annotations",
        "",
    ]
    lines, origin = list(head), ["pipe/bundle.py:1"] * len(head)
    for module in ordered_modules(root):
        lines.append(f"# ==== begin {module.path} ====")
        origin.append(f"{module.path}:1")
        for number, line in enumerate(module.text.splitlines(), 1):
            lines.append(f"# {line}" if number in module.blanked else line)
            origin.append(f"{module.path}:{number}")
        lines.append(f"# ==== end {module.path} ====")
        origin.append(f"{module.path}:{module.text.count(chr(10))}")
    return lines, origin


def importable(source: str) -> str:
    """Return the JSON that the Functions panel imports."""
    manifest = {
        key: value
        for key, value in (
            line.split(": ", 1) for line in source.splitlines()[1:12] if ": " in line
        )
        if re.fullmatch(r"[a-z_]+", key)
    }
    entry = {
        "id": FUNCTION,
        "name": TITLE,
        "type": "pipe",
        "content": source,
        "meta": {"description": DESCRIPTION, "manifest": manifest},
    }
    return json.dumps([entry], ensure_ascii=False, indent=1) + "\n"


def write_bundle(root: Path, out: Path, *, requirements: bool = True) -> Path:
    """Write both files into `out` and return the Python one."""
    source = "\n".join(bundle_lines(root, requirements=requirements)[0]) + "\n"
    compile(source, f"{FUNCTION}.py", "exec", dont_inherit=True)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{FUNCTION}.py"
    path.write_text(source, encoding="utf-8", newline="\n")
    (out / f"{FUNCTION}.json").write_text(importable(source), encoding="utf-8", newline="\n")
    return path


def bundle_command(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 done, 1 refused or stale."""
    options = argparse.ArgumentParser(prog="python3 -m pipe.bundle", description=__doc__)
    options.add_argument("--out", type=Path, default=Path("dist"))
    options.add_argument("--check", action="store_true", help="say whether the files are up to date")
    options.add_argument("--where", type=int, metavar="LINE", help="say which source line it is")
    options.add_argument("--no-requirements", action="store_true", help="for hosts without pip")
    options.add_argument("--root", type=Path, default=Path.cwd())
    given = options.parse_args(arguments)
    wanted = not given.no_requirements
    try:
        if given.where:
            origin = bundle_lines(given.root, requirements=wanted)[1]
            if not 0 < given.where <= len(origin):
                print(f"the bundle has {len(origin)} lines", file=sys.stderr)
                return 1
            print(origin[given.where - 1])
            return 0
        path = given.out / f"{FUNCTION}.py"
        if given.check:
            source = "\n".join(bundle_lines(given.root, requirements=wanted)[0]) + "\n"
            fresh = path.is_file() and path.read_text(encoding="utf-8") == source
            print(f"{path} is {'up to date' if fresh else 'stale'}")
            return 0 if fresh else 1
        path = write_bundle(given.root, given.out, requirements=wanted)
    except (BundleError, FileNotFoundError) as error:
        print(f"not bundled: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size // 1024} KiB; {path.with_suffix('.json').name} beside it")
    return 0


if __name__ == "__main__":
    sys.exit(bundle_command())
