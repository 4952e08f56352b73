"""Language models: one seam, and the client of an external OpenAI-compatible address."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from schemas.language import Both

_MOST_REPLY_BYTES = 4_000_000

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class ModelReply:
    """What a model sent: its text, its reasoning apart, and whether it was cut by length."""

    text: str
    reasoning: str = ""
    cut: bool = False
    prompt_tokens: int = 0
    reply_tokens: int = 0


class ChatModel(Protocol):
    """A model that answers a list of messages."""

    name: str

    async def complete(self, messages: Messages) -> ModelReply:
        """Return one reply.

        Raises:
            ModelError: no reply, in time or at all.
        """
        ...


def read_completion(data: Any) -> ModelReply:
    """Read a chat completion in the OpenAI shape.

    Raises:
        ModelReplyError: it is of another shape, or an error in a 200 reply.
    """
    choice = None
    if isinstance(data, dict) and isinstance(data.get("choices"), list) and data["choices"]:
        choice = data["choices"][0]
    if not isinstance(choice, dict):
        raise ModelReplyError(
            Both(
                "Сервер модели ответил не так, как OpenAI-совместимый.",
                "The model server's reply is not of the OpenAI shape.",
            ),
            for_model="the reply was empty",
        )
    message = choice.get("message") or choice.get("delta") or {}
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    reasoning = ""
    if isinstance(message, dict):
        reasoning = str(message.get("reasoning_content") or message.get("reasoning") or "")
    usage = data.get("usage")
    text = str(content or "")
    return ModelReply(
        text=text if text.strip() else reasoning,
        reasoning=reasoning,
        cut=choice.get("finish_reason") == "length",
        prompt_tokens=_tokens(usage, "prompt_tokens"),
        reply_tokens=_tokens(usage, "completion_tokens"),
    )


def _tokens(usage: Any, name: str) -> int:
    """Return a count of tokens; servers send anything there, or nothing."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return int(value) if isinstance(value, int | float) and value == value else 0


class ExternalModel:
    """A model at an OpenAI-compatible address; `requests` in a thread."""

    def __init__(self, url: str, name: str, key: str, *, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self.name = name
        self._key = key
        self._timeout_s = timeout_s

    async def complete(self, messages: Messages) -> ModelReply:
        """Return one reply; the address is said in errors, the key never."""
        call = asyncio.to_thread(self._post, messages)
        try:
            return await asyncio.wait_for(call, timeout=self._timeout_s + 5)
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> ModelTimeout:
        return ModelTimeout(
            Both(
                f"Модель не ответила за {self._timeout_s:g} с.",
                f"The model did not answer in {self._timeout_s:g} s.",
            )
        )

    def _post(self, messages: Messages) -> ModelReply:
        import requests
        import urllib3

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        deadline = time.monotonic() + self._timeout_s
        try:
            name = self.name or self._first_model(headers)
            with requests.post(
                f"{self.url}/chat/completions",
                json={"model": name, "messages": messages, "stream": False, "temperature": 0},
                headers=headers,
                timeout=(10, self._timeout_s),
                stream=True,
            ) as response:
                body = self._body(response, deadline)
        except (requests.Timeout, urllib3.exceptions.TimeoutError):
            raise self._late() from None
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            OSError,
            ValueError,
            TypeError,
            LookupError,
        ):
            raise ModelUnavailable(
                Both(
                    f"Модель по адресу {_host(self.url)} не отвечает: проверьте настройку MODEL_URL.",
                    f"No model answers at {_host(self.url)}: check the valve MODEL_URL.",
                )
            ) from None
        if response.status_code >= 500:
            raise ModelUnavailable(
                Both(
                    f"Сервер модели {_host(self.url)} ответил ошибкой (HTTP {response.status_code}): "
                    "повторите позже.",
                    f"The model server {_host(self.url)} failed (HTTP {response.status_code}): "
                    "try again later.",
                )
            )
        if response.status_code >= 400:
            raise ModelUnavailable(
                Both(
                    f"Сервер модели {_host(self.url)} отказал (HTTP {response.status_code}): "
                    "проверьте MODEL, MODEL_KEY.",
                    f"The model server {_host(self.url)} refused (HTTP {response.status_code}): "
                    "check MODEL, MODEL_KEY.",
                )
            )
        try:
            return read_completion(json.loads(body))
        except (ValueError, RecursionError):
            raise ModelUnavailable(
                Both(
                    f"По адресу {_host(self.url)} отвечает не сервер модели.",
                    f"What answers at {_host(self.url)} is not a model server.",
                )
            ) from None

    def _body(self, response: Any, deadline: float) -> bytes:
        """Return the body, read piece by piece: a server may send one byte a minute."""
        pieces: list[bytes] = []
        size = 0
        # read1 gives what has arrived; iter_content would wait for a whole piece.
        while piece := response.raw.read1(65_536, decode_content=True):
            pieces.append(piece)
            size += len(piece)
            if time.monotonic() > deadline:
                raise self._late()
            if size > _MOST_REPLY_BYTES:
                raise ValueError("the reply is too long")
        return b"".join(pieces)

    def _first_model(self, headers: dict[str, str]) -> str:
        import requests

        response = requests.get(f"{self.url}/models", headers=headers, timeout=(10, 20))
        data = response.json() if response.ok else {}
        listed = data.get("data") if isinstance(data, dict) else None
        first = listed[0] if isinstance(listed, list) and listed else None
        return str(first.get("id") or "default") if isinstance(first, dict) else "default"


def _host(url: str) -> str:
    """Return scheme, host and port of an address, without user, password and query."""
    scheme, _, rest = url.partition("://")
    host = (rest or scheme).rsplit("@", 1)[-1].split("/", 1)[0].split("?", 1)[0][:80]
    return f"{scheme}://{host}" if rest else host
