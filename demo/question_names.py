"""The portfolios a question is about: codes, types, strategies and names as the person wrote them.

What is neither a date nor a word of the question's own vocabulary is a name, if something says
so: quotes, a class word such as ПИФ, a capital letter, or a word such as «портфеля» before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipe.question_dates import USED

# Stands for every letter of a code already taken.
_TAKEN = "¤"
_TOKEN = re.compile(r"«[^»]*»[^\s,?!]*|\"[^\"]*\"[^\s,?!]*|“[^”]*”[^\s,?!]*|„[^“”]*[“”]|,|\S+")
_QUOTES = '«»"“”„'
_CODE = re.compile(r"(?<![\w-])(?!(?:топ|top)-)([^\W\d_]{1,6})-(\d{3,})(?![\w-])", re.IGNORECASE)
_NUMBER_ID = re.compile(
    r"\b(?:портфел\w*|portfolio|id|№)\s*(?:id\s*|№\s*)?(?!(?:19|20)\d\d\b)(\d{1,12})\b", re.IGNORECASE
)
_CLASS = re.compile(r"^(ду|du|[бзои]?пиф|нпф|[bz]?pif|npf)(?:а|у|ом|е)?$", re.IGNORECASE)
_CLASSES = re.compile(r"^([бзои]?пиф|нпф|[bz]?pif|npf)(?:ы|ов|ам|ами|ах|s)$", re.IGNORECASE)
_LATIN_CLASSES = {"DU": "ДУ", "PIF": "ПИФ", "BPIF": "БПИФ", "ZPIF": "ЗПИФ", "NPF": "НПФ"}
_RESERVES = re.compile(r"страхов\w+ резерв\w+(?!\s+[А-ЯЁ«\"])", re.IGNORECASE)
_STRATEGY = re.compile(
    r"(?:стратеги(?:и|ей|ю|ям|я)|strategy)\s+(?:«([^»]+)»|\"([^\"]+)\"|([А-ЯЁA-Z][\w-]*(?:\s+[A-Z][\w-]*)?))"
)
_ANCHOR = re.compile(
    r"^(?:портфел(?:ь|я|ю|е|ем)|фонд(?:а|у|е|ом)?|клиент(?:а|у|е|ом)?|portfolio|fund|client|of|for|по|у|в|для)$",
    re.IGNORECASE,
)
_STRONG_ANCHOR = re.compile(
    r"^(?:портфел(?:ь|я|ю|е|ем)|клиент(?:а|у|е|ом)?|portfolio|client)$", re.IGNORECASE
)
# Words that end a name even with a capital letter.
_ALWAYS_STOP = re.compile(r"^(?:сча|nav|twr|ytd|mtd|qtd|inflows?|outflows?|aum|p&l|pnl)$", re.IGNORECASE)
_STOP_STEMS = re.compile(
    r"^(?:доходн|сам(?:ый|ая|ое|ые|ых)$|заработ|сработ|отработ|сделал|приток|отток|пришл|ушл|поступ|нетто|волатил|риск"
    r"|просад|средн|геометр|арифм|дневн|годов|среднегод|месяц|месяч|помесяч|ежемес|ежедн|поднев|кварталам|поквартал|ежекв"
    r"|таблиц|графи|колонк|столб|портфел|фонд|клиент|стратеги|типа?[мхув]?$|типы$|типов$|код|валют|рубл|процент|покаж|выве|показ|посч|сравн"
    r"|построй|рассчит|вычисл|определ|сформ|проанализ|отобраз|предостав|узнай|нарис|как|сколь|лучш|худш|топ|рейтинг|перечисл|списо|списк|добав|пожалуйст|период|сумм|общ|итог|вс[её]х|все"
    r"|нужн|хочу|можно|скаж|расскаж|найд|назов|назван|содерж|превыс|бол[её]е|бенчмарк|индекс|мосбирж|последн|прошл|текущ|начал"
    r"|активов$|стоимост|объ[её]м|размер|чист|поток|денежн\w+ поток|прибыл|убыт|динамик|результат|перевед|изменил|вырос|упал"
    r"|return|perform|profit|volatil|drawdown|risk|mean|average|geometric|arithmetic|daily|month|quarterly|year|annual|portfolio|fund|client"
    r"|strateg|type|code|currenc|table|chart|graph|plot|column|show|give|list|compare|rank|best|worst|top|total|net$|flow|earn|made|trading|attribut|calculat|display|provide|present|explain|find|search)",
    re.IGNORECASE,
)
_STOP_WORDS = frozenset(
    """
    а и в во на за с со по у о об от до из к ко для над при про или ли же бы не это этот эта
    эти этого мне меня нам нас наш наши наша мой моя мои тебя что чем кто где когда который
    которые был была было были есть ещё еще также тоже теперь то того там тут сейчас целом
    каждый каждому каждого каждой строка строки одна одной день дням датам дате дату дата днем
    годам году года год раз раза во-первых денег деньги деньгах средств виде сравнению данные
    привет здравствуйте дай давай выгрузи отобрази выдай вид разрезе порядке вместе только
    против нетто подскажи глянь ввод ввели вывели вывод внесли совсем отдельно доход плюс
    минус за-период период дела спасибо the a an of for in on at to by from with and or vs
    versus what which was were is are did do does how much many me us my our please can you
    tell i want need see get all each every per as its it their there this that these those
    same also add plus now then over during between into out came went money one row day days
    date dates should could would will we they buy sell hold any if trading roubles rubles
    have has had value whole so index benchmark against about like name names hi hello thanks
    """.split()
)


@dataclass(frozen=True)
class Chosen:
    """Portfolios of a question, each list in the order of the question."""

    names: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    client_codes: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.codes or self.client_codes or self.types or self.strategies)

    def args(self) -> dict[str, list[str]]:
        """Return the selection arguments of an operation."""
        given = {
            "portfolio_names": self.names,
            "portfolio_codes": self.codes,
            "portfolio_client_codes": self.client_codes,
            "portfolio_types": self.types,
            "strategies": self.strategies,
        }
        return {key: list(value) for key, value in given.items() if value}


def find_portfolios(rest: str) -> Chosen:
    """Return what a question names, once its dates are used up."""
    codes: list[str] = []
    client_codes: list[str] = []
    types: list[str] = []
    strategies: list[str] = []
    names: list[tuple[int, str]] = []

    def take_code(match: re.Match[str]) -> str:
        (client_codes if len(match[1]) == 1 else codes).append(match[0])
        return _TAKEN * len(match[0])

    def take_number(match: re.Match[str]) -> str:
        names.append((3, match[1]))
        return USED * len(match[0])

    def take_strategy(match: re.Match[str]) -> str:
        if _kind(match[match.lastindex or 0].split()[0]):
            return match[0]
        strategies.append(match[match.lastindex or 0])
        return USED * len(match[0])

    def take_reserves(match: re.Match[str]) -> str:
        types.append("Страховые резервы")
        return USED * len(match[0])

    text = _CODE.sub(take_code, rest)
    text = _NUMBER_ID.sub(take_number, text)
    text = _STRATEGY.sub(take_strategy, text)
    text = _RESERVES.sub(take_reserves, text)
    for strength, words in _runs(text):
        kind = _kind(words[0])
        if len(words) == 1 and kind:
            types.append(kind)
        elif name := _name(words):
            names.append((strength, name))
    best = max((strength for strength, _name_ in names), default=0)
    kept = [name for strength, name in names if strength >= min(best, 2)]
    if best < 2 and (codes or client_codes or types or strategies):
        kept = []
    return Chosen(*(tuple(dict.fromkeys(each)) for each in (kept, codes, client_codes, types, strategies)))


def _kind(word: str) -> str | None:
    """Return the type a class word means."""
    bare = word.strip(".?!:;")
    found = _CLASS.match(bare) or _CLASSES.match(bare)
    if not found:
        return None
    upper = found.group(1).upper()
    return _LATIN_CLASSES.get(upper, upper)


def _runs(text: str) -> list[tuple[int, list[str]]]:
    """Return runs of words that may be a name, each with how sure that is: 3, 2 or 1."""
    tokens = _TOKEN.findall(text)
    comparing = re.search(r"сравн|compar|\bvs\b|versus|против", text, re.IGNORECASE) is not None
    runs: list[tuple[int, list[str]]] = []
    words: list[str] = []
    anchor = ""
    first = 0

    def close() -> None:
        nonlocal words
        if words and not anchor and not _kind(words[0]):
            # Unknown small words before the first capital are the question's, not the name's.
            starts = [i for i, word in enumerate(words) if word[0].isupper() or word[0] in _QUOTES]
            words = words[starts[0] :] if starts else []
        if words:
            strength = _strength(words, anchor, begins=first == 0)
            if strength:
                runs.append((strength, words))
        words = []

    for place, token in enumerate(tokens):
        bare = token.strip("?!:;,.…")
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if token == "," or USED in token or _TAKEN in token:
            if token.startswith("(" + _TAKEN):
                # «ДУ Иванов И.И. (DU-000111)»: the code says which one, the name would ask again.
                words = []
            close()
            anchor = ""
            continue
        if _CLASSES.match(bare):
            close()
            runs.append((3, [bare]))
            continue
        if _CLASS.match(bare):
            close()
            words, first = [bare], place
        elif (
            words
            and bare.lower() in ("и", "and", "&")
            and _continues(
                following, tokens[place + 2 : place + 3], comparing=comparing, after_class=len(words) == 1
            )
        ) or (words and token in ("-", "–", "+", "--") and (token in ("+", "--") or _is_word(following))):
            words.append(token)
        elif _is_word(token) and not _stops(bare, inside=bool(words)):
            if not words:
                first = place
            words.append(token)
        else:
            close()
            anchor = bare if _ANCHOR.match(bare) else ""
            continue
        if token[-1] in "?!:" and words:
            close()
            anchor = ""
    close()
    return runs


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


def _continues(following: str, after: list[str], *, comparing: bool, after_class: bool) -> bool:
    """Tell whether «и» goes on with the same name (Нефть и газ) rather than with another one."""
    bare = following.strip("?!:;,.…")
    if (
        not bare
        or after_class
        or bare[0] in _QUOTES
        or _kind(bare)
        or {USED, _TAKEN} & set(bare)
        or _stops(bare, inside=False)
    ):
        return False
    if not bare[0].isupper():
        return True
    second = after[0] if after else ""
    return not comparing and not second[:1].isupper()


def _stops(bare: str, *, inside: bool) -> bool:
    if not bare or _ALWAYS_STOP.match(bare):
        return True
    if bare[0] in _QUOTES or (inside and (bare[0].isupper() or bare[0] == "(")):
        return False
    if inside and bare.lower() in ("день", "данные"):
        return False
    return bare.lower() in _STOP_WORDS or _STOP_STEMS.match(bare) is not None or bare.isdigit()


def _strength(words: list[str], anchor: str, *, begins: bool) -> int:
    if _kind(words[0]) or words[0][0] in _QUOTES:
        return 3
    capitals = sum(1 for word in words if word[:1].isupper())
    if anchor and _STRONG_ANCHOR.match(anchor):
        return 2
    if capitals > (1 if begins else 0):
        return 2
    if capitals or (anchor and any(len(word) > 2 for word in words)):
        return 1
    return 0


def _name(words: list[str]) -> str:
    """Return a run as a name: an inflected class word back in its base form, no outer quotes."""
    found = _CLASS.match(words[0])
    head = found.group(1) if found else words[0]
    text = " ".join((head, *words[1:]))
    text = re.sub(r"(?<![A-ZА-ЯЁ])\.$", "", text.rstrip("?!:;,… —–"))
    text = re.sub(r"[;\s]*--?$|['’]s$", "", text)
    if text and text[0] in _QUOTES:
        inner = re.match(r"[«\"“„]([^»\"“”]*)[»\"“”](.*)$", text)
        if inner:
            text = f"{inner.group(1)}{inner.group(2)}"
    return text.strip()
