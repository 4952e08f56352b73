"""What a reader sees: rows and columns cut and said, fences closed, numbers a spreadsheet can read."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

from pipe.render import render_answer, render_table, to_csv
from schemas.language import Both
from schemas.settings import Settings
from schemas.state import Answer, Query, StepResult
from schemas.table import TOTAL, Column, Table


def table(count: int = 3) -> Table:
    return Table(
        (
            Column("InvestmentPortfolioID", "integer", role="key"),
            Column("Portfolio", "string", role="attribute"),
            Column("TWR", "number", "fraction"),
        ),
        tuple((number, f"Имя {number} | <b>", number / 100) for number in range(count)),
    )


def test_rows_and_columns_are_cut_and_the_cut_is_said() -> None:
    settings = Settings(ROWS_IN_CHAT=2, COLUMNS_IN_CHAT=2)
    wide = Table(
        tuple(Column(f"c{n}", "integer") for n in range(4)), tuple((n, n, n, n) for n in range(5))
    )
    text = render_table(wide, settings, "ru")
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 3
    assert "Показано строк: 2 из 5." in text
    assert "Показано столбцов: 2 из 4." in text


def test_cells_are_escaped_in_tables() -> None:
    text = render_table(table(), Settings(), "ru")
    assert "Имя 0 \\| &lt;b&gt;" in text


def test_only_a_total_of_a_period_is_bold() -> None:
    columns = (
        Column("Portfolio", "string", role="attribute"),
        Column("Period", "string", "period", "key"),
        Column("TWR", "number", "fraction"),
    )
    text = render_table(Table(columns, (("total", "2024-01", 0.1), ("total", TOTAL, 0.2))), Settings(), "ru")
    first, last = text.splitlines()[2:4]
    assert "**" not in first
    assert "**20,00\u00a0%**" in last


def rows_of(found: bytes, delimiter: str) -> list[list[str]]:
    assert found.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(found.decode("utf-8-sig")), delimiter=delimiter))


def test_csv_numbers_have_no_exponent_and_the_reader_s_comma() -> None:
    columns = (Column("a", "number"), Column("b", "decimal"), Column("c", "string"))
    odd = Table(columns, ((1.5e-05, Decimal("0E-10"), "=1+1"), (-0.25, Decimal("-12.50"), "@x"), (None, None, "1,5")))
    assert rows_of(to_csv(odd, "ru"), ";")[1:] == [
        ["0,000015", "0,0000000000", "'=1+1"],
        ["-0,25", "-12,50", "'@x"],
        ["", "", "1,5"],
    ]
    assert rows_of(to_csv(odd, "en"), ",")[1][0] == "0.000015"


def test_a_statement_cannot_close_its_fence() -> None:
    query = Query("id", "SELECT '```\n# out' AS x", {"p": "```"}, 1, 1, 0.0)
    result = StepResult("s", "t", {"q": "```"}, True, ("s",), table(), queries=(query,))
    answer: Any = Answer("ok", Both("Да.", "Yes."), results=(result,), tables=(table(),))
    text = render_answer(answer, Settings(), "ru")
    inside = text.split("<details>", 1)[1]
    assert inside.count("```") == 4
