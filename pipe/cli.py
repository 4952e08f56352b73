"""The command line, for testers and administrators; it needs no Open WebUI.

Exit status: 0 answered, 2 usage, 3 clarification needed, 4 error.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import logging
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipe.agent import answer_question, run_plan
from pipe.checkup import check_setup
from pipe.format import without_markup
from pipe.model import ExternalModel
from pipe.reading import read_plan
from pipe.render import render_answer
from pipe.workplaces import workplace_for
from schemas.clarification import Clarification
from schemas.errors import AgentError, ConfigError, ModelReplyError
from schemas.events import Progress
from schemas.language import Both, Language, detect_language
from schemas.settings import Settings, valves_from_environment
from schemas.state import Answer, answer_to_json, dumps
from tools.all_tools import build_registry
from tools.asking import portfolio_question
from tools.catalogue import Catalogue
from tools.resolver import Resolver

ANSWERED, USAGE, CLARIFY, FAILED = 0, 2, 3, 4
_MARKS = {True: "✓", False: "✗", None: "!"}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(prog="python -m pipe", description="Portfolio Agent")
    commands = top.add_subparsers(dest="command", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", help="for machines")
        command.add_argument("--lang", choices=("ru", "en"), default=None)
        return command

    def database(command: argparse.ArgumentParser) -> None:
        command.add_argument("--dsn", help="chdb:///path or clickhouse://user:password@host:port/db")
        command.add_argument("--today", type=date.fromisoformat, default=None, metavar="YYYY-MM-DD")

    ask = add("ask", "ask a question")
    ask.add_argument("question")
    database(ask)
    ask.add_argument("--model-url")
    ask.add_argument("--model")
    ask.add_argument("--model-key")
    run = add("run", "run a plan without a model")
    run.add_argument("plan", help="file with a plan, - for standard input")
    database(run)
    resolve = add("resolve", "say which portfolio a name means")
    resolve.add_argument("name")
    database(resolve)
    add("tools", "print the tool schemas the model is given")
    check = add("check", "check the database and the settings")
    database(check)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    # What went wrong is said in a sentence; the logs of the driver and ours would only repeat it.
    logging.disable(logging.CRITICAL)
    language: Language = options.lang or detect_language(
        getattr(options, "question", None) or getattr(options, "name", None) or ""
    )
    try:
        return asyncio.run(_command(options, language))
    except AgentError as error:
        _print_error(error, options.json, language)
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return ANSWERED


def _print_error(error: AgentError, as_json: bool, language: Language) -> None:
    if as_json:
        print(dumps(answer_to_json(Answer("error", error.text), language)))
    else:
        print(error.say(language), file=sys.stderr)


async def _command(options: argparse.Namespace, language: Language) -> int:
    settings = _settings(options)
    if options.lang is None and settings.LANGUAGE != "auto":
        language = settings.LANGUAGE
    if options.command == "tools":
        schemas = build_registry().schemas(raw_sql=settings.RAW_SQL)
        print(json.dumps(schemas, ensure_ascii=False, indent=None if options.json else 1))
        return ANSWERED
    if options.command == "check":
        return await _check(settings, options, language)
    if options.command == "resolve":
        return await _resolve(settings, options, language)
    if options.command == "run":
        return await _run(settings, options, language)
    return await _ask(settings, options, language)


def _settings(options: argparse.Namespace) -> Settings:
    values: dict[str, Any] = dict(valves_from_environment())
    for option, valve in (
        ("dsn", "DSN"),
        ("model_url", "MODEL_URL"),
        ("model", "MODEL"),
        ("model_key", "MODEL_KEY"),
    ):
        if getattr(options, option, None):
            values[valve] = getattr(options, option)
    try:
        return Settings(**values)
    except ValidationError as error:
        names = ", ".join(str(item["loc"][0]) for item in error.errors(include_input=False))
        raise ConfigError(
            Both(f"Неверное значение настройки: {names}.", f"A setting has a wrong value: {names}.")
        ) from None


async def _ask(settings: Settings, options: argparse.Namespace, language: Language) -> int:
    if options.question.strip() and not settings.MODEL_URL:
        raise ConfigError(
            Both(
                "Не задан адрес модели: --model-url или PORTFOLIO_MODEL_URL.",
                "No model address: give --model-url or PORTFOLIO_MODEL_URL.",
            )
        )
    model = ExternalModel(
        settings.MODEL_URL, settings.MODEL, settings.MODEL_KEY, timeout_s=settings.MODEL_TIMEOUT_S
    )
    place = await workplace_for(settings)
    answer: Answer | None = None
    async for event in answer_question(
        options.question,
        model=model,
        place=place,
        settings=settings,
        today=options.today or date.today(),
    ):
        if isinstance(event, Progress):
            _status(event, options.json, language)
        else:
            answer = event
    return _print_answer(answer, settings, options.json, language)


async def _run(settings: Settings, options: argparse.Namespace, language: Language) -> int:
    text = _plan_text(options.plan)
    try:
        plan = read_plan(text)
    except ModelReplyError as error:
        raise ConfigError(
            Both(
                f"Это не план: {error.for_model}.",
                f"This is not a plan: {error.for_model}.",
            )
        ) from None
    if not plan.steps or plan.clarification_question:
        said = plan.clarification_question or plan.answer or ""
        empty = Both("В плане нет шагов.", "The plan has no steps.")
        status = "clarification" if plan.clarification_question else ("ok" if plan.answer else "error")
        answer = Answer(
            "clarification" if status == "clarification" else ("ok" if status == "ok" else "error"),
            Both(said, said) if said else empty,
            plan=plan,
            clarification=Clarification(Both(said, said), "question") if status == "clarification" else None,
        )
        return _print_answer(answer, settings, options.json, language)
    place = await workplace_for(settings)
    found: Answer | None = None
    async for event in run_plan(
        plan, place=place, settings=settings, today=options.today or date.today(), choices={}
    ):
        if isinstance(event, Progress):
            _status(event, options.json, language)
        else:
            found = event
    return _print_answer(found, settings, options.json, language)


def _plan_text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            Both(f"Файл {name} не читается.", f"The file {name} cannot be read.")
        ) from None


def _status(event: Progress, as_json: bool, language: Language) -> None:
    if not as_json and sys.stderr.isatty():
        print(f"… {event.text.to(language)}", file=sys.stderr)


def _print_answer(
    answer: Answer | None, settings: Settings, as_json: bool, language: Language
) -> int:
    if answer is None:
        raise ConfigError(Both("Ответа нет.", "There is no answer."))
    if as_json:
        print(dumps(answer_to_json(answer, language)))
    else:
        plain = settings.model_copy(update={"RECEIPT": False, "ROWS_IN_CHAT": 1000, "COLUMNS_IN_CHAT": 40})
        print(without_markup(render_answer(answer, plain, language, for_chat=False)))
    return {"ok": ANSWERED, "clarification": CLARIFY}.get(answer.status, FAILED)


async def _resolve(settings: Settings, options: argparse.Namespace, language: Language) -> int:
    place = await workplace_for(settings)
    found = await Resolver(Catalogue(place.client, place.dataset)).resolve(options.name)
    if options.json:
        shown = {
            "asked": found.asked,
            "outcome": found.outcome,
            "portfolio": _portfolio(found.portfolio) if found.portfolio else None,
            "candidates": [_portfolio(item) for item in found.candidates],
            "total": found.total,
            "reason": found.reason.to(language),
        }
        print(dumps(shown))
    else:
        print(f"{found.outcome}: {found.reason.to(language)}")
        for item in ([found.portfolio] if found.portfolio else list(found.candidates)):
            print(f"  {item.id}\t{item.code}\t{item.name}\t{item.type}\t{item.strategy}")
        if found.portfolio is None:
            print(portfolio_question(found).question.to(language))
    return ANSWERED if found.portfolio is not None else CLARIFY


def _portfolio(item: Any) -> dict[str, Any]:
    return {
        "InvestmentPortfolioID": item.id,
        "Portfolio": item.name,
        "PortfolioCode": item.code,
        "PortfolioClientCode": item.client_code,
        "PortfolioType": item.type,
        "Strategy": item.strategy,
        "Currency": item.currency,
    }


async def _check(settings: Settings, options: argparse.Namespace, language: Language) -> int:
    lines = await check_setup(settings)
    if options.json:
        print(dumps([{"ok": ok, "what": text.to(language)} for ok, text in lines]))
    else:
        for ok, text in lines:
            print(f"{_MARKS[ok]} {text.to(language)}")
    return FAILED if any(ok is False for ok, _text in lines) else ANSWERED
