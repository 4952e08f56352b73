"""The one-file function: what is refused, what is copied, and that the host can load it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipe.bundle import (
    BundleError,
    bundle_command,
    bundle_files,
    bundle_lines,
    ordered_modules,
    write_bundle,
)
from tests.bundle.host_loader import (
    load_function,
    load_module,
    publish_module,
    read_frontmatter,
    replace_imports,
)
from tests.conftest import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schemas", "prompts", "tools", "pipe")
FUTURE = "from __future__ import annotations\n\n"
# Line 3 is the internal import, line 6 the class.
GOOD = FUTURE + "from schemas.b import Thing\n\n\nclass Pipe:\n    thing = Thing\n"
THING = "class Thing:\n    pass\n"
PYPROJECT = '[project]\nname = "p"\nversion = "1"\ndependencies = [\n    "pydantic",\n    "sqlglot==30.30.0",\n]\n'


def tree(tmp_path: Path, files: dict[str, str] | None = None) -> Path:
    texts = {"pipe/pipe.py": GOOD, "schemas/b.py": THING, "pyproject.toml": PYPROJECT}
    for name, text in {**texts, **(files or {})}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def bundle_text(root: Path, *, requirements: bool = True) -> str:
    return bundle_files(root, requirements=requirements)["portfolio_agent.py"].decode()


@dataclass(frozen=True)
class Case:
    """`files` over the good tree are refused at `place`, in words that hold `words`."""

    id: str
    files: dict[str, str]
    place: str
    words: str


def entry(text: str) -> dict[str, str]:
    return {"pipe/pipe.py": text}


def thing(text: str, more: str = "") -> dict[str, str]:
    """`text` on line 2 and on of schemas/b.py; `more` on line 8 and on of the entry."""
    return {"schemas/b.py": f"Thing = 1\n{text}", "pipe/pipe.py": GOOD + more}


REFUSED = [
    Case("relative import", thing("from . import x\n"), "schemas/b.py:2", "relative"),
    Case("import of a module", thing("import schemas.c\n"), "schemas/b.py:2", "import of a module"),
    Case("import of a room", thing("import tools\n"), "schemas/b.py:2", "import of a module"),
    Case(
        "module out of a room", entry("from schemas import b\n"), "pipe/pipe.py:1", "no schemas.py"
    ),
    Case(
        "missing module", entry("from schemas.no import A\n"), "pipe/pipe.py:1", "no schemas/no.py"
    ),
    Case("alias", entry("from schemas.b import Thing as T\n"), "pipe/pipe.py:1", "another name"),
    Case("internal star", entry("from schemas.b import *\n"), "pipe/pipe.py:1", "star"),
    Case("external star", thing("from math import *\n"), "schemas/b.py:2", "star"),
    Case(
        "inside a function",
        entry("def f():\n    from schemas.b import Thing\n"),
        "pipe/pipe.py:2",
        "inside code",
    ),
    Case(
        "under TYPE_CHECKING",
        entry(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from schemas.b import Thing\n"
        ),
        "pipe/pipe.py:3",
        "inside code",
    ),
    Case(
        "code after the import",
        entry("from schemas.b import Thing; x = 1\n"),
        "pipe/pipe.py:1",
        "own",
    ),
    Case(
        "code after the future",
        entry("from __future__ import annotations; x = 1\n"),
        "pipe/pipe.py:1",
        "own",
    ),
    Case(
        "other future", entry("from __future__ import generator_stop\n"), "pipe/pipe.py:1", "future"
    ),
    Case("name not there", {"schemas/b.py": "Other = 1\n"}, "pipe/pipe.py:3", "not defined"),
    Case(
        "name only passed on",
        {"schemas/b.py": "from datetime import date as Thing\n"},
        "pipe/pipe.py:3",
        "not defined",
    ),
    Case(
        "cycle",
        {"schemas/b.py": "\nfrom pipe.pipe import Pipe\nThing = 1\n"},
        "pipe/pipe.py:3",
        "pipe/pipe.py needs schemas/b.py needs pipe/pipe.py",
    ),
    Case(
        "cycle of one", {"schemas/b.py": "from schemas.b import Thing\n"}, "schemas/b.py:1", "cycle"
    ),
    Case("two classes", thing("class Pipe:\n    pass\n"), "pipe/pipe.py:6", "schemas/b.py:2"),
    Case(
        "two logs",
        thing("log = 1\n", "log = 2\n"),
        "pipe/pipe.py:8",
        "log is bound in schemas/b.py:2",
    ),
    Case("loop", thing("for i in (1,):\n    pass\n", "i = 2\n"), "pipe/pipe.py:8", "i is bound"),
    Case(
        "with", thing("with open('a') as f:\n    pass\n", "f = 2\n"), "pipe/pipe.py:8", "f is bound"
    ),
    Case(
        "under if",
        thing("if Thing:\n    def cut(): pass\n", "def cut(): pass\n"),
        "pipe/pipe.py:8",
        "cut is bound in schemas/b.py:3",
    ),
    Case("walrus", thing("if (n := 1):\n    pass\n", "n = 2\n"), "pipe/pipe.py:8", "n is bound"),
    Case(
        "walrus in a list",
        thing("x = [m := y for y in (1,)]\n", "m = 2\n"),
        "pipe/pipe.py:8",
        "m is bound",
    ),
    Case("unpacking", thing("a, (b, *c) = 1, (2, 3)\n", "c = 2\n"), "pipe/pipe.py:8", "c is bound"),
    Case(
        "match",
        thing("match Thing:\n    case {'k': v, **rest}:\n        pass\n", "rest = 2\n"),
        "pipe/pipe.py:8",
        "rest is bound",
    ),
    Case(
        "except",
        thing("try:\n    pass\nexcept OSError as e:\n    pass\n", "e = 2\n"),
        "pipe/pipe.py:8",
        "e is bound",
    ),
    Case(
        "global",
        thing("def f():\n    global g\n    g = 1\n", "g = 2\n"),
        "pipe/pipe.py:8",
        "g is bound",
    ),
    Case(
        "rebound import",
        entry(GOOD + "Thing = 2\n"),
        "pipe/pipe.py:8",
        "Thing is bound in schemas/b.py:1",
    ),
    Case(
        "def over an import",
        thing("from datetime import date\n", "def date(): pass\n"),
        "pipe/pipe.py:8",
        "one of them an import",
    ),
    Case(
        "import over a def",
        thing("def date(): pass\n", "from datetime import date\n"),
        "pipe/pipe.py:8",
        "one of them an import",
    ),
    Case(
        "two imports",
        thing("from datetime import date\n", "from calendar import date\n"),
        "pipe/pipe.py:8",
        "`from calendar import date`",
    ),
    Case(
        "package and part",
        thing("import os.path\n", "import os.path as os\n"),
        "pipe/pipe.py:8",
        "`import os`",
    ),
    Case(
        "import with a fallback",
        thing("try:\n    import q\nexcept ImportError:\n    q = None\n", "import q\n"),
        "pipe/pipe.py:8",
        "q is bound",
    ),
    Case("hidden builtin", thing("def format(): pass\n"), "schemas/b.py:2", "builtin"),
    Case(
        "code in init",
        {"schemas/__init__.py": '"""D."""\n\nx = 1\n'},
        "schemas/__init__.py:3",
        "docstring",
    ),
    Case("only code in init", {"pipe/__init__.py": "x = 1\n"}, "pipe/__init__.py:1", "docstring"),
    Case(
        "main guard", thing("if __name__ == '__main__':\n    pass\n"), "schemas/b.py:2", "__name__"
    ),
    Case(
        "main guard reversed",
        thing("if '__main__' == __name__:\n    pass\n"),
        "schemas/b.py:2",
        "__name__",
    ),
    Case("file", thing("x = __file__\n"), "schemas/b.py:2", "__file__"),
    Case("all", thing("__all__ = ['Thing']\n"), "schemas/b.py:2", "__all__"),
    Case("doc", thing("x = __doc__\n"), "schemas/b.py:2", "__doc__"),
    *(
        Case(
            f"rewritten {word}",
            thing(f"\n# read from {word}uration\n"),
            "schemas/b.py:3",
            f"'from {word}'",
        )
        for word in ("utils", "apps", "main", "config")
    ),
    Case("not Python", thing("x = (\n"), "schemas/b.py:2", "not Python"),
    Case(
        "comma in a requirement",
        {"pyproject.toml": PYPROJECT.replace("==30.30.0", ">=30,<31")},
        "pyproject.toml:6",
        "comma",
    ),
    Case("no project", {"pyproject.toml": "[tool]\n"}, "pyproject.toml:1", "[project]"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_refuses_and_says_where(tmp_path: Path, case: Case) -> None:
    with pytest.raises(BundleError) as refusal:
        bundle_files(tree(tmp_path, case.files))

    assert str(refusal.value).startswith(f"{case.place}: ")
    assert case.words in str(refusal.value)


def test_refuses_what_is_not_utf8(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "schemas/b.py").write_bytes(b"Thing = 1  # \xff\n")

    with pytest.raises(BundleError, match=r"^schemas/b\.py:1: not a text in UTF-8"):
        bundle_files(root)


ACCEPTED = {
    "the same import twice": thing(
        "import json\nfrom a import b as c\n", "import json\nfrom a import b as c\n"
    ),
    "parts of one package": thing("import xml.dom\n", "import xml.sax\n"),
    "a driver imported late": thing(
        "def f():\n    import clickhouse_connect\n    return clickhouse_connect\n"
    ),
    "locals": thing("def f():\n    i = 1\n    return i\n", "def g():\n    i = 2\n    return i\n"),
    "names inside a comprehension": thing("x = [i for i in (1,)]\n", "y = {i: i for i in (2,)}\n"),
    "attributes": thing("class A:\n    size = 1\n", "class B:\n    size = 2\n"),
    "a fallback of one module": thing("try:\n    import q\nexcept ImportError:\n    q = None\n"),
    "__name__ of something": thing("x = Exception.__name__ == 'a'\n"),
}


@pytest.mark.parametrize("files", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_takes_what_one_file_can_hold(tmp_path: Path, files: dict[str, str]) -> None:
    text = bundle_text(tree(tmp_path, files))

    assert files["schemas/b.py"] in text


def test_two_modules_may_borrow_the_same_name(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "tools/c.py": "from schemas.b import Thing\n\n\nclass Tool(Thing):\n    pass\n",
            "pipe/pipe.py": "from schemas.b import Thing\nfrom tools.c import Tool\n\n\nclass Pipe(Tool):\n    thing = Thing\n",
        },
    )

    assert [module.path for module in ordered_modules(root)] == [
        "schemas/b.py",
        "tools/c.py",
        "pipe/pipe.py",
    ]


def test_only_what_the_entry_needs_is_bundled(tmp_path: Path) -> None:
    root = tree(tmp_path, {"tools/unused.py": "if __name__ == '__main__':\n    pass\n"})

    assert [module.path for module in ordered_modules(root)] == ["schemas/b.py", "pipe/pipe.py"]


def test_an_import_over_several_lines_is_commented_out_on_each(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        entry(
            "from schemas.b import (  # why\n    Thing,\n\n    # Other,\n)\nx = (\n    1,\n)\n\n\nclass Pipe:\n    thing = Thing\n"
        ),
    )

    assert (
        "# ==== begin pipe/pipe.py ====\n"
        "# from schemas.b import (  # why\n#     Thing,\n# \n#     # Other,\n# )\n"
        "x = (\n    1,\n)\n\n\nclass Pipe:\n    thing = Thing\n"
        "# ==== end pipe/pipe.py ====\n"
    ) in bundle_text(root)


def test_form_feeds_and_line_separators_inside_strings_are_copied(tmp_path: Path) -> None:
    source = "Thing = 'a\x0cb\u2028c\x85d'\n\x0c\nlast = 1"

    lines, origin = bundle_lines(tree(tmp_path, {"schemas/b.py": source}))

    assert "\n".join(lines).count(source) == 1
    assert lines[origin.index("schemas/b.py:3")] == "last = 1"


@pytest.mark.parametrize("requirements", [True, False])
def test_every_line_of_the_project_is_a_line_of_its_module(requirements: bool) -> None:
    """Line in the bundle minus line of the banner is the line in the module."""
    lines, origin = bundle_lines(ROOT, requirements=requirements)
    sources = {
        module.path: (ROOT / module.path).read_text(encoding="utf-8").split("\n")
        for module in ordered_modules(ROOT)
    }

    assert len(lines) == len(origin)
    for path, source in sources.items():
        banner = lines.index(f"# ==== begin {path} ====")
        end = lines.index(f"# ==== end {path} ====")
        assert end - banner == len(source)
        for number in range(1, len(source)):
            line, original = lines[banner + number], source[number - 1]
            assert origin[banner + number] == f"{path}:{number}"
            if line != original:
                assert line == f"# {original}"
    commented = [line for line in lines if line.startswith("# from __future__")]
    assert len(commented) == len(sources)
    assert lines.count("from __future__ import annotations") == 1


def test_the_project_leaves_commands_and_the_bundler_out() -> None:
    paths = {module.path for module in ordered_modules(ROOT)}

    assert "pipe/pipe.py" in paths
    assert not paths & {"pipe/bundle.py", "pipe/install.py", "pipe/__main__.py", "pipe/cli.py"}


def test_the_host_has_nothing_to_rewrite_in_the_project() -> None:
    text = bundle_text(ROOT)

    assert replace_imports(text) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [["-S", "-m", "pipe.bundle"], ["-I", "-S", "pipe/bundle.py"]],
    ids=["module", "isolated"],
)
def test_a_bare_clone_bundles_without_packages(tmp_path: Path, flags: list[str]) -> None:
    """Two runs with unlike hash seeds, in copies of the tree, give the bytes we get here."""
    for seed in ("1", "2"):
        clone = tmp_path / seed
        for room in ROOMS:
            shutil.copytree(ROOT / room, clone / room, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", clone)
        variables = {
            key: value for key, value in os.environ.items() if not key.startswith("PYTHON")
        }
        subprocess.run(
            [sys.executable, *flags],
            cwd=clone,
            check=True,
            env={**variables, "PYTHONHASHSEED": seed},
        )

        for name, content in bundle_files(ROOT).items():
            assert (clone / "dist" / name).read_bytes() == content


def test_check_says_which_file_is_stale_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path)
    out = root / "dist"
    check = ["--root", str(root), "--out", str(out), "--check"]

    assert bundle_command(check) == 1
    assert not out.exists()

    write_bundle(root, out)
    assert bundle_command(check) == 0
    assert bundle_command([*check, "--no-requirements"]) == 1

    for name in ("portfolio_agent.py", "portfolio_agent.json"):
        write_bundle(root, out)
        (out / name).write_bytes((out / name).read_bytes() + b"\n")
        capsys.readouterr()
        assert bundle_command(check) == 1
        assert f"{out / name} is stale" in capsys.readouterr().err

    write_bundle(root, out)
    (root / "schemas/b.py").write_text(THING + "\n")
    assert bundle_command(check) == 1


def test_where_names_the_source_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path)
    number = bundle_text(root).split("\n").index("    thing = Thing") + 1

    assert bundle_command(["--root", str(root), "--where", str(number)]) == 0
    assert capsys.readouterr().out == "pipe/pipe.py:7\n"
    shifted = ["--root", str(root), "--no-requirements", "--where", str(number - 1)]
    assert bundle_command(shifted) == 0
    assert capsys.readouterr().out == "pipe/pipe.py:7\n"


@pytest.mark.parametrize("number", ["0", "-1", "9999"])
def test_where_outside_the_bundle_is_an_error(tmp_path: Path, number: str) -> None:
    root = tree(tmp_path)

    assert (
        bundle_command(["--root", str(root), "--out", str(root / "dist"), f"--where={number}"]) == 1
    )
    assert not (root / "dist").exists()


def test_a_refusal_ends_the_command_with_1_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, thing("x = __file__\n"))

    assert bundle_command(["--root", str(root), "--out", str(root / "dist")]) == 1
    assert capsys.readouterr().err.startswith("not bundled: schemas/b.py:2: ")
    assert not (root / "dist").exists()


def test_frontmatter_is_what_the_host_reads() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = bundle_text(ROOT)

    read = read_frontmatter(text)

    assert text.startswith('"""\n')
    assert list(read) == [
        "title",
        "author",
        "version",
        "license",
        "description",
        "required_open_webui_version",
        "requirements",
    ]
    assert (read["title"], read["version"], read["license"]) == (
        "Portfolio Agent",
        project["version"],
        project["license"],
    )
    # As the host splits it; pydantic and requests are its own.
    assert [part.strip() for part in read["requirements"].split(",")] == [
        item for item in project["dependencies"] if not item.startswith(("pydantic", "requests"))
    ]


def test_without_requirements_only_their_line_is_missing() -> None:
    lines = bundle_text(ROOT).split("\n")

    assert bundle_text(ROOT, requirements=False).split("\n") == [
        line for line in lines if not line.startswith("requirements:")
    ]


def test_the_json_is_what_the_functions_panel_imports() -> None:
    files = bundle_files(ROOT)

    (function,) = json.loads(files["portfolio_agent.json"])

    text = files["portfolio_agent.py"].decode()
    assert (function["id"], function["name"], function["type"]) == (
        "portfolio_agent",
        "Portfolio Agent",
        "pipe",
    )
    assert function["content"] == text
    assert function["meta"]["description"] == read_frontmatter(text)["description"]
    assert function["meta"]["manifest"] == read_frontmatter(text)


TYPED = {
    "schemas/b.py": FUTURE
    + "from dataclasses import dataclass\n\nfrom pydantic import BaseModel, Field\n\n\n"
    "class Thing(BaseModel):\n    size_bytes: int = 1\n    parts: list[Thing] = Field(default_factory=list)\n\n\n"
    "@dataclass(frozen=True)\nclass Box:\n    thing: Thing\n",
    "pipe/pipe.py": FUTURE
    + "from typing import get_type_hints\n\nfrom pydantic import BaseModel\n\nfrom schemas.b import Box, Thing\n\n\n"
    "class Pipe:\n    class Valves(BaseModel):\n        box: Thing = Thing()\n\n"
    "    def __init__(self) -> None:\n        self.valves = self.Valves()\n\n"
    "    def hints(self) -> dict[str, type]:\n        return get_type_hints(Box)\n\n"
    "    def fail(self) -> None:\n        raise ValueError('here')\n",
}


@pytest.mark.parametrize("inherit", [True, False], ids=["inherited future", "no future"])
def test_models_and_dataclasses_work_when_loaded_as_the_host_does(
    tmp_path: Path, inherit: bool
) -> None:
    text = bundle_text(tree(tmp_path, TYPED))

    pipe, module = load_module(text, inherit=inherit)
    assert module.__name__ not in sys.modules
    assert not Path(str(module.__file__)).exists()
    publish_module(module)

    assert sys.modules[type(pipe).__module__] is module
    made = pipe.Valves.model_validate({"box": {"parts": [{"size_bytes": "7"}]}})
    assert made.box.parts[0].size_bytes == 7
    assert pipe.hints() == {"thing": module.__dict__["Thing"]}


def test_a_traceback_line_leads_to_the_source(tmp_path: Path) -> None:
    root = tree(tmp_path, TYPED)
    lines, origin = bundle_lines(root)
    pipe = load_function("\n".join(lines) + "\n")

    with pytest.raises(ValueError, match="here") as raised:
        pipe.fail()

    frame = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert frame.lineno is not None
    path, number = origin[frame.lineno - 1].split(":")
    assert (root / path).read_text().split("\n")[
        int(number) - 1
    ] == "        raise ValueError('here')"


def test_a_second_load_takes_the_first_ones_place(tmp_path: Path) -> None:
    text = bundle_text(tree(tmp_path, TYPED))

    first, second = load_function(text), load_function(text)

    assert type(first).__module__ not in sys.modules
    assert sys.modules["function_portfolio_agent"].__dict__["Pipe"] is type(second)


@pytest.mark.parametrize("inherit", [True, False], ids=["inherited future", "no future"])
async def test_the_loaded_project_answers(
    tmp_path: Path, demo_dsn: str, scripted_model: ScriptedModel, inherit: bool
) -> None:
    pipe = load_function(write_bundle(ROOT, tmp_path).read_text(encoding="utf-8"), inherit=inherit)
    pipe.valves = pipe.Valves(DSN=demo_dsn, MODEL_URL=scripted_model.url)
    scripted_model.replies.append(
        '{"steps": [{"id": "types", "tool": "portfolios_discovery_tool", '
        '"args": {"operation": "get_portfolios_type"}, "show_data": true}]}'
    )

    text = await pipe.pipe({"messages": [{"role": "user", "content": "Какие типы?"}]})

    assert "| ПИФ | 10 |" in text
