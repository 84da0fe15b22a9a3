-- Events are forgotten by their age.
CREATE INDEX event_at ON event (at);
-- What is left of them: how many there were of a kind, so that counters never fall, and the newest, so that
-- a reader whose place is gone learns it.
CREATE TABLE forgotten (
    kind   TEXT PRIMARY KEY,
    events BIGINT NOT NULL,
    newest BIGINT NOT NULL
);
