"""A plan whose days are not those the question names goes back to the model."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pipe.period_check import AskedDays, period_findings
from pipe.question_dates import find_days
from schemas.periods import DataDays
from schemas.plan import Plan
from tools.all_tools import build_registry

TODAY = date(2025, 12, 11)
# 8 and 9 December were holidays here: five trading days reach further back.
TRADING = tuple(date(2025, 12, day) for day in (1, 2, 3, 4, 5, 10))
DATA = DataDays(date(2018, 1, 9), date(2025, 12, 10), TRADING)

PERIODS = [
    ("вчера", "2025-12-10", "2025-12-10"),
    ("за прошлый месяц", "2025-11-01", "2025-11-30"),
    ("за прошлый квартал", "2025-07-01", "2025-09-30"),
    ("за прошлый год", "2024-01-01", "2024-12-31"),
    ("с начала месяца", "2025-12-01", "2025-12-10"),
    ("с начала квартала", "2025-10-01", "2025-12-10"),
    ("с начала года", "2025-01-01", "2025-12-10"),
    ("YTD", "2025-01-01", "2025-12-10"),
    ("QTD", "2025-10-01", "2025-12-10"),
    ("MTD", "2025-12-01", "2025-12-10"),
    ("за последние 12 месяцев", "2024-12-11", "2025-12-10"),
    ("за 1 полугодие 2025", "2025-01-01", "2025-06-30"),
    ("за первое полугодие 2025 года", "2025-01-01", "2025-06-30"),
    ("за третий квартал", "2025-07-01", "2025-09-30"),
    ("за третий квартал 2024", "2024-07-01", "2024-09-30"),
    ("за ноябрь", "2025-11-01", "2025-11-30"),
    ("за ноябрь 2023", "2023-11-01", "2023-11-30"),
    ("с 1 по 15 марта 2025", "2025-03-01", "2025-03-15"),
    ("за 2023–2024", "2023-01-01", "2024-12-31"),
    ("с запуска", "2018-01-09", "2025-12-10"),
    ("since inception", "2018-01-09", "2025-12-10"),
    ("за последние 5 торговых дней", "2025-12-02", "2025-12-10"),
    ("for the last 5 trading days", "2025-12-02", "2025-12-10"),
    ("in Q3 2025", "2025-07-01", "2025-09-30"),
    ("last month", "2025-11-01", "2025-11-30"),
    ("на 07.12.2025", "2025-12-07", "2025-12-07"),
    ("на конец 2024 года", "2024-12-31", "2024-12-31"),
    ("на конец третьего квартала 2024", "2024-09-30", "2024-09-30"),
    ("at the end of 2024", "2024-12-31", "2024-12-31"),
]


@pytest.mark.parametrize(("words", "start", "end"), PERIODS, ids=lambda item: str(item))
def test_named_periods_become_dates(words: str, start: str, end: str) -> None:
    (span,) = find_days(f"Доходность ДУ Вектор {words}", today=TODAY, last_day=DATA.last, data=DATA).spans
    assert (span.start, span.end) == (start, end)


def findings(question: str, *steps: dict[str, Any]) -> list[str]:
    plan = Plan.model_validate(
        {
            "steps": [
                {
                    "id": f"s{number}", "tool": "profit_tool", "show_data": True,
                    "args": {"operation": "get_profit_of_portfolio", "portfolio_names": ["ДУ Вектор"], **step},
                }
                for number, step in enumerate(steps, 1)
            ]
        }
    )  # fmt: skip
    return list(period_findings(plan, build_registry(), AskedDays(question, TODAY, DATA)))


def dates(start: str | None, end: str | None) -> dict[str, Any]:
    return {"start_date": start, "end_date": end}


@pytest.mark.parametrize(("words", "start", "end"), PERIODS, ids=lambda item: str(item))
def test_the_right_interval_passes_and_another_does_not(words: str, start: str, end: str) -> None:
    question = f"Доходность ДУ Вектор {words}"
    assert findings(question, dates(start, end)) == []
    (finding,) = findings(question, dates("2022-02-01", "2022-02-28"))
    assert f"{start}..{end}" in finding


def test_no_dates_for_a_named_period_is_a_finding() -> None:
    assert findings("Доходность ДУ Вектор за 2024 год", {})
    assert findings("Доходность ДУ Вектор", {}) == []


def test_an_end_may_be_the_last_day_with_data() -> None:
    assert findings("Доходность за 2025 год", dates("2025-01-01", "2025-12-10")) == []
    assert findings("Доходность за 2025 год", dates("2025-01-01", "2025-12-31")) == []
    assert findings("Доходность с 01.02.2025", dates("2025-02-01", None)) == []


def test_comparisons_may_have_other_intervals_beside() -> None:
    both = (dates("2024-01-01", "2024-12-31"), dates("2023-01-01", "2023-12-31"))
    assert findings("Доходность за 2024 год и сравни с годом ранее", *both) == []
    assert findings("Доходность за 2024 год", *both)


def test_a_year_in_a_name_is_not_a_period() -> None:
    step = {"portfolio_names": ["ПИФ Цель 2030"], **dates("2024-01-01", "2024-12-31")}
    assert findings("Доходность ПИФ Цель 2030 за 2024", step) == []


def test_dates_from_another_step_are_not_judged() -> None:
    assert findings("Доходность за 2024 год", dates("${s0.FirstDt[0]}", "2024-12-31")) == []


def nav_findings(question: str, *, operation: str = "get_nav", **args: Any) -> list[str]:
    step = {"id": "n", "tool": "cashflow_tool", "args": {"operation": operation, **args}, "show_data": True}
    plan = Plan.model_validate({"steps": [step]})
    return list(period_findings(plan, build_registry(), AskedDays(question, TODAY, DATA)))


def test_a_nav_of_one_day_needs_only_the_last_day() -> None:
    for operation in ("get_nav", "get_nav_by_type"):
        assert nav_findings("СЧА за третий квартал 2025", operation=operation, end_date="2025-09-30") == []
        assert nav_findings("СЧА за третий квартал 2025", operation=operation, end_date="2025-06-30")
    assert nav_findings("СЧА с начала года") == []
    assert nav_findings("СЧА за 2024")


def test_a_series_or_a_flow_needs_the_first_day_too() -> None:
    question = "за третий квартал 2025"
    assert nav_findings(f"СЧА по дням {question}", by_date=True, end_date="2025-09-30")
    assert nav_findings(f"Приток {question}", operation="get_inflow", end_date="2025-09-30")
    assert nav_findings("Приток за 2024 год", operation="get_inflow", end_date="2024-12-31") == []


def test_two_periods_may_be_taken_as_one() -> None:
    assert findings("Доходность за 2023 и за 2024 год", dates("2023-01-01", "2024-12-31")) == []
    assert findings("Доходность за 2023 и за 2024 год", dates("2022-01-01", "2024-12-31"))
