"""The client of an external model against servers that misbehave."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pipe.model import ExternalModel, read_completion
from schemas.errors import ModelError, ModelTimeout, ModelUnavailable


class OddServer(ThreadingHTTPServer):
    """Answers GET with `models` and POST with `body`, or drips bytes until it is closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), OddHandler)
        self.models = b"{}"
        self.body: bytes | None = None
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class OddHandler(BaseHTTPRequestHandler):
    server: OddServer

    def log_message(self, *_args: Any) -> None:
        return

    def do_GET(self) -> None:
        self._send(self.server.models)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.body is not None:
            self._send(self.server.body)
            return
        self.send_response(200)
        self.end_headers()
        try:
            while not self.server.over.wait(0.1):
                self.wfile.write(b" ")
                self.wfile.flush()
        except OSError:
            return

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def odd() -> Iterator[OddServer]:
    server = OddServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_server_that_drips_is_left_in_time(odd: OddServer) -> None:
    model = ExternalModel(odd.url, "m", "", timeout_s=0.5)

    with pytest.raises(ModelTimeout):
        await asyncio.wait_for(model.complete([]), timeout=30)


@pytest.mark.parametrize(
    "models", [b"[]", b'{"data":["gpt"]}', b'{"data":{"id":"x"}}', b'{"data":[{"name":"x"}]}', b"<p>"]
)
async def test_odd_lists_of_models(odd: OddServer, models: bytes) -> None:
    odd.models = models
    odd.body = b"{}"

    with pytest.raises(ModelError):
        await ExternalModel(odd.url, "", "", timeout_s=5).complete([])


async def test_a_bottomless_reply(odd: OddServer) -> None:
    odd.body = b"[" * 100_000

    with pytest.raises(ModelUnavailable):
        await ExternalModel(odd.url, "m", "", timeout_s=5).complete([])


@pytest.mark.parametrize("usage", ["abc", None, [], {"prompt_tokens": "many"}, {"prompt_tokens": None}])
def test_odd_usage_does_not_lose_the_reply(usage: Any) -> None:
    reply = read_completion({"choices": [{"message": {"content": "ok"}}], "usage": usage})

    assert (reply.text, reply.prompt_tokens) == ("ok", 0)


async def test_an_address_without_scheme_never_shows_its_password() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await ExternalModel("u:s3cret@127.0.0.1:9/v1", "m", "", timeout_s=5).complete([])

    assert "s3cret" not in caught.value.text.ru + caught.value.text.en
