-- The event's number in the log; NULL until it is in the chain.
ALTER TABLE event ADD COLUMN seq BIGINT;
CREATE UNIQUE INDEX event_seq ON event (seq);
CREATE INDEX event_unchained ON event (id) WHERE seq IS NULL;
-- The hash of each row of the log, which covers the hash before it.
CREATE TABLE log_hash (
    seq  BIGINT PRIMARY KEY,
    hash TEXT NOT NULL
);
-- One row: where the log ends, and what of its beginning was forgotten.
CREATE TABLE log_end (
    id             BIGINT PRIMARY KEY,
    count          BIGINT NOT NULL,
    hash           TEXT NOT NULL,   -- empty: before the first row
    forgotten      BIGINT NOT NULL,
    forgotten_hash TEXT NOT NULL
);
INSERT INTO log_end (id, count, hash, forgotten, forgotten_hash) VALUES (1, 0, '', 0, '');
-- Signed: so many rows, of which the last has this hash.
CREATE TABLE log_checkpoint (
    seq       BIGINT PRIMARY KEY,
    at        BIGINT NOT NULL,
    hash      TEXT NOT NULL,
    key       TEXT NOT NULL,
    signature TEXT NOT NULL
);
