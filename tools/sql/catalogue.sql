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
    NameLength            UInt16 MATERIALIZED length(NameWords),
    -- All that means exactly this portfolio: its name, its key, its codes, its id.
    Marks                 Array(String) MATERIALIZED arrayDistinct([
                              concat('name:', Portfolio),
                              concat('key:', NameKey),
                              concat('code:', translateUTF8(lowerUTF8(trimBoth(PortfolioCode)),
                                  'ёabcehkmoptxy‐‑–—−', 'еавсенкмортху-----')),
                              concat('code:', translateUTF8(lowerUTF8(trimBoth(PortfolioClientCode)),
                                  'ёabcehkmoptxy‐‑–—−', 'еавсенкмортху-----')),
                              concat('id:', lower(toString(InvestmentPortfolioID)))]),
    -- hasAny(NameWords, ['горизонт', 'горизонты']) finds by whole words, hasAny(Marks, …) by
    -- a name or a code as a whole. Without the indexes both give the same, but read all names.
    INDEX name_words NameWords TYPE text(tokenizer = array),
    INDEX name_marks Marks TYPE text(tokenizer = array)
)
ENGINE = AggregatingMergeTree
ORDER BY (InvestmentPortfolioID, Portfolio, PortfolioCode, PortfolioClientCode,
          PortfolioType, Strategy, Currency)
SETTINGS index_granularity = 256;

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

-- Every word that occurs in a name, once, with its pieces: the word and its beginnings without
-- up to three last letters, each also without any one letter, long words without any two. Two
-- words one slip or one case ending apart have a piece in common. `pieces` in tools/words.py
-- takes a searched word apart in the same way.
CREATE TABLE IF NOT EXISTS Contribution.portfolio_catalogue_words
(
    Word   String,
    Pieces Array(String) MATERIALIZED arrayDistinct(arrayConcat(
        arrayFlatten(arrayMap(
            beginning -> arrayPushFront(
                if(lengthUTF8(beginning) < 4, emptyArrayString(), arrayMap(
                    i -> concat(substringUTF8(beginning, 1, i - 1), substringUTF8(beginning, i + 1)),
                    range(1, lengthUTF8(beginning) + 1))),
                beginning),
            arrayMap(
                cut -> substringUTF8(Word, 1, lengthUTF8(Word) - cut),
                range(0, greatest(1, least(4, toInt64(lengthUTF8(Word)) - 2)))))),
        if(lengthUTF8(Word) NOT BETWEEN 8 AND 24, emptyArrayString(), arrayFlatten(arrayMap(
            i -> arrayMap(
                j -> concat(substringUTF8(Word, 1, i - 1), substringUTF8(Word, i + 1, j - i - 1),
                            substringUTF8(Word, j + 1)),
                range(i + 1, lengthUTF8(Word) + 1)),
            range(1, lengthUTF8(Word))))))),
    INDEX word_pieces Pieces TYPE text(tokenizer = array)
)
ENGINE = ReplacingMergeTree
ORDER BY Word
SETTINGS index_granularity = 1024;

CREATE MATERIALIZED VIEW IF NOT EXISTS Contribution.portfolio_catalogue_words_mv
TO Contribution.portfolio_catalogue_words
AS SELECT DISTINCT arrayJoin(splitByChar(' ', trimBoth(replaceRegexpAll(
    translateUTF8(lowerUTF8(Portfolio), 'ёabcehkmoptxy', 'еавсенкмортху'),
    '[^\\p{L}\\p{N}]+', ' ')))) AS Word
FROM Contribution.portfolio_catalogue
WHERE Word != '';
