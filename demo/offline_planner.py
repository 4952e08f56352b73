"""An OpenAI-compatible server whose model is a set of keyword rules.

It lets the whole product run on one machine without a language model. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import uuid
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from demo.rules import plan_for

MODEL_ID = "offline-planner"
MODEL_NAME = "Offline planner: keyword rules"
MAX_BODY_BYTES = 4_000_000
_CHUNK_LETTERS = 400


def reply_to(messages: Sequence[Any]) -> str:
    """Return the plan, as JSON, for the messages of a planner prompt.

    The last message with a <question> counts. What follows it asks to mend a plan or to go on
    after a failed step, and rules cannot do better the second time: a request to mend gets the
    same plan, a failed step a plain answer.
    """
    texts = [(_role(message), _text(message)) for message in messages]
    place, question = _question(texts)
    prompt = "\n".join(text for _role_, text in texts[: place + 1])
    plan = plan_for(question, prompt, previous=_previous(texts[place][1] if texts else ""))
    later = "\n".join(text for role, text in texts[place + 1 :] if role == "user")
    if "a step failed" in later:
        plan.update(needs_tools=False, steps=[], clarification_question=None, answer=_CANNOT_MEND)
    return json.dumps(plan, ensure_ascii=False)


_CANNOT_MEND = (
    "Шаг не выполнен, офлайн-планировщик другого пути не знает. "
    "A step failed and the offline planner knows no other way."
)


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, dict) else ""


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _question(texts: list[tuple[str, str]]) -> tuple[int, str]:
    """Return the place of the message with the question, and the question."""
    users = [place for place, (role, _text_) in enumerate(texts) if role == "user"]
    for place in reversed(users):
        # Lines of their own, the last closing one: a person may type a tag into the question.
        found = re.search(r"^<question>\n(.*)\n</question>", texts[place][1], re.DOTALL | re.MULTILINE)
        if found:
            return place, found.group(1)
    return (users[-1], texts[users[-1]][1]) if users else (len(texts) - 1, "")


def _previous(text: str) -> dict[str, Any] | None:
    found = re.search(r"^<previous>\n(.*?)\n</previous>$", text, re.DOTALL | re.MULTILINE)
    if not found:
        return None
    try:
        value = json.loads(found.group(1))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class PlannerHandler(BaseHTTPRequestHandler):
    """GET /v1/models and POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"
    server_version = "OfflinePlanner"

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: questions do not belong in a log."""

    def do_GET(self) -> None:
        """List the one model."""
        path = self.path.split("?")[0].rstrip("/")
        model = {"id": MODEL_ID, "name": MODEL_NAME, "object": "model", "created": 0, "owned_by": "demo"}
        if path in ("/v1/models", "/models"):
            self._send(200, {"object": "list", "data": [model]})
        elif path in (f"/v1/models/{MODEL_ID}", f"/models/{MODEL_ID}"):
            self._send(200, model)
        else:
            self._fail(404, f"no such address: {path}")

    def do_POST(self) -> None:
        """Answer a chat completion, whole or as a stream."""
        body = self._body()
        if body is None:
            return
        if self.path.split("?")[0].rstrip("/") not in ("/v1/chat/completions", "/chat/completions"):
            self._fail(404, f"no such address: {self.path}")
            return
        try:
            data = json.loads(body)
        except ValueError:
            self._fail(400, "the body is not JSON")
            return
        messages = data.get("messages") if isinstance(data, dict) else None
        if not isinstance(messages, list) or not messages:
            self._fail(400, "messages must be a list that is not empty")
            return
        content = reply_to(messages)
        usage = _usage("".join(_text(message) for message in messages), content)
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL_ID}
        if data.get("stream"):
            options = data.get("stream_options")
            told = isinstance(options, dict) and bool(options.get("include_usage"))
            self._stream(head, content, usage if told else None)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        self._send(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self._fail(411, "Content-Length is required", close=True)
            return None
        if int(length) > MAX_BODY_BYTES:
            self._fail(413, f"the body is larger than {MAX_BODY_BYTES} bytes", close=True)
            return None
        return self.rfile.read(int(length))

    def _stream(self, head: dict[str, Any], content: str, usage: dict[str, int] | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        pieces = [content[place : place + _CHUNK_LETTERS] for place in range(0, len(content), _CHUNK_LETTERS)]
        deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
        deltas.extend(({"content": piece}, None) for piece in pieces)
        deltas.append(({}, "stop"))
        try:
            for delta, reason in deltas:
                choice = {"index": 0, "delta": delta, "finish_reason": reason}
                self._event({**head, "object": "chat.completion.chunk", "choices": [choice]})
            if usage is not None:
                self._event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            # The reader has gone; there is nobody to tell.
            return

    def _event(self, value: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode())
        self.wfile.flush()

    def _send(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _fail(self, status: int, message: str, *, close: bool = False) -> None:
        self.close_connection = self.close_connection or close
        self._send(status, {"error": {"message": message, "type": "invalid_request_error"}})


def _usage(prompt: str, content: str) -> dict[str, int]:
    """Return a rough count: three letters to a token."""
    asked, told = len(prompt) // 3 + 1, len(content) // 3 + 1
    return {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}


def serve(host: str, port: int) -> ThreadingHTTPServer:
    """Return a server bound to an address, not yet serving; port 0 takes a free one."""
    server = ThreadingHTTPServer((host, port), PlannerHandler)
    server.daemon_threads = True
    return server


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    server = serve(options.host, options.port)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
