-- An ask: the row is the truth, everything in memory is only a wake-up. Times are Unix milliseconds.
CREATE TABLE ask (
    id          TEXT PRIMARY KEY,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    key         TEXT,             -- the caller's idempotency key; NULL where there is none (any more)
    state       TEXT NOT NULL,    -- open | answered | expired | cancelled
    version     BIGINT NOT NULL,  -- counts every change
    body        TEXT NOT NULL,    -- JSON: the call and the ruling on it, never changed
    digest      TEXT NOT NULL,    -- SHA-256 of exactly that call
    progress    TEXT NOT NULL,    -- JSON: what has been answered of its questions so far
    attended    BIGINT NOT NULL,  -- 1: opened by a caller that waits on its connection
    created_at  BIGINT NOT NULL,
    deadline_at BIGINT,           -- NULL: waits for ever
    closed_at   BIGINT,
    answer      TEXT              -- JSON, once closed
);
CREATE UNIQUE INDEX ask_key ON ask (agent, session, key) WHERE key IS NOT NULL;
CREATE INDEX ask_state ON ask (state, deadline_at);

-- A card: one ask at one target. It is the outbox too: due while `shown` is behind `wanted`.
CREATE TABLE card (
    nonce    TEXT PRIMARY KEY,    -- opaque; the first part of the card's button tokens
    ask      TEXT NOT NULL REFERENCES ask (id),
    adapter  TEXT NOT NULL,
    target   TEXT NOT NULL,
    message  TEXT,                -- the adapter's name for the posted message
    shown    BIGINT NOT NULL,     -- the ask's version that stands there; 0: nothing yet
    wanted   BIGINT NOT NULL,     -- the ask's version that should stand there
    attempts BIGINT NOT NULL,
    due_at   BIGINT NOT NULL,     -- not to be tried before
    gone     TEXT,                -- why it is given up
    UNIQUE (ask, adapter, target)
);
CREATE INDEX card_message ON card (adapter, message);
CREATE INDEX card_due ON card (adapter, target, due_at) WHERE gone IS NULL AND shown < wanted;

-- A grant: a remembered approval.
CREATE TABLE grants (
    id         TEXT PRIMARY KEY,
    ask        TEXT NOT NULL,
    tool       TEXT NOT NULL,
    pattern    TEXT NOT NULL,
    scope      TEXT NOT NULL,     -- session | always | timed
    agent      TEXT NOT NULL,
    session    TEXT NOT NULL,     -- covers this session only, unless scope is always
    granted_by TEXT NOT NULL,     -- JSON: who
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    written    BIGINT NOT NULL    -- 1: stands in the rules file, or belongs in none
);

-- What happened, in order: the audit log and the event stream.
CREATE TABLE event (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   BIGINT NOT NULL,
    kind TEXT NOT NULL,
    ask  TEXT,
    data TEXT NOT NULL            -- JSON
);
