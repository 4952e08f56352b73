"""What the offline planner says in words: what it can do and what it cannot."""

from __future__ import annotations

from schemas.language import Both

ABOUT = Both(
    "Офлайн-планировщик: правила по ключевым словам, незнакомые слова не учитываются; подключите модель для свободных вопросов.",
    "Offline planner: keyword rules, words they do not know are ignored; connect a model for free-form questions.",
)

NO_INDEX = Both("Индексов в данных нет.", "The data has no indices.")

ABLE = Both(
    "Могу показать доходность портфеля или типа (всего, по дням, месяцам, кварталам, годам, среднюю, "
    "годовую, в деньгах), риск, рейтинг, СЧА, притоки и оттоки, списки портфелей, типов и стратегий, "
    "код, стратегию и валюту портфеля. Например: «Доходность ДУ Горизонт Акции за 2024 год».",
    "I can show the return of a portfolio or a type (total, by day, month, quarter, year, mean, annualised, "
    "in money), risk, rankings, NAV, inflows and outflows, lists of portfolios, types and strategies, "
    "a portfolio's code, strategy and currency. For example: “Return of Baltic Fixed Income in 2024”.",
)

NO_ADVICE = Both(
    "Советов не даю. Могу показать доходность, риск, СЧА и потоки портфеля за нужный период.",
    "I give no advice. I can show a portfolio's return, risk, NAV and flows for the period you need.",
)

NO_FORECAST = Both(
    "Прогнозов не делаю. Могу показать, что было: доходность, риск, СЧА и потоки за прошлые периоды.",
    "I make no forecasts. I can show what has been: return, risk, NAV and flows of past periods.",
)

NO_HOLDINGS = Both(
    "Состава портфелей в данных нет. Есть доходность, СЧА, притоки и оттоки, тип, стратегия и валюта.",
    "The data has no holdings. It has returns, NAV, inflows and outflows, type, strategy and currency.",
)

NO_RATES = Both(
    "Курсов, ставок, цен и индексов в данных нет. Есть доходность, СЧА и потоки портфелей.",
    "The data has no rates, prices or indices. It has returns, NAV and flows of portfolios.",
)

NO_SUCH = Both(
    "Такого показателя у меня нет. Есть доходность (всего, средняя, годовая, в деньгах), волатильность, просадка, "
    "СЧА, притоки и оттоки; рейтинг — только по доходности.",
    "I do not have that measure. There are returns (total, mean, annualised, in money), volatility, drawdown, NAV, "
    "inflows and outflows; rankings are by return only.",
)

REASONS = Both(
    "Причин в данных нет. Могу показать этот портфель по дням или месяцам, его риск, притоки и оттоки.",
    "The data has no reasons. I can show this portfolio by day or month, its risk, inflows and outflows.",
)

WHAT_ABOUT_IT = Both(
    "Что показать: доходность, риск, СЧА, притоки и оттоки или свойства? Назовите и период.",
    "What should I show: return, risk, NAV, flows or attributes? Name the period too.",
)

TOO_LONG = Both(
    "Вопрос слишком длинный для правил по ключевым словам. Спросите короче или подключите модель.",
    "The question is too long for keyword rules. Ask a shorter one or connect a model.",
)

WHICH_PORTFOLIO = Both(
    "По какому портфелю или типу? Назовите его, например «ДУ Горизонт Акции» или «ПИФ».",
    "For which portfolio or type? Name it, for example “Baltic Fixed Income” or “ПИФ”.",
)
