"""The compose file, its scripts and the SQL of the read-only user, without a Docker engine.

What can't run here: the images themselves, and statements that store users or roles (the
embedded engine has no storage for them). Those statements are parsed, and taken up to the
point where the engine would store the result.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from demo import data

pytestmark = pytest.mark.slow

ROOT = Path(data.__file__).resolve().parent.parent
COMPOSE = ROOT / "demo" / "compose"
SCRIPTS = sorted(COMPOSE.glob("*.sh"))
HASH = "ab" * 32

# A clickhouse-client that writes down what it was asked and answers a count with $COUNT.
RECORDER = f"""#!{sys.executable}
import json, os, sys
asked = sys.argv[sys.argv.index("--query") + 1] if "--query" in sys.argv else ""
reads = "--multiquery" in sys.argv or asked.startswith("INSERT")
text = sys.stdin.buffer.read().decode() if reads else ""
with open(os.environ["RECORD"], "a") as file:
    file.write(json.dumps({{"argv": sys.argv[1:], "query": asked, "stdin": text}}) + "\\n")
if asked.startswith("SELECT count()"):
    print(os.environ.get("COUNT", "0"))
"""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    parsed = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert isinstance(parsed, dict)
    return parsed


@pytest.fixture(scope="module")
def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def access_statements() -> list[str]:
    return [s.replace("@AGENT_PASSWORD_SHA256@", HASH) for s in data.statements("readonly_user.sql")]


def limits() -> list[tuple[str, str, str, str, str]]:
    """Name, value, min, max and writability of each setting of the shipped profile."""
    profile = access_statements()[0]
    assert profile.startswith("CREATE SETTINGS PROFILE")
    found = re.findall(
        r"(\w+) = '?(\w+)'?(?: MIN (\d+) MAX (\d+))?(?: (CONST|CHANGEABLE_IN_READONLY))?(?:,|$)",
        profile,
    )
    assert len(found) == profile.count(" = ")
    return found


def ask_embedded(folder: Path, profile: str, statements: list[str]) -> list[str]:
    """Run statements in a process of its own under a profile; each gives "ok" or an error code.

    The session may manage access, so that statements about users are understood in full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.xml"
    config.write_text(
        "<clickhouse><profiles><default>" + profile + "</default></profiles>"
        "<users><default><password/><networks><ip>::/0</ip></networks><profile>default</profile>"
        "<quota>default</quota><access_management>1</access_management></default></users>"
        "<quotas><default/></quotas><user_directories><users_xml>"
        f"<path>{config}</path></users_xml></user_directories></clickhouse>"
    )
    code = (
        "import json, re, sys, chdb\n"
        "connection = chdb.connect(sys.argv[1])\n"
        "out = []\n"
        "for statement in json.loads(sys.argv[2]):\n"
        "    try:\n"
        "        connection.query(statement)\n"
        "        out.append('ok')\n"
        "    except RuntimeError as error:\n"
        "        out.append(re.findall(r'\\(([A-Z_]+)\\)', str(error))[-1])\n"
        "print(json.dumps(out))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{folder}/db?config-file={config}", json.dumps(statements)],
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[str] = json.loads(done.stdout)
    return answers


def run_script(
    name: str, folder: Path, *, count: str = "0", **environment: str
) -> list[dict[str, Any]]:
    """Run a script of demo/compose with the recorder as clickhouse-client; return its calls."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    client = programs / "clickhouse-client"
    client.write_text(RECORDER)
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    record = folder / "record.jsonl"
    record.unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", str(COMPOSE / name)],
        env={
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "RECORD": str(record), "COUNT": count, **environment,
        },
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in record.read_text().splitlines()]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The files of the ClickHouse image under one folder, data for two days only."""
    home = tmp_path / "portfolio"
    (home / "sql").mkdir(parents=True)
    for file in data.SQL_DIR.glob("*.sql"):
        (home / "sql" / file.name).write_bytes(file.read_bytes())
    (home / "demo.tsv.gz").write_bytes(gzip.compress(b"1\tfirst\n2\tsecond\n"))
    return home


def test_services_images_and_order(compose: dict[str, Any]) -> None:
    services = compose["services"]
    shards = {"clickhouse-shard-1", "clickhouse-shard-2"}
    assert set(services) == {"clickhouse", "open-webui", "install", *shards}
    assert all(services[name]["profiles"] == ["cluster"] for name in shards)
    healthy = {"condition": "service_healthy"}
    assert "depends_on" not in services["clickhouse"]
    assert services["open-webui"]["depends_on"] == {"clickhouse": healthy}
    assert services["install"]["depends_on"] == {"open-webui": healthy}
    assert services["install"]["image"] == services["open-webui"]["image"]
    for name in ("clickhouse", "open-webui", *shards):
        assert services[name]["healthcheck"]["test"][0] == "CMD"
        assert (ROOT / services[name]["build"]["dockerfile"]).is_file()
    for service in services.values():
        assert re.search(r":\d+\.\d+\.\d+", service["image"]), "a version, not latest"


def test_ports_are_open_to_this_computer_only(compose: dict[str, Any]) -> None:
    ports = [port for s in compose["services"].values() for port in s.get("ports", [])]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)


def test_every_named_volume_is_declared(compose: dict[str, Any]) -> None:
    used = [v.split(":")[0] for s in compose["services"].values() for v in s.get("volumes", [])]
    assert {name for name in used if not name.startswith((".", "/"))} == set(compose["volumes"])


def test_secrets_come_from_the_environment_with_a_message(compose: dict[str, Any]) -> None:
    secret = re.compile(r"PASSWORD|KEY|DSN")
    for service in compose["services"].values():
        for name, value in service["environment"].items():
            if secret.search(name):
                assert re.search(r"\$\{\w+:\?set \w+ in \.env\}", value), name


def test_example_names_every_variable_and_no_other(example: dict[str, str]) -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+)", text))
    assert used - set(example) == {"WEBUI_ADMIN_NAME"}
    assert set(example) <= used
    required = set(re.findall(r"\$\{(\w+):\?", text))
    assert all(example[name] for name in required)


def test_example_passwords_ask_to_be_changed(example: dict[str, str]) -> None:
    for name, value in example.items():
        if re.search("PASSWORD|KEY", name):
            assert value.startswith("change-me"), name
    assert re.fullmatch(r"[\w-]+", example["CLICKHOUSE_AGENT_PASSWORD"])


def test_images_have_the_pins_of_the_project() -> None:
    text = (COMPOSE / "open-webui.Dockerfile").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^ +([\w-]+)==([\d.]+)", text, flags=re.MULTILINE))
    assert set(pins) == {"clickhouse-connect", "sqlglot", "json-repair"}
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("no pyproject.toml to compare with")
    declared = project.read_text(encoding="utf-8")
    for name, version in pins.items():
        assert re.search(rf"{name}==({re.escape(version)})\b", declared), (name, version)


def test_dockerfiles_copy_files_that_exist_and_pin_their_bases() -> None:
    for dockerfile in COMPOSE.glob("*.Dockerfile"):
        text = dockerfile.read_text(encoding="utf-8")
        for base in re.findall(r"^FROM (\S+)", text, flags=re.MULTILINE):
            assert re.search(r":\d+\.\d+", base), base
        for line in re.findall(r"^COPY (?!--from)(.+)$", text, flags=re.MULTILINE):
            *sources, _ = [word for word in line.split() if not word.startswith("--")]
            for source in sources:
                assert (ROOT / source).exists(), source


def test_data_stage_needs_nothing_but_its_copied_files(tmp_path: Path) -> None:
    """The image's data stage: three files and one package, no driver, no tools/sql."""
    (tmp_path / "demo").mkdir()
    for name in ("__init__.py", "data.py", "catalogue.csv"):
        (tmp_path / "demo" / name).write_bytes((ROOT / "demo" / name).read_bytes())
    blocked = tmp_path / "clickhouse_connect.py"
    blocked.write_text("raise ImportError('not in the image')")
    done = subprocess.run(
        [sys.executable, "-m", "demo.data", "--tsv", "demo.tsv.gz", "--last-day", "2025-12-10"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )
    assert done.stdout == "demo.tsv.gz: 55235 rows up to 2025-12-10\n", done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse_and_can_be_executed(script: Path) -> None:
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(script, os.X_OK)


def test_init_makes_tables_data_index_and_user(tmp_path: Path, image: Path) -> None:
    calls = run_script(
        "clickhouse-init.sh", tmp_path,
        CLICKHOUSE_USER="boss", CLICKHOUSE_PASSWORD="admin secret",
        AGENT_PASSWORD="agent's $ecret", PORTFOLIO_HOME=str(image),
    )
    assert [call["query"] for call in calls if call["query"]] == [
        f"SELECT count() FROM {data.TABLE}",
        f"INSERT INTO {data.TABLE} FORMAT TabSeparated",
    ]
    files = [call["stdin"] for call in calls if "--multiquery" in call["argv"]]
    assert files[:3] == [
        (data.SQL_DIR / name).read_text(encoding="utf-8")
        for name in ("schema.sql", "catalogue.sql", "text_index.sql")
    ]
    digest = hashlib.sha256(b"agent's $ecret").hexdigest()
    assert files[3].count(f"BY '{digest}'") == 2
    assert "BY '@" not in files[3]
    assert calls[3]["stdin"] == "1\tfirst\n2\tsecond\n"
    everything = json.dumps(calls)
    assert "admin secret" not in everything and "$ecret" not in everything


def test_init_on_a_filled_table_renews_the_user_only(tmp_path: Path, image: Path) -> None:
    calls = run_script(
        "clickhouse-init.sh", tmp_path, count="55235",
        CLICKHOUSE_USER="boss", CLICKHOUSE_PASSWORD="a", AGENT_PASSWORD="b",
        PORTFOLIO_HOME=str(image),
    )
    assert not any(call["query"].startswith("INSERT") for call in calls)
    assert not any("MATERIALIZE INDEX" in call["stdin"] for call in calls)
    assert "ALTER USER portfolio_agent" in calls[-1]["stdin"]


@pytest.mark.parametrize("shard", ["1", "2"])
def test_a_shard_takes_its_own_portfolios_and_makes_the_distributed_tables(
    tmp_path: Path, image: Path, shard: str
) -> None:
    calls = run_script(
        "clickhouse-init.sh", tmp_path,
        CLICKHOUSE_USER="boss", CLICKHOUSE_PASSWORD="a", AGENT_PASSWORD="b",
        PORTFOLIO_HOME=str(image), CLUSTER_SHARD=shard,
    )
    (loaded,) = [call["stdin"] for call in calls if call["query"].startswith("INSERT")]
    ids = {int(line.split("\t", 1)[0]) for line in loaded.splitlines()}
    assert ids and all(number % 2 == int(shard) - 1 for number in ids)
    assert any("ENGINE = Distributed(portfolio" in call["stdin"] for call in calls)


def test_cluster_sql_shards_by_the_portfolio() -> None:
    facts, *_others = data.statements("cluster.sql")
    assert facts.endswith(
        "Distributed(portfolio, Contribution, contribution_twr_1s_mcp, InvestmentPortfolioID)"
    )
    named = ElementTree.parse(COMPOSE / "clickhouse-cluster.xml").getroot()  # noqa: S314 - our own file
    hosts = [host.text for host in named.iter("host")]
    assert hosts == ["clickhouse-shard-1", "clickhouse-shard-2"]
    assert named.find("remote_servers/portfolio") is not None


def test_init_without_a_password_stops_before_anything(tmp_path: Path, image: Path) -> None:
    with pytest.raises(AssertionError, match="AGENT_PASSWORD"):
        run_script(
            "clickhouse-init.sh", tmp_path,
            CLICKHOUSE_USER="boss", CLICKHOUSE_PASSWORD="a", PORTFOLIO_HOME=str(image),
        )
    assert not (tmp_path / "record.jsonl").exists()


def test_health_asks_as_the_agent_and_not_over_localhost(tmp_path: Path) -> None:
    (call,) = run_script("clickhouse-health.sh", tmp_path, count="1", AGENT_PASSWORD="b")
    assert call["argv"][call["argv"].index("--user") + 1] == "portfolio_agent"
    assert call["argv"][call["argv"].index("--host") + 1] not in ("127.0.0.1", "localhost")
    with pytest.raises(AssertionError):
        run_script("clickhouse-health.sh", tmp_path, count="0", AGENT_PASSWORD="b")


def test_read_only_user_is_granted_reading_and_nothing_else() -> None:
    grants = [s for s in access_statements() if s.startswith("GRANT")]
    assert grants[0] == "GRANT SELECT ON Contribution.* TO portfolio_agent_reader"
    privileges = [s for s in grants if " ON " in s]
    assert all(re.fullmatch(r"GRANT SELECT ON (Contribution\.\*|system\.\w+) TO \w+", s) for s in privileges)
    tables = {s.split("system.")[1].split()[0] for s in privileges if "system." in s}
    assert tables == {"databases", "tables", "columns", "data_skipping_indices", "processes"}
    order = access_statements()
    assert order.index("REVOKE ALL ON *.* FROM portfolio_agent_reader") < order.index(grants[0])


def test_every_access_statement_parses(engine: Any) -> None:
    for statement in access_statements():
        assert engine.query(f"EXPLAIN AST {statement}").result_rows, statement


def test_access_statements_are_understood_by_the_engine(tmp_path: Path) -> None:
    """Each gets as far as the missing storage or what an earlier one would have stored.

    CHANGEABLE_IN_READONLY is left out: the embedded engine can't be told to allow it.
    """
    statements = [s.replace(" CHANGEABLE_IN_READONLY", "") for s in access_statements()]
    answers = ask_embedded(tmp_path, "", [*statements, statements[0].replace("max_threads", "max_treads")])
    assert answers[-1] == "UNKNOWN_SETTING"
    stops = {
        "ACCESS_STORAGE_FOR_INSERTION_NOT_FOUND", "UNKNOWN_ROLE", "UNKNOWN_USER",
        "THERE_IS_NO_PROFILE",
    }
    assert set(answers[:-1]) <= stops
    assert answers[0] == "ACCESS_STORAGE_FOR_INSERTION_NOT_FOUND"


def test_profile_refuses_writing_and_changes(tmp_path: Path) -> None:
    values = "".join(f"<{name}>{value}</{name}>" for name, value, *_ in limits())
    attempts = [
        "CREATE DATABASE other", "CREATE TABLE t (a Int8) ENGINE = Memory", "SET readonly = 0",
        "SET max_execution_time = 0", "SELECT 1 SETTINGS max_result_rows = 0",
        "SELECT * FROM file('/etc/hostname', 'LineAsString')", "SELECT 1",
    ]
    answers = ask_embedded(tmp_path, values, attempts)
    assert answers[-1] == "ok"
    assert set(answers[:-1]) <= {"READONLY", "QUERY_IS_PROHIBITED"}


def test_profile_allows_less_and_never_more(tmp_path: Path) -> None:
    """The bounds of the profile, with readonly = 2 in place of CHANGEABLE_IN_READONLY."""
    bounded = [limit for limit in limits() if limit[4] == "CHANGEABLE_IN_READONLY"]
    names = {name for name, *_ in bounded}
    assert {"max_execution_time", "max_result_rows", "max_memory_usage", "max_bytes_to_read"} <= names
    inner = "".join(f"<{n}><min>{low}</min><max>{high}</max></{n}>" for n, _, low, high, _ in bounded)
    less = [f"SET {name} = {int(value) // 2}" for name, value, *_ in bounded]
    more = [f"SET {name} = {int(high) + 1}" for name, _, _, high, _ in bounded]
    # 0 is "no limit" for all of them but max_threads, where it is "as many as cores".
    without = [f"SET {name} = 0" for name in names if name != "max_threads"]
    profile = f"<readonly>2</readonly><constraints>{inner}</constraints>"
    answers = ask_embedded(tmp_path, profile, [*less, *more, *without])
    assert answers[:len(less)] == ["ok"] * len(less)
    assert set(answers[len(less):]) == {"SETTING_CONSTRAINT_VIOLATION"}
