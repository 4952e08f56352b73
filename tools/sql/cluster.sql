-- For a table sharded over several servers, run on the server that is asked, after schema.sql
-- and catalogue.sql on every shard. `portfolio` is the cluster's name in remote_servers. Rows of
-- one portfolio must be on one shard: the sharding key is its id. Set the valves TABLE to
-- Contribution.contribution_all and CATALOGUE_TABLE to Contribution.portfolio_catalogue_all.
CREATE TABLE IF NOT EXISTS Contribution.contribution_all
AS Contribution.contribution_twr_1s_mcp
ENGINE = Distributed(portfolio, Contribution, contribution_twr_1s_mcp, InvestmentPortfolioID);

CREATE TABLE IF NOT EXISTS Contribution.portfolio_catalogue_all
AS Contribution.portfolio_catalogue
ENGINE = Distributed(portfolio, Contribution, portfolio_catalogue, InvestmentPortfolioID);

CREATE TABLE IF NOT EXISTS Contribution.portfolio_catalogue_all_words
AS Contribution.portfolio_catalogue_words
ENGINE = Distributed(portfolio, Contribution, portfolio_catalogue_words);
