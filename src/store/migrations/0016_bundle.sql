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
-- The bundle in which a card stands instead of a message of its own.
ALTER TABLE card ADD COLUMN bundle TEXT;
-- The first revision of the bundle that shows it; 0: none yet.
ALTER TABLE card ADD COLUMN joined BIGINT NOT NULL DEFAULT 0;
CREATE INDEX card_bundle ON card (bundle) WHERE bundle IS NOT NULL;
-- 1: it has stood where people look.
ALTER TABLE card ADD COLUMN seen BIGINT NOT NULL DEFAULT 0;
UPDATE card SET seen = 1 WHERE shown > 0;
CREATE INDEX ask_twins ON ask (digest) WHERE state = 'open';
DROP INDEX card_line;
DROP INDEX card_session;
CREATE INDEX card_line ON card (adapter, target, agent, critical DESC, turn, due_at)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
CREATE INDEX card_session ON card (adapter, target, agent, session, critical, turn)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
