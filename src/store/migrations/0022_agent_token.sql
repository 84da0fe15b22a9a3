-- Tokens of agents, each with a name. A token is stored as its hash only.
CREATE TABLE agent_token (
    id           TEXT PRIMARY KEY,   -- random: a name may be used again after a revocation
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL,
    former_hash  TEXT,               -- the token before the rotation, while it is accepted too
    former_until BIGINT,
    reads        TEXT NOT NULL,      -- own | all: whose asks it may read
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
-- What an agent asked is counted, in all and by session.
CREATE INDEX ask_agent ON ask (agent, created_at);
