"""A twin of the host's loader: uuid module name, exec of text, put back into sys.modules."""

from __future__ import annotations

import re
import sys
import types
import uuid
from typing import Any


def read_frontmatter(content: str) -> dict[str, str]:
    """Read the frontmatter as the host does: only when line 1 is exactly three quotes."""
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


def load_function(content: str, *, inherit: bool = True) -> Any:
    """Load a function and return its Pipe; the blind replacements of the host are made."""
    for word in ("utils", "apps", "main", "config"):
        content = content.replace(f"from {word}", f"from open_webui.{word}")
    name = f"function_portfolio_agent_{uuid.uuid4().hex}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    # This file has the future import, as the host's plugin.py has: exec inherits it.
    code = content if inherit else compile(content, "<string>", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    sys.modules[name] = module
    return module.Pipe()
