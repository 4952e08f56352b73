"""Every tool there is, in the order the planner reads them."""

from __future__ import annotations

from dataclasses import replace

from tools.cashflow import CASHFLOW_TOOL
from tools.discovery import DISCOVERY_TOOL
from tools.group_profit import GROUP_OPERATIONS
from tools.money_profit import MONEY_PROFIT_OPERATIONS
from tools.profit import PROFIT_TOOL
from tools.ranking import RANKING_OPERATIONS
from tools.rawsql import RAW_TOOL
from tools.registry import Registry
from tools.risk import RISK_OPERATIONS


def build_registry() -> Registry:
    """Return the registry of the product."""
    profit = replace(
        PROFIT_TOOL,
        operations=(
            *PROFIT_TOOL.operations,
            *RISK_OPERATIONS,
            *RANKING_OPERATIONS,
            *GROUP_OPERATIONS,
            *MONEY_PROFIT_OPERATIONS,
        ),
    )
    return Registry((profit, CASHFLOW_TOOL, DISCOVERY_TOOL, RAW_TOOL))
