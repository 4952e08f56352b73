-- Once, after catalogue.sql, when the fact table already had rows: the views see only
-- what is inserted after they were created. Safe to repeat. The words follow by their view.
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
