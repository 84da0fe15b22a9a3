-- A store as the first version of the tables kept it: step 1 of src/store/migrations, with the rows that
-- the program of that commit (3e915f4) wrote. Made by applying that step, not by running that program.
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL);
INSERT INTO "_sqlx_migrations" VALUES(1,'start','2026-11-21 09:00:00',1,X'22D960517071B2A55B5D145DFB11BD6C172D5F7594ADC7BE5B9D5470C00EA5969D73A1A41414A7E8893A6F76E2531F3F',0);
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
INSERT INTO "ask" VALUES('waitsfor','claude-code','s1','k1','open',1,'{"call":{"key":"k1","agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin main"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}','3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a','{"answered":[],"chosen":[]}',0,1795250000000,NULL,NULL,NULL);
INSERT INTO "ask" VALUES('overdue1','claude-code','s1',NULL,'open',1,'{"call":{"agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin late"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}','56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506','{"answered":[],"chosen":[]}',0,1795250000000,1795250060000,NULL,NULL);
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
INSERT INTO "card" VALUES('nonce-of-waits','waitsfor','telegram','100','4711',1,1,0,0,NULL);
INSERT INTO "card" VALUES('nonce-of-late','overdue1','telegram','100',NULL,0,1,0,0,NULL);
CREATE TABLE event (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   BIGINT NOT NULL,
    kind TEXT NOT NULL,
    ask  TEXT,
    data TEXT NOT NULL            -- JSON
);
INSERT INTO "event" VALUES(1,1795250000000,'asked','waitsfor','{"agent":"claude-code","session":"s1","tool":"Bash","digest":"3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a","why":"no rule allows it"}');
INSERT INTO "event" VALUES(2,1795250000000,'asked','overdue1','{"agent":"claude-code","session":"s1","tool":"Bash","digest":"56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506","why":"no rule allows it"}');
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
INSERT INTO "grants" VALUES('granted1','settled1','Bash','cargo test *','always','claude-code','s1','{"kind":"person","platform":"telegram","id":"42","name":"Ana"}',1795249000000,NULL,NULL,0);
INSERT INTO "grants" VALUES('revoked1','settled1','Bash','cargo test *','always','claude-code','s1','{"kind":"person","platform":"telegram","id":"42","name":"Ana"}',1795249000000,NULL,1795250050000,0);
CREATE UNIQUE INDEX ask_key ON ask (agent, session, key) WHERE key IS NOT NULL;
CREATE INDEX ask_state ON ask (state, deadline_at);
CREATE INDEX card_message ON card (adapter, message);
CREATE INDEX card_due ON card (adapter, target, due_at) WHERE gone IS NULL AND shown < wanted;
COMMIT;
