-- Digests: the row without a target says that one was made, the others where it is sent.
CREATE TABLE digest (
    due_at  BIGINT NOT NULL,    -- Unix milliseconds
    adapter TEXT NOT NULL,
    target  TEXT NOT NULL,
    content TEXT NOT NULL,      -- JSON: its lines
    sent    BIGINT NOT NULL,
    PRIMARY KEY (due_at, adapter, target)
);
