-- The tables, for both engines. Times are Unix milliseconds; flags are 0 or 1; JSON is text.

-- An ask: the row is the truth, everything in memory is only a wake-up.
CREATE TABLE ask (
    id           TEXT PRIMARY KEY,
    agent        TEXT NOT NULL,
    session      TEXT NOT NULL,
    key          TEXT,             -- the caller's idempotency key; NULL where there is none (any more)
    state        TEXT NOT NULL,    -- open | answered | expired | cancelled
    version      BIGINT NOT NULL,  -- counts every change
    body         TEXT NOT NULL,    -- JSON: the call and the decision on it, never changed
    bytes        BIGINT NOT NULL DEFAULT 0,  -- of the body: pages end before they are too large to be held
    digest       TEXT NOT NULL,    -- SHA-256 of exactly that call
    critical     BIGINT NOT NULL DEFAULT 0,
    progress     TEXT NOT NULL,    -- JSON: what has been answered of its questions so far
    votes        TEXT,             -- JSON: one for each account; NULL where nobody has voted
    attended     BIGINT NOT NULL,  -- 1: opened by a caller that waits on its connection
    attached     TEXT NOT NULL DEFAULT '',   -- the daemons at which callers wait, as `/one/two/`
    routed       BIGINT NOT NULL DEFAULT 0,  -- 1: a route says where it is shown; 0: every target shows it
    reviewed     TEXT,             -- the agent whose call this reviews after it ran; NULL: it is no review
    created_at   BIGINT NOT NULL,
    deadline_at  BIGINT,           -- NULL: waits for ever
    left_ms      BIGINT,           -- what is left of the deadline in a pause; -1: it has none. NULL: it runs
    step_at      BIGINT,           -- when the next step is due while nobody answers
    step_left_ms BIGINT,           -- what is left until then in a pause
    steps_done   BIGINT NOT NULL DEFAULT 0,
    closed_at    BIGINT,
    answer       TEXT              -- JSON, once closed
);
CREATE UNIQUE INDEX ask_key ON ask (agent, session, key) WHERE key IS NOT NULL;
-- Only open asks have a deadline that matters. An index that began with the state would be taken for pages
-- of open asks too, each of which would then be sorted anew.
CREATE INDEX ask_open ON ask (created_at, id, bytes) WHERE state = 'open';
CREATE INDEX ask_deadline ON ask (deadline_at, id) WHERE state = 'open';
CREATE INDEX ask_step ON ask (step_at, id) WHERE state = 'open' AND step_at IS NOT NULL;
CREATE INDEX ask_load ON ask (agent, session, bytes) WHERE state = 'open';
CREATE INDEX ask_twins ON ask (digest) WHERE state = 'open';
CREATE INDEX ask_closed ON ask (closed_at, id, state, bytes) WHERE closed_at IS NOT NULL;
CREATE INDEX ask_agent ON ask (agent, created_at);

-- A card: one ask at one target. It is the outbox too: due while `shown` is behind `wanted`.
CREATE TABLE card (
    nonce     TEXT PRIMARY KEY,    -- opaque; the first part of the card's button tokens
    ask       TEXT NOT NULL REFERENCES ask (id),
    adapter   TEXT NOT NULL,
    target    TEXT NOT NULL,
    -- Of the ask, so that no body is read only to learn them.
    agent     TEXT NOT NULL DEFAULT '',
    session   TEXT NOT NULL DEFAULT '',
    critical  BIGINT NOT NULL DEFAULT 0,
    bytes     BIGINT NOT NULL DEFAULT 0,
    message   TEXT,                -- the adapter's name for the posted message
    shown     BIGINT NOT NULL,     -- the ask's version that it shows; 0: nothing yet
    wanted    BIGINT NOT NULL,     -- the ask's version that it should show
    attempts  BIGINT NOT NULL,
    due_at    BIGINT NOT NULL,     -- not to be tried before
    turn      BIGINT NOT NULL DEFAULT 0,  -- of its session, counted from the turn that its agent had come to
    seen      BIGINT NOT NULL DEFAULT 0,  -- 1: it was shown where people look
    muted     BIGINT NOT NULL DEFAULT 0,  -- 1: drawn without buttons, as presses were not received there
    held      TEXT,                -- why its target does not take it at the moment
    gone      TEXT,                -- why it is given up
    instead   TEXT,                -- which target it stands in for, and why
    bundle    TEXT,                -- the bundle that shows it instead of a message of its own
    joined    BIGINT NOT NULL DEFAULT 0,  -- the first revision of the bundle that shows it; 0: none yet
    reminders BIGINT NOT NULL DEFAULT 0,  -- how many it should have had
    reminded  BIGINT NOT NULL DEFAULT 0,  -- of how many was tried
    UNIQUE (ask, adapter, target)
);
CREATE INDEX card_message ON card (adapter, message);
-- Cards that nobody has seen come before those to be redrawn. First turns go round over agents, and within an
-- agent over its sessions; critical asks come first.
CREATE INDEX card_line ON card (adapter, target, agent, critical DESC, turn, due_at)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
CREATE INDEX card_session ON card (adapter, target, agent, session, critical, turn)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
CREATE INDEX card_behind ON card (adapter, target, due_at)
    WHERE gone IS NULL AND shown > 0 AND shown < wanted;
CREATE INDEX card_bundle ON card (bundle) WHERE bundle IS NOT NULL;
CREATE INDEX card_unseen ON card (ask) WHERE gone IS NULL AND shown = 0 AND seen = 0;
CREATE INDEX card_reminder ON card (adapter, target) WHERE gone IS NULL AND reminded < reminders;

-- A bundle: one message that stands for the cards of several asks at one target.
CREATE TABLE bundle (
    nonce      TEXT PRIMARY KEY,    -- opaque; the first part of its button tokens
    adapter    TEXT NOT NULL,
    target     TEXT NOT NULL,
    crowd      TEXT NOT NULL,       -- what its asks have in common: whose they are, or which call
    message    TEXT,                -- the adapter's name for the posted message
    revision   BIGINT NOT NULL,     -- counts its drawings; stored before each is sent
    attempts   BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,     -- not to be drawn before
    gone       TEXT,                -- why it is given up; its asks have cards of their own then
    muted      BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE INDEX bundle_place ON bundle (adapter, target, created_at);
CREATE INDEX bundle_message ON bundle (adapter, message);

-- A thread or topic at a target, for the cards of one session.
CREATE TABLE thread (
    id       TEXT PRIMARY KEY,    -- ours, by which a platform that can knows the thread again
    adapter  TEXT NOT NULL,
    target   TEXT NOT NULL,
    agent    TEXT NOT NULL,
    session  TEXT NOT NULL,
    name     TEXT NOT NULL,
    place    TEXT,                -- where it is, in the adapter's spelling; NULL: not made, or not known
    attempts BIGINT NOT NULL,     -- how often making it was begun and is not known to have ended
    lost     BIGINT NOT NULL,     -- how often its place was gone
    refused  TEXT,                -- why the session's cards are at the target itself; NULL: they are not
    closed   BIGINT NOT NULL,
    used_at  BIGINT NOT NULL      -- when a card was last posted there; 0: its session has ended
);
CREATE UNIQUE INDEX thread_session ON thread (adapter, target, agent, session);
CREATE INDEX thread_place ON thread (adapter, place) WHERE place IS NOT NULL;

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

-- Digests: the row without a target says that one was made, the others where it is sent.
CREATE TABLE digest (
    due_at  BIGINT NOT NULL,
    adapter TEXT NOT NULL,
    target  TEXT NOT NULL,
    content TEXT NOT NULL,      -- JSON: its lines
    sent    BIGINT NOT NULL,
    PRIMARY KEY (due_at, adapter, target)
);

-- A grant: a remembered approval.
CREATE TABLE grants (
    id           TEXT PRIMARY KEY,
    ask          TEXT NOT NULL,
    tool         TEXT NOT NULL,
    pattern      TEXT NOT NULL,
    scope        TEXT NOT NULL,     -- session | always | timed
    agent        TEXT NOT NULL,
    session      TEXT NOT NULL,     -- covers this session only, unless scope is always
    folder       TEXT,              -- covers calls in this folder only; NULL: in any
    owner        TEXT,              -- whose session: where its calls come in, and a hash of the secret they bring
    granted_by   TEXT NOT NULL,     -- JSON: who
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    undo_until   BIGINT,            -- the answer that made it can be undone; NULL once it cannot any more
    revoked_at   BIGINT,
    written      BIGINT NOT NULL,   -- its rule in a worker's rules file: 0 to be written, 1 belongs in none,
                                    -- 2 stands in it, 3 to be taken out
    used         BIGINT NOT NULL DEFAULT 0,  -- how often it let a call run
    last_used_at BIGINT,
    last_call    TEXT,
    digest       TEXT,              -- a call that was approved ahead: exactly this one, once
    spent_at     BIGINT
);
CREATE INDEX grants_undo ON grants (undo_until) WHERE undo_until IS NOT NULL;
CREATE INDEX grant_digest ON grants (digest) WHERE digest IS NOT NULL AND spent_at IS NULL;

-- What happened, in order: the log and the event stream.
CREATE TABLE event (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    BIGINT NOT NULL,
    kind  TEXT NOT NULL,
    ask   TEXT,
    data  TEXT NOT NULL,           -- JSON
    seq   BIGINT,                 -- its number in the log; NULL until it is in the chain
    proof TEXT                    -- which daemon wrote it, and its proof: only such events join the log
);
CREATE INDEX event_at ON event (at);
CREATE UNIQUE INDEX event_seq ON event (seq);
CREATE INDEX event_unchained ON event (id) WHERE seq IS NULL;
-- What is left of forgotten events: how many there were of a kind, so that counters never fall, and the newest,
-- so that a reader whose place is gone learns it.
CREATE TABLE forgotten (
    kind   TEXT PRIMARY KEY,
    events BIGINT NOT NULL,
    newest BIGINT NOT NULL
);
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
-- The last row of the log that each destination has taken. A destination is wanted while daemons try it; what
-- it lacks is kept for a while.
CREATE TABLE log_sent (
    destination TEXT PRIMARY KEY,
    seq         BIGINT NOT NULL,
    tried_at    BIGINT NOT NULL DEFAULT 0,
    since       BIGINT,                      -- when its oldest row that was not taken was tried first
    why         TEXT,                        -- why it took none
    lost        BIGINT NOT NULL DEFAULT 0    -- rows that it never got
);

-- Who is away, or wants no direct messages for a while.
CREATE TABLE presence (
    person   TEXT NOT NULL,     -- their name in the config
    how      TEXT NOT NULL,     -- away | snoozed
    until_at BIGINT NOT NULL,
    PRIMARY KEY (person, how)
);
-- The passkeys (WebAuthn) with which people sign in to the inbox. Bytes are in base64url.
CREATE TABLE passkey (
    id              TEXT PRIMARY KEY,
    credential      TEXT NOT NULL UNIQUE,
    host            TEXT NOT NULL,    -- the relying party for which it was made
    person          TEXT NOT NULL,    -- the identity with which its person was signed in
    owner           TEXT NOT NULL,    -- their name then
    name            TEXT NOT NULL,
    handle          TEXT NOT NULL,    -- by which the authenticator knows them
    public_key      TEXT NOT NULL,    -- SubjectPublicKeyInfo
    algorithm       BIGINT NOT NULL,  -- its COSE number
    counter         BIGINT NOT NULL,
    backup_eligible BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    used_at         BIGINT
);

-- A session's own mode; calls of a session without one are decided in the configured mode.
CREATE TABLE session (
    agent      TEXT NOT NULL,
    session    TEXT NOT NULL,
    mode       TEXT NOT NULL,     -- in the words of the profile
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (agent, session)
);
-- Tokens of agents, each with a name. A token is stored as its hash only.
CREATE TABLE agent_token (
    id           TEXT PRIMARY KEY,   -- random: a name may be used again after a revocation
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL,
    former_hash  TEXT,               -- the token before the rotation, while it is accepted too
    former_until BIGINT,
    reads        TEXT NOT NULL,      -- own | all: whose asks it may read
    profile      TEXT,               -- the profile that has to decide on its calls; NULL: any
    target       TEXT,               -- the only target or route that shows its asks; NULL: any
    open_asks    BIGINT,             -- limits; NULL: those of the config
    per_minute   BIGINT,
    per_session  BIGINT,
    created_by   TEXT NOT NULL,      -- JSON: who
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    used_at      BIGINT,
    revoked_at   BIGINT,
    paused_at    BIGINT,             -- since when a limit has paused it
    paused_why   TEXT,
    pause_ask    TEXT,               -- the ask that resumes it
    resumed_at   BIGINT              -- what was asked before does not count for its limits
);
CREATE UNIQUE INDEX agent_token_name ON agent_token (name) WHERE revoked_at IS NULL;

-- A run that waits without its process: the agent ended it while one of its calls waits for a person.
CREATE TABLE parked (
    ask       TEXT PRIMARY KEY REFERENCES ask (id),
    agent     TEXT NOT NULL,
    session   TEXT NOT NULL,
    run       TEXT NOT NULL,               -- JSON: where it ran, and the words that start it again
    cost      BIGINT,                      -- of the session so far, in millionths of a dollar; NULL: not known
    parked_at BIGINT NOT NULL,
    epoch     BIGINT NOT NULL DEFAULT 0,   -- counts who resumed it; fences what an earlier one still tries
    until_at  BIGINT NOT NULL DEFAULT 0,   -- nobody else may resume it before
    taken     BIGINT                       -- the epoch that took the answer: the run goes on, and is not parked
);
CREATE UNIQUE INDEX parked_session ON parked (agent, session) WHERE taken IS NULL;

-- What is known of the store itself, such as its id.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
-- Written to find out whether the store can be written.
CREATE TABLE pulse (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL
);
-- The holder of a chat account's lease receives for it and posts its cards.
CREATE TABLE lease (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    epoch    BIGINT NOT NULL,     -- counts the holders; fences what an earlier one still tries
    until_at BIGINT NOT NULL      -- by the database's clock
);
-- The kill switch, one row. While something is paused nothing is approved and no deadline runs.
CREATE TABLE pause (
    id        BIGINT PRIMARY KEY,
    how       TEXT,             -- deny | hold; NULL: nothing is paused
    paused_by TEXT NOT NULL,    -- JSON: who; empty where nobody ever did
    since     BIGINT NOT NULL
);
INSERT INTO pause (id, how, paused_by, since) VALUES (1, NULL, '', 0);
