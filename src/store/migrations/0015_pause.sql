-- The kill switch, one row. While something is paused nothing is approved and no deadline runs.
CREATE TABLE pause (
    id        BIGINT PRIMARY KEY,
    how       TEXT,             -- deny | hold; NULL: nothing is paused
    paused_by TEXT NOT NULL,    -- JSON: who; empty where nobody ever did
    since     BIGINT NOT NULL
);
INSERT INTO pause (id, how, paused_by, since) VALUES (1, NULL, '', 0);
-- What is left of an open ask's deadline while it stands still; -1: it has none. NULL: it runs.
ALTER TABLE ask ADD COLUMN left_ms BIGINT;
