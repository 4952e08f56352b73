-- Once, after catalogue.sql, when the fact table already had rows: the view sees only
-- what is inserted after it was created. Safe to repeat.
INSERT INTO Contribution.portfolio_catalogue
    (InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode,
     PortfolioType, Strategy, Currency, FirstDt, LastDt)
SELECT
    InvestmentPortfolioID,
    Portfolio,
    PortfolioCode,
    PortfolioClientCode,
    PortfolioType,
    Strategy,
    Currency,
    min(Dt),
    max(Dt)
FROM Contribution.contribution_twr_1s_mcp
GROUP BY InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode,
         PortfolioType, Strategy, Currency;
