"""Language models: one seam, and the client of an external OpenAI-compatible address."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from schemas.language import Both

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
    usage = data.get("usage") or {}
    text = str(content or "")
    return ModelReply(
        text=text if text.strip() else reasoning,
        reasoning=reasoning,
        cut=choice.get("finish_reason") == "length",
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        reply_tokens=int(usage.get("completion_tokens") or 0),
    )


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

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            name = self.name or self._first_model(headers)
            response = requests.post(
                f"{self.url}/chat/completions",
                json={"model": name, "messages": messages, "stream": False, "temperature": 0},
                headers=headers,
                timeout=(10, self._timeout_s),
            )
        except requests.Timeout:
            raise self._late() from None
        except (requests.RequestException, ValueError):
            raise ModelUnavailable(
                Both(
                    f"Модель по адресу {_host(self.url)} не отвечает: проверьте настройку MODEL_URL.",
                    f"No model answers at {_host(self.url)}: check the valve MODEL_URL.",
                )
            ) from None
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
            return read_completion(json.loads(response.content))
        except ValueError:
            raise ModelUnavailable(
                Both(
                    f"По адресу {_host(self.url)} отвечает не сервер модели.",
                    f"What answers at {_host(self.url)} is not a model server.",
                )
            ) from None

    def _first_model(self, headers: dict[str, str]) -> str:
        import requests

        response = requests.get(f"{self.url}/models", headers=headers, timeout=(10, 20))
        listed = response.json().get("data", []) if response.ok else []
        return str(listed[0]["id"]) if listed else "default"


def _host(url: str) -> str:
    """Return scheme, host and port of an address, without user, password and query."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rsplit('@', 1)[-1].split('/', 1)[0]}" if rest else url[:60]
