"""The Open WebUI function: takes a frozen snapshot of the call and streams one answer."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from pipe.agent import answer_question
from pipe.files import attach_tables
from pipe.memory import recall, text_of, turn_of
from pipe.model import ChatModel, ExternalModel
from pipe.openwebui import Caller, Emitter, HostModel, ask_in_card, choose_model, emit_status
from pipe.render import render_answer
from pipe.tasks import answer_task
from pipe.workplaces import workplace_for
from schemas.errors import AgentError
from schemas.events import Progress
from schemas.language import Both, Language, detect_language
from schemas.settings import PortfolioValves, Settings
from schemas.state import Answer

pipe_log = logging.getLogger("portfolio_agent")

FUNCTION_ID = "portfolio_agent"
# Cards in a row for one question: two names, say, and a type.
_MOST_CARDS = 3


@dataclass(frozen=True)
class Page:
    """The way to the page that asked; nothing where there is no page."""

    emitter: Emitter | None = None
    caller: Caller | None = None


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
        __event_call__: Caller | None = None,
        __metadata__: dict[str, Any] | None = None,
        __task__: str | None = None,
        __task_body__: dict[str, Any] | None = None,
    ) -> Any:
        """Answer a task at once, a question as a stream of text."""
        if __task__:
            return answer_task(str(__task__), {**body, "task_body": __task_body__ or {}})
        user, metadata = dict(__user__ or {}), dict(__metadata__ or {})
        settings = Settings(**{**self.valves.model_dump(), **_personal(user)})
        page = _page(metadata, __event_emitter__, __event_call__)
        stream = self._answer(body, settings, user, metadata, __request__, page)
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
        page: Page,
    ) -> AsyncIterator[str]:
        messages = list(body.get("messages") or [])
        question = _typed_question(messages, metadata)
        language: Language = _language(settings, question)
        live = page.emitter
        try:
            place = await workplace_for(settings)
            model = await _model(settings, request, user, metadata)
            words, previous = question, recall(messages[:-1])
            event: Answer | None = None
            for _round in range(_MOST_CARDS + 1):
                async for told in answer_question(
                    words,
                    model=model,
                    place=place,
                    settings=settings,
                    today=datetime.now().astimezone().date(),
                    previous=previous,
                ):
                    if isinstance(told, Progress):
                        await emit_status(live, told.text.to(language), done=False)
                    else:
                        event = told
                words = await _asked_in_card(event, page, settings, language)
                if not words or event is None:
                    break
                previous = turn_of(event)
            if event is not None:
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


def _page(metadata: Mapping[str, Any], emitter: Emitter | None, caller: Caller | None) -> Page:
    """Return the page of the call; a plain API call has functions that lead nowhere."""
    if metadata.get("chat_id") and metadata.get("session_id"):
        return Page(emitter, caller)
    return Page()


async def _asked_in_card(
    event: Answer | None, page: Page, settings: Settings, language: Language
) -> str:
    """Return the words the person chose in a card, "" where there is nothing to ask or no answer."""
    question = event.clarification if event is not None else None
    if question is None or not question.options or not settings.CHOICE_CARD or page.caller is None:
        return ""
    waiting = Both("Жду выбора в карточке над полем ввода", "Waiting for a choice in the card above")
    await emit_status(page.emitter, waiting.to(language), done=False)
    return await ask_in_card(page.caller, question, language)


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
