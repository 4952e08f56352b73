"""How often a damaged name is understood, asked about or taken for another, and how fast.

    python -m bench.names --names 40000 --tries 300

Each kind of damage is tried on names drawn from a generated catalogue. `right`: the portfolio
meant. `asked`: a question that offers it. `lost`: a question or a refusal that does not. `wrong`:
another portfolio without asking, the one thing that must not happen. A try whose damage spells
another stored name by chance is not counted: that name is then what was asked. Baselines in the
same run: the reference's token search (hasAnyTokens, ordered by ngramDistanceUTF8, first taken)
and rapidfuzz' WRatio, best taken.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench.name_damage import KINDS, catalogue, damaged
from demo.data import statements
from schemas.dataset import Dataset, TableName
from schemas.settings import Settings
from tools.catalogue import Catalogue
from tools.clickhouse import ClickHouse
from tools.inspection import inspect_dataset
from tools.resolver import Resolver
from tools.spellings import key, spelling

_TABLE = "Contribution.portfolio_catalogue"
_BATCH = 100_000


def fill(path: Path, rows: Sequence[tuple[int, str, str, str, str]]) -> None:
    """Make the tables that ship in tools/sql and put the catalogue in."""
    import clickhouse_connect

    client = clickhouse_connect.get_client(interface="chdb", path=str(path))
    for name in ("schema.sql", "catalogue.sql"):
        for statement in statements(name):
            client.command(statement)
    day = date(2025, 12, 10)
    names = (
        "InvestmentPortfolioID", "Portfolio", "PortfolioCode", "PortfolioClientCode", "PortfolioType",
        "FirstDt", "LastDt",
    )  # fmt: skip
    for start in range(0, len(rows), _BATCH):
        part = [[*row, day, day] for row in rows[start : start + _BATCH]]
        client.insert(_TABLE, part, column_names=names)
    for table in (_TABLE, f"{_TABLE}_words"):
        client.command(f"OPTIMIZE TABLE {table} FINAL")
    client.close()


class Tokens:
    """The reference's way: any token of the name, nearest by n-grams, the first is taken."""

    def __init__(self, client: ClickHouse) -> None:
        self.client = client

    async def take(self, text: str) -> Any:
        """Return the id of the first row, None without any."""
        found = await self.client.query(
            f"SELECT InvestmentPortfolioID FROM {_TABLE} "
            "WHERE hasAnyTokens(NameWords, {words:Array(String)}) "
            "ORDER BY ngramDistanceUTF8(lowerUTF8(Portfolio), lowerUTF8({text:String})) LIMIT 1",
            {"words": key(text).split() or [" "], "text": text},
        )
        return found.rows[0][0] if found.rows else None


class Ratio:
    """rapidfuzz' WRatio over all names, the best is taken."""

    def __init__(self, names: Sequence[str], ids: Sequence[int]) -> None:
        self.names, self.ids = [name.lower() for name in names], ids

    async def take(self, text: str) -> Any:
        """Return the id of the best score."""
        from rapidfuzz import fuzz, process

        best = process.extractOne(text.lower(), self.names, scorer=fuzz.WRatio)
        return self.ids[best[2]]


async def measure(
    resolver: Resolver,
    rows: Sequence[tuple[int, str, str, str, str]],
    *,
    tries: int,
    baselines: dict[str, Any],
    seed: int = 11,
) -> tuple[dict[str, Counter[str]], dict[str, dict[str, Counter[str]]], dict[str, list[float]]]:
    """Return counts per kind of damage, the baselines' counts, and milliseconds per kind."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    stored: dict[str, set[int]] = {}
    for row in rows:
        stored.setdefault(spelling(row[1]), set()).add(row[0])
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    others: dict[str, dict[str, Counter[str]]] = {
        name: {kind: Counter() for kind in KINDS} for name in baselines
    }
    spent: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        for row in rng.sample(list(rows), min(tries, len(rows))):
            text = damaged(row[1], kind, rng)
            if kind != "as stored" and (text == row[1] or stored.get(spelling(text), {row[0]}) != {row[0]}):
                continue
            began = time.perf_counter()
            found = await resolver.resolve(text)
            spent[kind].append(1000 * (time.perf_counter() - began))
            bearers = stored[spelling(row[1])]
            if found.portfolio is not None:
                verdict = "right" if found.portfolio.id == row[0] else "wrong"
            else:
                offered = {item.id for item in found.candidates}
                more = found.total > len(found.candidates)
                verdict = "asked" if offered & bearers or more else "lost"
            counts[kind][verdict] += 1
            if verdict == "wrong":
                print(f"  wrong: {text!r} for {row[1]!r} gave {found.portfolio and found.portfolio.name!r}")
            for name, baseline in baselines.items():
                taken = await baseline.take(text)
                others[name][kind]["right" if taken in bearers else "lost" if taken is None else "wrong"] += 1
    return counts, others, spent


def report(
    counts: dict[str, Counter[str]],
    others: dict[str, dict[str, Counter[str]]],
    spent: dict[str, list[float]],
) -> str:
    """Return a Markdown table: shares in percent, the baselines' wrong ones, milliseconds."""
    head = ["damage", "tries", "right", "asked", "lost", "wrong"]
    head += [f"{name}: wrong" for name in others] + ["p50, ms", "p95, ms"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    every: list[float] = []
    total: Counter[str] = Counter()
    for kind in (*KINDS, "all"):
        tally = total if kind == "all" else counts[kind]
        times = every if kind == "all" else spent[kind]
        tries = sum(tally.values())
        if not tries:
            continue
        shares = [f"{100 * tally[verdict] / tries:.1f}" for verdict in ("right", "asked", "lost")]
        shares.append(f"{100 * tally['wrong'] / tries:.2f}")
        for name in others:
            wrong = (
                sum((others[name][item] for item in KINDS), Counter())
                if kind == "all"
                else others[name][kind]
            )
            shares.append(f"{100 * wrong['wrong'] / tries:.1f}")
        ordered = sorted(times)
        shares += [f"{statistics.median(ordered):.0f}", f"{ordered[int(0.95 * (len(ordered) - 1))]:.0f}"]
        lines.append(f"| {kind} | {tries} | " + " | ".join(shares) + " |")
        if kind != "all":
            total.update(tally)
            every.extend(times)
    return "\n".join(lines)


async def _run(options: argparse.Namespace, path: Path) -> None:
    rows = catalogue(options.names, seed=options.seed)
    began = time.perf_counter()
    fill(path, rows)
    print(f"{options.names} names made ready in {time.perf_counter() - began:.0f} s", flush=True)
    settings = Settings(DSN=f"chdb://{path}")
    client = ClickHouse(settings.DSN)
    dataset: Dataset = await inspect_dataset(client, settings)
    assert dataset.catalogue == TableName("Contribution", "portfolio_catalogue")
    resolver = Resolver(Catalogue(client, dataset))
    for row in rows[:: max(1, len(rows) // 20)][:20]:
        await resolver.resolve(row[1][:-1])
    baselines = {}
    if not options.no_baselines:
        baselines = {"tokens": Tokens(client), "WRatio": Ratio([r[1] for r in rows], [r[0] for r in rows])}
    print(report(*await measure(resolver, rows, tries=options.tries, baselines=baselines)))


def main() -> None:
    """Command line; prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench.names", description=__doc__.splitlines()[0])
    parser.add_argument("--names", type=int, default=40_000, help="names in the catalogue")
    parser.add_argument("--tries", type=int, default=200, help="names tried for each kind of damage")
    parser.add_argument("--seed", type=int, default=7, help="seed of the catalogue")
    parser.add_argument("--no-baselines", action="store_true", help="only our own search")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_run(options, Path(place) / "names"))


if __name__ == "__main__":
    main()
