"""The Open WebUI function: takes a frozen snapshot of the call and streams one answer."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from pipe.agent import answer_question
from pipe.files import attach_tables
from pipe.memory import recall, text_of
from pipe.model import ChatModel, ExternalModel
from pipe.openwebui import Emitter, HostModel, choose_model, emit_status
from pipe.render import render_answer
from pipe.tasks import answer_task
from pipe.workplaces import workplace_for
from schemas.errors import AgentError
from schemas.events import Progress
from schemas.language import Both, Language, detect_language
from schemas.settings import PortfolioValves, Settings

pipe_log = logging.getLogger("portfolio_agent")

FUNCTION_ID = "portfolio_agent"


class Pipe:
    """Portfolio Agent. Keeps nothing of a question on itself: all users share one instance."""

    class Valves(PortfolioValves):
        """What an administrator sets."""

    class UserValves(BaseModel):
        """What each person may set."""

        LANGUAGE: str = Field(default="auto", description="auto, ru or en.")
        ROWS_IN_CHAT: int = Field(default=0, ge=0, le=1000, description="Rows shown; 0: as usual.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipe(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __request__: Any = None,
        __event_emitter__: Emitter | None = None,
        __metadata__: dict[str, Any] | None = None,
        __task__: str | None = None,
        __task_body__: dict[str, Any] | None = None,
    ) -> Any:
        """Answer a task at once, a question as a stream of text."""
        if __task__:
            return answer_task(str(__task__), {**body, "task_body": __task_body__ or {}})
        user, metadata = dict(__user__ or {}), dict(__metadata__ or {})
        settings = Settings(**{**self.valves.model_dump(), **_personal(user)})
        stream = self._answer(body, settings, user, metadata, __request__, __event_emitter__)
        if body.get("stream"):
            return stream
        return "".join([piece async for piece in stream if isinstance(piece, str)])

    async def _answer(
        self,
        body: Mapping[str, Any],
        settings: Settings,
        user: Mapping[str, Any],
        metadata: Mapping[str, Any],
        request: Any,
        emitter: Emitter | None,
    ) -> AsyncIterator[str]:
        messages = list(body.get("messages") or [])
        question = _typed_question(messages, metadata)
        language: Language = _language(settings, question)
        live = emitter if metadata.get("chat_id") and metadata.get("session_id") else None
        try:
            place = await workplace_for(settings)
            model = await _model(settings, request, user, metadata)
            async for event in answer_question(
                question,
                model=model,
                place=place,
                settings=settings,
                today=datetime.now().astimezone().date(),
                previous=recall(messages[:-1]),
            ):
                if isinstance(event, Progress):
                    await emit_status(live, event.text.to(language), done=False)
                    continue
                links = await attach_tables(event, settings, language, request, user, metadata)
                text = await asyncio.to_thread(
                    render_answer, event, settings, language, files=links
                )
                await emit_status(live, _last_status(event.status).to(language), done=True)
                yield text
        except AgentError as error:
            pipe_log.info("question ended: %s", type(error).__name__)
            await emit_status(live, Both("Не получилось", "It did not work").to(language), done=True)
            yield f"❌ {error.say(language)}"
        except Exception:
            number = secrets.token_hex(4)
            pipe_log.exception("unexpected error %s", number)
            await emit_status(live, Both("Не получилось", "It did not work").to(language), done=True)
            yield "❌ " + Both(
                f"Внутренняя ошибка {number}: сообщите номер администратору.",
                f"Internal error {number}: tell the number to the administrator.",
            ).to(language)


def _last_status(status: str) -> Both:
    return {
        "ok": Both("Готово", "Done"),
        "clarification": Both("Нужно уточнение", "A question to you"),
    }.get(status, Both("Не получилось", "It did not work"))


def _personal(user: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the person's own valves change."""
    valves = user.get("valves")
    chosen: dict[str, Any] = {}
    if getattr(valves, "LANGUAGE", "auto") in ("ru", "en"):
        chosen["LANGUAGE"] = getattr(valves, "LANGUAGE")  # noqa: B009 - valves may be any object
    if int(getattr(valves, "ROWS_IN_CHAT", 0) or 0) > 0:
        chosen["ROWS_IN_CHAT"] = getattr(valves, "ROWS_IN_CHAT")  # noqa: B009
    return chosen


def _typed_question(messages: list[Any], metadata: Mapping[str, Any]) -> str:
    """Return what the person typed; with attached files the host rewrites the last message."""
    typed = metadata.get("base_user_prompt")
    if isinstance(typed, str) and typed.strip():
        return typed
    users = [item for item in messages if item.get("role") == "user"]
    return text_of(users[-1].get("content")) if users else ""


def _language(settings: Settings, question: str) -> Language:
    return settings.LANGUAGE if settings.LANGUAGE != "auto" else detect_language(question)


async def _model(
    settings: Settings, request: Any, user: Mapping[str, Any], metadata: Mapping[str, Any]
) -> ChatModel:
    if settings.MODEL_URL:
        return ExternalModel(
            settings.MODEL_URL,
            settings.MODEL,
            settings.MODEL_KEY,
            timeout_s=settings.MODEL_TIMEOUT_S,
        )
    own = str((metadata.get("model") or {}).get("id") or FUNCTION_ID)
    name = await choose_model(request, user, settings.MODEL, own)
    return HostModel(request, user, name, timeout_s=settings.MODEL_TIMEOUT_S)
