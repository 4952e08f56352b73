"""Open WebUI as the host: its completion call, its events, its file store.

The only module that imports `open_webui`, and only inside functions: it loads without the host.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pipe.model import Messages, ModelReply, read_completion
from schemas.clarification import Clarification
from schemas.errors import AgentError, ConfigError, ModelTimeout, ModelUnavailable
from schemas.language import Both, Language

host_log = logging.getLogger("portfolio_agent.host")

Emitter = Callable[[dict[str, Any]], Awaitable[Any]]
# Asks the page something and waits for its answer.
Caller = Callable[[dict[str, Any]], Awaitable[Any]]

# The shortest wait the host allows; a little more for the way there and back.
_CARD_MS = 60_000
_CARD_PATIENCE_S = 75


class HostModel:
    """A model configured in Open WebUI, called through the host."""

    def __init__(self, request: Any, user: Mapping[str, Any], name: str, *, timeout_s: float) -> None:
        self.name = name
        self._request = request
        self._user = user
        self._timeout_s = timeout_s

    async def complete(self, messages: Messages) -> ModelReply:
        """Return one reply of the model."""
        from open_webui.models.users import Users
        from open_webui.utils.chat import generate_chat_completion

        user = Users.get_user_by_id(self._user["id"])
        if asyncio.iscoroutine(user):
            user = await user
        # The host changes the dictionary it is given, hence a fresh one per call.
        form = {
            "model": self.name,
            "messages": [dict(item) for item in messages],
            "stream": False,
            "temperature": 0,
        }
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await generate_chat_completion(
                    self._request, form, user, bypass_filter=True, bypass_system_prompt=True
                )
                return read_completion(await _as_data(reply))
        except TimeoutError:
            raise ModelTimeout(
                Both(
                    f"Модель {self.name} не ответила за {self._timeout_s:g} с.",
                    f"Model {self.name} did not answer in {self._timeout_s:g} s.",
                )
            ) from None
        except AgentError:
            raise
        except Exception as error:
            host_log.warning("model %s: %s", self.name, type(error).__name__)
            raise ModelUnavailable(_model_refused(self.name)) from None


def _model_refused(name: str) -> Both:
    return Both(
        f"Модель {name} не отвечает: проверьте подключение в настройках Open WebUI.",
        f"Model {name} does not answer: check its connection in the settings of Open WebUI.",
    )


async def _as_data(reply: Any) -> Any:
    """Return the completion as data: the host answers with a dict, a response or a stream."""
    if isinstance(reply, dict):
        if reply.get("error"):
            raise ModelUnavailable(
                Both("Модель вернула ошибку.", "The model returned an error.")
            )
        return reply
    iterator = getattr(reply, "body_iterator", None)
    if iterator is not None and not getattr(reply, "body", b""):
        return await _from_stream(iterator)
    body = getattr(reply, "body", b"")
    if int(getattr(reply, "status_code", 200)) >= 400:
        raise ModelUnavailable(
            Both(
                f"Модель отказала (HTTP {reply.status_code}).",
                f"The model refused (HTTP {reply.status_code}).",
            )
        )
    return json.loads(body)


async def _from_stream(iterator: Any) -> dict[str, Any]:
    """Gather a streamed completion into one."""
    text: list[str] = []
    thought: list[str] = []
    finish = None
    usage: dict[str, Any] = {}
    rest = ""
    async for piece in iterator:
        rest += piece.decode(errors="replace") if isinstance(piece, bytes) else str(piece)
        *lines, rest = rest.split("\n")
        for line in lines:
            if not line.startswith("data:") or line[5:].strip() in ("", "[DONE]"):
                continue
            try:
                data = json.loads(line[5:])
            except ValueError:
                continue
            usage = data.get("usage") or usage
            for choice in data.get("choices") or []:
                delta = choice.get("delta") or {}
                text.append(delta.get("content") or "")
                thought.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
                finish = choice.get("finish_reason") or finish
    message = {"content": "".join(text), "reasoning_content": "".join(thought)}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


async def choose_model(request: Any, user: Mapping[str, Any], wanted: str, own: str) -> str:
    """Return the id of the model that plans: the valve's, else the first that is not this pipe.

    Raises:
        ConfigError: there is no such model, or it is this pipe itself.
    """
    models = dict(getattr(request.app.state, "MODELS", None) or {})
    if not models:
        from open_webui.models.users import Users
        from open_webui.utils.models import get_all_models

        found = Users.get_user_by_id(user["id"])
        if asyncio.iscoroutine(found):
            found = await found
        await get_all_models(request, user=found)
        models = dict(getattr(request.app.state, "MODELS", None) or {})
    if wanted:
        if wanted in models and not _is_self(wanted, models, own):
            return wanted
        raise ConfigError(
            Both(
                f"Модели «{wanted}» в Open WebUI нет: проверьте настройку MODEL.",
                f"There is no model “{wanted}” in Open WebUI: check the valve MODEL.",
            )
        )
    for name in models:
        if not _is_self(name, models, own) and models[name].get("owned_by") != "arena":
            return str(name)
    raise ConfigError(
        Both(
            "В Open WebUI нет ни одной модели: подключите модель или заполните MODEL_URL.",
            "Open WebUI has no model: connect one or fill the valve MODEL_URL.",
        )
    )


def _is_self(name: str, models: Mapping[str, Any], own: str) -> bool:
    """Say whether a model is this pipe, or a workspace model or another pipe built on functions."""
    entry = models.get(name) or {}
    base = str((entry.get("info") or {}).get("base_model_id") or "")
    if own and own in (name, base, name.split(".", 1)[0], base.split(".", 1)[0]):
        return True
    return bool(entry.get("pipe")) or bool((models.get(base) or {}).get("pipe"))


async def emit_status(emitter: Emitter | None, text: str, *, done: bool) -> None:
    """Send one status line; a page that is gone is no error."""
    if emitter is None:
        return
    try:
        await emitter({"type": "status", "data": {"description": text, "done": done}})
    except Exception as error:
        host_log.debug("status not sent: %s", type(error).__name__)


async def attach_file(
    request: Any,
    user: Mapping[str, Any],
    metadata: Mapping[str, Any],
    name: str,
    data: bytes,
    content_type: str,
) -> str:
    """Store a file beside the message and return its address, relative to the host.

    Those a chat is shared with may open it too.
    """
    from open_webui.models.users import Users
    from open_webui.routers.files import upload_file_handler
    from starlette.datastructures import Headers, UploadFile

    owner = Users.get_user_by_id(user["id"])
    if asyncio.iscoroutine(owner):
        owner = await owner
    item = await upload_file_handler(
        request,
        file=UploadFile(
            file=io.BytesIO(data), filename=name, headers=Headers({"content-type": content_type})
        ),
        metadata={
            "chat_id": metadata.get("chat_id") or "",
            "message_id": metadata.get("message_id") or "",
        },
        process=False,
        user=owner,
    )
    file_id = item["id"] if isinstance(item, dict) else item.id
    if metadata.get("chat_id") and metadata.get("message_id"):
        from open_webui.models.chats import Chats

        linked = Chats.insert_chat_files(
            metadata["chat_id"], metadata["message_id"], [file_id], user["id"]
        )
        if asyncio.iscoroutine(linked):
            await linked
    return f"/api/v1/files/{file_id}/content"


async def ask_in_card(caller: Caller | None, question: Clarification, language: Language) -> str:
    """Return what the person chose or wrote in the host's choice card, "" without an answer.

    The option's number is returned for a choice. A page that is closed, or shows another chat,
    gives no answer: the host cancels the card, at the latest when its time is over.
    """
    if caller is None or len(question.options) < 2:
        return ""
    card = {
        "id": "choice",
        "header": Both("Уточнение", "Which one").to(language),
        "question": question.question.to(language),
        "options": [
            {"label": option.label.to(language), "description": option.detail.to(language)}
            for option in question.options
        ],
        "allow_other": True,
    }
    data = {"questions": [card], "allow_other": True, "timeout_ms": _CARD_MS}
    try:
        async with asyncio.timeout(_CARD_PATIENCE_S):
            reply = await caller({"type": "request:user_input", "data": data})
        answer = reply["answers"]["choice"]
        if answer["type"] == "other":
            return str(answer["text"]).strip()
        number = int(answer["option_index"]) + 1
    except TimeoutError:
        return ""
    except Exception as error:
        # Whatever a page sends back, the question is still there as text.
        host_log.debug("choice card: %s", type(error).__name__)
        return ""
    return str(number) if 1 <= number <= len(question.options) else ""
