"""Say whether the database answers, is read-only, has the columns and the index."""

from __future__ import annotations

import re

from pipe.workplaces import workplace_for
from schemas.dataset import LOGICAL_COLUMNS
from schemas.errors import AgentError
from schemas.language import Both
from schemas.periods import is_period_setting
from schemas.settings import Settings
from tools.inspection import last_data_day

# True: right. None: works, but could be better. False: nothing can be answered, or not safely.
Line = tuple[bool | None, Both]


async def check_setup(settings: Settings) -> list[Line]:
    """Return one line per thing checked; the first failure that stops the rest is the last line."""
    try:
        place = await workplace_for(settings)
    except AgentError as error:
        return [(False, error.text)]
    dataset = place.dataset
    lines: list[Line] = [
        (True, Both(f"База отвечает: {place.client.address.shown}.", f"The database answers: {place.client.address.shown}.")),
    ]
    lines.append(await _readonly(settings))
    if all(dataset.has(name) for name in LOGICAL_COLUMNS):
        lines.append(
            (True, Both(f"Столбцы таблицы {dataset.table} на месте.", f"Table {dataset.table} has its columns."))
        )
    day = await last_data_day(place.client, dataset)
    lines.append(
        (
            day is not None,
            Both(f"Последний день с данными: {day:%d.%m.%Y}.", f"Last day with data: {day}.")
            if day
            else Both("Таблица пуста.", "The table is empty."),
        )
    )
    if dataset.catalogue_words is not None:
        lines.append(
            (True, Both(f"Справочник для поиска имён: {dataset.catalogue}.", f"Catalogue to find names in: {dataset.catalogue}."))
        )
    if not is_period_setting(settings.DEFAULT_PERIOD):
        lines.append(
            (
                False,
                Both(
                    "Настройка DEFAULT_PERIOD не читается: берётся период с начала года.",
                    "The valve DEFAULT_PERIOD cannot be read: year to date is taken.",
                ),
            )
        )
    lines.extend((None, text) for text in dataset.remarks)
    return lines


_WRITES = re.compile(r"\b(?:ALL|INSERT|ALTER|CREATE|DROP|TRUNCATE|OPTIMIZE|FILE|URL|REMOTE|S3)\b")


async def _readonly(settings: Settings) -> Line:
    """Look at what the user was granted: the session's own `readonly` is set by us and proves nothing."""
    place = await workplace_for(settings)
    if place.client.address.embedded_path is not None:
        return (
            None,
            Both(
                "Встроенная база: прав у неё нет, от записи защищают сессия только для чтения и наши проверки.",
                "The embedded database has no rights: a read-only session and our own checks guard it.",
            ),
        )
    try:
        grants = [str(row[0]) for row in (await place.client.query("SHOW GRANTS FINAL")).rows]
    except AgentError:
        return (
            None,
            Both("Права пользователя узнать не удалось.", "The user's rights could not be read."),
        )
    may_write = any(_WRITES.search(line) for line in grants)
    return (
        not may_write,
        Both("Пользователь базы только читает.", "The database user only reads.")
        if not may_write
        else Both(
            "Соединение может писать: дайте пользователю права только на чтение "
            "(tools/sql/readonly_user.sql).",
            "The connection can write: give the user read rights only (tools/sql/readonly_user.sql).",
        ),
    )
