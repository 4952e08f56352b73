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
import builtins
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

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
# In one file these would speak of the whole bundle, or of nothing.
MEANINGLESS = frozenset({"__file__", "__all__", "__doc__"})
# What `site` adds is left out: the answer must not hang on how Python was started.
BUILTIN = frozenset(dir(builtins)).difference("copyright credits exit help license quit _".split())
HOUSE_IMPORT = "write `from room.module import Name`"


class BundleError(Exception):
    """A module that cannot be copied into one file; the message names file and line."""


@dataclass(frozen=True)
class Binding:
    """Where a module first binds a global name; `form` is the import that does, "" for the rest."""

    line: int
    form: str


@dataclass(frozen=True)
class Module:
    """One source file: `needs` and `borrows` are its internal imports, `blanked` their lines."""

    path: str
    text: str
    needs: dict[str, int]
    borrows: tuple[tuple[str, str, int], ...]
    binds: dict[str, Binding]
    blanked: frozenset[int]

    @property
    def lines(self) -> list[str]:
        # Not splitlines(): it also cuts at form feeds and at U+2028 inside strings.
        return self.text.removesuffix("\n").split("\n")


def parse_source(root: Path, path: str) -> tuple[str, ast.Module]:
    r"""Return the text with line ends as `\n`, and its tree.

    Raises:
        BundleError: it is not UTF-8 or not Python.
    """
    try:
        text = (root / path).read_text(encoding="utf-8")
        return text, ast.parse(text, filename=path)
    except SyntaxError as error:
        raise BundleError(f"{path}:{error.lineno or 1}: not Python: {error.msg}") from error
    except ValueError as error:
        raise BundleError(f"{path}:1: not a text in UTF-8: {error}") from error


def read_module(root: Path, path: str) -> Module:
    """Read a module and refuse what one file cannot hold.

    Raises:
        BundleError: with file, line and reason.
    """
    text, tree = parse_source(root, path)
    for number, line in enumerate(text.split("\n"), 1):
        for words in REWRITTEN:
            if words in line:
                raise BundleError(f"{path}:{number}: the host rewrites the text {words!r}")
    needs: dict[str, int] = {}
    borrows: list[tuple[str, str, int]] = []
    blanked: set[int] = set()
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        _refuse_meaningless(node, path)
        if isinstance(node, ast.Import):
            if any(_is_internal(alias.name) for alias in node.names):
                raise BundleError(f"{path}:{node.lineno}: an import of a module; {HOUSE_IMPORT}")
        elif isinstance(node, ast.ImportFrom):
            if not _is_dropped(node, path):
                continue
            if id(node) not in top:
                raise BundleError(
                    f"{path}:{node.lineno}: an internal import inside code; move it to the top"
                )
            blanked.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if node.module == "__future__":
                continue
            target = (node.module or "").replace(".", "/") + ".py"
            if not (root / target).is_file():
                raise BundleError(f"{path}:{node.lineno}: there is no {target}; {HOUSE_IMPORT}")
            needs.setdefault(target, node.lineno)
            borrows += [(target, alias.name, node.lineno) for alias in node.names]
    for statement in tree.body:
        dropped = isinstance(statement, ast.ImportFrom) and _is_dropped(statement, path)
        if not dropped and {statement.lineno, statement.end_lineno} & blanked:
            raise BundleError(f"{path}:{statement.lineno}: give the import a line of its own")
    names = _GlobalNames()
    names.visit(tree)
    return Module(path, text, needs, tuple(borrows), names.found, frozenset(blanked))


def _is_internal(name: str) -> bool:
    return name.split(".")[0] in ROOMS


def _is_dropped(node: ast.ImportFrom, path: str) -> bool:
    """Say whether the import is commented out in the bundle; refuse shapes that cannot be."""
    if node.level:
        raise BundleError(f"{path}:{node.lineno}: a relative import; {HOUSE_IMPORT}")
    if any(alias.name == "*" for alias in node.names):
        raise BundleError(f"{path}:{node.lineno}: a star import; {HOUSE_IMPORT}")
    if node.module == "__future__":
        if any(alias.name != "annotations" or alias.asname for alias in node.names):
            raise BundleError(f"{path}:{node.lineno}: the bundle has the annotations future only")
        return True
    if not _is_internal(node.module or ""):
        return False
    if any(alias.asname for alias in node.names):
        raise BundleError(
            f"{path}:{node.lineno}: an internal import under another name; "
            "in one file only the first name exists"
        )
    return True


def _refuse_meaningless(node: ast.AST, path: str) -> None:
    if isinstance(node, ast.Name) and node.id in MEANINGLESS:
        raise BundleError(f"{path}:{node.lineno}: {node.id} means nothing in one file")
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            if isinstance(side, ast.Name) and side.id == "__name__":
                raise BundleError(
                    f"{path}:{node.lineno}: the host gives __name__ a new value each time"
                )


class _GlobalNames(ast.NodeVisitor):
    """Collects what a module binds in its own namespace, however deep the statement stands.

    Internal imports bind nothing: in one file the name is the one its own module has bound.
    """

    def __init__(self) -> None:
        self.found: dict[str, Binding] = {}

    def _bind(self, name: str, line: int, form: str = "") -> None:
        first = self.found.setdefault(name, Binding(line, form))
        if first.form != form:
            # `try: from fast import f` / `except: f = None`: not a plain import any more.
            self.found[name] = Binding(first.line, "")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._bind_definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._bind_definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind_definition(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Pass by: it binds only its own names."""

    def _bind_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        # A body has names of its own, except those it declares global.
        self._bind(node.name, node.lineno)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global):
                for name in inner.names:
                    self._bind(name, inner.lineno)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        # Its targets stay inside; only `:=` gets out.
        for part in (node.iter, *node.ifs):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, node.lineno)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, node.lineno)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name, node.lineno)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name, node.lineno)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._bind(node.rest, node.lineno)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self._bind(alias.asname, node.lineno, f"import {alias.name} as {alias.asname}")
            else:
                # `import os.path` binds `os`, as `import os` does.
                package = alias.name.split(".")[0]
                self._bind(package, node.lineno, f"import {package}")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = node.module or ""
        if source == "__future__" or _is_internal(source):
            return
        for alias in node.names:
            form = f"from {source} import {alias.name}"
            self._bind(alias.asname or alias.name, node.lineno, form)


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
        for package in Path(path).parents:
            if (root / package / "__init__.py").is_file():
                _refuse_code_in_init(root, (package / "__init__.py").as_posix())
    graph = {path: sorted(modules[path].needs) for path in sorted(modules)}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        ring = error.args[1][::-1]
        line = modules[ring[0]].needs[ring[1]]
        raise BundleError(f"{ring[0]}:{line}: a cycle: {' needs '.join(ring)}") from None
    _refuse_borrowed_imports(modules)
    _refuse_clashes([modules[path] for path in order])
    return [modules[path] for path in order]


def _refuse_code_in_init(root: Path, path: str) -> None:
    _, tree = parse_source(root, path)
    code = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    if code:
        raise BundleError(f"{path}:{code[0].lineno}: only a docstring may stand here")


def _refuse_borrowed_imports(modules: dict[str, Module]) -> None:
    for module in modules.values():
        for target, name, line in module.borrows:
            binding = modules[target].binds.get(name)
            if binding is None or binding.form:
                raise BundleError(
                    f"{module.path}:{line}: {name} is not defined in {target}; import it from where it is"
                )


def _refuse_clashes(modules: list[Module]) -> None:
    owners: dict[str, tuple[Module, Binding]] = {}
    for module in modules:
        for name, binding in module.binds.items():
            here = f"{module.path}:{binding.line}"
            if name in BUILTIN:
                raise BundleError(f"{here}: {name} hides a builtin from every other module")
            first, bound = owners.setdefault(name, (module, binding))
            if first is module or (binding.form and binding.form == bound.form):
                continue
            there = f"{first.path}:{bound.line}"
            if binding.form and bound.form:
                raise BundleError(f"{here}: {name} is `{binding.form}`, in {there} `{bound.form}`")
            if binding.form or bound.form:
                raise BundleError(f"{here}: {name} is bound in {there} too, one of them an import")
            raise BundleError(f"{here}: {name} is bound in {there} too")


def frontmatter(root: Path, *, requirements: bool) -> list[str]:
    """Return the lines the host reads: keys out of pyproject.

    Raises:
        BundleError: pyproject cannot be read, or a requirement has a comma, on which the host
            would split it.
    """
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    project = _read_project(text)
    needed = []
    for item in project.get("dependencies", []):
        if re.split(r"[<>=~!\[; ]", item, maxsplit=1)[0].lower().replace("_", "-") in SHIPPED:
            continue
        if "," in item:
            line = text[: text.find(item)].count("\n") + 1
            raise BundleError(f"pyproject.toml:{line}: {item!r} has a comma; use == or ~=")
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


def _read_project(text: str) -> dict[str, Any]:
    # Any: TOML as it is; only the keys used below are looked at.
    try:
        project: dict[str, Any] = tomllib.loads(text)["project"]
    except tomllib.TOMLDecodeError as error:
        raise BundleError(f"pyproject.toml:1: not TOML: {error}") from error
    except KeyError:
        raise BundleError("pyproject.toml:1: there is no [project]") from None
    if "version" not in project:
        raise BundleError("pyproject.toml:1: [project] has no version")
    return project


def bundle_lines(root: Path, *, requirements: bool = True) -> tuple[list[str], list[str]]:
    """Return the lines of the bundle, and for each the `file:line` it comes from."""
    head = frontmatter(root, requirements=requirements)
    version = next(line for line in head if line.startswith("version: ")).split(": ")[1]
    head += [
        "",
        f"# Generated by `python3 -m pipe.bundle` out of {TITLE} {version}: do not edit.",
        "# Each module stands as it is in the repository; only internal imports are commented out.",
        "",
        "from __future__ import annotations",
        "",
    ]
    lines, origin = list(head), ["pipe/bundle.py:1"] * len(head)
    for module in ordered_modules(root):
        lines.append(f"# ==== begin {module.path} ====")
        origin.append(f"{module.path}:1")
        for number, line in enumerate(module.lines, 1):
            lines.append(f"# {line}" if number in module.blanked else line)
            origin.append(f"{module.path}:{number}")
        lines.append(f"# ==== end {module.path} ====")
        origin.append(f"{module.path}:{len(module.lines)}")
    return lines, origin


def importable(source: str) -> str:
    """Return the JSON that the Functions panel imports."""
    entry = {
        "id": FUNCTION,
        "name": TITLE,
        "type": "pipe",
        "content": source,
        "meta": {"description": DESCRIPTION, "manifest": _manifest(source)},
    }
    return json.dumps([entry], ensure_ascii=False, indent=1) + "\n"


def _manifest(source: str) -> dict[str, str]:
    lines = source.split("\n")
    return dict(line.split(": ", 1) for line in lines[1 : lines.index('"""', 1)])


def bundle_files(root: Path, *, requirements: bool = True) -> dict[str, bytes]:
    """Return both files by name, as they are to stand on disk.

    Raises:
        BundleError: something is refused, or what came out is not Python.
    """
    lines, origin = bundle_lines(root, requirements=requirements)
    source = "\n".join(lines) + "\n"
    try:
        compile(source, f"{FUNCTION}.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BundleError(f"{origin[(error.lineno or 1) - 1]}: {error.msg}") from error
    return {
        f"{FUNCTION}.py": source.encode(),
        f"{FUNCTION}.json": importable(source).encode(),
    }


def write_bundle(root: Path, out: Path, *, requirements: bool = True) -> Path:
    """Write both files into `out` and return the Python one."""
    files = bundle_files(root, requirements=requirements)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    return out / f"{FUNCTION}.py"


def bundle_command(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 done, 1 refused or stale."""
    options = argparse.ArgumentParser(prog="python3 -m pipe.bundle", description=__doc__)
    options.add_argument("--out", type=Path, default=Path("dist"))
    options.add_argument(
        "--check", action="store_true", help="say whether the files are up to date"
    )
    options.add_argument(
        "--where",
        type=int,
        metavar="LINE",
        help="say which source line a line of the bundle is; "
        "for a bundle without requirements give --no-requirements too",
    )
    options.add_argument("--no-requirements", action="store_true", help="for hosts without pip")
    options.add_argument("--root", type=Path, default=Path.cwd())
    given = options.parse_args(arguments)
    wanted = not given.no_requirements
    try:
        if given.where is not None:
            origin = bundle_lines(given.root, requirements=wanted)[1]
            if not 0 < given.where <= len(origin):
                print(f"the bundle has {len(origin)} lines", file=sys.stderr)
                return 1
            print(origin[given.where - 1])
            return 0
        if given.check:
            stale = [
                given.out / name
                for name, content in bundle_files(given.root, requirements=wanted).items()
                if not (given.out / name).is_file() or (given.out / name).read_bytes() != content
            ]
            for path in stale:
                print(f"{path} is stale: run python3 -m pipe.bundle", file=sys.stderr)
            if not stale:
                print(f"{given.out} is up to date")
            return 1 if stale else 0
        path = write_bundle(given.root, given.out, requirements=wanted)
    except (BundleError, OSError) as error:
        print(f"not bundled: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size // 1024} KiB; {path.with_suffix('.json').name} beside it")
    return 0


if __name__ == "__main__":
    sys.exit(bundle_command())
