"""Say whether the database answers, is read-only, has the columns and the index."""

from __future__ import annotations

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
    lines.extend((None, text) for text in dataset.remarks )
    return lines


async def _readonly(settings: Settings) -> Line:
    place = await workplace_for(settings)
    reply = await place.client.query("SELECT toString(getSetting('readonly'))")
    value = reply.rows[0][0]
    return (
        value in ("1", "2"),
        Both("Соединение только для чтения.", "The connection is read-only.")
        if value in ("1", "2")
        else Both(
            "Соединение может писать: дайте пользователю права только на чтение "
            "(tools/sql/readonly_user.sql).",
            "The connection can write: give the user read rights only (tools/sql/readonly_user.sql).",
        ),
    )
