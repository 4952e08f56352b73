"""Few-shot plans, as `Plan` objects, so that they cannot drift from the wire format."""

from __future__ import annotations

from schemas.plan import Entities, Plan, Step

EXAMPLES: tuple[tuple[str, Plan], ...] = (
    (
        "Таблица по дням за ноябрь 2025: СЧА, приток, отток для ДУ Меридиан Облигации",
        Plan(
            intent="cashflows",
            entities=Entities(
                metric="NAV, Inflow, Outflow",
                portfolio_names=("ДУ Меридиан Облигации",),
                start_date="2025-11-01",
                end_date="2025-11-30",
                by_date=True,
            ),
            steps=(
                Step(
                    id="find",
                    tool="portfolios_discovery_tool",
                    args={"operation": "get_portfolios", "portfolio": "ДУ Меридиан Облигации"},
                    save_as="resolve_portfolio",
                ),
                *(
                    Step(
                        id=name,
                        tool="cashflow_tool",
                        args={
                            "operation": f"get_{name}",
                            "portfolio_names": "${resolve_portfolio}",
                            "start_date": "2025-11-01",
                            "end_date": "2025-11-30",
                            "by_date": True,
                        },
                        save_as=name,
                        show_data=True,
                    )
                    for name in ("nav", "inflow", "outflow")
                ),
            ),
        ),
    ),
    (
        "Top 3 ПИФ by return in 2024",
        Plan(
            intent="profitability",
            entities=Entities(
                metric="return",
                portfolio_types=("ПИФ",),
                start_date="2024-01-01",
                end_date="2024-12-31",
            ),
            steps=(
                Step(
                    id="top",
                    tool="profit_tool",
                    args={
                        "operation": "rank_portfolios",
                        "portfolio_types": ["ПИФ"],
                        "start_date": "2024-01-01",
                        "end_date": "2024-12-31",
                        "order": "best",
                        "limit": 3,
                    },
                    save_as="top",
                    show_data=True,
                ),
            ),
        ),
    ),
    (
        "Стоит ли покупать ПИФ Горизонт Индекс?",
        Plan(
            needs_tools=False,
            intent="other",
            answer="Советов не даю. Могу показать доходность, риск, СЧА и потоки этого фонда.",
        ),
    ),
)
