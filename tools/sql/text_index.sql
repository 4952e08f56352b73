-- For tables made without the name indexes (ClickHouse 26.2 or newer). Safe to repeat.
-- The first four statements serve the catalogue, the last two a fact table that is
-- searched without a catalogue: skip those where the table is very large.
ALTER TABLE Contribution.portfolio_catalogue
    ADD INDEX IF NOT EXISTS name_ngrams NameKey TYPE text(tokenizer = ngrams(3));

ALTER TABLE Contribution.portfolio_catalogue
    ADD INDEX IF NOT EXISTS name_words NameWords TYPE text(tokenizer = array);

ALTER TABLE Contribution.portfolio_catalogue
    MATERIALIZE INDEX name_ngrams;

ALTER TABLE Contribution.portfolio_catalogue
    MATERIALIZE INDEX name_words;

-- The same folding as NameKey of the catalogue; a query must repeat this expression
-- to the letter for the index to be used.
ALTER TABLE Contribution.contribution_twr_1s_mcp
    ADD INDEX IF NOT EXISTS portfolio_ngrams trimBoth(replaceRegexpAll(
        translateUTF8(lowerUTF8(Portfolio), 'ёabcehkmoptxy', 'еавсенкмортху'),
        '[^\\p{L}\\p{N}]+', ' ')) TYPE text(tokenizer = ngrams(3));

ALTER TABLE Contribution.contribution_twr_1s_mcp
    MATERIALIZE INDEX portfolio_ngrams;
