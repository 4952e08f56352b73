"""An answer as Markdown: headline, what must be known, tables, what was cut, the receipt."""

from __future__ import annotations

import csv
import io
import json
import math
from decimal import Decimal
from typing import Any

from pipe.format import escape, format_cell
from pipe.memory import remember
from pipe.validation import shown_args
from schemas.language import Both, Language
from schemas.settings import Settings
from schemas.state import Answer, dumps
from schemas.table import TOTAL, Column, Table

_RIGHT = frozenset({"integer", "number", "decimal"})
_HIDDEN = frozenset({"InvestmentPortfolioID"})
_DAYS_OF_VALUE = frozenset({"Observations", "Days", "FirstDt", "LastDt"})
_LONGEST_CELL = 120


def render_answer(
    answer: Answer,
    settings: Settings,
    language: Language,
    *,
    files: str = "",
    for_chat: bool = True,
) -> str:
    """Return the whole message; it never begins with `data:` and is never empty.

    `files` is a finished line of links, put after the tables. Only a chat gets the invisible line
    that the next turn reads.
    """
    parts = [_message(answer, language)]
    if answer.clarification is not None and answer.clarification.options:
        parts.append(_options(answer, language))
    parts.extend(
        f"> {'⚠️ ' if notice.level == 'warning' else ''}{escape(notice.text.to(language))}"
        for notice in answer.notices
        if notice.text.to(language) not in answer.message.to(language)
    )
    for table in answer.tables:
        if table.rows and not _said_in_headline(table, answer):
            parts.append(render_table(table, settings, language))
    parts.append(files)
    parts.append(_remark(answer))
    text = "\n\n".join(part for part in parts if part)
    if settings.RECEIPT and answer.results:
        text += "\n\n" + _receipt(answer, language)
    return text + (remember(answer) if for_chat else "")


def _message(answer: Answer, language: Language) -> str:
    text = answer.message.to(language)
    if answer.status == "ok" and answer.tables:
        # Our own headline: names in it come from cells, the bold marks from us.
        return "**".join(escape(piece) for piece in text.split("**"))
    return escape(text) or Both("Ответа нет.", "No answer.").to(language)


def _remark(answer: Answer) -> str:
    """Return the planner's remark on itself; one with a digit could pose as a figure."""
    remark = (answer.plan.remark or "").strip() if answer.plan else ""
    if not remark or len(remark) > 200 or any(letter.isdigit() for letter in remark):
        return ""
    return f"*{escape(remark)}*"


def _said_in_headline(table: Table, answer: Answer) -> bool:
    filled = [item for item in answer.tables if item.rows]
    return len(filled) == 1 and len(table.rows) == 1 and len(table.of_role("value")) == 0


def _options(answer: Answer, language: Language) -> str:
    if answer.clarification is None:
        return ""
    lines = []
    for number, option in enumerate(answer.clarification.options, 1):
        detail = option.detail.to(language)
        shown = f" — {escape(detail)}" if detail else ""
        lines.append(f"{number}. {escape(option.label.to(language))}{shown}")
    lines.append("")
    lines.append(
        Both("Ответьте номером, кодом или названием.", "Answer with a number, a code or a name.").to(
            language
        )
    )
    return "\n".join(lines)


def visible_columns(table: Table) -> list[Column]:
    """Return the columns a reader needs: no id, no name that is the same in every row."""
    named = {column.name for column in table.columns}
    one_portfolio = (
        "InvestmentPortfolioID" in named
        and len(set(map(str, table.column("InvestmentPortfolioID")))) == 1
        and len(table.rows) > 1
    )
    hidden = set(_HIDDEN)
    if len(table.of_role("value")) > 1 and len(table.of_role("detail")) > 1:
        # Days with data, first and last day of several measures would drown the measures.
        hidden |= {c.name for c in table.columns if c.name.split(" (")[0] in _DAYS_OF_VALUE}
    if one_portfolio:
        hidden |= {"Portfolio", "PortfolioCode"}
    if "Currency" in named and any(column.unit == "money" for column in table.columns):
        hidden.add("Currency")
    shown = [column for column in table.columns if column.name not in hidden]
    return shown or list(table.columns)


def render_table(table: Table, settings: Settings, language: Language) -> str:
    """Return a Markdown table of at most the rows and columns the valves allow; cuts are said."""
    columns = visible_columns(table)
    kept = columns[: settings.COLUMNS_IN_CHAT]
    places = [table.names.index(column.name) for column in kept]
    currency_at = table.position("Currency")
    periods = [place for place, column in enumerate(table.columns) if column.unit == "period"]
    rows = table.rows[: settings.ROWS_IN_CHAT]
    lines = [
        "| " + " | ".join(escape(column.title().to(language)) for column in kept) + " |",
        "|" + "|".join("---:" if column.type in _RIGHT else ":---" for column in kept) + "|",
    ]
    for row in rows:
        currency = str(row[currency_at] or "") if currency_at is not None else ""
        total = any(row[place] == TOTAL for place in periods)
        cells = []
        for column, place in zip(kept, places, strict=True):
            shown = escape(format_cell(row[place], column, language, currency=currency))
            if len(shown) > _LONGEST_CELL:
                shown = shown[:_LONGEST_CELL].rstrip("\\&") + "…"
            cells.append(f"**{shown}**" if total and shown else shown)
        lines.append("| " + " | ".join(cells) + " |")
    cut = []
    if len(table.rows) > len(rows):
        cut.append(
            Both(
                f"Показано строк: {len(rows)} из {len(table.rows)}.",
                f"Rows shown: {len(rows)} of {len(table.rows)}.",
            ).to(language)
        )
    if len(columns) > len(kept):
        cut.append(
            Both(
                f"Показано столбцов: {len(kept)} из {len(columns)}.",
                f"Columns shown: {len(kept)} of {len(columns)}.",
            ).to(language)
        )
    return "\n".join(lines) + ("\n\n" + " ".join(cut) if cut else "")


def _receipt(answer: Answer, language: Language) -> str:
    title = Both("Как получен ответ", "How this was answered").to(language)
    steps = [
        {
            "id": result.id,
            "tool": result.tool,
            "args": shown_args(dict(result.args)),
            "rows": len(result.table.rows) if result.table else None,
            "seconds": round(result.duration_s, 3),
        }
        for result in answer.results
    ]
    lines = ["<details>", f"<summary>{title}</summary>", ""]
    lines.extend(f"- {escape(text.to(language))}" for text in answer.corrections)
    lines += ["", "```json", _fenced(_indented(steps)), "```"]
    for result in answer.results:
        for query in result.queries:
            lines += [
                "",
                f"{result.id}: `{query.query_id}`, "
                + Both(
                    f"прочитано строк {query.read_rows}, {query.elapsed_s:.3f} с",
                    f"{query.read_rows} rows read, {query.elapsed_s:.3f} s",
                ).to(language),
                "",
                "```sql",
                _fenced("\n".join(_set_lines(query.parameters)) + query.statement.strip()),
                "```",
            ]
    lines.append("</details>")
    return "\n".join(lines)


def _set_lines(parameters: Any) -> list[str]:
    """Return `SET param_x = …` lines, so that a statement can be pasted into clickhouse-client."""
    lines = []
    for name, value in parameters.items():
        if isinstance(value, list):
            if len(value) > 50:
                lines.append(f"-- param_{name}: {len(value)} values")
                continue
            inner = ", ".join(_literal(item) if isinstance(item, str) else str(item) for item in value)
            lines.append(f"SET param_{name} = {_literal('[' + inner + ']')};")
        else:
            lines.append(f"SET param_{name} = {_literal(str(value))};")
    return [*lines, ""] if lines else []


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fenced(text: str) -> str:
    """Return text that cannot close its fence."""
    return text.replace("```", "ʼʼʼ")


def _indented(value: Any) -> str:
    return json.dumps(json.loads(dumps(value)), ensure_ascii=False, indent=1)


def to_csv(table: Table, language: Language) -> bytes:
    """Return the whole table as CSV for a spreadsheet: UTF-8 with BOM, `;` in Russian.

    Text that a spreadsheet would run as a formula is quoted by an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";" if language == "ru" else ",", lineterminator="\r\n")
    writer.writerow([column.title().to(language) for column in table.columns])
    for row in table.rows:
        writer.writerow([_spreadsheet(cell, language) for cell in row])
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def _spreadsheet(cell: Any, language: Language) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return "'" + cell if cell[:1] in ("=", "+", "-", "@", "\t") else cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, int):
        return str(cell)
    if isinstance(cell, float) and not math.isfinite(cell):
        return ""
    if isinstance(cell, float | Decimal):
        # Never with an exponent: a spreadsheet in Russian would take it for text.
        shown = format(Decimal(repr(cell)) if isinstance(cell, float) else cell, "f")
    else:
        shown = str(cell)
    number = shown.lstrip("-").replace(".", "", 1).isdigit()
    return shown.replace(".", ",") if language == "ru" and number else shown
