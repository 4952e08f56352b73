"""The sentence above the table: which portfolio, what, for which days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipe.format import format_cell, format_day
from schemas.language import Both, Language
from schemas.state import StepResult
from schemas.table import Table


def headline(tables: Sequence[Table], results: Sequence[StepResult]) -> Both:
    """Return the headline; a single figure is said in words."""
    return Both(_headline(tables, results, "ru"), _headline(tables, results, "en"))


def _headline(tables: Sequence[Table], results: Sequence[StepResult], language: Language) -> str:
    filled = [table for table in tables if table.rows]
    if not filled:
        return Both("Данных нет.", "No data.").to(language)
    subject = _subject(filled, language)
    days = _days(results, language)
    if len(filled) == 1 and len(filled[0].rows) == 1:
        table = filled[0]
        said = []
        row = table.rows[0]
        currency = _currency(table, row)
        for column, cell in zip(table.columns, row, strict=True):
            if column.role == "value":
                shown = format_cell(cell, column, language, currency=currency)
                if not shown and column.unit != "fraction":
                    continue
                missing = Both("нет достоверной цифры", "no sound figure").to(language)
                said.append(f"{column.title().to(language)}: **{shown or missing}**")
        parts = "; ".join(said[:6])
        return " · ".join(part for part in (subject, parts, days) if part)
    count = sum(len(table.rows) for table in filled)
    rows = Both(f"строк: {count}", f"rows: {count}").to(language)
    return " · ".join(part for part in (subject, days, rows) if part)


def _currency(table: Table, row: tuple[Any, ...]) -> str:
    place = table.position("Currency")
    return str(row[place] or "") if place is not None else ""


def _subject(tables: Sequence[Table], language: Language) -> str:
    names: dict[Any, str] = {}
    for table in tables:
        if "InvestmentPortfolioID" not in table.names:
            continue
        for record in table.records():
            code = record.get("PortfolioCode")
            name = str(record.get("Portfolio") or record["InvestmentPortfolioID"])
            names[record["InvestmentPortfolioID"]] = f"{name} ({code})" if code else name
    if not names:
        return ""
    if len(names) <= 3:
        return ", ".join(names.values())
    return Both(f"портфелей: {len(names)}", f"portfolios: {len(names)}").to(language)


def _days(results: Sequence[StepResult], language: Language) -> str:
    """Return the days the figures are about, where all shown tables have the same."""
    spans = {
        result.table.days
        for result in results
        if result.show_data and result.table is not None
    }
    # A figure of one day says its day in a column; the interval of the others is still one.
    longer = {span for span in spans if span is not None and span[0] != span[1]}
    if len(longer) == 1 and None not in spans:
        spans = longer
    span = spans.pop() if len(spans) == 1 else None
    if span is None:
        return ""
    first, last = span
    if first == last:
        return format_day(first, language)
    dash = " – " if language == "en" else "–"
    return f"{format_day(first, language)}{dash}{format_day(last, language)}"
