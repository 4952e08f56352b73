"""Demo data: days and counts as promised, money that adds up, dirty rows as described."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import subprocess
import sys
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from demo import data
from tools.words import pieces

pytestmark = pytest.mark.slow

LAST_DAY = date(2025, 12, 10)
ROOT = Path(data.__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def table() -> list[data.Row]:
    return list(data.rows(LAST_DAY))


@pytest.fixture(scope="module")
def catalogue() -> dict[int, dict[str, str]]:
    with data.CATALOGUE.open(encoding="utf-8", newline="") as file:
        return {int(line["InvestmentPortfolioID"]): line for line in csv.DictReader(file)}


def by_portfolio(table: list[data.Row]) -> dict[int, list[data.Row]]:
    groups: dict[int, list[data.Row]] = defaultdict(list)
    for row in table:
        groups[row[0]].append(row)
    return groups


def in_engine(path: Path, body: str) -> Any:
    """Run `body` in a new process with `client` on the engine at `path`; return its `result`.

    A process can hold only one embedded engine, and the test run may hold another.
    """
    code = (
        "import json, sys, clickhouse_connect\n"
        "from datetime import date\n"
        "from demo import data\n"
        "client = clickhouse_connect.get_client(interface='chdb', path=sys.argv[1])\n"
        f"{body}\n"
        "print(json.dumps(result, default=str))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_days_and_counts_are_those_of_the_catalogue(
    table: list[data.Row], catalogue: dict[int, dict[str, str]]
) -> None:
    groups = by_portfolio(table)
    assert set(groups) == set(catalogue)
    for number, entry in catalogue.items():
        days = [row[7] for row in groups[number]]
        found = (str(min(days)), str(max(days)), len(days))
        assert found == (entry["first_day"], entry["last_day"], int(entry["rows"])), number
        assert groups[number][0][1:7] == tuple(
            entry[name] for name in data.COLUMNS[1:7]
        ), number


def test_names_keep_their_spaces_quotes_and_dashes(catalogue: dict[int, dict[str, str]]) -> None:
    assert catalogue[116]["Portfolio"] == "ДУ  Вектор "
    assert catalogue[109]["Portfolio"] == 'ДУ ООО "Ромашка"'
    assert catalogue[103]["Portfolio"] == "ДУ Горизонт – Акции +"
    assert catalogue[110]["Portfolio"] == catalogue[111]["Portfolio"]


def test_rows_come_in_key_order(table: list[data.Row]) -> None:
    keys = [(row[0], row[7]) for row in table]
    assert keys == sorted(keys)


def test_same_day_gives_same_rows(table: list[data.Row]) -> None:
    assert list(data.rows(LAST_DAY)) == table


@pytest.mark.parametrize("days_on", [1, 2, 5, 6, 7, 364])
def test_another_last_day_moves_everything_along(table: list[data.Row], days_on: int) -> None:
    last_day = LAST_DAY + timedelta(days=days_on)
    moved = by_portfolio(list(data.rows(last_day)))
    before = by_portfolio(table)
    assert {n: len(rows) for n, rows in moved.items()} == {n: len(rows) for n, rows in before.items()}
    assert moved[101][-1][7] == last_day
    for number, rows in moved.items():
        assert all(row[7].weekday() < 5 for row in rows), number
        gap = rows[-1][7] - before[number][-1][7]
        assert abs(gap.days - days_on) <= 4, number  # a holiday may lie between
    assert [row[8] for row in moved[902]] == [0.02, -1.5, 0.5]


def test_weekend_is_refused() -> None:
    with pytest.raises(ValueError, match="weekend"):
        next(data.rows(date(2025, 12, 13)))


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (date(2025, 12, 11), date(2025, 12, 10)),
        (date(2025, 12, 13), date(2025, 12, 12)),
        (date(2025, 12, 14), date(2025, 12, 12)),
        (date(2025, 12, 15), date(2025, 12, 12)),
    ],
)
def test_last_business_day_is_before_today(today: date, expected: date) -> None:
    assert data.last_business_day(today) == expected


def test_money_and_return_agree(table: list[data.Row]) -> None:
    """(NAV + outflow) / (NAV before + inflow) - 1 is the return, to the last digit."""
    for number, rows in by_portfolio(table).items():
        if number in data.DIRTY:
            continue
        before = Decimal(0)
        for _, _, _, _, _, _, _, day, twr, nav, inflow, outflow in rows:
            exact = Fraction(nav + outflow) / Fraction(before + inflow) - 1
            assert twr is not None
            assert abs(Fraction(twr) - exact) <= abs(exact) * Fraction(1, 10**15), (number, day)
            assert nav > 0 and inflow >= 0 and outflow >= 0
            assert not (inflow and outflow)
            assert all(x.as_tuple().exponent == -2 for x in (nav, inflow, outflow))
            before = nav


def test_first_row_brings_the_capital(table: list[data.Row]) -> None:
    for number, rows in by_portfolio(table).items():
        assert rows[0][10] > 0 and rows[0][11] == 0, number


def test_flows_are_rare_in_some_portfolios_and_frequent_in_others(table: list[data.Row]) -> None:
    groups = by_portfolio(table)
    days_with_flow = {n: sum(1 for row in rows if row[10] or row[11]) for n, rows in groups.items()}
    assert days_with_flow[208] == 1
    assert days_with_flow[110] < 40
    assert days_with_flow[204] > 1500
    assert any(row[11] for row in groups[301])


def test_roubles_are_of_plausible_size(table: list[data.Row]) -> None:
    for number, rows in by_portfolio(table).items():
        if number in data.DIRTY or rows[0][6] != "RUB":
            continue
        navs = [row[9] for row in rows]
        assert Decimal(25_000_000) < min(navs) and max(navs) < Decimal(6_500_000_000), number


def test_returns_follow_the_real_prices(table: list[data.Row]) -> None:
    """The last return of portfolio 101, worked out here from the price file itself."""
    packed = (files("bokeh_sampledata") / "_data" / "stocks.csv.gz").read_bytes()
    close = {
        (line["Ticker"], line["Date"]): float(line["Adj Close"])
        for line in csv.DictReader(gzip.decompress(packed).decode().splitlines())
    }
    expected = 0.75 * sum(
        weight * (close[ticker, "2010-12-29"] / close[ticker, "2010-12-28"] - 1)
        for ticker, weight in (("IBM", 0.40), ("MSFT", 0.35), ("AAPL", 0.25))
    )
    assert by_portfolio(table)[101][-1][8] == pytest.approx(expected, abs=1e-10)


def test_strategies_differ_in_risk(table: list[data.Row]) -> None:
    def spread(number: int) -> float:
        x = [row[8] for row in by_portfolio(table)[number] if row[8] is not None]
        mean = sum(x) / len(x)
        return math.sqrt(sum((v - mean) ** 2 for v in x) / (len(x) - 1))

    assert spread(206) < spread(104) / 5 < spread(101) / 20
    assert all(0 < (row[8] or 0) < 0.001 for row in by_portfolio(table)[206])


def test_no_two_portfolios_have_the_same_returns(table: list[data.Row]) -> None:
    last = {n: tuple(row[8] for row in rows[-20:]) for n, rows in by_portfolio(table).items()}
    whole = [x for n, x in last.items() if n not in data.DIRTY]
    assert len(set(whole)) == len(whole)


def test_dirty_rows_are_as_described(table: list[data.Row]) -> None:
    groups = by_portfolio(table)
    assert [(row[8], row[9]) for row in groups[901]][1] == (-1.0, Decimal("0.00"))
    assert (groups[902][1][7], groups[902][1][8]) == (date(2025, 3, 4), -1.5)
    assert groups[903][1] == groups[903][2]
    first, second = groups[904][1:]
    assert first[7] == second[7] and first[8] != second[8] and first[9] != second[9]
    assert [row[8] for row in groups[905]].count(None) == 1
    assert [row[7].day for row in groups[905]] == [3, 6, 12]
    assert len(groups[906]) == 1


def test_engine_holds_the_rows(engine: Any, table: list[data.Row]) -> None:
    assert engine.query(f"SELECT * FROM {data.TABLE} ORDER BY ALL").result_rows == sorted(
        table, key=lambda row: tuple((value is None, value) for value in row)
    )


def test_engine_has_the_column_types(engine: Any) -> None:
    described = {row[0]: row[1] for row in engine.query(f"DESCRIBE {data.TABLE}").result_rows}
    assert tuple(described) == data.COLUMNS
    assert described["TWR_dod"] == "Nullable(Float64)"
    assert described["NAV"] == "Nullable(Decimal(18, 2))"
    assert described["Inflow"] == described["Outflow"] == "Decimal(18, 2)"
    assert described["Dt"] == "Date"


def test_catalogue_view_was_filled(engine: Any, catalogue: dict[int, dict[str, str]]) -> None:
    found = engine.query(
        "SELECT InvestmentPortfolioID, argMax(Portfolio, LastDt), toString(min(FirstDt)), "
        f"toString(max(LastDt)) FROM {data.CATALOGUE_TABLE} GROUP BY InvestmentPortfolioID"
    ).result_rows
    assert sorted(found) == sorted(
        (n, entry["Portfolio"], entry["first_day"], entry["last_day"])
        for n, entry in catalogue.items()
    )


def test_name_keys_are_folded(engine: Any) -> None:
    keys = dict(
        engine.query(f"SELECT InvestmentPortfolioID, NameKey FROM {data.CATALOGUE_TABLE}").result_rows
    )
    assert keys[116] == "ду вектор"
    assert keys[103] == "ду горизонт акции"
    assert keys[108] == keys[109] == "ду ооо ромашка"
    assert keys[112] == keys[113] == "ду семенов с с"
    assert keys[115] == "ду рост 100"


@pytest.mark.parametrize(
    ("index", "condition", "found"),
    [
        ("name_words", "hasAny(NameWords, ['горизонт']) AND hasAny(NameWords, ['акции', 'акция'])", {101, 102, 103}),
        ("name_marks", "hasAny(Marks, ['key:ду ооо ромашка'])", {108, 109}),
        ("name_marks", "hasAny(Marks, ['code:с-10104', 'id:105'])", {104, 105}),
    ],
)
def test_name_search_uses_the_text_index(
    engine: Any, index: str, condition: str, found: set[int]
) -> None:
    query = f"SELECT InvestmentPortfolioID FROM {data.CATALOGUE_TABLE} WHERE {condition}"
    plan = "\n".join(row[0] for row in engine.query(f"EXPLAIN indexes = 1 {query}").result_rows)
    assert f"Name: {index}" in plan
    assert {row[0] for row in engine.query(query).result_rows} == found


def test_words_of_names_are_stored_with_the_pieces_a_search_takes_apart(engine: Any) -> None:
    stored = dict(
        engine.query(f"SELECT Word, Pieces FROM {data.CATALOGUE_TABLE}_words").result_rows
    )
    of_names = engine.query(f"SELECT DISTINCT arrayJoin(NameWords) FROM {data.CATALOGUE_TABLE}")
    assert set(stored) == {row[0] for row in of_names.result_rows}
    assert {word: set(found) for word, found in stored.items()} == {
        word: set(pieces(word)) for word in stored
    }


def test_index_can_be_added_to_tables_without_one(tmp_path: Path) -> None:
    body = """
for name in ("schema.sql", "catalogue.sql"):
    for statement in data.statements(name):
        client.command(statement)
for table, index in (("", "name_marks"), ("", "name_words"), ("_words", "word_pieces")):
    client.command(f"ALTER TABLE {data.CATALOGUE_TABLE}{table} DROP INDEX {index}")
client.insert(data.TABLE, list(data.rows(date(2025, 12, 10))), column_names=data.COLUMNS)
asked = [
    f"SELECT * FROM {data.CATALOGUE_TABLE} WHERE hasAny(Marks, ['id:206'])",
    f"SELECT * FROM {data.CATALOGUE_TABLE} WHERE hasAny(NameWords, ['ладога'])",
    f"SELECT Word FROM {data.CATALOGUE_TABLE}_words WHERE hasAny(Pieces, ['лдога'])",
]
def plan(query):
    return "\\n".join(row[0] for row in client.query("EXPLAIN indexes = 1 " + query).result_rows)
before = [plan(query) for query in asked]
for _ in range(2):
    for statement in data.statements("text_index.sql"):
        client.command(statement, settings={"mutations_sync": 1})
result = [before, [plan(query) for query in asked], [len(client.query(q).result_rows) for q in asked]]
"""
    before, after, counts = in_engine(tmp_path / "db", body)
    assert not any("Name: " in plan for plan in before)
    for plan, index in zip(after, ("name_marks", "name_words", "word_pieces"), strict=True):
        assert f"Name: {index}" in plan
    assert counts == [1, 3, 1]


def test_catalogue_merges_repeats_and_keeps_old_names(tmp_path: Path) -> None:
    body = """
for name in ("schema.sql", "catalogue.sql", "schema.sql", "catalogue.sql"):
    for statement in data.statements(name):
        client.command(statement)
def put(name, day):
    client.insert(data.TABLE, [(1, name, "A-1", "C-1", "ДУ", "Акции", "RUB", day, 0.0, 1, 0, 0)],
                  column_names=data.COLUMNS)
put("Новое имя", date(2025, 2, 3))
put("Старое имя", date(2025, 1, 9))
put("Старое имя", date(2025, 1, 10))
for _ in range(2):
    for statement in data.statements("catalogue_backfill.sql"):
        client.command(statement)
client.command(f"OPTIMIZE TABLE {data.CATALOGUE_TABLE} FINAL")
result = [
    client.query(f"SELECT Portfolio, NameKey, FirstDt, LastDt FROM {data.CATALOGUE_TABLE} "
                 "ORDER BY FirstDt").result_rows,
    client.query("SELECT argMax(Portfolio, LastDt), min(FirstDt), max(LastDt) "
                 f"FROM {data.CATALOGUE_TABLE} GROUP BY InvestmentPortfolioID").result_rows,
]
"""
    kept, latest = in_engine(tmp_path / "db", body)
    assert kept == [
        ["Старое имя", "старое имя", "2025-01-09", "2025-01-10"],
        ["Новое имя", "новое имя", "2025-02-03", "2025-02-03"],
    ]
    assert latest == [["Новое имя", "2025-01-09", "2025-02-03"]]


def test_backfill_covers_rows_older_than_the_view(tmp_path: Path) -> None:
    body = """
for statement in data.statements("schema.sql"):
    client.command(statement)
client.insert(data.TABLE, list(data.rows(date(2025, 12, 10))), column_names=data.COLUMNS)
for name in ("catalogue.sql", "catalogue_backfill.sql"):
    for statement in data.statements(name):
        client.command(statement)
query = f"SELECT count(), uniqExact(InvestmentPortfolioID) FROM {data.CATALOGUE_TABLE}"
result = client.query(query).result_rows
"""
    assert in_engine(tmp_path / "db", body) == [[36, 36]]


def test_load_is_idempotent_and_never_overwrites_unasked(tmp_path: Path) -> None:
    body = """
day, next_day = date(2025, 12, 10), date(2025, 12, 11)
built = [data.load(client, last_day=day).built, data.load(client, last_day=day).built]
try:
    data.load(client, last_day=next_day)
    refused = ""
except ValueError as error:
    refused = str(error)
replaced = data.load(client, last_day=next_day, replace=True)
count = client.query(f"SELECT count(), max(Dt) FROM {data.TABLE}").result_rows[0]
names = client.query(f"SELECT count() FROM {data.CATALOGUE_TABLE}").result_rows[0][0]
result = [built, refused, replaced.built, count, names]
"""
    built, refused, replaced, count, names = in_engine(tmp_path / "db", body)
    assert built == [True, False]
    assert "already has" in refused
    assert replaced and count == [55235, "2025-12-11"] and names == 36


def test_prepare_builds_once_and_follows_the_day(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "db"
    first = data.prepare(path, last_day=LAST_DAY)
    assert (first.portfolios, first.rows, first.built) == (36, 55235, True)
    assert not data.prepare(path, last_day=LAST_DAY).built
    assert data.prepare(path, last_day=LAST_DAY + timedelta(days=1)).built
    assert [entry.name for entry in path.parent.iterdir()] == ["db"]
    body = "result = client.query(f'SELECT count(), max(Dt) FROM {data.TABLE}').result_rows"
    assert in_engine(path, body) == [[55235, "2025-12-11"]]


def test_interrupted_prepare_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_midway(path: Path, last_day: date) -> None:
        path.mkdir()
        (path / "half").write_text("made")
        raise KeyboardInterrupt

    monkeypatch.setattr(data, "_fill_in_new_process", stop_midway)
    with pytest.raises(KeyboardInterrupt):
        data.prepare(tmp_path / "db", last_day=LAST_DAY)
    assert list(tmp_path.iterdir()) == []


def test_failed_rebuild_keeps_the_old_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "db"
    path.mkdir()
    (path / data.MARKER).write_text('{"digest": "older", "last_day": "2025-12-09"}')

    def fail(path: Path, last_day: date) -> None:
        raise RuntimeError("no space left")

    monkeypatch.setattr(data, "_fill_in_new_process", fail)
    with pytest.raises(RuntimeError, match="no space"):
        data.prepare(path, last_day=LAST_DAY)
    assert (path / data.MARKER).is_file()
    assert [entry.name for entry in tmp_path.iterdir()] == ["db"]


def test_prepare_refuses_a_directory_of_others(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not demo data"):
        data.prepare(tmp_path, last_day=LAST_DAY)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_command_line_says_what_it_did_and_what_is_wrong(tmp_path: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "demo.data", *words],
            cwd=ROOT, capture_output=True, text=True, timeout=120, check=False, env={**os.environ},
        )

    dsn = f"chdb://{tmp_path}/db"
    assert run("--dsn", dsn, "--last-day", "2025-12-10").stdout == (
        "filled: 36 portfolios, 55235 rows up to 2025-12-10\n"
    )
    assert run("--dsn", dsn, "--last-day", "2025-12-10").stdout.startswith("already there")
    weekend = run("--dsn", dsn, "--last-day", "2025-12-13")
    assert weekend.returncode == 2
    assert weekend.stderr.strip() == (
        "python -m demo.data: last_day 2025-12-13 is a weekend; give Monday to Friday"
    )
    wrong = run("--dsn", "mysql://host/db")
    assert wrong.returncode == 2
    assert "Unknown DSN scheme 'mysql'" in wrong.stderr


def test_file_for_images_loads_to_the_same_rows(tmp_path: Path, table: list[data.Row]) -> None:
    packed = tmp_path / "demo.tsv.gz"
    assert data.write_tsv(packed, last_day=LAST_DAY) == len(table)
    again = tmp_path / "again.tsv.gz"
    data.write_tsv(again, last_day=LAST_DAY)
    assert packed.read_bytes() == again.read_bytes()
    body = f"""
for statement in data.statements("schema.sql"):
    client.command(statement)
client.command("INSERT INTO " + data.TABLE + " SELECT * FROM file('{packed}', 'TabSeparated')")
expected = list(data.rows(date(2025, 12, 10)))
found = client.query("SELECT * FROM " + data.TABLE + " ORDER BY ALL").result_rows
key = lambda row: tuple((value is None, value) for value in row)
result = [len(found), sorted(found, key=key) == sorted(expected, key=key)]
"""
    assert in_engine(tmp_path / "db", body) == [len(table), True]
