"""A twin of how Open WebUI 0.12.4 loads a function, step by step, without its database and pip."""

from __future__ import annotations

import re
import sys
import tempfile
import types
import uuid
from pathlib import Path
from typing import Any

FUNCTION = "portfolio_agent"
REPLACEMENTS = {
    "from " + word: f"from open_webui.{word}" for word in ("utils", "apps", "main", "config")
}


def read_frontmatter(content: str) -> dict[str, str]:
    """Read the frontmatter as the host does: only when line 1 is three quotes."""
    lines = content.splitlines()
    found: dict[str, str] = {}
    if not lines or lines[0].strip() != '"""':
        return found
    for line in lines[1:]:
        if '"""' in line:
            break
        match = re.match(r"^\s*([a-z_]+):\s*(.*)\s*$", line, re.IGNORECASE)
        if match:
            found[match.group(1).strip()] = match.group(2).strip()
    return found


def replace_imports(content: str) -> str:
    """Make the host's replacements, which reach into strings and comments too."""
    for old, new in REPLACEMENTS.items():
        content = content.replace(old, new)
    return content


def load_module(content: str, *, inherit: bool = True) -> tuple[Any, types.ModuleType]:
    """Run the text as the host does and return its Pipe and its module.

    The module has a new name each time, is out of `sys.modules` when this returns, and its
    `__file__` is a file already deleted. With `inherit` the text has this file's future import,
    as it has that of the host's file; older hosts have none.
    """
    content = replace_imports(content)
    name = f"function_{FUNCTION}_{uuid.uuid4().hex}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    with tempfile.NamedTemporaryFile(delete=False) as opened:
        path = Path(opened.name)
    try:
        path.write_text(content, encoding="utf-8")
        module.__dict__["__file__"] = str(path)
        code = content if inherit else compile(content, "<string>", "exec", dont_inherit=True)
        exec(code, module.__dict__)
        return module.Pipe(), module
    finally:
        path.unlink()
        sys.modules.pop(name, None)


def publish_module(module: types.ModuleType) -> None:
    """Put the module back under both its names; what was there before goes, as in the host."""
    alias = f"function_{FUNCTION}"
    previous = sys.modules.get(alias)
    if previous is not None:
        sys.modules.pop(previous.__name__, None)
    sys.modules[module.__name__] = module
    sys.modules[alias] = module


def load_function(content: str, *, inherit: bool = True) -> Any:
    """Load a function, publish its module and return its Pipe."""
    pipe, module = load_module(content, inherit=inherit)
    publish_module(module)
    return pipe
