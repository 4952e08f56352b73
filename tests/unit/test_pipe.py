"""The function as the host calls it, with a scripted model: texts, tasks, follow-ups, errors."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from pipe.bundle import write_bundle
from pipe.pipe import Pipe
from tests.bundle.host_loader import load_function
from tests.conftest import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]

AMBIGUOUS = json.dumps(
    {
        "intent": "profitability",
        "steps": [
            {
                "id": "r",
                "tool": "profit_tool",
                "args": {
                    "operation": "get_profit_of_portfolio",
                    "portfolio_names": ["Меридиан Облигации"],
                    "start_date": "2024-01-01",
                    "end_date": "2024-12-31",
                },
                "show_data": True,
            }
        ],
    },
    ensure_ascii=False,
)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_bundle(ROOT, tmp_path_factory.mktemp("bundle")).read_text(encoding="utf-8")


@pytest.fixture(params=["packages", pytest.param("bundle", marks=pytest.mark.slow)])
def pipe(
    request: pytest.FixtureRequest, demo_dsn: str, scripted_model: ScriptedModel, bundled: str
) -> Any:
    made = Pipe() if request.param == "packages" else load_function(bundled)
    made.valves = made.Valves(DSN=demo_dsn, MODEL_URL=scripted_model.url)
    return made


def asked(*texts: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]}


async def test_the_answer_of_the_next_turn_continues_the_plan(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    scripted_model.replies.append(AMBIGUOUS)
    question = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    assert "1. ДУ Меридиан Облигации" in question

    for reply, code in (("2", "PIF-000204"), ("второй", "PIF-000204"), ("DU-000105", "DU-000105")):
        answer = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", question, reply))
        assert code in answer.split("<details>")[0]
    assert len(scripted_model.requests) == 1


CARD_ANSWERS: dict[str, tuple[Any, str]] = {
    "option": ({"status": "answered", "answers": {"choice": {"type": "option", "option_index": 1}}}, "PIF-000204"),
    "other": ({"status": "answered", "answers": {"choice": {"type": "other", "text": "DU-000105"}}}, "DU-000105"),
    "cancelled": ({"status": "cancelled", "answers": {}}, "1. ДУ Меридиан Облигации"),
    "disconnected": ({"error": "Client session disconnected."}, "1. ДУ Меридиан Облигации"),
    "nothing": (None, "1. ДУ Меридиан Облигации"),
    "no_such_option": (
        {"status": "answered", "answers": {"choice": {"type": "option", "option_index": 40}}},
        "1. ДУ Меридиан Облигации",
    ),
    "an_exception": (RuntimeError("gone"), "1. ДУ Меридиан Облигации"),
}


@pytest.mark.parametrize("kind", CARD_ANSWERS)
async def test_the_choice_card_answers_or_leaves_the_text(
    pipe: Pipe, scripted_model: ScriptedModel, kind: str
) -> None:
    reply, shown = CARD_ANSWERS[kind]
    cards: list[dict[str, Any]] = []

    async def page(event: dict[str, Any]) -> Any:
        cards.append(event)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def ignore(_event: dict[str, Any]) -> None:
        return None

    scripted_model.replies.append(AMBIGUOUS)
    answer = await pipe.pipe(
        asked("Доходность Меридиан Облигации за 2024"),
        __metadata__={"chat_id": "c", "session_id": "s"},
        __event_emitter__=ignore,
        __event_call__=page,
    )

    assert shown in answer.split("<details>")[0]
    assert len(scripted_model.requests) == 1
    assert [card["type"] for card in cards] == ["request:user_input"]
    assert len(cards[0]["data"]["questions"][0]["options"]) == 4


async def test_without_a_page_no_card_is_asked_for(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    async def page(_event: dict[str, Any]) -> Any:
        raise AssertionError("there is no page")

    scripted_model.replies.append(AMBIGUOUS)
    answer = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"), __metadata__={}, __event_call__=page)
    assert "1. ДУ Меридиан Облигации" in answer


async def test_the_same_words_keep_the_choice_in_a_chat(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    scripted_model.replies += [AMBIGUOUS, AMBIGUOUS]
    question = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    chosen = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", question, "2"))
    again = await pipe.pipe(
        asked("Доходность Меридиан Облигации за 2024", question, "2", chosen, "а доходность Меридиан Облигации за 2024?")
    )
    assert "PIF-000204" in again.split("<details>")[0]


@pytest.mark.parametrize("reply", ["101", "5", "0"])
async def test_a_number_that_is_no_option_asks_again(
    pipe: Pipe, scripted_model: ScriptedModel, reply: str
) -> None:
    scripted_model.replies.append(AMBIGUOUS)
    question = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    again = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", question, reply))
    assert "1. ДУ Меридиан Облигации" in again
    assert len(scripted_model.requests) == 1


async def test_an_ordinal_with_a_noun_of_its_own_is_a_new_question(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    scripted_model.replies += [AMBIGUOUS, '{"needs_tools": false, "answer": "Что показать?"}']
    question = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", question, "Второй квартал"))
    assert len(scripted_model.requests) == 2


async def test_a_question_back_without_steps_is_remembered(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    asking = {
        "needs_tools": False, "clarification_question": "По какому портфелю?",
        "entities": {"metric": "return", "start_date": "2024-01-01", "end_date": "2024-12-31"},
    }  # fmt: skip
    scripted_model.replies += [json.dumps(asking, ensure_ascii=False), AMBIGUOUS]
    question = await pipe.pipe(asked("Какая доходность за 2024 год?"))
    await pipe.pipe(asked("Какая доходность за 2024 год?", question, "ДУ Меридиан Облигации"))
    sent = json.dumps(scripted_model.requests[-1]["messages"], ensure_ascii=False)
    assert "По какому портфелю?" in sent
    assert "2024-12-31" in sent


async def test_a_choice_after_a_replan_goes_on_from_the_mended_plan(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    broken = json.loads(AMBIGUOUS)
    broken["steps"][0] = {
        "id": "q", "tool": "clickhouse_client_base", "show_data": True,
        "args": {"operation": "run_select_query", "query": "SELECT nothing FROM Contribution.contribution_twr_1s_mcp"},
    }  # fmt: skip
    scripted_model.replies += [json.dumps(broken, ensure_ascii=False), AMBIGUOUS]
    question = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    assert "1. ДУ Меридиан Облигации" in question
    answer = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", question, "2"))
    assert "PIF-000204" in answer.split("<details>")[0]


async def test_a_cell_in_a_wrong_argument_is_not_told_to_the_model(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    plan = json.loads(AMBIGUOUS)
    plan["steps"] = [
        {
            "id": "f", "tool": "portfolios_discovery_tool",
            "args": {"operation": "get_portfolios", "portfolio": "ДУ Полная потеря"},
        },
        {
            "id": "r", "tool": "cashflow_tool", "show_data": True,
            "args": {"operation": "get_nav", "portfolio_codes": ["DU-000101"], "start_date": "${f.PortfolioClientCode[0]}"},
        },
    ]  # fmt: skip
    scripted_model.replies += [json.dumps(plan, ensure_ascii=False), '{"needs_tools": false, "answer": "нет"}']
    await pipe.pipe(asked("Что-нибудь"))
    assert len(scripted_model.requests) == 2
    assert "C-10901" not in json.dumps(scripted_model.requests[-1]["messages"], ensure_ascii=False)


async def test_the_planner_knows_the_table_it_may_select_from(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    scripted_model.replies.append(AMBIGUOUS)
    await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    sent = json.dumps(scripted_model.requests[-1]["messages"], ensure_ascii=False)
    assert "Contribution.contribution_twr_1s_mcp (InvestmentPortfolioID, Portfolio" in sent


async def test_no_cell_reaches_the_model(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    scripted_model.replies.append(AMBIGUOUS)
    first = await pipe.pipe(asked("Доходность Меридиан Облигации за 2024"))
    await pipe.pipe(asked("Доходность Меридиан Облигации за 2024", first, "а что с рынком?"))

    sent = json.dumps(scripted_model.requests[-1]["messages"], ensure_ascii=False)
    assert "PIF-000205" not in sent
    assert "а что с рынком?" in sent


async def test_one_reask_carries_all_findings(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    scripted_model.replies += [
        '{"steps": [{"id": "a", "tool": "magic", "args": {}, "show_data": true}]}',
        '{"needs_tools": false, "answer": "Понял."}',
    ]

    assert await pipe.pipe(asked("Что там?")) == "Понял."
    assert "magic" in scripted_model.requests[1]["messages"][-1]["content"]


async def test_a_failed_step_is_planned_anew(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    def raw(query: str, id_: str) -> str:
        return json.dumps(
            {
                "steps": [
                    {
                        "id": id_,
                        "tool": "clickhouse_client_base",
                        "args": {"operation": "run_select_query", "query": query},
                        "show_data": True,
                    }
                ]
            }
        )

    table = "Contribution.contribution_twr_1s_mcp"
    scripted_model.replies += [
        raw(f"SELECT count(Portfolioo) AS n FROM {table}", "a"),
        raw(f"SELECT count(Portfolio) AS n FROM {table}", "b"),
    ]

    assert "55235" in await pipe.pipe(asked("Сколько строк?"))
    sent = scripted_model.requests[1]["messages"][-1]["content"]
    assert "UNKNOWN_IDENTIFIER" in sent
    assert "Maybe you meant" in sent


BROKEN_REPLIES = {
    "a_figure_of_its_own": ['{"needs_tools": false, "answer": "Доходность была 42,5 %."}'],
    "nothing_at_all": ['{"needs_tools": false}'] * 2,
    "steps_are_a_number": ['{"steps": 5}'] * 2,
    "prose": ["Я не знаю."] * 2,
    "cut": [('{"steps": [', "length")] * 2,
    "server_error": [500],
    "refused": [401],
}


@pytest.mark.parametrize("replies", BROKEN_REPLIES.values(), ids=BROKEN_REPLIES.keys())
async def test_a_model_that_does_not_help_gives_a_sentence(
    pipe: Pipe, scripted_model: ScriptedModel, replies: list[Any]
) -> None:
    scripted_model.replies += replies

    text = await pipe.pipe(asked("Какая доходность?"))

    assert text.startswith("❌ ")
    assert "Traceback" not in text


async def test_dead_addresses_give_a_sentence_without_secrets(demo_dsn: str) -> None:
    pipe = Pipe()
    for valves in (
        {"DSN": "clickhouse://u:s3cret@127.0.0.1:9/d", "MODEL_URL": "http://127.0.0.1:9/v1"},
        {"DSN": demo_dsn, "MODEL_URL": "http://127.0.0.1:9/v1", "MODEL_KEY": "s3cret"},
        {"DSN": "", "MODEL_URL": "http://127.0.0.1:9/v1"},
        {"DSN": demo_dsn, "TABLE": "no.such_table", "MODEL_URL": "http://127.0.0.1:9/v1"},
    ):
        pipe.valves = pipe.Valves(**valves)
        text = await pipe.pipe(asked("Какая доходность?"))
        assert text.startswith("❌ ")
        assert "s3cret" not in text


@pytest.mark.parametrize("question", ["", "   ", "я" * 100_000])
async def test_empty_and_endless_questions(pipe: Pipe, question: str) -> None:
    text = await pipe.pipe(asked(question))

    assert 10 < len(text) < 200


async def test_tasks_are_answered_without_a_model(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    body = asked("Какие у нас ПИФы?", "…")

    title = json.loads(await pipe.pipe(body, __task__="title_generation"))
    tags = json.loads(await pipe.pipe(body, __task__="tags_generation"))
    follow = json.loads(await pipe.pipe(body, __task__="follow_up_generation"))

    assert title == {"title": "Какие у нас ПИФы?"}
    assert tags["tags"]
    assert follow == {"follow_ups": []}
    assert scripted_model.requests == []


async def test_statuses_are_each_ones_own_and_the_last_is_done(
    pipe: Pipe, scripted_model: ScriptedModel
) -> None:
    plan = (
        '{"steps": [{"id": "t", "tool": "portfolios_discovery_tool", '
        '"args": {"operation": "%s"}, "show_data": true}]}'
    )
    scripted_model.replies += [plan % "get_strategies"] * 2
    heard: dict[str, list[tuple[str, bool]]] = {"ru": [], "en": []}

    async def one(language: str, question: str) -> None:
        async def emitter(event: dict[str, Any]) -> None:
            heard[language].append((event["data"]["description"], event["data"]["done"]))

        stream = await pipe.pipe(
            {**asked(question), "stream": True},
            __event_emitter__=emitter,
            __metadata__={"chat_id": language, "session_id": language},
        )
        assert [piece async for piece in stream]

    await asyncio.gather(one("ru", "Какие стратегии?"), one("en", "Which strategies?"))

    assert heard["ru"][0] == ("Составляю план", False)
    assert heard["en"][0] == ("Making a plan", False)
    assert heard["ru"][-1] == ("Готово", True)
    assert heard["en"][-1] == ("Done", True)
    assert [done for _text, done in heard["ru"]].count(True) == 1


@pytest.mark.slow
async def test_the_loop_is_free_while_a_statement_runs(pipe: Pipe, scripted_model: ScriptedModel) -> None:
    table = "Contribution.contribution_twr_1s_mcp"
    # The first question loads the engine; the second is the slow one.
    scripted_model.replies += [
        scripted_model.default,
        json.dumps(
            {
                "steps": [
                    {
                        "id": "slow",
                        "tool": "clickhouse_client_base",
                        "args": {
                            "operation": "run_select_query",
                            "query": f"SELECT count() AS n FROM {table} AS a, {table} AS b "
                            "WHERE sipHash64(a.NAV, b.NAV) % 7 = 1 AND a.InvestmentPortfolioID = 101 "
                            "AND b.InvestmentPortfolioID < 107",
                        },
                        "show_data": True,
                    }
                ]
            }
        ),
    ]
    await pipe.pipe(asked("разогрев"))
    lags: list[float] = []

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            lags.append(time.perf_counter() - began - 0.005)

    watching = asyncio.create_task(watch())
    text = await pipe.pipe(asked("Сколько пар?"))
    watching.cancel()

    assert "| n |" in text

    # A blocking call would leave one tick, or none.
    assert len(lags) > 10
