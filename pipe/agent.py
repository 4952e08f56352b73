"""One question, start to end: plan, validate, run, ask back, plan anew, join."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from pipe.executor import SkippedStep, execute
from pipe.headline import headline
from pipe.join import join_results
from pipe.memory import Turn, chosen_option
from pipe.model import ChatModel
from pipe.period_check import AskedDays
from pipe.planner import make_plan
from pipe.validation import Circumstances, findings_of, normalise_plan
from prompts.planner import OfferedOperation, describe_operations, render_planner_prompt
from prompts.replanner import render_replanner
from schemas.dataset import Dataset
from schemas.errors import (
    AgentError,
    ClarificationNeeded,
    InvalidArgs,
    NoData,
    PlanError,
    QueryError,
)
from schemas.events import Event, Progress
from schemas.language import Both
from schemas.periods import DataDays, named_periods
from schemas.plan import Plan, Step
from schemas.settings import Settings
from schemas.state import Answer, StepResult
from schemas.table import Notice
from tools.catalogue import Catalogue
from tools.clickhouse import ClickHouse
from tools.context import ToolContext
from tools.inspection import data_days
from tools.registry import Registry
from tools.resolver import Resolver

MAX_QUESTION = 4000
FRESH_DAYS_S = 30
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass
class Workplace:
    """What all questions share: the database, its description, the tools."""

    client: ClickHouse
    dataset: Dataset
    registry: Registry
    days: tuple[float, DataDays] | None = None

    async def context(self, settings: Settings, today: date, choices: Mapping[str, str]) -> ToolContext:
        """Return a fresh context for one question."""
        catalogue = Catalogue(self.client, self.dataset)
        return ToolContext(
            client=self.client,
            dataset=self.dataset,
            catalogue=catalogue,
            resolver=Resolver(catalogue),
            settings=settings,
            today=today,
            data=await self._days(),
            choices=choices,
        )

    async def _days(self) -> DataDays:
        """Return the days with data, asked of the database every FRESH_DAYS_S seconds at most."""
        if self.days is None or time.monotonic() - self.days[0] > FRESH_DAYS_S:
            self.days = (time.monotonic(), await data_days(self.client, self.dataset))
        return self.days[1]

    def circumstances(
        self,
        settings: Settings,
        done: frozenset[str] = frozenset(),
        asked: AskedDays | None = None,
    ) -> Circumstances:
        """Return what plans are validated against; `asked` is the question and its day."""
        return Circumstances(
            registry=self.registry,
            dataset=self.dataset,
            raw_sql=settings.RAW_SQL,
            max_steps=settings.MAX_STEPS,
            done=done,
            asked=asked,
        )


@dataclass
class Progresses:
    """Statuses told by steps while they run, in order; read by the loop that yields them."""

    queue: asyncio.Queue[Progress] = field(default_factory=asyncio.Queue)

    def teller(self, registry: Registry) -> Callable[[Step, int, int], None]:
        """Return what the executor calls when a step begins."""

        def started(step: Step, number: int, count: int) -> None:
            operation = registry.operation(step.tool, step.operation)
            title = operation.title if operation else Both(step.tool, step.tool)
            self.queue.put_nowait(
                Progress(
                    Both(
                        f"Шаг {number} из {count}: {title.ru}",
                        f"Step {number} of {count}: {title.en}",
                    )
                )
            )

        return started


async def answer_question(
    question: str,
    *,
    model: ChatModel,
    place: Workplace,
    settings: Settings,
    today: date,
    previous: Turn | None = None,
) -> AsyncIterator[Event]:
    """Yield statuses, then one Answer.

    Raises:
        AgentError: nothing could be answered; the caller shows its sentence.
    """
    began = time.monotonic()
    words = question.strip()
    if not words:
        yield _bare_answer("error", Both("Вопрос пуст.", "The question is empty."))
        return
    if len(words) > MAX_QUESTION:
        yield _bare_answer(
            "error",
            Both(
                f"Вопрос слишком длинный: {len(words)} знаков, можно до {MAX_QUESTION}.",
                f"The question is too long: {len(words)} characters, at most {MAX_QUESTION}.",
            ),
        )
        return
    continued = await _continued(words, previous, place, settings, today)
    if continued is not None:
        plan, choices = continued
        async for event in run_plan(
            plan,
            place=place,
            settings=settings,
            today=today,
            choices=choices,
            question=previous.question if previous else words,
            model=model,
        ):
            yield event
        return
    yield Progress(Both("Составляю план", "Making a plan"))
    context = await place.context(settings, today, {})
    messages = _prompt(words, place, settings, context, previous)
    asked_days = AskedDays(words, today, context.data, follow_up=previous is not None)
    planned = await make_plan(model, messages, place.circumstances(settings, asked=asked_days))
    plan = planned.plan
    # A plan that asks and acts at once asks: a guess beside a question is still a guess.
    if not plan.steps or plan.clarification_question:
        asked = plan.clarification_question
        text = asked or plan.answer or ""
        if figures_beside(text, words):
            raise PlanError(
                Both(
                    "Модель ответила цифрой, не обратившись к данным; такая цифра не показана. "
                    "Спросите иначе или выберите другую модель.",
                    "The model answered with a figure without asking the data; it is not shown. "
                    "Ask otherwise or choose another model.",
                ),
                findings=("the answer holds a figure; figures come from tools only",),
            )
        status = "clarification" if asked else "ok"
        yield replace(
            _bare_answer(status, Both(text, text)),
            plan=plan,
            question=words,
            model_calls=planned.calls,
            elapsed_s=time.monotonic() - began,
        )
        return
    async for event in run_plan(
        plan,
        place=place,
        settings=settings,
        today=today,
        # Who was chosen stays chosen: the same words in this chat mean the same portfolio.
        choices=previous.choices if previous else {},
        question=words,
        model=model,
        messages=messages,
        corrections=planned.corrections,
        calls=planned.calls,
    ):
        yield replace(event, elapsed_s=time.monotonic() - began) if isinstance(event, Answer) else event


def figures_beside(text: str, question: str) -> bool:
    """Say whether a model's own text has a number that is neither in the question nor a year."""
    known = set(_FIGURE.findall(question))
    return any(
        number not in known and not re.fullmatch(r"(?:19|20)\d\d", number)
        for number in _FIGURE.findall(text)
    )


def _bare_answer(status: str, text: Both) -> Answer:
    if status == "clarification":
        return Answer("clarification", text)
    return Answer("error" if status == "error" else "ok", text)


def _prompt(
    question: str,
    place: Workplace,
    settings: Settings,
    context: ToolContext,
    previous: Turn | None,
) -> list[dict[str, str]]:
    offered = [
        OfferedOperation(
            tool=tool.name, name=item.name, description=item.description, args=item.args
        )
        for tool, operations in place.registry.offered(place.dataset, raw_sql=settings.RAW_SQL)
        for item in operations
    ]
    return render_planner_prompt(
        operations=describe_operations(offered) + _columns_for_sql(place, settings),
        periods=named_periods(context.today, context.last_day, context.data),
        today=context.today,
        last_day=context.last_day,
        previous=(previous.question, previous.plan) if previous else None,
        question=question,
    )


def _columns_for_sql(place: Workplace, settings: Settings) -> str:
    """Return the table and its columns, for the planner that writes a SELECT of its own."""
    if not settings.RAW_SQL:
        return ""
    dataset = place.dataset
    lines = [f"\nTable for run_select_query: {dataset.table} ({', '.join(dataset.columns.values())})"]
    if dataset.split:
        lines.append(f"\nand {dataset.money_table} ({', '.join(dataset.money_columns.values())})")
    return "".join(lines)


async def _continued(
    words: str, previous: Turn | None, place: Workplace, settings: Settings, today: date
) -> tuple[Plan, dict[str, str]] | None:
    """Return the earlier plan and choices when `words` answer what was asked back."""
    if previous is None or not previous.asked_about:
        return None
    option = chosen_option(words, previous.options)
    if option is not None:
        return previous.plan, {**previous.choices, previous.asked_about: option.value}
    if previous.options and re.fullmatch(r"\W*\d{1,3}\W*", words):
        # A number no option has: the same question again, not whatever has that id.
        return previous.plan, dict(previous.choices)
    if previous.subject == "portfolio" and len(words) <= 80:
        context = await place.context(settings, today, {})
        found = await context.resolver.resolve(words)
        if found.portfolio is not None and found.outcome == "exact":
            return (
                previous.plan,
                {**previous.choices, previous.asked_about: str(found.portfolio.id)},
            )
    return None


async def run_plan(
    plan: Plan,
    *,
    place: Workplace,
    settings: Settings,
    today: date,
    choices: Mapping[str, str],
    question: str = "",
    model: ChatModel | None = None,
    messages: list[dict[str, str]] | None = None,
    corrections: Sequence[Both] = (),
    calls: int = 0,
) -> AsyncIterator[Event]:
    """Validate and run a plan, with the model's help after an error where there is a model."""
    context = await place.context(settings, today, choices)
    results: dict[str, StepResult] = {}
    said = list(corrections)
    current = as_run = plan
    seen_errors: set[tuple[str, str]] = set()
    for attempt in range(settings.MAX_REPLANS + 1):
        facts = place.circumstances(settings, frozenset(_named(results)))
        current, mended = normalise_plan(current, facts)
        said.extend(item for item in mended if item not in said)
        findings = findings_of(current, facts)
        if findings:
            raise PlanError(
                Both(
                    f"План нельзя выполнить: {'; '.join(findings[:5])}.",
                    f"The plan cannot run: {'; '.join(findings[:5])}.",
                ),
                findings=findings,
            )
        progresses = Progresses()
        work = asyncio.create_task(
            execute(
                current,
                registry=place.registry,
                context=context,
                done=_named(results),
                started=progresses.teller(place.registry),
            )
        )
        try:
            async for progress in _told(work, progresses):
                yield progress
        finally:
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
        for result in work.result():
            results[result.id] = result
        failed = [item for item in results.values() if item.error is not None]
        asking = next((f.error for f in failed if isinstance(f.error, ClarificationNeeded)), None)
        if asking is not None:
            yield _asked(asking, as_run, question, choices, list(results.values()), said, calls)
            return
        repairable = [item for item in failed if item.error and item.error.remedy == "model"]
        fingerprints = {(item.tool, item.error.text.en) for item in repairable if item.error}
        if (
            not repairable
            or model is None
            or messages is None
            or attempt == settings.MAX_REPLANS
            or fingerprints & seen_errors
        ):
            break
        seen_errors |= fingerprints
        yield Progress(Both("Исправляю план", "Mending the plan"))
        again = [*messages, {"role": "user", "content": _replan_text(results)}]
        kept = {key: item for key, item in results.items() if item.error is None}
        try:
            planned = await make_plan(
                model, again, place.circumstances(settings, frozenset(_named(kept)))
            )
        except AgentError:
            break
        calls += planned.calls
        if not planned.plan.steps:
            break
        said.extend(planned.corrections)
        results = kept
        current = planned.plan
        # What the next turn goes on from: finished steps and the new ones.
        finished = tuple(step for step in as_run.steps if step.id in kept)
        as_run = current.model_copy(update={"steps": (*finished, *current.steps)})
    yield Progress(Both("Собираю таблицу", "Joining the table"))
    yield await asyncio.to_thread(
        _finished, list(results.values()), as_run, question, choices, said, calls
    )


async def _told(
    work: asyncio.Task[list[StepResult]], progresses: Progresses
) -> AsyncIterator[Progress]:
    while not work.done():
        waiting = asyncio.create_task(progresses.queue.get())
        try:
            await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield waiting.result()
        finally:
            waiting.cancel()
    while not progresses.queue.empty():
        yield progresses.queue.get_nowait()


def _named(results: Mapping[str, StepResult]) -> dict[str, StepResult]:
    return {name: item for item in results.values() for name in (item.names or (item.id,))}


def _replan_text(results: Mapping[str, StepResult]) -> str:
    done = [
        f"{item.id} ({item.tool}): {len(item.table.rows)} rows, columns {', '.join(item.table.names)}"
        for item in results.values()
        if item.table is not None
    ]
    failed = []
    for item in results.values():
        if item.error is None or isinstance(item.error, SkippedStep):
            continue
        detail = item.error.kind
        if isinstance(item.error, InvalidArgs):
            detail = item.error.for_model
        if isinstance(item.error, QueryError):
            detail = f"{item.error.name} (code {item.error.code}) {item.error.hint}"
        failed.append(f"{item.id} ({item.tool}): {detail}")
    return render_replanner(done, failed)


def _asked(
    error: ClarificationNeeded,
    plan: Plan,
    question: str,
    choices: Mapping[str, str],
    results: list[StepResult],
    said: list[Both],
    calls: int,
) -> Answer:
    return Answer(
        status="clarification",
        message=error.clarification.question,
        results=tuple(results),
        clarification=error.clarification,
        plan=plan,
        question=question,
        choices=dict(choices),
        corrections=tuple(said),
        model_calls=calls,
    )


def _finished(
    results: list[StepResult],
    plan: Plan,
    question: str,
    choices: Mapping[str, str],
    said: list[Both],
    calls: int,
) -> Answer:
    tables = join_results(results)
    errors = [item for item in results if item.error is not None]
    notices = list(
        dict.fromkeys(notice for item in results if item.table for notice in item.table.notices)
    )
    real = [item for item in errors if not isinstance(item.error, SkippedStep)]
    for item in real:
        if item.error is not None and tables:
            notices.append(
                Notice(
                    "step_failed",
                    Both(
                        f"Шаг «{item.id}» не выполнен: {item.error.text.ru}",
                        f"Step “{item.id}” failed: {item.error.text.en}",
                    ),
                )
            )
    status = "ok"
    message = headline(tables, results)
    if errors and not any(table.rows for table in tables):
        first = (real or errors)[0].error
        if first is not None:
            status = "ok" if isinstance(first, NoData) else "error"
            message = first.text
    elif not any(table.rows for table in tables) and notices:
        told = [item for item in notices if item.level == "warning"] or notices
        message = Both(
            " ".join(item.text.ru for item in told), " ".join(item.text.en for item in told)
        )
    return Answer(
        status="error" if status == "error" else "ok",
        message=message,
        results=tuple(results),
        tables=tables,
        notices=tuple(notices),
        plan=plan,
        question=question,
        choices=dict(choices),
        corrections=tuple(said),
        model_calls=calls,
    )
