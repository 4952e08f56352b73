"""The function in a live Open WebUI: over REST, over the websocket path, and in a browser."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from pipe.install import built_source, install_function
from tests.host.conftest import ROOT, LiveHost
from tests.host.page import ask_in_page, chromium_path

pytestmark = pytest.mark.host

QUESTION = "Таблица по дням за декабрь 2025: СЧА, приток, отток для ПИФ Горизонт Технологии"
DAYS = {"start_date": "2025-12-01", "end_date": "2025-12-10", "by_date": True}
PLAN = json.dumps(
    {
        "intent": "cashflows",
        "steps": [
            {
                "id": name,
                "tool": "cashflow_tool",
                "args": {
                    "operation": f"get_{name}",
                    "portfolio_names": ["ПИФ Горизонт Технологии"],
                    **DAYS,
                },
                "show_data": True,
            }
            for name in ("nav", "inflow", "outflow")
        ],
    },
    ensure_ascii=False,
)


def test_an_ordinary_user_asks_over_rest(live: LiveHost) -> None:
    live.model.replies.append(PLAN)

    reply = live.user.call(
        "POST",
        "/api/chat/completions",
        {
            "model": "portfolio_agent",
            "stream": False,
            "messages": [{"role": "user", "content": QUESTION}],
        },
    )

    text = reply["choices"][0]["message"]["content"]
    assert "| Дата | СЧА | Приток | Отток |" in text
    assert "| 10.12.2025 |" in text


async def ask_over_websocket(
    live: LiveHost, question: str, *, card: Any = None
) -> tuple[list[tuple[str, bool]], dict[str, Any]]:
    """Ask as the page does; return the statuses and the stored message.

    `card` is what the page answers a choice card with; None: as a page that cancels it.
    """
    import socketio

    client = socketio.AsyncClient()
    over = asyncio.Event()
    statuses: list[tuple[str, bool]] = []

    @client.on("events")
    async def hear(event: dict[str, Any], *_rest: Any) -> Any:
        data = event["data"]
        inner = data.get("data") or {}
        if data.get("type") == "status":
            statuses.append((inner["description"], bool(inner.get("done"))))
        if data.get("type") == "chat:active" and not inner.get("active"):
            over.set()
        if data.get("type") == "request:user_input":
            return card or {"status": "cancelled", "answers": {}}
        return None

    await client.connect(
        live.address,
        socketio_path="/ws/socket.io",
        transports=["websocket"],
        auth={"token": live.user.token},
    )
    try:
        await client.call("user-join", {"auth": {"token": live.user.token}})
        mine, theirs = str(uuid.uuid4()), str(uuid.uuid4())
        started = await asyncio.to_thread(
            live.user.call,
            "POST",
            "/api/chat/completions",
            {
                "stream": True,
                "model": "portfolio_agent",
                "messages": [{"role": "user", "content": question}],
                "params": {},
                "features": {},
                "variables": {},
                "session_id": client.get_sid("/"),
                "id": theirs,
                "parent_id": None,
                "user_message": {
                    "id": mine,
                    "parentId": None,
                    "childrenIds": [theirs],
                    "role": "user",
                    "content": question,
                    "timestamp": int(time.time()),
                    "models": ["portfolio_agent"],
                },
                "background_tasks": {
                    "title_generation": True,
                    "tags_generation": True,
                    "follow_up_generation": True,
                },
            },
        )
        await asyncio.wait_for(over.wait(), timeout=90)
        message: dict[str, Any] = {}
        for _ in range(40):
            chat = await asyncio.to_thread(
                live.user.call, "GET", f"/api/v1/chats/{started['chat_id']}"
            )
            message = {**chat["chat"]["history"]["messages"][theirs], "title": chat["title"]}
            if message.get("done") and message.get("content"):
                break
            await asyncio.sleep(0.25)
        return statuses, message
    finally:
        await client.disconnect()


async def test_the_page_path_tells_statuses_and_keeps_the_answer(live: LiveHost) -> None:
    live.model.replies.append(PLAN)

    statuses, message = await ask_over_websocket(live, QUESTION)

    assert statuses[0] == ("Составляю план", False)
    assert ("Шаг 2 из 3: притоки", False) in statuses
    assert statuses[-1] == ("Готово", True)
    assert "| Дата | СЧА | Приток | Отток |" in message["content"]
    assert "/api/v1/files/" in message["content"]
    assert message["done"] is True
    assert message["title"].startswith("Таблица по дням")


ASKING = (
    '{"steps": [{"id": "r", "tool": "profit_tool", "show_data": true, "args": {"operation": '
    '"get_profit_of_portfolio", "portfolio_names": ["Меридиан Облигации"], '
    '"start_date": "2024-01-01", "end_date": "2024-12-31"}}]}'
)


async def test_a_choice_in_the_card_goes_on_at_once(live: LiveHost) -> None:
    live.model.replies.append(ASKING)
    before = len(live.model.requests)

    statuses, message = await ask_over_websocket(
        live,
        "Доходность Меридиан Облигации за 2024",
        card={"status": "answered", "answers": {"choice": {"type": "option", "option_index": 1}}},
    )

    assert ("Жду выбора в карточке над полем ввода", False) in statuses
    assert statuses[-1] == ("Готово", True)
    assert "PIF-000204" in message["content"].split("<details>")[0]
    assert len(live.model.requests) == before + 1


async def test_a_card_nobody_answers_leaves_the_question_as_text(live: LiveHost) -> None:
    live.model.replies.append(ASKING)

    statuses, message = await ask_over_websocket(live, "Доходность Меридиан Облигации за 2024")

    assert statuses[-1] == ("Нужно уточнение", True)
    assert "1. ДУ Меридиан Облигации" in message["content"]


async def test_two_users_at_once_never_see_each_others_statuses(live: LiveHost) -> None:
    plan = '{"steps": [{"id": "t", "tool": "portfolios_discovery_tool", "args": {"operation": "get_strategies"}, "show_data": true}]}'
    live.model.replies += [plan, plan]

    (russian, _one), (english, _two) = await asyncio.gather(
        ask_over_websocket(live, "Какие стратегии есть?"),
        ask_over_websocket(live, "Which strategies are there?"),
    )

    assert russian[-1] in (("Готово", True), ("Done", True))
    assert english[-1][1] is True


async def test_a_dead_model_gives_a_sentence(live: LiveHost) -> None:
    live.model.replies.append(500)

    _statuses, message = await ask_over_websocket(live, "Какая доходность?")

    assert message["content"].startswith("❌")
    assert message["done"] is True


def test_installing_again_keeps_valves(live: LiveHost) -> None:
    before = live.admin.call("GET", "/api/v1/functions/id/portfolio_agent/valves")

    done = install_function(live.admin, built_source(ROOT), valves={"ROWS_IN_CHAT": 33})

    after = live.admin.call("GET", "/api/v1/functions/id/portfolio_agent/valves")
    assert done == "updated"
    assert after == {**before, "ROWS_IN_CHAT": 33}


@pytest.mark.browser
def test_in_a_browser(live: LiveHost, tmp_path: Path) -> None:
    if chromium_path() is None:
        pytest.skip("Chromium is not installed")
    live.model.replies.append(PLAN)

    text = ask_in_page(
        live.address,
        live.user.token,
        QUESTION,
        wait_for="Как получен ответ",
        picture=tmp_path / "chat.png",
    )

    assert "приток" in text.lower()
    assert "10.12.2025" in text
