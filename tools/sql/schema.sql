-- Fact table: one row per portfolio and day, as the agent expects it by default.
-- TWR_dod is the return of the day as a fraction (0.01 = 1 %), NULL when unknown.
-- Inflow and Outflow are money amounts of the day, both positive or zero.
CREATE DATABASE IF NOT EXISTS Contribution;

CREATE TABLE IF NOT EXISTS Contribution.contribution_twr_1s_mcp
(
    InvestmentPortfolioID UInt64,
    Portfolio             String,
    PortfolioCode         String,
    PortfolioClientCode   String,
    PortfolioType         LowCardinality(String),
    Strategy              LowCardinality(String),
    Currency              LowCardinality(String),
    Dt                    Date,
    TWR_dod               Nullable(Float64),
    NAV                   Nullable(Decimal(18, 2)),
    Inflow                Decimal(18, 2),
    Outflow               Decimal(18, 2)
)
ENGINE = MergeTree
ORDER BY (InvestmentPortfolioID, Dt);
