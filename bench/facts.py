"""Make a large fact table inside ClickHouse: deterministic, NAV consistent with returns and flows.

On each day NAV = (NAV before + inflow) · (1 + TWR_dod) − outflow, up to rounding to a cent. All
figures come from hashes of the portfolio's id and the number of the day.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from bench.name_damage import catalogue
from demo.data import statements

TABLE = "Contribution.contribution_twr_1s_mcp"
DAYS = 2500
LAST_DAY = "2025-12-10"
_AT_ONCE = 400

# d0: weekdays only, counted back from the last day. f: money in, g: money out, as shares of NAV.
_INSERT = f"""
INSERT INTO {TABLE}
SELECT id, name, code, client, kind, strategy, currency, d, x, toDecimal64(nav, 2),
       toDecimal64(before * f, 2), toDecimal64(before * (1 + f) * (1 + x) * g, 2)
FROM (
    SELECT InvestmentPortfolioID AS id, Portfolio AS name, PortfolioCode AS code,
           PortfolioClientCode AS client, PortfolioType AS kind,
           ['Акции', 'Облигации', 'Смешанная', 'Индексная', 'Денежный рынок'][id % 5 + 1] AS strategy,
           if(id % 20 = 0, 'USD', 'RUB') AS currency,
           arrayMap(k -> toDate('{LAST_DAY}') - ({DAYS} - 1 - k) - 2 * intDiv({DAYS} - 1 - k + 2, 5),
                    range({DAYS})) AS days,
           arrayMap(k -> (toInt64(cityHash64(id, k, 1) % 40001) - 19800) / 1000000, range({DAYS})) AS xs,
           arrayMap(k -> if(cityHash64(id, k, 2) % 10 = 0, (cityHash64(id, k, 3) % 2000) / 100000, 0),
                    range({DAYS})) AS fs,
           arrayMap(k -> if(cityHash64(id, k, 4) % 10 = 0, (cityHash64(id, k, 5) % 2000) / 100000, 0),
                    range({DAYS})) AS gs,
           arrayMap(s -> 1e8 * exp(s), arrayCumSum(arrayMap(
               (x, f, g) -> log1p(x) + log1p(f) + log1p(-g), xs, fs, gs))) AS navs,
           arrayPushFront(arrayPopBack(navs), 1e8) AS befores
    FROM bench_names WHERE InvestmentPortfolioID BETWEEN {{first:UInt64}} AND {{last:UInt64}}
)
ARRAY JOIN days AS d, xs AS x, fs AS f, gs AS g, navs AS nav, befores AS before
"""


def fill(path: Path, rows: int) -> int:
    """Make the tables of tools/sql and put about `rows` rows in; return how many.

    An engine already filled with as many is left as it is.
    """
    import clickhouse_connect

    client = clickhouse_connect.get_client(interface="chdb", path=str(path))
    try:
        return _fill(client, rows)
    finally:
        client.close()


def _fill(client: Any, rows: int) -> int:
    for name in ("schema.sql", "catalogue.sql"):
        for statement in statements(name):
            client.command(statement)
    portfolios = max(1, rows // DAYS)
    there = client.query(f"SELECT count() FROM {TABLE}").result_rows[0][0]
    if there == portfolios * DAYS:
        return int(there)
    if there:
        raise ValueError(f"The engine has {there} rows already, not {portfolios * DAYS}")
    client.command(
        "CREATE TABLE bench_names (InvestmentPortfolioID UInt64, Portfolio String, PortfolioCode String, "
        "PortfolioClientCode String, PortfolioType String) ENGINE = MergeTree ORDER BY InvestmentPortfolioID"
    )
    client.insert("bench_names", catalogue(portfolios), database="default")
    began = time.monotonic()
    for first in range(1, portfolios + 1, _AT_ONCE):
        client.command(
            _INSERT,
            parameters={"first": first, "last": min(portfolios, first + _AT_ONCE - 1)},
            settings={"max_block_size": 16, "max_memory_usage": 8_000_000_000},
        )
        if sys.stderr.isatty():
            print(f"\r{min(portfolios, first + _AT_ONCE - 1)} of {portfolios} portfolios", end="", file=sys.stderr)
    for table in (TABLE, "Contribution.portfolio_catalogue", "Contribution.portfolio_catalogue_words"):
        client.command(f"OPTIMIZE TABLE {table} FINAL")
    print(f"{portfolios * DAYS} rows made in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return portfolios * DAYS
