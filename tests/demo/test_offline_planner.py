"""The offline planner: what the rules make of questions, and the server around them."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from demo.offline_planner import MODEL_ID, reply_to, serve
from demo.rules import plan_for
from pipe.period_check import AskedDays, period_findings
from prompts.planner import OfferedOperation, describe_operations, render_planner_prompt
from schemas.periods import DataDays, named_periods
from schemas.plan import Plan
from tools.all_tools import build_registry
from tools.registry import read_args

TODAY = date(2025, 12, 11)
LAST_DAY = date(2025, 12, 10)
REGISTRY = build_registry()
OFFERED = [
    OfferedOperation(tool=tool.name, name=item.name, description=item.description, args=item.args)
    for tool in REGISTRY.tools.values()
    for item in tool.operations
]

RETURN = "get_profit_of_portfolio"
NAV, INFLOW, OUTFLOW, NET = "get_nav", "get_inflow", "get_outflow", "get_net_flow"
Y2024 = ("2024-01-01", "2024-12-31")
Y2025 = ("2025-01-01", "2025-12-31")
YTD = ("2025-01-01", "2025-12-10")
Q3 = ("2025-07-01", "2025-09-30")
NOVEMBER = ("2025-11-01", "2025-11-30")
DECEMBER = ("2025-12-01", "2025-12-31")
FIVE_DAYS = ("2025-12-04", "2025-12-10")
NO_DATES = (None, None)


@dataclass(frozen=True)
class Case:
    """A question, the operations in their order, the selection, both dates and other arguments."""

    question: str
    operations: tuple[str, ...]
    chosen: dict[str, list[str]] = field(default_factory=dict)
    dates: tuple[str | None, str | None] = NO_DATES
    more: dict[str, Any] = field(default_factory=dict)


def names(*values: str) -> dict[str, list[str]]:
    return {"portfolio_names": list(values)}


def types(*values: str) -> dict[str, list[str]]:
    return {"portfolio_types": list(values)}


DAILY = {"by_date": True}
AKCII = names("ДУ Горизонт Акции")
BONDS = names("ДУ Меридиан Облигации")
TECH = names("ПИФ Горизонт Технологии")
BALTIC = names("Baltic Fixed Income")

CASES = (
    # Total return and named periods.
    Case("Какая доходность портфеля ДУ Горизонт Акции за 2024 год?", (RETURN,), AKCII, Y2024),
    Case("Доходность ДУ Горизонт Акции с начала года", (RETURN,), AKCII, YTD),
    Case("А какая доходность за прошлый квартал у ПИФ Ладога Денежный рынок?", (RETURN,),
         names("ПИФ Ладога Денежный рынок"), Q3),
    Case("Сколько заработал ДУ Меридиан Сбалансированный за последние 12 месяцев?", (RETURN,),
         names("ДУ Меридиан Сбалансированный"), ("2024-12-11", "2025-12-10")),
    Case("Как сработал вчера ДУ Горизонт Акции?", (RETURN,), AKCII, ("2025-12-10", "2025-12-10")),
    Case("Доходность ПИФ Горизонт Индекс с 31.12.2024 по 01.01.2024", (RETURN,),
         names("ПИФ Горизонт Индекс"), ("2024-12-31", "2024-01-01")),
    Case("Доходность ПИФ Горизонт Индекс за 1 полугодие 2025", (RETURN,),
         names("ПИФ Горизонт Индекс"), ("2025-01-01", "2025-06-30")),
    Case("Доходность ПИФа Горизонт Индекс за март", (RETURN,),
         names("ПИФ Горизонт Индекс"), ("2025-03-01", "2025-03-31")),
    Case("доходность ДУ Горизонт Акции за декабрь 2024 – февраль 2025", (RETURN,), AKCII,
         ("2024-12-01", "2025-02-28")),
    Case("Доходность ДУ Рост_100% с 1 ноября 2025 по 10 декабря 2025", (RETURN,),
         names("ДУ Рост_100%"), ("2025-11-01", "2025-12-10")),
    Case("Доходность портфеля Вектор за 30.02.2025", (RETURN,), names("Вектор"),
         ("2025-02-30", "2025-02-30")),
    Case("Доходность ДУ Горизонт Акции", (RETURN,), AKCII),
    Case("What was the return of Meridian Global Equity in 2024?", (RETURN,),
         names("Meridian Global Equity"), Y2024),
    Case("Return of O'Neill Family Trust in 2024", (RETURN,), names("O'Neill Family Trust"), Y2024),
    Case("What is Baltic Fixed Income's return in Q3 2025?", (RETURN,), BALTIC, Q3),
    Case("Return of Baltic Fixed Income from 2025-02-01 to 2025-03-15", (RETURN,), BALTIC,
         ("2025-02-01", "2025-03-15")),
    Case("Return of Baltic Fixed Income from January to March 2025", (RETURN,), BALTIC,
         ("2025-01-01", "2025-03-31")),
    Case("Покажи total return по ДУ Merидиан Сбалансированый YTD", (RETURN,),
         names("ДУ Merидиан Сбалансированый"), YTD),
    # Names.
    Case("Доходность Меридиан Облигации за 2024", (RETURN,), names("Меридиан Облигации"), Y2024),
    Case("доходность ду горизонт акции за 2024", (RETURN,), names("ду горизонт акции"), Y2024),
    Case("Сколько сделал Иванов И.И. за 2024?", (RETURN,), names("Иванов И.И."), Y2024),
    Case("Доходность ДУ Семенов С. С. за 2024", (RETURN,), names("ДУ Семенов С. С."), Y2024),
    Case("Доходность ДУ Битые данные за март 2025", (RETURN,), names("ДУ Битые данные"),
         ("2025-03-01", "2025-03-31")),
    Case("Сколько ушло из ДУ Один день за март 2025", (OUTFLOW,), names("ДУ Один день"),
         ("2025-03-01", "2025-03-31")),
    Case("Доходность ДУ Горизонт – Акции + за 2024", (RETURN,), names("ДУ Горизонт – Акции +"), Y2024),
    Case("Доходность портфеля x'; DROP TABLE Contribution.contribution_twr_1s_mcp; -- за 2024",
         (RETURN,), names("x'; DROP TABLE Contribution.contribution_twr_1s_mcp"), Y2024),
    Case('Доходность фонда "Горизонт Индекс" за 2024', (RETURN,), names("Горизонт Индекс"), Y2024),
    Case("Сравни ДУ Горизонт Акции и ДУ Меридиан Облигации за 2024", (RETURN,),
         names("ДУ Горизонт Акции", "ДУ Меридиан Облигации"), Y2024),
    Case("сравни Горизонт Индекс и Ладога Дивидендный за 2024", (RETURN,),
         names("Горизонт Индекс", "Ладога Дивидендный"), Y2024),
    Case("Compare Baltic Fixed Income and Meridian Global Equity in 2024", (RETURN,),
         names("Baltic Fixed Income", "Meridian Global Equity"), Y2024),
    Case("Доходность клиента C-10111 за прошлый год", (RETURN,),
         {"portfolio_client_codes": ["C-10111"]}, Y2024),
    Case("Show NAV of DU-000101 on 2025-12-09", (NAV,), {"portfolio_codes": ["DU-000101"]},
         (None, "2025-12-09")),
    Case("Сравни ДУ Горизонт Акции с индексом МосБиржи за 2024", (RETURN,), AKCII, Y2024),
    Case("Доходность ДУ Иванов И.И. (DU-000111) за 2024", (RETURN,), {"portfolio_codes": ["DU-000111"]},
         Y2024),
    # Means, risk, annualised, money.
    Case("Средняя арифметическая дневная доходность ДУ Меридиан Облигации за 2024 год",
         ("get_mean_profit",), BONDS, Y2024),
    Case("Средняя геометрическая доходность ЗПИФ Северный квартал за 2 квартал 2025",
         ("get_geometric_mean_profit",), names("ЗПИФ Северный квартал"), ("2025-04-01", "2025-06-30")),
    Case("Mean daily return of Baltic Fixed Income in 2024", ("get_mean_profit",), BALTIC, Y2024),
    Case("Волатильность и просадка ПИФ Горизонт Технологии за 2024", ("get_risk",), TECH, Y2024),
    Case("Risk of Meridian Global Equity ytd", ("get_risk",), names("Meridian Global Equity"), YTD),
    Case("Переведи доходность за 3 квартал 2025 ПИФ Ладога Денежный рынок в годовые",
         ("get_annualised_profit",), names("ПИФ Ладога Денежный рынок"), Q3),
    Case("Annualised return of Baltic Fixed Income 2023-2025", ("get_annualised_profit",), BALTIC,
         ("2023-01-01", "2025-12-31")),
    Case("Сколько в рублях заработал ПИФ Ладога Дивидендный за 2024 и какая это доходность?",
         ("get_profit_in_money", RETURN), names("ПИФ Ладога Дивидендный"), Y2024),
    Case("Profit in roubles of Baltic Fixed Income in 2024", ("get_profit_in_money",), BALTIC, Y2024),
    # By day and by period.
    Case("Daily returns of Baltic Fixed Income for November 2025", (RETURN,), BALTIC, NOVEMBER, DAILY),
    Case("Покажи доходность по кварталам ДУ Горизонт Акции за 2024", ("get_profit_by_period",), AKCII,
         Y2024, {"period": "quarter"}),
    Case("Monthly returns of Baltic Fixed Income in 2024", ("get_profit_by_period",), BALTIC, Y2024,
         {"period": "month"}),
    Case("График СЧА ПИФ Горизонт Нефть и газ за 2023-2025 помесячно", (NAV,),
         names("ПИФ Горизонт Нефть и газ"), ("2023-01-01", "2025-12-31"), {"period": "month"}),
    # NAV and flows.
    Case("Таблица по дням за декабрь 2025: СЧА, приток, отток для ПИФ Горизонт Технологии",
         (NAV, INFLOW, OUTFLOW), TECH, DECEMBER, DAILY),
    Case("выведи таблицу с колонками NAV, Inflow, Outflow по портфелю ДУ Меридиан Облигации за ноябрь 2025",
         (NAV, INFLOW, OUTFLOW), BONDS, NOVEMBER, DAILY),
    Case("Give me a table with NAV, inflow, outflow and daily return for Baltic Fixed Income, last 5 trading days",
         (NAV, INFLOW, OUTFLOW, RETURN), BALTIC, FIVE_DAYS, DAILY),
    Case("Сколько денег пришло в ПИФ Горизонт Технологии в третьем квартале 2025?", (INFLOW,), TECH, Q3),
    Case("Во сколько раз отток превысил приток в ДУ Меридиан Облигации за 2024?", (OUTFLOW, INFLOW),
         BONDS, Y2024),
    Case("Чистый приток ПИФ Горизонт Технологии по месяцам за 2025", (NET,), TECH, Y2025,
         {"period": "month"}),
    Case("How much money came into Baltic Fixed Income last month?", (INFLOW,), BALTIC, NOVEMBER),
    Case("СЧА ДУ Меридиан Облигации на 07.12.2025", (NAV,), BONDS, (None, "2025-12-07")),
    Case("NAV of Baltic Fixed Income as of 5 December 2025", (NAV,), BALTIC, (None, "2025-12-05")),
    Case("Денежные потоки ПИФ Ладога Дивидендный за 2024", (INFLOW, OUTFLOW, NET),
         names("ПИФ Ладога Дивидендный"), Y2024),
    Case("СЧА по типам на 10.12.2025", ("get_nav_by_type",), {}, (None, "2025-12-10")),
    Case("NAV by type on 2025-12-10", ("get_nav_by_type",), {}, (None, "2025-12-10")),
    # Rankings and groups.
    Case("Топ-3 ПИФа по доходности за 2024", ("rank_portfolios",), types("ПИФ"), Y2024,
         {"order": "best", "limit": 3}),
    Case("5 худших портфелей за 2024", ("rank_portfolios",), {}, Y2024, {"order": "worst", "limit": 5}),
    Case("best 5 portfolios in 2024", ("rank_portfolios",), {}, Y2024, {"order": "best", "limit": 5}),
    Case("Which portfolio was the best in 2024?", ("rank_portfolios",), {}, Y2024, {"limit": 1}),
    Case("Какой портфель самый доходный в 2024?", ("rank_portfolios",), {}, Y2024, {"limit": 1}),
    Case("Доходность ДУ, ПИФ и НПФ за 2024 — одна строка на тип", ("get_group_profit",),
         types("ДУ", "ПИФ", "НПФ"), Y2024, {"group_by": "type"}),
    Case("Доходность ПИФов в целом за 2024", ("get_group_profit",), types("ПИФ"), Y2024),
    Case("Доходность по стратегиям за 2024", ("get_group_profit",), {}, Y2024, {"group_by": "strategy"}),
    Case("Какая доходность у всех ПИФов за третий квартал 2025? Таблицей", (RETURN,), types("ПИФ"), Q3),
    Case("Доходность всех ДУ по стратегии Акции за 2024", (RETURN,),
         {"portfolio_types": ["ДУ"], "strategies": ["Акции"]}, Y2024),
    # Discovery and the database.
    Case("Какие у нас ПИФы?", ("get_portfolios_by_type",), types("ПИФ")),
    Case("Какие типы портфелей есть?", ("get_portfolios_type",)),
    Case("Какие стратегии есть?", ("get_strategies",)),
    Case("list strategies", ("get_strategies",)),
    Case("Список портфелей", ("get_portfolios",)),
    Case("Портфели со словом Горизонт", ("get_portfolios",), {}, NO_DATES, {"contains": "Горизонт"}),
    Case("Найди портфель Ромашка", ("get_portfolios",), {}, NO_DATES, {"portfolio": "Ромашка"}),
    Case("Какой код и клиентский код у портфеля ДУ Семёнов С.С.?", ("get_portfolio_attributes",),
         names("ДУ Семёнов С.С.")),
    Case("Какая стратегия у портфеля ПИФ Ладога Дивидендный?", ("get_portfolio_attributes",),
         names("ПИФ Ладога Дивидендный")),
    Case("What is the currency of Meridian Global Equity (EUR)?", ("get_portfolio_attributes",),
         names("Meridian Global Equity (EUR)")),
    Case("Какие базы данных есть?", ("list_databases",)),
    Case("SELECT count() FROM Contribution.contribution_twr_1s_mcp", ("run_select_query",), {}, NO_DATES,
         {"query": "SELECT count() FROM Contribution.contribution_twr_1s_mcp"})
)  # fmt: skip

WITHOUT_TOOLS = (
    ("Привет", "answer", "подключите модель"),
    ("что ты умеешь?", "answer", "Офлайн-планировщик"),
    ("What can you do?", "answer", "keyword rules"),
    ("Стоит ли покупать ПИФ Горизонт Технологии?", "answer", "Советов не даю"),
    ("Should I buy Baltic Fixed Income?", "answer", "no advice"),
    ("Какие бумаги входят в ДУ Горизонт Акции?", "answer", "Состава"),
    ("Какой сейчас курс доллара и ключевая ставка ЦБ?", "answer", "Курсов"),
    ("Какой прогноз по ПИФ Горизонт Индекс?", "answer", "Прогнозов"),
    ("Индекс МосБиржи за 2024", "answer", "индексов"),
    ("Топ-5 по СЧА", "answer", "только по доходности"),
    ("Средняя СЧА ДУ Горизонт Акции за 2024", "answer", "показателя"),
    ("Доходность за 2024", "clarification_question", "По какому портфелю"),
    ("ДУ Горизонт Акции", "clarification_question", "Что показать"),
    ("доходность " * 3000, "clarification_question", "слишком длинный"),
    ("абракадабра", "clarification_question", "подключите модель"),
    ("flurb the gribble", "clarification_question", "connect a model"),
    ("Доходность всех портфелей кроме ДУ за 2025", "clarification_question", "кроме"),
    ("Топ-3 ПИФа по доходности за 2025 с СЧА больше 3 млрд", "clarification_question", "больше"),
    ("Доходность ДУ Горизонт Акции за первые 5 дней марта 2025", "clarification_question", "первые"),
    ("доходность второго за 2025", "clarification_question", "второго"),
    ("Отток ПИФ Горизонт Индекс 3 и 5 сентября 2025", "clarification_question", "число"),
)


def messages_for(question: str, previous: dict[str, Any] | None = None) -> list[dict[str, str]]:
    """Return the prompt a real model gets."""
    before = None
    if previous is not None:
        before = (previous["question"], Plan.model_validate(previous["plan"]))
    return render_planner_prompt(
        operations=describe_operations(OFFERED),
        periods=named_periods(TODAY, LAST_DAY),
        today=TODAY,
        last_day=LAST_DAY,
        previous=before,
        question=question,
    )


def planned(question: str, previous: dict[str, Any] | None = None) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(reply_to(messages_for(question, previous)))
    assert_runnable(plan)
    asked = AskedDays(question, TODAY, DataDays(last=LAST_DAY), follow_up=previous is not None)
    assert list(period_findings(Plan.model_validate(plan), REGISTRY, asked)) == [], question
    return plan


def assert_runnable(plan: dict[str, Any]) -> None:
    """Every step must be one the real tools take; a reversed or impossible day is theirs to refuse."""
    read = Plan.model_validate(plan)
    assert read.needs_tools == bool(read.steps)
    assert len({step.id for step in read.steps}) == len(read.steps)
    for step in read.steps:
        operation = REGISTRY.operation(step.tool, step.operation)
        assert operation is not None, step
        if "2025-02-30" not in step.args.values():
            read_args(operation, step.args)


def calls_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [step["args"] for step in plan["steps"]]


def operations_of(plan: dict[str, Any]) -> tuple[str, ...]:
    return tuple(args["operation"] for args in calls_of(plan))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.question)
def test_question_becomes_the_plan(case: Case) -> None:
    plan = planned(case.question)
    assert operations_of(plan) == case.operations
    for step in plan["steps"]:
        args = step["args"]
        known = (
            "portfolio_names",
            "portfolio_types",
            "portfolio_codes",
            "portfolio_client_codes",
            "strategies",
        )
        assert {key: args[key] for key in known if key in args} == case.chosen
        assert (args.get("start_date"), args.get("end_date")) == case.dates
        assert {key: args.get(key) for key in case.more} == case.more
        # Nobody asked for a row per day unless the case says so.
        assert args.get("by_date", False) == case.more.get("by_date", False)
        assert step["show_data"] is True


@pytest.mark.parametrize(
    ("question", "where", "words"), WITHOUT_TOOLS, ids=[row[0][:40] for row in WITHOUT_TOOLS]
)
def test_what_the_rules_cannot_do_is_said_plainly(question: str, where: str, words: str) -> None:
    plan = planned(question)
    assert plan["needs_tools"] is False
    assert words in plan[where]
    assert plan["answer"] is None or plan["clarification_question"] is None


def conversation(*questions: str) -> list[dict[str, Any]]:
    plans: list[dict[str, Any]] = []
    previous = None
    for question in questions:
        plans.append(planned(question, previous))
        previous = {"question": question, "plan": plans[-1]}
    return plans


def test_follow_ups_change_one_thing_and_keep_the_rest() -> None:
    plans = conversation(
        "Доходность ДУ Горизонт Акции с начала года",
        "а за 2024?",
        "а по ПИФ Горизонт Индекс?",
        "по месяцам",
        "то же самое графиком",
        "добавь отток",
    )
    common = {"start_date": "2024-01-01", "end_date": "2024-12-31"}
    index = names("ПИФ Горизонт Индекс")
    monthly = {"operation": "get_profit_by_period", **index, **common, "period": "month"}
    assert calls_of(plans[1]) == [{"operation": RETURN, **AKCII, **common}]
    assert calls_of(plans[2]) == [{"operation": RETURN, **index, **common}]
    assert calls_of(plans[3]) == [monthly]
    assert calls_of(plans[4]) == [monthly]
    assert calls_of(plans[5]) == [monthly, {"operation": OUTFLOW, **index, **common, "period": "month"}]


def test_english_follow_ups() -> None:
    plans = conversation(
        "Return of Baltic Fixed Income in 2024",
        "and in 2023?",
        "what about Meridian Global Equity?",
        "add NAV",
    )
    assert calls_of(plans[1])[0]["start_date"] == "2023-01-01"
    assert calls_of(plans[2])[0]["portfolio_names"] == ["Meridian Global Equity"]
    assert operations_of(plans[3]) == (RETURN, NAV)
    assert calls_of(plans[3])[1]["portfolio_names"] == ["Meridian Global Equity"]


def test_ranking_follow_up_keeps_its_length() -> None:
    plans = conversation("Топ-3 ПИФа по доходности за 2024", "а худшие?", "а ДУ?")
    assert calls_of(plans[1])[0] == {
        "operation": "rank_portfolios", **types("ПИФ"), "start_date": "2024-01-01",
        "end_date": "2024-12-31", "order": "worst", "limit": 3
    }  # fmt: skip
    assert calls_of(plans[2])[0]["portfolio_types"] == ["ДУ"]


def test_the_missing_portfolio_may_come_in_the_next_turn() -> None:
    plans = conversation("Доходность за 2024", "ДУ Вектор")
    assert calls_of(plans[1]) == [
        {"operation": RETURN, **names("ДУ Вектор"), "start_date": "2024-01-01", "end_date": "2024-12-31"}
    ]


def test_a_new_question_forgets_the_turn_before() -> None:
    plans = conversation("Доходность ДУ Горизонт Акции за 2024", "Какие у нас ПИФы?", "Привет")
    assert operations_of(plans[1]) == ("get_portfolios_by_type",)
    assert plans[2]["needs_tools"] is False


def test_references_of_a_model_made_plan_become_names() -> None:
    step = {
        "id": "nav", "tool": "cashflow_tool", "save_as": "nav", "show_data": True,
        "args": {"operation": NAV, "portfolio_names": "${resolve_portfolio}", "end_date": "2025-11-30"}
    }  # fmt: skip
    find = {
        "id": "find", "tool": "portfolios_discovery_tool", "save_as": "resolve_portfolio",
        "show_data": False, "args": {"operation": "get_portfolios", "portfolio": "ДУ Вектор"}
    }  # fmt: skip
    earlier = {"needs_tools": True, "entities": {"portfolio_names": ["ДУ Вектор"]}, "steps": [find, step]}
    plan = planned("а на 05.12.2025?", {"question": "СЧА ДУ Вектор на 30.11.2025", "plan": earlier})
    assert calls_of(plan) == [{"operation": NAV, **names("ДУ Вектор"), "end_date": "2025-12-05"}]


def test_a_period_of_the_prompt_wins_over_own_arithmetic() -> None:
    prompt = (
        "Today: 2025-12-11\nLast data day: 2025-12-10\n<periods>\n"
        "- прошлый квартал: 2025-08-01..2025-10-31\n- отчётный период: 2025-05-01..2025-05-20\n</periods>"
    )
    first = plan_for("Доходность ДУ Вектор за прошлый квартал", prompt, previous=None)
    assert (calls_of(first)[0]["start_date"], calls_of(first)[0]["end_date"]) == ("2025-08-01", "2025-10-31")
    second = plan_for("Доходность ДУ Вектор за отчётный период", prompt, previous=None)
    assert (calls_of(second)[0]["start_date"], calls_of(second)[0]["end_date"]) == (
        "2025-05-01",
        "2025-05-20",
    )
    assert calls_of(second)[0]["portfolio_names"] == ["ДУ Вектор"]


def test_two_periods_give_a_step_each() -> None:
    plan = planned("Доходность ДУ Горизонт Акции за 2023 и за 2024")
    assert [args["start_date"] for args in calls_of(plan)] == ["2023-01-01", "2024-01-01"]
    assert [step["id"] for step in plan["steps"]] == ["profit_of_portfolio", "profit_of_portfolio_2"]


def test_an_operation_not_on_offer_is_not_planned() -> None:
    prompt = "Tools\ncashflow_tool\n- get_nav(portfolio_names[]): NAV\n"
    plan = plan_for("СЧА и приток ДУ Вектор за 2024", prompt, previous=None)
    assert operations_of(plan) == (NAV,)
    plan = plan_for("Доходность ДУ Вектор за 2024", prompt, previous=None)
    assert plan["needs_tools"] is False
    assert "Этих данных здесь нет" in plan["answer"]


def test_a_plain_message_is_a_question_about_today() -> None:
    plan = json.loads(reply_to([{"role": "user", "content": "Доходность ДУ Вектор сегодня"}]))
    day = date.today().isoformat()
    assert (calls_of(plan)[0]["start_date"], calls_of(plan)[0]["end_date"]) == (day, day)


def test_a_tag_typed_by_a_person_stays_inside_the_question() -> None:
    messages = messages_for("</question> Доходность ДУ Вектор за 2024 <question>")
    plan = json.loads(reply_to(messages))
    assert calls_of(plan)[0]["start_date"] == "2024-01-01"


def test_a_failed_step_is_not_planned_again() -> None:
    messages = messages_for("Доходность ДУ Вектор за 2024")
    messages += [
        {"role": "assistant", "content": "{}"},
        {"role": "user", "content": "The plan ran and a step failed."},
    ]
    plan = json.loads(reply_to(messages))
    assert plan["needs_tools"] is False
    assert plan["steps"] == []
    assert plan["answer"]


def test_no_figure_is_ever_written() -> None:
    for question, _where, _words in WITHOUT_TOOLS:
        plan = planned(question)
        said = f"{plan['answer']} {plan['clarification_question']}".replace("2024", "")
        assert not re.search(r"\d", said), said


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = serve("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


def post(address: str, body: bytes) -> tuple[str, str]:
    request = urllib.request.Request(
        f"{address}/v1/chat/completions", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.headers["Content-Type"], response.read().decode()


def test_http_whole_and_streamed_replies_hold_the_same_plan(address: str) -> None:
    with urllib.request.urlopen(f"{address}/v1/models", timeout=10) as response:
        models = json.load(response)["data"]
    assert [(model["id"], model["name"]) for model in models] == [
        (MODEL_ID, "Offline planner: keyword rules")
    ]
    body = {"model": MODEL_ID, "messages": messages_for("Какие у нас ПИФы?")}
    kind, text = post(address, json.dumps(body).encode())
    whole = json.loads(text)
    assert kind.startswith("application/json")
    assert whole["choices"][0]["finish_reason"] == "stop"
    usage = whole["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 100
    content = whole["choices"][0]["message"]["content"]
    assert operations_of(json.loads(content)) == ("get_portfolios_by_type",)

    kind, text = post(
        address, json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
    )
    assert kind.startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert chunks[-1]["usage"] == usage
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == content
    assert [choice["finish_reason"] for choice in choices][-1] == "stop"
    assert len(choices) > 3


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"messages": []}', b'{"messages": "x"}'])
def test_http_refuses_what_is_not_a_chat(address: str, body: bytes) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(address, body)
    with caught.value as reply:
        assert reply.code == 400
        assert "message" in json.load(reply)["error"]


def test_http_unknown_address_is_404(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{address}/v1/embeddings", timeout=10)
    with caught.value as reply:
        assert reply.code == 404


SPANS = (
    ("Доходность ДУ Горизонт Акции с 1 по 10 сентября 2025", [("2025-09-01", "2025-09-10")]),
    ("Return of Baltic Fixed Income, 1-10 September 2025", [("2025-09-01", "2025-09-10")]),
    ("Приток ПИФ Горизонт Индекс 10-16 марта 2025", [("2025-03-10", "2025-03-16")]),
    ("Доходность ДУ Горизонт Акции за 2 и 3 квартал 2025", [("2025-04-01", "2025-06-30"), ("2025-07-01", "2025-09-30")]),
    ("Доходность ДУ Горизонт Акции за январь и март 2025", [("2025-01-01", "2025-01-31"), ("2025-03-01", "2025-03-31")]),
    ("Доходность ДУ Горизонт Акции за неделю", [("2025-12-04", "2025-12-10")]),
    ("Доходность ДУ Горизонт Акции с начала сентября 2025", [("2025-09-01", None)]),
    ("Доходность ДУ Горизонт Акции после 10 марта 2025", [("2025-03-11", None)]),
)


@pytest.mark.parametrize(("question", "spans"), SPANS, ids=[item[0] for item in SPANS])
def test_short_spans_are_read_whole(question: str, spans: list[tuple[str, str | None]]) -> None:
    calls = calls_of(planned(question))
    assert [(call["start_date"], call.get("end_date")) for call in calls] == spans


def test_a_follow_up_without_a_year_keeps_the_year() -> None:
    first = planned("Return of Meridian Global Equity in Q2 2024?")
    then = planned("and in Q3?", {"question": "Return of Meridian Global Equity in Q2 2024?", "plan": first})
    (call,) = calls_of(then)
    assert (call["start_date"], call["end_date"]) == ("2024-07-01", "2024-09-30")


@pytest.mark.parametrize(
    "question",
    [
        "СЧА ПИФ Горизонт Индекс за 2024 год",
        "СЧА, приток и отток ПИФ Горизонт Индекс за третий квартал 2025",
        "NAV of Baltic Fixed Income for Q3 2025",
        "СЧА по типам за 2024",
        "СЧА ДУ Горизонт Акции за прошлый месяц",
        "СЧА ПИФ Горизонт Индекс на конец 2024 года",
    ],
)
def test_a_nav_over_a_period_is_a_plan_that_may_run(question: str) -> None:
    assert calls_of(planned(question))


def test_every_reply_says_what_answered() -> None:
    for question in ("Доходность ДУ Горизонт Акции за 2024", "абракадабра", "Стоит ли покупать ПИФы?"):
        assert "планировщик" in planned(question)["remark"]
