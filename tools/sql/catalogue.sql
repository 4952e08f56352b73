-- Catalogue of portfolios, kept filled from the fact table by a materialized view.
-- A row is one set of attributes a portfolio has had, with the first and the last day
-- it was seen with them: a renamed portfolio keeps its old name findable, and repeated
-- or overlapping inserts merge to the same row. Readers take the latest set:
--   SELECT InvestmentPortfolioID, argMax(Portfolio, LastDt), min(FirstDt), max(LastDt)
--   FROM Contribution.portfolio_catalogue GROUP BY InvestmentPortfolioID
CREATE TABLE IF NOT EXISTS Contribution.portfolio_catalogue
(
    InvestmentPortfolioID UInt64,
    Portfolio             String,
    PortfolioCode         String,
    PortfolioClientCode   String,
    PortfolioType         LowCardinality(String),
    Strategy              LowCardinality(String),
    Currency              LowCardinality(String),
    FirstDt               SimpleAggregateFunction(min, Date),
    LastDt                SimpleAggregateFunction(max, Date),
    -- Lower case, ё as е, Latin look-alikes as Cyrillic, everything that is not a letter
    -- or a digit as one space. A search text must be folded in the same way.
    NameKey               String MATERIALIZED trimBoth(replaceRegexpAll(
                              translateUTF8(lowerUTF8(Portfolio), 'ёabcehkmoptxy', 'еавсенкмортху'),
                              '[^\\p{L}\\p{N}]+', ' ')),
    NameWords             Array(String) MATERIALIZED splitByChar(' ', NameKey),
    -- hasAnyTokens(NameKey, 'горизонт') finds by parts of words and survives a typo.
    INDEX name_ngrams NameKey TYPE text(tokenizer = ngrams(3)),
    -- hasAllTokens(NameWords, ['горизонт', 'акции']) finds by whole words.
    INDEX name_words NameWords TYPE text(tokenizer = array)
)
ENGINE = AggregatingMergeTree
ORDER BY (InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode,
          PortfolioType, Strategy, Currency);

CREATE MATERIALIZED VIEW IF NOT EXISTS Contribution.portfolio_catalogue_mv
TO Contribution.portfolio_catalogue
AS SELECT
    InvestmentPortfolioID,
    Portfolio,
    PortfolioCode,
    PortfolioClientCode,
    PortfolioType,
    Strategy,
    Currency,
    min(Dt) AS FirstDt,
    max(Dt) AS LastDt
FROM Contribution.contribution_twr_1s_mcp
GROUP BY InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode,
         PortfolioType, Strategy, Currency;
