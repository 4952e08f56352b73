"""Words that change what is asked and that the rules cannot read: better a question than a guess."""

from __future__ import annotations

import re

from demo.plan_shape import Question
from demo.question_words import LIMIT, LIMIT_WORD, RANK_PLACE
from schemas.language import Both

_CHANGES = re.compile(
    r"(?<!\w)(?:кроме|исключая|исключением|помимо|не считая|больше|меньше|более|менее|свыше|превыша\w+|не меньше|не больше"
    r"|перв(?:ый|ые|ых|ого|ому|ая|ой|ую)|втор(?:ой|ого|ому|ая|ую)|трет(?:ий|ьего|ьему|ья|ью)|выходн\w+|между|почему|отчего|зачем"
    r"|except|excluding|besides|other than|more than|less than|greater|above|below|exceed\w*|weekends?|between|why|first|second|third"
    r"|better than|worse than|потерял\w*)(?!\w)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)?(?![\w.,-]*\w)")


def unread_words(asked: Question) -> str:
    """Return the first word or number that would be ignored though it changes the question, or ""."""
    text = asked.lower
    for rule in (LIMIT, LIMIT_WORD, RANK_PLACE):
        text = rule.sub(" ", text)
    named = {*asked.chosen.codes, *asked.chosen.client_codes, *asked.chosen.names}
    found = _CHANGES.search(text)
    if found:
        return found.group(0)
    for number in _NUMBER.finditer(text):
        if not any(number.group(0) in item for item in named):
            return number.group(0)
    return ""


def cannot_read(word: str) -> Both:
    """Return the question to the person; it repeats a word but never a figure."""
    if any(letter.isdigit() for letter in word):
        return Both(
            "В вопросе есть число, которое правила не понимают. Спросите без него или подключите модель.",
            "The question has a number the rules cannot read. Ask without it or connect a model.",
        )
    return Both(
        f"Слово «{word}» правила не понимают, а оно меняет вопрос. Спросите без него или подключите модель.",
        f"The rules cannot read “{word}”, and it changes the question. Ask without it or connect a model.",
    )
