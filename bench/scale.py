"""How the time of every operation grows with the table, beside the bare query that reads the same.

    python -m bench.scale --rows 1000000 100000000 --keep /var/tmp/scale

For each operation the statements it sent are run again in turn with a bare query: the same table,
the same portfolio and days, the same columns, no more than `max` of each. The ratio of the medians
is what counts; milliseconds are this machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from bench.facts import TABLE, fill
from pipe.workplaces import workplace_for
from schemas.settings import Settings

TODAY = date(2025, 12, 11)
YEAR = {"start_date": "2025-01-01", "end_date": "2025-12-10"}


@dataclass(frozen=True)
class Case:
    """One operation with its arguments, and the columns of the fact table it cannot do without."""

    tool: str
    operation: str
    reads: tuple[str, ...]
    args: dict[str, Any] = field(default_factory=dict)
    by_type: bool = False

    @property
    def title(self) -> str:
        """Return the operation with what it differs by."""
        rest = {key: value for key, value in self.args.items() if key not in YEAR}
        return self.operation + (f" {rest}" if rest else "") + (", a type" if self.by_type else "")


_RETURN = ("TWR_dod", "Dt")
CASES = (
    Case("profit_tool", "get_profit_of_portfolio", _RETURN, YEAR),
    Case("profit_tool", "get_profit_of_portfolio", _RETURN, {**YEAR, "by_date": True}),
    Case("profit_tool", "get_mean_profit", _RETURN, YEAR),
    Case("profit_tool", "get_geometric_mean_profit", _RETURN, YEAR),
    Case("profit_tool", "get_profit_by_period", _RETURN, {**YEAR, "period": "month"}),
    Case("profit_tool", "get_annualised_profit", _RETURN, {"start_date": "2017-01-01", "end_date": "2025-12-10"}),
    Case("profit_tool", "get_risk", _RETURN, YEAR),
    Case("profit_tool", "get_profit_in_money", ("NAV", "Inflow", "Outflow", "Dt"), YEAR),
    Case("cashflow_tool", "get_nav", ("NAV", "Dt"), {"end_date": "2025-12-10"}),
    Case("cashflow_tool", "get_nav", ("NAV", "Dt"), {**YEAR, "by_date": True}),
    Case("cashflow_tool", "get_inflow", ("Inflow", "Dt"), YEAR),
    Case("cashflow_tool", "get_outflow", ("Outflow", "Dt"), YEAR),
    Case("cashflow_tool", "get_net_flow", ("Inflow", "Outflow", "Dt"), YEAR),
    Case("profit_tool", "rank_portfolios", _RETURN, YEAR, by_type=True),
    Case("profit_tool", "get_group_profit", ("TWR_dod", "NAV", "Inflow", "Dt"), YEAR, by_type=True),
    Case("cashflow_tool", "get_nav_by_type", ("NAV", "Dt"), {"end_date": "2025-12-10"}, by_type=True),
)


async def measure(path: Path, rows: int, repeats: int) -> list[tuple[str, float, float, float]]:
    """Return per case: title, seconds of the whole operation, of its statements, of the bare query."""
    settings = Settings(DSN=f"chdb://{path}", STEP_TIMEOUT_S=600, MAX_MEMORY_GB=12)
    place = await workplace_for(settings)
    number = max(1, rows // 2500 // 2)
    found: list[tuple[str, float, float, float]] = []
    for case in CASES:
        operation = place.registry.operation(case.tool, case.operation)
        assert operation is not None
        named = {"portfolio_types": ["ПИФ"]} if case.by_type else {"portfolio_codes": [f"P-{number:07d}"]}
        args = operation.args.model_validate({**named, **case.args})
        whole, ours, bare = [], [], []
        for turn in range(repeats + 1):
            context = await place.context(settings, TODAY, {})
            began = time.perf_counter()
            await operation.run(args, context)
            spent = time.perf_counter() - began
            sent = 0.0
            for query in context.queries:
                began = time.perf_counter()
                await place.client.query(query.statement, query.parameters, timeout_s=600)
                sent += time.perf_counter() - began
            began = time.perf_counter()
            await place.client.query(*_bare(case, number), timeout_s=600)
            floor = time.perf_counter() - began
            if turn:
                whole.append(spent)
                ours.append(sent)
                bare.append(floor)
        found.append((case.title, *(statistics.median(each) for each in (whole, ours, bare))))
    return found


def _bare(case: Case, number: int) -> tuple[str, dict[str, Any]]:
    columns = ", ".join(f"max({name})" for name in case.reads)
    which = (
        "InvestmentPortfolioID IN (SELECT InvestmentPortfolioID FROM Contribution.portfolio_catalogue "
        "WHERE PortfolioType = 'ПИФ')"
        if case.by_type
        else "InvestmentPortfolioID = {number:UInt64}"
    )
    start = case.args.get("start_date")
    days = "AND Dt >= {start:Date} " if start else ""
    return (
        f"SELECT count(), {columns} FROM {TABLE} WHERE {which} {days}AND Dt <= {{end:Date}}",
        {"number": number, "start": start or "", "end": case.args["end_date"]},
    )


def table(rows: int, found: Sequence[tuple[str, float, float, float]]) -> str:
    """Return a Markdown table, the ratio first."""
    lines = [
        f"| {rows:,} rows | statements ÷ bare | whole operation, ms | statements, ms | bare query, ms |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {title} | {ours / bare:.2f} | {whole * 1000:.1f} | {ours * 1000:.1f} | {bare * 1000:.1f} |"
        for title, whole, ours, bare in found
    ]
    return "\n".join(lines)


def _one(path: Path, rows: int, repeats: int) -> None:
    count = fill(path, rows)
    print(table(count, asyncio.run(measure(path, count, repeats))), flush=True)
    print()


def main() -> None:
    """Command line; a process for each size, as an engine has one path for its life."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000], help="sizes of the fact table")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each, after one to warm up")
    parser.add_argument("--keep", type=Path, help="folder to keep the filled engines in")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for rows in options.rows:
            path = (options.keep or Path(place)) / f"rows-{rows}"
            path.parent.mkdir(parents=True, exist_ok=True)
            process = multiprocessing.get_context("spawn").Process(
                target=_one, args=(path, rows, options.repeats)
            )
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
