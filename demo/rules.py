"""A question into a plan by keyword rules: no model, no data, never a figure.

The rules know the operations of the product's tools and common Russian and English wording. What
they do not know they say plainly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from demo.question_dates import Days, Span, find_days, read_periods
from demo.question_names import Chosen, find_portfolios
from schemas.language import Both, Language, detect_language

ABOUT = Both(
    "Офлайн-планировщик: правила по ключевым словам; подключите модель для свободных вопросов.",
    "Offline planner: keyword rules; connect a model for free-form questions.",
)
ABLE = Both(
    "Могу показать доходность портфеля или типа (всего, по дням, месяцам, кварталам, годам, среднюю, "
    "годовую, в деньгах), риск, рейтинг, СЧА, притоки и оттоки, списки портфелей, типов и стратегий, "
    "код, стратегию и валюту портфеля. Например: «Доходность ДУ Горизонт Акции за 2024 год».",
    "I can show the return of a portfolio or a type (total, by day, month, quarter, year, mean, annualised, "
    "in money), risk, rankings, NAV, inflows and outflows, lists of portfolios, types and strategies, "
    "a portfolio's code, strategy and currency. For example: “Return of Baltic Fixed Income in 2024”.",
)

_PROFIT = "profit_tool"
_CASH = "cashflow_tool"
_FIND = "portfolios_discovery_tool"
_BASE = "clickhouse_client_base"
_TOOLS = {
    **dict.fromkeys(
        ("get_profit_of_portfolio", "get_mean_profit", "get_geometric_mean_profit", "get_profit_by_period", "get_risk",
         "get_annualised_profit", "get_profit_in_money", "rank_portfolios", "get_group_profit"), _PROFIT),
    **dict.fromkeys(("get_nav", "get_inflow", "get_outflow", "get_net_flow", "get_nav_by_type"), _CASH),
    **dict.fromkeys(("get_portfolios", "get_portfolios_type", "get_portfolios_by_type", "get_portfolio_attributes",
                     "get_strategies"), _FIND),
    **dict.fromkeys(("list_databases", "list_tables", "run_select_query"), _BASE),
}  # fmt: skip
_METRICS = {
    "get_profit_of_portfolio": "return", "get_mean_profit": "mean daily return",
    "get_geometric_mean_profit": "geometric mean daily return", "get_profit_by_period": "return by period",
    "get_risk": "risk", "get_annualised_profit": "annualised return", "get_profit_in_money": "profit in money",
    "rank_portfolios": "ranking by return", "get_group_profit": "return of groups", "get_nav": "NAV",
    "get_inflow": "Inflow", "get_outflow": "Outflow", "get_net_flow": "Net flow", "get_nav_by_type": "NAV by type",
}  # fmt: skip
_FLOWS = ("get_nav", "get_inflow", "get_outflow", "get_net_flow")
_WHOLE_ALLOWED = ("rank_portfolios", "get_group_profit", "get_nav_by_type")


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ADVICE = _rule(r"стоит ли|\bпокупать|\bкупить|\bпрода(?:ть|вать)|посовет|рекоменд|куда влож|вкладывать|инвестировать"
                r"|should (?:i|we)\b|recommend|\badvi[cs]e|\bbuy\b|\bsell\b|invest in")  # fmt: skip
_FORECAST = _rule(r"прогноз|предскаж|что будет|сколько будет|в будущем|ожидаем|forecast|predict|next (?:year|month|quarter)"
                  r"|следующ\w+ (?:год|месяц|квартал)|\bwill\b.*\b(?:grow|return|earn|be)\b")  # fmt: skip
_HOLDINGS = _rule(r"бумаг[иа]?\b|\bсостав(?:е|а)?\b|эмитент|позици[ийя]|как(?:ие|их) акци[ий] (?:в|входят|держ)|holdings|securities"
                  r"|which stocks|what stocks|positions\b")  # fmt: skip
_RATES = _rule(r"курс\w* (?:доллар|евро|валют|юан|рубл)|ключев\w+ ставк|инфляци|погод|биткоин|цен[аы] (?:акци|нефт)|exchange rate"
               r"|key rate|inflation|weather|bitcoin|(?:stock|oil) price")  # fmt: skip
_INDEX = _rule(r"(?:\bс |\bи |\bк |\bwith |\bto |\band |\bagainst |\bvs\.? )?(?:the )?"
               r"(?:индекс\w*\s+(?:мосбирж\w*|московск\w+ бирж\w+|ртс|s&p\s*500|moex|imoex)|бенчмарк\w*|мосбирж\w*|imoex|moex(?: index)?"
               r"|s&p\s*500|nasdaq|rts index|(?<=с )индекс\w+|(?<=the )(?:benchmark|index)|benchmark)")  # fmt: skip
_UNSUPPORTED = _rule(r"средн\w+ (?:дневн\w+ )?(?:сча|nav|приток|отток)|(?:average|mean) (?:daily )?(?:nav|inflow|outflow)|шарп|sharpe"
                     r"|\bбет[аы]\b|\bальф[аы]\b|\bsortino|корреляц|correlation|комисси|\bfees?\b|дивиденды\b")  # fmt: skip
_WHY = _rule(r"^\s*(?:а\s+)?(?:почему|why)\b")
_HELLO = _rule(r"^\s*(?:привет\w*|здравствуй\w*|добр\w+ (?:день|утро|вечер)|hello|hi|hey|good (?:morning|afternoon|evening)|спасибо|thanks?(?: you)?)\b")
_HELP = _rule(r"(?:что|чего) (?:ты |вы )?(?:уме|мож)|ты кто|кто ты|помощь|справка|как тобой|^\s*help\b|what can you|who are you|what do you do")
_ADD = _rule(r"^\s*(?:и |а |and )?(?:добав|ещ[её]|также|плюс|add\b|also\b|plus\b|include)")
_FOLLOW = _rule(r"^\s*(?:а|и|теперь|то же|тоже|and|now|what about|same|how about)\b")
_CHART = _rule(r"график|диаграм|динамик|chart|plot|graph")
_TABLE = _rule(r"таблиц|таблич|колонк|столбц|\btable\b|columns?\b")
_DAILY = _rule(r"по дням|по датам|поднев|подённ|подневн|ежедневн|кажд\w+ день|за день\b|дневн\w+ доходност|\bdaily\b|by (?:day|date)|per day|day by day|each day|every day")
_LENGTHS = (
    ("month", _rule(r"по месяц|помесяч|ежемесяч|кажд\w+ месяц|monthly|by month|per month|each month|month by month")),
    ("quarter", _rule(r"по квартал|покварт|ежекварт|quarterly|by quarter|per quarter|each quarter")),
    ("year", _rule(r"по годам|погодн|кажд\w+ год|yearly|by (?:calendar )?year|per year|each year|year by year")),
)
_ALL = _rule(r"\bвсе[хм]?\b|\bвсеми\b|\bобщ\w+|\bвсего\b|компани|\ball\b|\btotal\b|\beach\b|\bevery\b|каждо|каждый")
_BY_TYPE = _rule(r"на (?:каждый )?тип\b|по (?:каждому )?тип(?:ам|у)\b(?! портфел\w+ [А-ЯЁ])|по типам|в разрезе типов|в целом|кажд\w+ тип|(?:by|per) (?:portfolio )?type|each type|as a whole")
_BY_STRATEGY = _rule(r"по (?:каждой )?стратегиям|по каждой стратегии|в разрезе стратег|на стратегию|кажд\w+ стратеги|(?:by|per) strateg|each strategy")
_WORST = _rule(r"худш|хуже|аутсайдер|наименьш|минимальн|сам\w+ низк|\bworst|lowest|bottom|убыточн")
_RANK = _rule(r"\bтоп\b|\bтоп-|лучш|худш|рейтинг|лидер|аутсайдер|наибольш|наименьш|(?:максимальн|минимальн)\w+ (?:доход|прирост)|сам\w+ (?:высок|низк|доходн|убыточн)"
              r"|\btop\b|\btop-|\bbest\b|\bworst\b|\brank|highest|lowest|bottom")  # fmt: skip
_RANK_ONE = _rule(r"(?:какой|который|самый|самая|which|the) (?:\w+ ){0,2}(?:лучший|худший|доходный|убыточный|best|worst)(?! \d)(?!.*\bportfolios\b)|у какого")
_RANK_PLACE = _rule(r"(?:лучш|худш)\w+ (?:торгов\w+ )?(день|месяц|квартал)|(?:best|worst) (?:trading )?(day|month|quarter)")
_LIMIT = _rule(r"(?:топ|top|best|worst|bottom|лучши[ехм]|худши[ехм])[- ]*(\d{1,3})\b|\b(\d{1,3}) (?:сам\w+ )?(?:лучш|худш|доходн|убыточн|best|worst|top)")
_LIMIT_WORD = _rule(r"(?:топ|top|best|worst)?[- ]?\b(тройк|три|тр[её]х|пятёрк|пятерк|пять|пяти|десятк|десять|three|five|ten)\w*")
_WORD_LIMITS = {"т": 3, "п": 5, "д": 10, "th": 3, "fi": 5, "te": 10}

_NET = _rule(r"нетто[- ]?\w*|чист\w+ (?:приток|отток|поток)\w*|сальдо\w*|net[- ]?(?:in|out)?[- ]?flows?|net cash ?flows?")
_NAV = _rule(r"\bсча\b|\bnav\b|чист\w+ актив|стоимост\w+|сколько (?:сейчас )?(?:стоит|денег (?:в|на))|объ[её]м\w* актив|\baum\b|net asset|активы под управ|под управлением|размер (?:портфел|фонд)")
_INFLOW = _rule(r"приток|притек|пришл|\bввод(?!н)\w*|взнос|поступ|пополн|привлек|привлеч|завели|внесли|inflow|came in|contribution|subscription|deposit")
_OUTFLOW = _rule(r"отток|оттек|\bушл|\bвывод\w*|\bвывел[аи]?\b|изъят|погаш|забрал|outflow|withdr|went out|redemption")
_FLOW = _rule(r"денежн\w+ поток|потоки\b|движени\w+ (?:средств|денег)|cash ?flows?\b|money flows?")
_MONEY = _rule(r"(?:в рублях|в деньгах|в валюте|рублей|денег)\W+(?:\w+\W+){0,2}?(?:заработ|принес)|(?:заработ|принес|доход)\w*.*(?:в рублях|в деньгах|рублей)|прибыл|убыт(?:ок|ки|ка)"
               r"|\bp&l\b|\bpnl\b|финансов\w+ результат|in (?:roubles|rubles|money|cash terms)|\bprofits?\b|how much money .*(?:earn|made|make)")  # fmt: skip
_GEOMETRIC = _rule(r"геометр|geometric")
_MEAN = _rule(r"средн(?!егод)\w*|арифметич|\bmean\b|\baverage\b|arithmetic")
_ANNUAL = _rule(r"годовы[ехмую]|годовая доходн|годовую доходн|среднегод|annuali[sz]|\bcagr\b|per annum|\bp\.a\.|(?<!mean )annual return\b")
_RISK = _rule(r"волатильн|\bриск|просадк|volatil|drawdown|\brisk")
_RETURN = _rule(r"доходн|заработ|сделал|сработал|отработал|прирост|вырос|упал|принес|прибавил|результат|total return|\breturns?\b|perform|\btwr\b|\bearn|\byield|\bdid\b.*\bdo\b")
_EXACT_RETURN = _rule(r"(?<!годовая )(?<!годовую )доходност|\breturns?\b|\btwr\b")

_TYPES = _rule(r"(?:какие|список|перечисл\w*|покажи|все|есть).*\bтипы\b|типы портфел|виды портфел|(?:portfolio types|types of portfolios?|what types|which types|list .*types)")
_STRATEGIES = _rule(r"(?:какие|список|перечисл\w*|покажи|все|есть).*\bстратегии\b|стратегии (?:есть|бывают)|(?:what|which|list|show|all)\b.*\bstrategies")
_ATTRIBUTES = _rule(r"\bкод|стратеги|валют|\bтип(?:а|у)?\b|реквизит|атрибут|свойств|когда (?:открыт|закрыт|начал|созда)|с какой даты|информаци|что за |расскажи|\bcode\b|currenc|strategy|attribut|\btype\b|details|(?<!what )(?<!how )\babout\b|since when|first day")
_LIST = _rule(r"какие|список|перечисл|покажи|сколько|выведи|назови|есть|дай|\blist\b|\bshow\b|which|what|how many")
_PORTFOLIOS = _rule(r"портфел(?:и|ей|я)|фонд(?:ы|ов)|portfolios|funds")
_CONTAINS = _rule(r"(?:содерж\w+|в назван\w+|со? слов\w+|contain\w*|in (?:the|their) names?)(?:\s+(?:слово|есть|word|the|with))*\s*[«\"“]?([\w-]+)")
_SEARCH = _rule(r"найди|найти|поищи|есть ли|\bfind\b|look up|search")
_SQL = _rule(r"^\s*(?:select|with)\b.+\bfrom\b")
_DATABASES = _rule(r"баз[ыа] данных|какие базы|list databases|show databases|what databases")
_TABLES = _rule(r"(?:какие|список|покажи).*таблицы.*(?:баз|есть)|list tables|show tables|what tables|which tables")
_DATABASE = _rule(r"(?:баз\w+(?: данных)?|database|schema|\bin|\bfrom)\s+([A-Za-z_]\w*)")


@dataclass(frozen=True)
class _Question:
    text: str
    lower: str
    days: Days
    chosen: Chosen
    russian: bool
    previous: dict[str, Any] | None

    def has(self, rule: re.Pattern[str]) -> bool:
        return rule.search(self.lower) is not None


def plan_for(question: str, prompt: str, *, previous: dict[str, Any] | None) -> dict[str, Any]:
    """Return the plan of a question in the wire format.

    `prompt` gives today, the last data day, the named periods and the operations on offer, each
    where it has them; `previous` is {"question", "plan"} of the turn before.
    """
    text = _unquoted(question.strip())
    lowered = _INDEX.sub(" ", text) if _INDEX.search(text) else text
    today = _day(prompt, "Today") or date.today()
    days = find_days(
        lowered, today=today, last_day=_day(prompt, "Last data day"), named=read_periods(prompt)
    )
    chosen = find_portfolios(days.rest)
    lower = _without_names(days.rest, chosen).lower()
    russian = detect_language(text) == "ru"
    asked = _Question(text, lower, days, chosen, russian, previous)
    plan = _decide(asked)
    return _offered_only(plan, prompt, asked)


def _unquoted(text: str) -> str:
    whole = re.fullmatch(r"[«\"“]([^«»\"“”]{20,})[»\"”]", text)
    return whole.group(1) if whole else text


def _day(prompt: str, label: str) -> date | None:
    found = re.findall(rf"^{label}:\s*(\d{{4}}-\d\d-\d\d)\s*$", prompt, re.MULTILINE)
    try:
        return datetime.strptime(found[-1], "%Y-%m-%d").date() if found else None
    except ValueError:
        return None


def _without_names(text: str, chosen: Chosen) -> str:
    """Blank the names out, so that words in them (Индекс, Дивидендный) ask for nothing."""
    for name in sorted(chosen.names, key=len, reverse=True):
        text = text.replace(name, "¦")
        bare = re.sub(r"^\S+\s+", "", name)
        text = text.replace(bare, "¦") if " " in name else text
    return text


def _decide(asked: _Question) -> dict[str, Any]:
    refusal = _refusal(asked)
    if refusal is not None:
        return _words(asked, answer=refusal)
    database = _database_steps(asked)
    if database:
        return _plan(asked, database)
    operations = _operations(asked)
    earlier = _earlier_steps(asked.previous)
    if earlier and not operations and not asked.chosen and asked.has(_WHY):
        plan = _words(asked, answer=_REASONS)
        return {**plan, "entities": {**plan["entities"], **(asked.previous or {})["plan"].get("entities", {})}}
    if earlier and (followed := _follow_up(asked, operations, earlier)):
        return _plan(asked, followed)
    found = _discovery_steps(asked, bool(operations))
    if found:
        return _plan(asked, found)
    if not operations and asked.chosen and asked.days.spans:
        operations = ["get_profit_of_portfolio"]
    if operations:
        return _measured(asked, operations)
    if _INDEX.search(asked.text) and asked.chosen:
        return _measured(asked, ["get_profit_of_portfolio"])
    if _INDEX.search(asked.text):
        return _words(asked, answer=_NO_RATES)
    if asked.chosen:
        return _words(asked, question=_WHAT_ABOUT_IT)
    if asked.has(_HELLO) or asked.has(_HELP):
        return _words(asked, answer=Both(f"{ABOUT.ru} {ABLE.ru}", f"{ABOUT.en} {ABLE.en}"))
    return _words(
        asked, question=Both(f"Не понял вопрос. {ABOUT.ru} {ABLE.ru}", f"I did not understand. {ABOUT.en} {ABLE.en}")
    )


_NO_ADVICE = Both(
    "Советов не даю. Могу показать доходность, риск, СЧА и потоки портфеля за нужный период.",
    "I give no advice. I can show a portfolio's return, risk, NAV and flows for the period you need.",
)
_NO_FORECAST = Both(
    "Прогнозов не делаю. Могу показать, что было: доходность, риск, СЧА и потоки за прошлые периоды.",
    "I make no forecasts. I can show what has been: return, risk, NAV and flows of past periods.",
)
_NO_HOLDINGS = Both(
    "Состава портфелей в данных нет. Есть доходность, СЧА, притоки и оттоки, тип, стратегия и валюта.",
    "The data has no holdings. It has returns, NAV, inflows and outflows, type, strategy and currency.",
)
_NO_RATES = Both(
    "Курсов, ставок, цен и индексов в данных нет. Есть доходность, СЧА и потоки портфелей.",
    "The data has no rates, prices or indices. It has returns, NAV and flows of portfolios.",
)
_NO_SUCH = Both(
    "Такого показателя у меня нет. Есть доходность (всего, средняя, годовая, в деньгах), волатильность, просадка, "
    "СЧА, притоки и оттоки; рейтинг — только по доходности.",
    "I do not have that measure. There are returns (total, mean, annualised, in money), volatility, drawdown, NAV, "
    "inflows and outflows; rankings are by return only.",
)
_REASONS = Both(
    "Причин в данных нет. Могу показать этот портфель по дням или месяцам, его риск, притоки и оттоки.",
    "The data has no reasons. I can show this portfolio by day or month, its risk, inflows and outflows.",
)
_WHAT_ABOUT_IT = Both(
    "Что показать: доходность, риск, СЧА, притоки и оттоки или свойства? Назовите и период.",
    "What should I show: return, risk, NAV, flows or attributes? Name the period too.",
)
_WHICH_PORTFOLIO = Both(
    "По какому портфелю или типу? Назовите его, например «ДУ Горизонт Акции» или «ПИФ».",
    "For which portfolio or type? Name it, for example “Baltic Fixed Income” or “ПИФ”.",
)


def _refusal(asked: _Question) -> Both | None:
    for rule, text in (
        (_ADVICE, _NO_ADVICE),
        (_FORECAST, _NO_FORECAST),
        (_HOLDINGS, _NO_HOLDINGS),
        (_RATES, _NO_RATES),
        (_UNSUPPORTED, _NO_SUCH),
    ):
        if asked.has(rule):
            return text
    ranked = asked.has(_RANK) and any(asked.has(rule) for rule in (_NAV, _INFLOW, _OUTFLOW, _RISK))
    if ranked and not asked.has(_EXACT_RETURN) and not asked.chosen.names:
        return _NO_SUCH
    if asked.has(_NAV) and asked.has(_BY_STRATEGY):
        return _NO_SUCH
    return None


def _operations(asked: _Question) -> list[str]:
    """Return the operations on returns and flows a question asks for, in the order of its words."""
    text = asked.lower
    places: dict[str, int] = {}

    def note(operation: str, rule: re.Pattern[str], within: str) -> bool:
        found = rule.search(within)
        if found:
            places.setdefault(operation, found.start())
        return found is not None

    note("get_net_flow", _NET, text)
    flows = _NET.sub(lambda match: "¦" * len(match.group(0)), text)
    note("get_nav", _NAV, flows)
    note("get_inflow", _INFLOW, flows)
    note("get_outflow", _OUTFLOW, flows)
    found = _FLOW.search(flows)
    if found:
        for operation in ("get_inflow", "get_outflow", "get_net_flow"):
            places.setdefault(operation, found.start())
    money = note("get_profit_in_money", _MONEY, flows)
    geometric = note("get_geometric_mean_profit", _GEOMETRIC, text)
    mean = bool(_MEAN.search(text)) and (not geometric or re.search("арифм|arithm", text) is not None)
    if mean:
        note("get_mean_profit", _MEAN, text)
    risk = note("get_risk", _RISK, text)
    annual = note("get_annualised_profit", _ANNUAL, text) if not (risk and not _RETURN.search(text)) else False
    if not (mean or geometric or annual) and (not money or _EXACT_RETURN.search(text)):
        note("get_profit_of_portfolio", _RETURN, text)
    if asked.has(_RANK) and not asked.has(_RANK_PLACE) and not (set(places) & set(_FLOWS)):
        return ["rank_portfolios"]
    if not places and re.search(r"динамик", text):
        places["get_profit_of_portfolio"] = 0
    if asked.has(_RANK_PLACE) and not places:
        places["get_profit_of_portfolio"] = 0
    ordered = sorted(places, key=lambda operation: places[operation])
    grouped = asked.has(_BY_TYPE) or asked.has(_BY_STRATEGY)
    if grouped and not asked.chosen.names:
        swap = {"get_profit_of_portfolio": "get_group_profit", "get_nav": "get_nav_by_type"}
        ordered = [swap.get(operation, operation) for operation in ordered]
    if not asked.chosen and asked.has(_ALL):
        swap = {"get_profit_of_portfolio": "rank_portfolios", "get_nav": "get_nav_by_type"}
        ordered = [swap.get(operation, operation) for operation in ordered]
    return list(dict.fromkeys(ordered))


def _said_grain(asked: _Question) -> str:
    for length, rule in _LENGTHS:
        if asked.has(rule):
            return length
    return "day" if asked.has(_DAILY) else ""


def _grain(asked: _Question, operations: list[str]) -> str:
    """Return day, month, quarter or year where rows are wanted for each, else ""."""
    place = _RANK_PLACE.search(asked.lower)
    if place:
        word = (place.group(1) or place.group(2)).lower()
        return "day" if word in ("день", "day") else "month" if word in ("месяц", "month") else "quarter"
    said = _said_grain(asked)
    averaged = {"get_mean_profit", "get_geometric_mean_profit"} & set(operations)
    if said and not (said == "day" and averaged):
        return said
    lengths = [span.days for span in asked.days.spans]
    longest = max((days for days in lengths if days), default=0)
    if asked.has(_CHART):
        return "month" if longest > 366 else "day"
    if asked.has(_TABLE) and "get_nav" in operations and 1 < longest <= 100:
        return "day"
    return ""


def _measured(asked: _Question, operations: list[str]) -> dict[str, Any]:
    needy = [operation for operation in operations if operation not in _WHOLE_ALLOWED]
    if needy and not asked.chosen:
        return _words(asked, question=_WHICH_PORTFOLIO, operations=operations)
    selection: dict[str, Any] = asked.chosen.args()
    return _plan(asked, _steps(asked, operations, selection, asked.days.spans, _grain(asked, operations)))


def _steps(
    asked: _Question, operations: list[str], selection: dict[str, Any], spans: tuple[Span, ...], grain: str
) -> list[dict[str, Any]]:
    """Return one call for each operation and period."""
    calls: list[dict[str, Any]] = []
    for span in spans[:4] or (Span(None, None),):
        for operation in operations:
            args: dict[str, Any] = {"operation": operation, **selection, **_dates(operation, span, grain)}
            calls.append(_grained(_ranked(asked, args), grain))
    return calls


def _dates(operation: str, span: Span, grain: str) -> dict[str, str]:
    """Return the date arguments; a NAV of one day needs only its end."""
    dates = {"start_date": span.start, "end_date": span.end}
    if operation in ("get_nav", "get_nav_by_type") and not grain and span.end:
        dates.pop("start_date")
    return {key: value for key, value in dates.items() if value}


def _grained(args: dict[str, Any], grain: str) -> dict[str, Any]:
    operation = args["operation"]
    args = {key: value for key, value in args.items() if key not in ("by_date", "period")}
    if operation == "get_profit_by_period":
        operation = "get_profit_of_portfolio"
    if grain == "day" and operation in (*_FLOWS, "get_profit_of_portfolio"):
        return {**args, "operation": operation, "by_date": True}
    if grain in ("month", "quarter", "year"):
        if operation == "get_profit_of_portfolio":
            return {**args, "operation": "get_profit_by_period", "period": grain}
        if operation in _FLOWS:
            return {**args, "period": grain}
    return {**args, "operation": operation}


def _ranked(asked: _Question, args: dict[str, Any]) -> dict[str, Any]:
    if args["operation"] == "get_group_profit":
        return {**args, "group_by": "strategy" if asked.has(_BY_STRATEGY) else "type"}
    if args["operation"] != "rank_portfolios":
        return args
    limit = 10 if asked.has(_RANK) else 1000
    number, word = _LIMIT.search(asked.lower), _LIMIT_WORD.search(asked.lower)
    if number:
        limit = int(number.group(1) or number.group(2))
    elif word and asked.has(_RANK):
        said = word.group(1)
        limit = _WORD_LIMITS.get(said[:2]) or _WORD_LIMITS[said[0]]
    elif asked.has(_RANK_ONE):
        limit = 1
    return {**args, "order": "worst" if asked.has(_WORST) else "best", "limit": max(1, min(limit, 1000))}


def _discovery_steps(asked: _Question, measured: bool) -> list[dict[str, Any]]:
    if measured:
        return []
    chosen, selection = asked.chosen, asked.chosen.args()
    inside = _CONTAINS.search(asked.text)
    if inside and (asked.has(_LIST) or asked.has(_PORTFOLIOS)):
        return [{"operation": "get_portfolios", "contains": inside.group(1)}]
    single = bool(chosen.names or chosen.codes or chosen.client_codes)
    if single and asked.has(_SEARCH):
        named = [*chosen.codes, *chosen.client_codes, *chosen.names]
        return [{"operation": "get_portfolios", "portfolio": name} for name in named]
    if single and asked.has(_ATTRIBUTES) and not asked.days.spans:
        return [{"operation": "get_portfolio_attributes", **selection}]
    if single:
        return []
    if chosen.strategies and not chosen.types and (asked.has(_PORTFOLIOS) or asked.has(_LIST)):
        return [{"operation": "get_portfolio_attributes", **selection}]
    if chosen.types and not asked.days.spans and (asked.has(_LIST) or asked.has(_PORTFOLIOS)):
        if chosen.strategies or asked.has(_ATTRIBUTES) and not asked.has(_TYPES):
            return [{"operation": "get_portfolio_attributes", **selection}]
        return [{"operation": "get_portfolios_by_type", "portfolio_types": list(chosen.types)}]
    if chosen:
        return []
    lists = [("get_portfolios_type", _TYPES), ("get_strategies", _STRATEGIES)]
    listed = [{"operation": operation} for operation, rule in lists if asked.has(rule)]
    if not listed and asked.has(_PORTFOLIOS) and asked.has(_LIST):
        return [{"operation": "get_portfolios"}]
    return listed


def _database_steps(asked: _Question) -> list[dict[str, Any]]:
    if _SQL.search(asked.text):
        return [{"operation": "run_select_query", "query": asked.text.rstrip("; ")}]
    if asked.has(_TABLES):
        found = _DATABASE.search(asked.text)
        return [{"operation": "list_tables", **({"database": found.group(1)} if found else {})}]
    if asked.has(_DATABASES):
        return [{"operation": "list_databases"}]
    return []


def _earlier_steps(previous: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the shown calls of the turn before, with a selection that needs no other step."""
    plan = (previous or {}).get("plan")
    if not isinstance(plan, dict):
        return []
    entities = plan.get("entities") or {}
    keys = ("portfolio_names", "portfolio_codes", "portfolio_client_codes", "portfolio_types")
    meant = {key: list(entities[key]) for key in keys if entities.get(key)}
    calls = []
    for step in plan.get("steps") or []:
        args = step.get("args") if isinstance(step, dict) else None
        if not isinstance(args, dict) or not step.get("show_data") or args.get("operation") not in _TOOLS:
            continue
        plain = {key: value for key, value in args.items() if "${" not in str(value)}
        if len(plain) < len(args):
            plain.update(meant)
        calls.append(plain)
    metric = entities.get("metric")
    if not calls and not plan.get("steps") and (metric or meant):
        # The turn before ended in a question or a refusal: what it named still counts.
        by_metric = {name: operation for operation, name in _METRICS.items()}
        dates = {key: entities[key] for key in ("start_date", "end_date") if entities.get(key)}
        named = [by_metric[item] for item in str(metric or "").split(", ") if item in by_metric]
        calls = [{"operation": item, **meant, **dates} for item in named or ["get_profit_of_portfolio"]]
    return calls


_SELECTION = ("portfolio_names", "portfolio_codes", "portfolio_client_codes", "portfolio_types", "strategies", "portfolio_ids")


def _follow_up(asked: _Question, operations: list[str], earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the earlier calls changed by what the person said now; empty for a new question."""
    selection = asked.chosen.args()
    known = {key: value for key, value in earlier[0].items() if key in _SELECTION}
    if isinstance(earlier[0].get("portfolio"), str):
        known["portfolio_names"] = [earlier[0]["portfolio"]]
    dated = next((call for call in earlier if call.get("start_date")), earlier[0])
    spans = asked.days.spans or (Span(dated.get("start_date"), dated.get("end_date")),)
    before = next((_call_grain(call) for call in earlier if _call_grain(call)), "")
    grain = _grain(asked, [*operations, *(call["operation"] for call in earlier)])
    if before and not _said_grain(asked):
        # «То же графиком» keeps the months it had.
        grain = ""
    listing = not operations and not selection and bool(_discovery_steps(asked, False))
    if listing:
        return []
    if asked.has(_ADD) and operations:
        added = _steps(asked, operations, selection or known, spans, grain or before)
        return _distinct([*(_changed(call, {}, (), grain) for call in earlier), *added])
    if operations:
        inherits = not selection and known and (
            asked.has(_FOLLOW) or any(operation not in _WHOLE_ALLOWED for operation in operations)
        )
        if inherits:
            calls = _steps(asked, operations, known, spans, grain)
            limit = earlier[0].get("limit")
            if limit and not (asked.has(_LIMIT) or asked.has(_RANK_ONE)):
                calls = [{**call, "limit": limit} if "limit" in call else call for call in calls]
            return calls
        if selection and not asked.days.spans and asked.has(_FOLLOW) and spans[0] != Span(None, None):
            return _steps(asked, operations, selection, spans, grain)
        return []
    if not selection and not asked.days.spans and not grain:
        if not (asked.has(_CHART) or asked.has(_TABLE) or re.search(r"то же|same|снова|again|повтори", asked.lower)):
            attributes = known and asked.has(_ATTRIBUTES)
            return [{"operation": "get_portfolio_attributes", **known}] if attributes else []
    if selection and asked.has(_ATTRIBUTES) and not asked.days.spans:
        return []
    if selection and not asked.has(_FOLLOW) and (asked.has(_LIST) or asked.has(_SEARCH)):
        return []
    changed = [_changed(call, selection, (span,), grain) for span in (asked.days.spans[:4] or (None,)) for call in earlier]
    return _distinct(changed)


def _call_grain(call: dict[str, Any]) -> str:
    return "day" if call.get("by_date") else str(call.get("period") or "")


def _changed(
    call: dict[str, Any], selection: dict[str, Any], spans: tuple[Span | None, ...], grain: str
) -> dict[str, Any]:
    """Return a call with another selection, period or grain, each where one was named."""
    args = dict(call)
    operation = args["operation"]
    if selection and operation == "get_portfolios":
        args = {"operation": operation, "portfolio": next(iter(selection.values()))[0]}
    elif selection and operation not in ("get_portfolios_type", "get_strategies"):
        args = {key: value for key, value in args.items() if key not in _SELECTION} | selection
    span = spans[0] if spans else None
    if grain:
        args = _grained(args, grain)
    if span is not None and _TOOLS[operation] in (_PROFIT, _CASH):
        args = {key: value for key, value in args.items() if key not in ("start_date", "end_date")}
        kept = grain or _call_grain(args)
        args.update(_dates(operation, span, kept))
    return args


def _distinct(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for place, call in enumerate(calls) if call not in calls[:place]]


def _plan(asked: _Question, calls: list[dict[str, Any]]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for args in calls:
        short = args["operation"].removeprefix("get_")
        taken = sum(1 for step in steps if step["args"]["operation"] == args["operation"])
        name = f"{short}_{taken + 1}" if taken else short
        steps.append({"id": name, "tool": _TOOLS[args["operation"]], "args": args, "save_as": name, "show_data": True})
    return _shape(asked, steps)


def _words(
    asked: _Question, *, answer: Both | None = None, question: Both | None = None, operations: list[str] | None = None
) -> dict[str, Any]:
    plan = _shape(asked, [])
    language: Language = "ru" if asked.russian else "en"
    if operations:
        plan["entities"]["metric"] = ", ".join(_METRICS[item] for item in operations if item in _METRICS) or None
    plan["answer"] = answer.to(language) if answer else None
    plan["clarification_question"] = question.to(language) if question else None
    return plan


def _shape(asked: _Question, steps: list[dict[str, Any]]) -> dict[str, Any]:
    tools = [step["tool"] for step in steps]
    intent = "other"
    for tool, name in ((_FIND, "discovery"), (_CASH, "cashflows"), (_PROFIT, "profitability")):
        intent = name if tool in tools else intent
    calls = [step["args"] for step in steps]
    first: dict[str, Any] = calls[0] if calls else asked.chosen.args()
    names = list(first.get("portfolio_names") or ([first["portfolio"]] if first.get("portfolio") else []))
    metrics = dict.fromkeys(_METRICS[args["operation"]] for args in calls if args["operation"] in _METRICS)
    spans = asked.days.spans
    return {
        "needs_tools": bool(steps),
        "intent": intent,
        "entities": {
            "metric": ", ".join(metrics) or None,
            "portfolio_hint": names[0] if names else None,
            "portfolio_names": names,
            "portfolio_types": list(first.get("portfolio_types") or []),
            "portfolio_codes": list(first.get("portfolio_codes") or []),
            "portfolio_client_codes": list(first.get("portfolio_client_codes") or []),
            "start_date": next((args["start_date"] for args in calls if args.get("start_date")), spans[0].start if spans else None),
            "end_date": next((args["end_date"] for args in calls if args.get("end_date")), spans[0].end if spans else None),
            "by_date": any(args.get("by_date", False) for args in calls),
        },
        "steps": steps,
        "clarification_question": None,
        "answer": None,
    }


def _offered_only(plan: dict[str, Any], prompt: str, asked: _Question) -> dict[str, Any]:
    """Drop the steps whose operation the prompt does not offer; say so when none is left."""
    offered = set(re.findall(r"^- (\w+)\(", prompt, re.MULTILINE))
    if not offered or not plan["steps"]:
        return plan
    kept = [step for step in plan["steps"] if step["args"]["operation"] in offered]
    if len(kept) == len(plan["steps"]):
        return plan
    if kept:
        return {**plan, "steps": kept}
    return _words(
        asked,
        answer=Both(
            f"Этих данных здесь нет или доступ к ним выключен. {ABLE.ru}",
            f"That data is not here or access to it is switched off. {ABLE.en}",
        ),
    )
