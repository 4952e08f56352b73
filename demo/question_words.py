"""The words of a question: one pattern for each thing a person may ask for, ru and en."""

from __future__ import annotations

import re


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


ADVICE = _rule(r"стоит ли|\bпокупать|\bкупить|\bпрода(?:ть|вать)|посовет|рекоменд|куда влож|вкладывать|инвестировать"
                r"|should (?:i|we)\b|recommend|\badvi[cs]e|\bbuy\b|\bsell\b|invest in")  # fmt: skip
FORECAST = _rule(r"прогноз|предскаж|что будет|сколько будет|в будущем|ожидаем|forecast|predict|next (?:year|month|quarter)"
                  r"|следующ\w+ (?:год|месяц|квартал)|\bwill\b.*\b(?:grow|return|earn|be)\b")  # fmt: skip
HOLDINGS = _rule(r"бумаг[иа]?\b|\bсостав(?:е|а)?\b|эмитент|позици[ийя]|как(?:ие|их) акци[ий] (?:в|входят|держ)|holdings|securities"
                  r"|which stocks|what stocks|positions\b")  # fmt: skip
RATES = _rule(r"курс\w* (?:доллар|евро|валют|юан|рубл)|ключев\w+ ставк|инфляци|погод|биткоин|цен[аы] (?:акци|нефт)|exchange rate"
               r"|key rate|inflation|weather|bitcoin|(?:stock|oil) price")  # fmt: skip
INDEX = _rule(r"(?:\bс |\bи |\bк |\bwith |\bto |\band |\bagainst |\bvs\.? )?(?:the )?"
               r"(?:индекс\w*\s+(?:мосбирж\w*|московск\w+ бирж\w+|ртс|s&p\s*500|moex|imoex)|бенчмарк\w*|мосбирж\w*|imoex|moex(?: index)?"
               r"|s&p\s*500|nasdaq|rts index|(?<=с )индекс\w+|(?<=the )(?:benchmark|index)|benchmark)")  # fmt: skip
UNSUPPORTED = _rule(r"средн\w+ (?:дневн\w+ )?(?:сча|nav|приток|отток)|(?:average|mean) (?:daily )?(?:nav|inflow|outflow)|шарп|sharpe"
                     r"|\bбет[аы]\b|\bальф[аы]\b|\bsortino|корреляц|correlation|комисси|\bfees?\b|дивиденды\b")  # fmt: skip
WHY = _rule(r"^\s*(?:а\s+)?(?:почему|why)\b")
HELLO = _rule(
    r"^\s*(?:привет\w*|здравствуй\w*|добр\w+ (?:день|утро|вечер)|hello|hi|hey|good (?:morning|afternoon|evening)|спасибо|thanks?(?: you)?)\b"
)
HELP = _rule(
    r"(?:что|чего) (?:ты |вы )?(?:уме|мож)|ты кто|кто ты|помощь|справка|как тобой|^\s*help\b|what can you|who are you|what do you do"
)
ADD = _rule(r"^\s*(?:и |а |and )?(?:добав|ещ[её]|также|плюс|add\b|also\b|plus\b|include)")
FOLLOW = _rule(r"^\s*(?:а|и|теперь|то же|тоже|and|now|what about|same|how about)\b")
CHART = _rule(r"график|диаграм|динамик|chart|plot|graph")
TABLE = _rule(r"таблиц|таблич|колонк|столбц|\btable\b|columns?\b")
DAILY = _rule(
    r"по дням|по датам|поднев|подённ|подневн|ежедневн|кажд\w+ день|за день\b|дневн\w+ доходност|\bdaily\b|by (?:day|date)|per day|day by day|each day|every day"
)
LENGTHS = (
    (
        "month",
        _rule(
            r"по месяц|помесяч|ежемесяч|кажд\w+ месяц|monthly|by month|per month|each month|month by month"
        ),
    ),
    ("quarter", _rule(r"по квартал|покварт|ежекварт|quarterly|by quarter|per quarter|each quarter")),
    (
        "year",
        _rule(r"по годам|погодн|кажд\w+ год|yearly|by (?:calendar )?year|per year|each year|year by year"),
    ),
)
ALL = _rule(
    r"\bвсе[хм]?\b|\bвсеми\b|\bобщ\w+|\bвсего\b|компани|\ball\b|\btotal\b|\beach\b|\bevery\b|каждо|каждый"
)
BY_TYPE = _rule(
    r"на (?:каждый )?тип\b|по (?:каждому )?тип(?:ам|у)\b(?! портфел\w+ [А-ЯЁ])|по типам|в разрезе типов|в целом|кажд\w+ тип|(?:by|per) (?:portfolio )?type|each type|as a whole"
)
BY_STRATEGY = _rule(
    r"по (?:каждой )?стратегиям|по каждой стратегии|в разрезе стратег|на стратегию|кажд\w+ стратеги|(?:by|per) strateg|each strategy"
)
WORST = _rule(r"худш|хуже|аутсайдер|наименьш|минимальн|сам\w+ низк|\bworst|lowest|bottom|убыточн")
RANK = _rule(r"\bтоп\b|\bтоп-|лучш|худш|рейтинг|лидер|аутсайдер|наибольш|наименьш|(?:максимальн|минимальн)\w+ (?:доход|прирост)|сам\w+ (?:высок|низк|доходн|убыточн)"
              r"|\btop\b|\btop-|\bbest\b|\bworst\b|\brank|highest|lowest|bottom")  # fmt: skip
RANK_ONE = _rule(
    r"(?:какой|который|самый|самая|which|the) (?:\w+ ){0,2}(?:лучший|худший|доходный|убыточный|best|worst)(?! \d)(?!.*\bportfolios\b)|у какого|\b(?:лучший|худший|самый \w+)\b|\b(?:best|worst)(?: performing)? (?:portfolio|fund)\b"
)
RANK_PLACE = _rule(
    r"(?:лучш|худш)\w+ (?:торгов\w+ )?(день|месяц|квартал)|(?:best|worst) (?:trading )?(day|month|quarter)"
)
LIMIT = _rule(
    r"(?:топ|top|best|worst|bottom|лучши[ехм]|худши[ехм])[- ]*(\d{1,3})\b|\b(\d{1,3}) (?:сам\w+ )?(?:лучш|худш|доходн|убыточн|best|worst|top)"
)
LIMIT_WORD = _rule(
    r"(?:топ|top|best|worst)?[- ]?\b(тройк|три|тр[её]х|пятёрк|пятерк|пять|пяти|десятк|десять|three|five|ten)\w*"
)
WORD_LIMITS = {"т": 3, "п": 5, "д": 10, "th": 3, "fi": 5, "te": 10}

NET = _rule(
    r"нетто[- ]?\w*|чист\w+ (?:приток|отток|поток)\w*|сальдо\w*|net[- ]?(?:in|out)?[- ]?flows?|net cash ?flows?"
)
NAV = _rule(
    r"\bсча\b|\bnav\b|чист\w+ актив|стоимост\w+|сколько (?:сейчас )?(?:стоит|денег (?:сейчас |сегодня )?(?:в|на|у)\b)|объ[её]м\w* актив|\baum\b|net asset|активы под управ|под управлением|размер (?:портфел|фонд)"
)
INFLOW = _rule(
    r"приток|притек|пришл|\bввод(?!н)\w*|взнос|поступ|пополн|привлек|привлеч|завели|внесли|inflow|came in|contribution|subscription|deposit"
)
OUTFLOW = _rule(
    r"отток|оттек|\bушл|\bвывод\w*|\bвывел[аи]?\b|изъят|погаш|забрал|outflow|withdr|went out|redemption"
)
FLOW = _rule(r"денежн\w+ поток|потоки\b|движени\w+ (?:средств|денег)|cash ?flows?\b|money flows?")
MONEY = _rule(r"(?:в рублях|в деньгах|в валюте|рублей|денег)\W+(?:\w+\W+){0,2}?(?:заработ|принес)|(?:заработ|принес|доход)\w*.*(?:в рублях|в деньгах|рублей)|прибыл|убыт(?:ок|ки|ка)"
               r"|\bp&l\b|\bpnl\b|финансов\w+ результат|in (?:roubles|rubles|money|cash terms)|\bprofits?\b|how much money .*(?:earn|made|make)")  # fmt: skip
GEOMETRIC = _rule(r"геометр|geometric")
MEAN = _rule(r"средн(?!егод)\w*|арифметич|\bmean\b|\baverage\b|arithmetic")
ANNUAL = _rule(
    r"годовы[ехмую]|годовая доходн|годовую доходн|среднегод|annuali[sz]|\bcagr\b|per annum|\bp\.a\.|(?<!mean )annual return\b"
)
RISK = _rule(r"волатильн|\bриск|просадк|volatil|drawdown|\brisk")
RETURN = _rule(
    r"доходн|заработ|сделал|сработал|отработал|прирост|вырос|упал|принес|прибавил|результат|total return|\breturns?\b|perform|\btwr\b|\bearn|\byield|\bdid\b.*\bdo\b"
)
EXACT_RETURN = _rule(r"(?<!годовая )(?<!годовую )доходност|\breturns?\b|\btwr\b")

TYPES = _rule(
    r"(?:какие|список|перечисл\w*|покажи|все|есть).*\bтипы\b|типы портфел|виды портфел|(?:portfolio types|types of portfolios?|what types|which types|list .*types)"
)
STRATEGIES = _rule(
    r"(?:какие|список|перечисл\w*|покажи|все|есть).*\bстратегии\b|стратегии (?:есть|бывают)|(?:what|which|list|show|all)\b.*\bstrategies"
)
ATTRIBUTES = _rule(
    r"\bкод|стратеги|валют|\bтип(?:а|у)?\b|реквизит|атрибут|свойств|когда (?:открыт|закрыт|начал|созда)|с какой даты|информаци|что за |расска[жз]|\bcode\b|currenc|strategy|attribut|\btype\b|details|(?<!what )(?<!how )\babout\b|since when|first day"
)
LIST = _rule(
    r"какие|список|перечисл|покажи|сколько|выведи|назови|есть|дай|\blist\b|\bshow\b|which|what|how many"
)
PORTFOLIOS = _rule(r"портфел(?:и|ей|я)|фонд(?:ы|ов)|portfolios|funds")
CONTAINS = _rule(
    r"(?:содерж\w+|в назван\w+|со? слов\w+|contain\w*|in (?:the|their) names?)(?:\s+(?:слово|есть|word|the|with))*\s*[«\"“]?([\w-]+)"
)
SEARCH = _rule(r"найди|найти|поищи|есть ли|\bfind\b|look up|search")
SQL = _rule(r"^\s*(?:select|with)\b.+\bfrom\b")
DATABASES = _rule(r"баз[ыа] данных|какие базы|list databases|show databases|what databases")
TABLES = _rule(
    r"(?:какие|список|покажи).*таблицы.*(?:баз|есть)|list tables|show tables|what tables|which tables"
)
DATABASE = _rule(r"(?:баз\w+(?: данных)?|database|schema|\bin|\bfrom)\s+([A-Za-z_]\w*)")
