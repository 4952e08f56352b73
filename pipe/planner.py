"""Question to plan: prompt, model, reading, validation, and one re-ask with all findings."""

from __future__ import annotations

from dataclasses import dataclass

from pipe.model import ChatModel, Messages
from pipe.reading import read_plan
from pipe.validation import Circumstances, findings_of, normalise_plan
from prompts.repair import render_repair
from schemas.errors import ModelReplyError, PlanError
from schemas.language import Both
from schemas.plan import Plan


@dataclass(frozen=True)
class Planned:
    """A plan that may run, what was mended in it, and how often the model was asked."""

    plan: Plan
    corrections: tuple[Both, ...]
    calls: int


async def make_plan(model: ChatModel, messages: Messages, facts: Circumstances) -> Planned:
    """Return a valid plan; the model is asked at most twice.

    Raises:
        ModelError: no reply.
        PlanError: no valid plan after the second reply.
    """
    asked = list(messages)
    findings: tuple[str, ...] = ()
    text = Both("", "")
    for call in (1, 2):
        reply = await model.complete(asked)
        try:
            plan, corrections = normalise_plan(read_plan(reply.text, cut=reply.cut), facts)
        except ModelReplyError as error:
            findings, text = (error.for_model,), error.text
        else:
            findings = findings_of(plan, facts)
            if not findings:
                return Planned(plan, corrections, call)
            text = Both(
                "Модель составила план, который нельзя выполнить.",
                "The model made a plan that cannot run.",
            )
        asked = [
            *messages,
            {"role": "assistant", "content": reply.text[:8000]},
            {"role": "user", "content": render_repair(findings)},
        ]
    raise PlanError(
        Both(
            f"{text.ru} Переформулируйте вопрос или выберите другую модель.",
            f"{text.en} Rephrase the question or choose another model.",
        ),
        findings=findings,
    )
