"""The one-file function: refusals, determinism, and that it works as the packages do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipe.bundle import BundleError, bundle_lines, ordered_modules, write_bundle
from tests.bundle.host_loader import load_function, read_frontmatter
from tests.conftest import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
GOOD = "from __future__ import annotations\n\nfrom schemas.b import Thing\n\n\nclass Pipe:\n    thing = Thing\n"


def tree(tmp_path: Path, **files: str) -> Path:
    texts = {"pipe/pipe.py": GOOD, "schemas/b.py": "class Thing:\n    pass\n", **files}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "p"\nversion = "1"\ndependencies = ["pydantic", "sqlglot==30.30.0"]\n'
    )
    return tmp_path


def test_copies_verbatim_and_only_comments_internal_imports_out(tmp_path: Path) -> None:
    lines, origin = bundle_lines(tree(tmp_path))

    place = origin.index("pipe/pipe.py:3")
    assert lines[place] == "# from schemas.b import Thing"
    assert lines[origin.index("pipe/pipe.py:7")] == "    thing = Thing"
    assert lines.index("class Thing:") < lines.index("class Pipe:")


REFUSALS = {
    "relative": {"schemas/b.py": "from . import x\nThing = 1\n"},
    "import room": {"schemas/b.py": "import schemas.c\nThing = 1\n"},
    "alias": {"pipe/pipe.py": "from schemas.b import Thing as T\n"},
    "star": {"pipe/pipe.py": "from schemas.b import *\n"},
    "inside": {"pipe/pipe.py": "def f():\n    from schemas.b import Thing\n"},
    "cycle": {"schemas/b.py": "from pipe.pipe import Pipe\nThing = 1\n"},
    "clash": {"schemas/b.py": "class Thing:\n    pass\n\n\nclass Pipe:\n    pass\n"},
    "shadow": {"schemas/b.py": "from datetime import date\nThing = date\n", "pipe/pipe.py": GOOD + "\n\ndate = 1\n"},
    "main guard": {"schemas/b.py": "Thing = 1\nif __name__ == '__main__':\n    pass\n"},
    "file": {"schemas/b.py": "Thing = __file__\n"},
    "rewritten": {"schemas/b.py": "Thing = 'read from " + "main table'\n"},
    "code in init": {"schemas/__init__.py": '"""D."""\nx = 1\n'},
}


@pytest.mark.parametrize("files", REFUSALS.values(), ids=REFUSALS.keys())
def test_refuses(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(BundleError, match=r"\.py:\d+: "):
        ordered_modules(tree(tmp_path, **files))


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    first = write_bundle(ROOT, tmp_path / "a").read_bytes()

    assert write_bundle(ROOT, tmp_path / "b").read_bytes() == first


def test_a_bare_clone_bundles_without_packages(tmp_path: Path) -> None:
    for room in ("pipe", "tools", "prompts", "schemas"):
        shutil.copytree(ROOT / room, tmp_path / room)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    subprocess.run([sys.executable, "-S", "-m", "pipe.bundle"], cwd=tmp_path, check=True)

    (entry,) = json.loads((tmp_path / "dist/portfolio_agent.json").read_text())
    assert entry["id"] == "portfolio_agent"
    assert entry["content"] == (tmp_path / "dist/portfolio_agent.py").read_text()


def test_frontmatter_is_what_the_host_reads(tmp_path: Path) -> None:
    with_pip = read_frontmatter(write_bundle(ROOT, tmp_path).read_text())
    without = read_frontmatter(write_bundle(ROOT, tmp_path, requirements=False).read_text())

    assert with_pip["title"] == "Portfolio Agent"
    assert [part.split("==")[0] for part in with_pip["requirements"].split(", ")] == [
        "clickhouse-connect",
        "sqlglot",
        "json-repair",
    ]
    assert "requirements" not in without


@pytest.mark.parametrize("inherit", [True, False])
async def test_the_loaded_function_answers(
    tmp_path: Path, demo_dsn: str, scripted_model: ScriptedModel, inherit: bool
) -> None:
    pipe = load_function(write_bundle(ROOT, tmp_path).read_text(), inherit=inherit)
    pipe.valves = pipe.Valves(DSN=demo_dsn, MODEL_URL=scripted_model.url)
    scripted_model.replies.append(
        '{"steps": [{"id": "types", "tool": "portfolios_discovery_tool", '
        '"args": {"operation": "get_portfolios_type"}, "show_data": true}]}'
    )

    text = await pipe.pipe({"messages": [{"role": "user", "content": "Какие типы?"}]})

    assert "| ПИФ | 10 |" in text
