-- For a catalogue made without its text indexes (ClickHouse 26.2 or newer). Safe to repeat.
ALTER TABLE Contribution.portfolio_catalogue
    ADD INDEX IF NOT EXISTS name_words NameWords TYPE text(tokenizer = array);

ALTER TABLE Contribution.portfolio_catalogue
    ADD INDEX IF NOT EXISTS name_marks Marks TYPE text(tokenizer = array);

ALTER TABLE Contribution.portfolio_catalogue_words
    ADD INDEX IF NOT EXISTS word_pieces Pieces TYPE text(tokenizer = array);

ALTER TABLE Contribution.portfolio_catalogue
    MATERIALIZE INDEX name_words;

ALTER TABLE Contribution.portfolio_catalogue
    MATERIALIZE INDEX name_marks;

ALTER TABLE Contribution.portfolio_catalogue_words
    MATERIALIZE INDEX word_pieces;
