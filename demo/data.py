"""Demo portfolios mixed from real daily stock prices, with simulated flows.

`catalogue.csv` beside this file names the portfolios, their days and their mixes; the
prices come from the package `bokeh_sampledata`. The same `last_day` gives the same rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from decimal import Decimal
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

TABLE = "Contribution.contribution_twr_1s_mcp"
CATALOGUE_TABLE = "Contribution.portfolio_catalogue"
COLUMNS = (
    "InvestmentPortfolioID", "Portfolio", "PortfolioCode", "PortfolioClientCode",
    "PortfolioType", "Strategy", "Currency", "Dt", "TWR_dod", "NAV", "Inflow", "Outflow",
)
SQL_DIR = Path(__file__).resolve().parent.parent / "tools" / "sql"
CATALOGUE = Path(__file__).resolve().parent / "catalogue.csv"
MARKER = "portfolio_demo.json"

# The price day that stands for REFERENCE_DAY. Moved by whole weeks, so Mondays stay
# Mondays; with this cut the day counts of catalogue.csv come out exactly.
REFERENCE_CUT = date(2010, 12, 29)
REFERENCE_DAY = date(2025, 12, 10)

Row = tuple[
    int, str, str, str, str, str, str, date, float | None, Decimal, Decimal, Decimal
]

# Rows that no real manager should send, by portfolio: day (as of REFERENCE_DAY), return,
# NAV, inflow. They test what the agent says about broken data.
DIRTY: dict[int, tuple[tuple[date, float | None, str, str], ...]] = {
    901: (  # everything lost on the second day
        (date(2025, 3, 3), 0.02, "51000000.00", "50000000.00"),
        (date(2025, 3, 4), -1.0, "0.00", "0.00"),
    ),
    902: (  # a return below -100 % cannot be
        (date(2025, 3, 3), 0.02, "30600000.00", "30000000.00"),
        (date(2025, 3, 4), -1.5, "30600000.00", "0.00"),
        (date(2025, 3, 5), 0.5, "45900000.00", "0.00"),
    ),
    903: (  # the same row twice
        (date(2025, 3, 3), 0.01, "40400000.00", "40000000.00"),
        (date(2025, 3, 4), 0.02, "41208000.00", "0.00"),
        (date(2025, 3, 4), 0.02, "41208000.00", "0.00"),
    ),
    904: (  # two different rows for one day
        (date(2025, 3, 3), 0.01, "40400000.00", "40000000.00"),
        (date(2025, 3, 4), 0.02, "41208000.00", "0.00"),
        (date(2025, 3, 4), -0.03, "39188000.00", "0.00"),
    ),
    905: (  # an unknown return, and days without rows around it
        (date(2025, 3, 3), 0.01, "35350000.00", "35000000.00"),
        (date(2025, 3, 6), None, "35350000.00", "0.00"),
        (date(2025, 3, 12), 0.02, "36057000.00", "0.00"),
    ),
    906: ((date(2025, 3, 3), 0.0123, "30369000.00", "30000000.00"),),  # a single day
}


@dataclass(frozen=True)
class Summary:
    """What an engine holds after `prepare` or `load`."""

    last_day: date
    portfolios: int
    rows: int
    built: bool  # False when the same data was already there


@dataclass(frozen=True)
class _Prices:
    """Daily returns by ticker on common days; None before a stock was listed."""

    days: tuple[date, ...]
    returns: dict[str, tuple[float | None, ...]]


def last_business_day(today: date) -> date:
    """The latest Monday to Friday before `today`: the day a manager's data reaches."""
    day = today - timedelta(days=1)
    return day - timedelta(days=max(0, day.weekday() - 4))


def statements(name: str) -> list[str]:
    """The statements of one file in tools/sql, in order, without comments."""
    text = (SQL_DIR / name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def rows(last_day: date) -> Iterator[Row]:
    """All rows in the order of the table's key, values in the order of COLUMNS.

    Raises:
        ValueError: `last_day` is a Saturday or Sunday, or a day of the catalogue is not
            a trading day.
    """
    _refuse_weekend(last_day)
    prices = _read_prices()
    reference = _index(prices.days, REFERENCE_CUT)
    cut = next(
        i for i in range(reference, reference + 7)
        if prices.days[i].weekday() == last_day.weekday()
    )
    shift = last_day - prices.days[cut]
    to_reference = REFERENCE_DAY - REFERENCE_CUT

    def place(text: str) -> int:
        return _index(prices.days, date.fromisoformat(text) - to_reference) + cut - reference

    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        catalogue = list(csv.DictReader(file))
    for entry in sorted(catalogue, key=lambda line: int(line["InvestmentPortfolioID"])):
        number = int(entry["InvestmentPortfolioID"])
        head = (
            number, entry["Portfolio"], entry["PortfolioCode"], entry["PortfolioClientCode"],
            entry["PortfolioType"], entry["Strategy"], entry["Currency"],
        )
        if number in DIRTY:
            for day, change, nav, inflow in DIRTY[number]:
                moved = prices.days[place(day.isoformat())] + shift
                yield (*head, moved, change, Decimal(nav), Decimal(inflow), Decimal("0.00"))
            continue
        first, last = place(entry["first_day"]), place(entry["last_day"])
        changes = _mix(prices, entry, first=first, last=last)
        money = _money(entry, changes)
        for i, (twr, nav_cents, in_cents, out_cents) in enumerate(money, start=first):
            day = prices.days[i] + shift
            yield (*head, day, twr, _cents(nav_cents), _cents(in_cents), _cents(out_cents))


def prepare(path: Path, *, last_day: date) -> Summary:
    """Make `path` an embedded engine's directory that holds the demo data.

    Built beside `path` and renamed, so an interrupted run leaves nothing half-made. The
    same data already there is left alone; other demo data is replaced. The work is done
    in a process of its own, because a process can hold only one embedded engine; no
    process may have `path` open meanwhile.

    Raises:
        ValueError: `last_day` is a Saturday or Sunday.
        FileExistsError: `path` holds something that this function did not make.
        RuntimeError: the engine could not be filled.
    """
    _refuse_weekend(last_day)
    path = path.resolve()
    found = _marker(path)
    if found is not None and found["digest"] == _digest() and found["last_day"] == str(last_day):
        return Summary(last_day, found["portfolios"], found["rows"], built=False)
    if found is None and path.exists() and (path.is_file() or any(path.iterdir())):
        raise FileExistsError(f"{path} is not demo data; give a new or empty directory")
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        fresh, old = scratch / "new", scratch / "old"
        _fill_in_new_process(fresh, last_day)
        if path.exists():
            path.rename(old)
        try:
            fresh.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    made = _marker(path) or {}
    return Summary(last_day, made["portfolios"], made["rows"], built=True)


def load(client: Any, *, last_day: date, replace: bool = False) -> Summary:
    """Create schema and catalogue through a clickhouse-connect client and fill them.

    Any: the driver's client is not typed and is not needed to make the rows. All rows go
    in one insert of one block, so the table has all of them or none. A table that
    already holds just these rows is left alone.

    Raises:
        ValueError: the table holds other rows and `replace` is False.
    """
    for name in ("schema.sql", "catalogue.sql"):
        for statement in statements(name):
            client.command(statement)
    data = list(rows(last_day))
    portfolios = len({row[0] for row in data})
    query = f"SELECT count(), max(Dt), sum(NAV) FROM {TABLE}"
    count, newest, nav = client.query(query).result_rows[0]
    same = (len(data), last_day, sum(row[9] for row in data))
    if (count, newest, nav) == same:
        return Summary(last_day, portfolios, len(data), built=False)
    if count and not replace:
        raise ValueError(f"{TABLE} already has {count} rows; empty it or ask to replace them")
    if count:
        client.command(f"TRUNCATE TABLE {TABLE}")
        client.command(f"TRUNCATE TABLE {CATALOGUE_TABLE}")
    client.insert(TABLE, data, column_names=COLUMNS)
    return Summary(last_day, portfolios, len(data), built=True)


def write_tsv(path: Path, *, last_day: date) -> int:
    """Write the rows as gzipped TabSeparated, for images that load it; return their count."""
    count = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        for row in rows(last_day):
            values = ("\\N" if value is None else _escape(str(value)) for value in row)
            packed.write(("\t".join(values) + "\n").encode())
            count += 1
    return count


def _refuse_weekend(last_day: date) -> None:
    if last_day.weekday() > 4:
        raise ValueError(f"last_day {last_day} is a weekend; give Monday to Friday")


def _read_prices() -> _Prices:
    packed = (files("bokeh_sampledata") / "_data" / "stocks.csv.gz").read_bytes()
    closes: dict[str, dict[date, float]] = {}
    with gzip.open(io.BytesIO(packed), "rt", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            day = date.fromisoformat(line["Date"])
            closes.setdefault(line["Ticker"], {})[day] = float(line["Adj Close"])
    days = tuple(sorted(closes["IBM"]))
    returns: dict[str, tuple[float | None, ...]] = {}
    for ticker, close in closes.items():
        pairs = ((close.get(a), close.get(b)) for a, b in pairwise(days))
        returns[ticker] = (None, *(b / a - 1 if a and b else None for a, b in pairs))
    return _Prices(days, returns)


def _index(days: tuple[date, ...], day: date) -> int:
    i = bisect_left(days, day)
    if i == len(days) or days[i] != day:
        raise ValueError(f"{day} is not a trading day of the price series")
    return i


def _mix(prices: _Prices, entry: dict[str, str], *, first: int, last: int) -> list[float]:
    """Daily returns of one portfolio: smoothed blend of stocks, damped, plus carry.

    A weight `IBM@250 40` takes the price of 250 trading days earlier, which serves as
    one more stock. A stock not listed yet leaves its weight to the others.
    """
    parts: list[tuple[float, tuple[float | None, ...], int]] = []
    words = entry["weights"].split()
    for name, weight in zip(words[::2], words[1::2], strict=True):
        ticker, _, lag = name.partition("@")
        parts.append((float(weight), prices.returns[ticker], int(lag or 0)))
    smooth = int(entry["smooth_days"])
    blend: list[float] = []
    for i in range(first - smooth + 1, last + 1):
        known = [(w, x) for w, series, lag in parts if (x := series[i - lag]) is not None]
        blend.append(sum(w * x for w, x in known) / sum(w for w, _ in known))
    exposure, carry = float(entry["exposure"]), float(entry["carry_pa"]) / 252
    return [
        exposure * sum(blend[i:i + smooth]) / smooth + carry
        for i in range(last - first + 1)
    ]


def _money(
    entry: dict[str, str], changes: list[float]
) -> Iterator[tuple[float, int, int, int]]:
    """Per day: return, NAV, inflow, outflow, the money in cents.

    Inflow comes before the day's return and outflow after it:
    NAV = (NAV before + inflow) * (1 + x) - outflow. The return is then taken back from
    the rounded money, so that the three agree to the last digit of a float.
    """
    capital = int(float(entry["capital_mln"]) * 100_000_000)
    chance = float(entry["flows_per_year"]) / 252
    rng = random.Random(f"flows of {entry['InvestmentPortfolioID']}")
    nav = 0
    for i, change in enumerate(changes):
        inflow = outflow = 0
        if i == 0:
            inflow = capital
        elif rng.random() < chance:
            share = rng.uniform(0.001, min(0.06, 0.4 / (1 + 252 * chance) ** 0.5))
            amount = round(nav * share / 10_000) * 10_000  # whole hundreds, as people pay
            # Clients add to a shrunken portfolio and take from a grown one.
            if rng.random() < min(0.9, max(0.1, capital / (nav + 1) * 0.6)):
                inflow = amount
            else:
                outflow = amount
        before = nav + inflow
        after = round(before * (1 + change))
        nav = after - outflow
        yield (after - before) / before, nav, inflow, outflow


def _cents(amount: int) -> Decimal:
    return Decimal(amount).scaleb(-2).quantize(Decimal("0.01"))


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _digest() -> str:
    """Changes whenever the rows or the schema would."""
    parts = [Path(__file__), CATALOGUE, SQL_DIR / "schema.sql", SQL_DIR / "catalogue.sql"]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def _marker(path: Path) -> dict[str, Any] | None:
    """The note `prepare` left in `path`; None when there is none. Any: parsed JSON."""
    try:
        found = json.loads((path / MARKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found if isinstance(found, dict) else None


def _fill_in_new_process(path: Path, last_day: date) -> None:
    root = str(Path(__file__).resolve().parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "demo.data", "--fill", str(path), "--last-day", str(last_day)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The embedded engine could not be filled: {done.stderr[-2000:].strip()}")


def _fill(path: Path, last_day: date) -> Summary:
    import clickhouse_connect

    path.mkdir(parents=True)
    client = clickhouse_connect.get_client(interface="chdb", path=str(path))
    try:
        summary = load(client, last_day=last_day)
    finally:
        client.close()
    note = {**asdict(summary), "last_day": str(last_day), "digest": _digest()}
    (path / MARKER).write_text(json.dumps(note), encoding="utf-8")
    return summary


def _load_dsn(dsn: str, last_day: date, *, replace: bool) -> Summary:
    parts = urlsplit(dsn)
    if parts.scheme == "chdb":
        return prepare(Path(unquote(parts.path)), last_day=last_day)
    if parts.scheme not in ("clickhouse", "clickhouses"):
        raise ValueError(f"Unknown DSN scheme {parts.scheme!r}; known: chdb, clickhouse, clickhouses")
    import clickhouse_connect

    secure = parts.scheme == "clickhouses"
    client = clickhouse_connect.get_client(
        host=parts.hostname or "localhost",
        port=parts.port or (8443 if secure else 8123),
        username=unquote(parts.username or "default"),
        password=unquote(parts.password or ""),
        secure=secure,
    )
    try:
        return load(client, last_day=last_day, replace=replace)
    finally:
        client.close()


def main(argv: list[str] | None = None) -> int:
    """Command line: fill an engine or a server, or write a file to load later."""
    parser = argparse.ArgumentParser(prog="python -m demo.data", description=__doc__)
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--dsn", help="chdb:///path or clickhouse://user:password@host:port")
    target.add_argument("--tsv", type=Path, metavar="FILE", help="write gzipped TabSeparated")
    target.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--last-day", type=date.fromisoformat, default=last_business_day(date.today()),
        metavar="YYYY-MM-DD", help="last day with data (default: the last business day)",
    )
    parser.add_argument(
        "--replace", action="store_true", help="empty a server's table first if it has other rows"
    )
    options = parser.parse_args(argv)
    try:
        if options.tsv is not None:
            count = write_tsv(options.tsv, last_day=options.last_day)
            print(f"{options.tsv}: {count} rows up to {options.last_day}")
            return 0
        if options.fill is not None:
            summary = _fill(options.fill, options.last_day)
        else:
            summary = _load_dsn(options.dsn, options.last_day, replace=options.replace)
    except (ValueError, FileExistsError, RuntimeError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    verb = "filled" if summary.built else "already there"
    print(f"{verb}: {summary.portfolios} portfolios, {summary.rows} rows up to {summary.last_day}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
