"""Fixtures: demo data in one embedded engine, a scripted model server, a settled day.

A process may hold one embedded engine, so one session has one: the demo data up to 2025-12-10.
With `--clickhouse-dsn` the same tests run against a server that has been filled by
`python -m demo.data --dsn …`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from demo.data import prepare
from pipe.agent import Workplace, run_plan
from pipe.reading import read_plan
from pipe.workplaces import workplace_for
from schemas.dataset import Dataset
from schemas.settings import Settings
from schemas.state import Answer
from tools.clickhouse import ClickHouse, parse_dsn

LAST_DAY = date(2025, 12, 10)
TODAY = date(2025, 12, 11)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--clickhouse-dsn", default="", help="run the engine tests on this server")


@pytest.fixture(scope="session")
def demo_dsn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    given = str(request.config.getoption("--clickhouse-dsn"))
    if given:
        return given
    path = tmp_path_factory.mktemp("engine") / "clickhouse"
    prepare(path, last_day=LAST_DAY)
    return f"chdb://{path}"


@pytest.fixture(scope="session")
def settings(demo_dsn: str) -> Settings:
    return Settings(DSN=demo_dsn)


@pytest.fixture(scope="session")
def client(demo_dsn: str) -> Iterator[ClickHouse]:
    made = ClickHouse(demo_dsn)
    yield made
    made.close()


@pytest.fixture(scope="session")
def engine(demo_dsn: str) -> Iterator[Any]:
    """The driver's own client, with no limits, for looking at what is stored."""
    import clickhouse_connect

    address = parse_dsn(demo_dsn)
    if address.embedded_path is not None:
        made = clickhouse_connect.get_client(interface="chdb", path=address.embedded_path)
    else:
        made = clickhouse_connect.get_client(
            host=address.host,
            port=address.port,
            username=address.username,
            password=address.password,
        )
    yield made
    made.close()


@pytest.fixture
async def place(settings: Settings) -> Workplace:
    return await workplace_for(settings)


@pytest.fixture
async def dataset(place: Workplace) -> Dataset:
    return place.dataset


class PlanRunner:
    """Runs plans as `python -m pipe run` does and keeps the statuses."""

    def __init__(self, place: Workplace, settings: Settings) -> None:
        self.place = place
        self.settings = settings
        self.statuses: list[str] = []

    async def __call__(self, plan: Any, **choices: str) -> Answer:
        text = plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)
        answer: Answer | None = None
        async for event in run_plan(
            read_plan(text),
            place=self.place,
            settings=self.settings,
            today=TODAY,
            choices=choices,
        ):
            if isinstance(event, Answer):
                answer = event
            else:
                self.statuses.append(event.text.ru)
        assert answer is not None
        return answer

    async def step(self, tool: str, operation: str, **args: Any) -> Answer:
        return await self(
            {"steps": [{"id": "a", "tool": tool, "args": {"operation": operation, **args}, "show_data": True}]}
        )


@pytest.fixture
async def run(place: Workplace, settings: Settings) -> PlanRunner:
    return PlanRunner(place, settings)


class ScriptedModel:
    """A stand-in for a model server: an OpenAI-compatible address that replies what it is told."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.default = '{"needs_tools": false, "answer": "нечего сказать"}'
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_args: Any) -> None:
                return

            def do_GET(self) -> None:
                self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                outer.requests.append(json.loads(self.rfile.read(size)))
                reply = outer.replies.pop(0) if outer.replies else outer.default
                if isinstance(reply, int):
                    self._send(reply, {"error": {"message": "scripted"}})
                    return
                finish = "stop"
                if isinstance(reply, tuple):
                    reply, finish = reply
                self._send(
                    200,
                    {
                        "choices": [
                            {
                                "index": 0,
                                "message": {"role": "assistant", "content": reply},
                                "finish_reason": finish,
                            }
                        ],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                    },
                )

            def _send(self, status: int, data: Any) -> None:
                body = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted_model() -> Iterator[ScriptedModel]:
    made = ScriptedModel()
    yield made
    made.close()
