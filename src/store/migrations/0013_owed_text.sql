-- Who was asked for a text, at which message, by which button: on a platform where the text comes
-- back bare, as a reply in a thread, this says what it answers.
CREATE TABLE owed_text (
    adapter TEXT NOT NULL,
    message TEXT NOT NULL,
    presser TEXT NOT NULL,
    token   TEXT NOT NULL,
    ask     TEXT NOT NULL,
    PRIMARY KEY (adapter, message, presser)
);
CREATE INDEX owed_text_ask ON owed_text (ask);
