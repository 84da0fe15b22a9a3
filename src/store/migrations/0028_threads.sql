-- A thread or topic at a target, for the cards of one session.
CREATE TABLE thread (
    -- An id of ours, by which a platform that can knows the thread again.
    id TEXT PRIMARY KEY,
    adapter TEXT NOT NULL,
    target TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Where it is, in the adapter's spelling; NULL: not made, or not known.
    place TEXT,
    -- How often making it was begun and is not known to have ended.
    attempts BIGINT NOT NULL,
    -- How often its place was gone.
    lost BIGINT NOT NULL,
    -- Why the session's cards are at the target itself; NULL: they are not.
    refused TEXT,
    closed BIGINT NOT NULL,
    -- When a card was last posted there, Unix milliseconds; 0: its session has ended.
    used_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX thread_session ON thread (adapter, target, agent, session);
CREATE INDEX thread_place ON thread (adapter, place) WHERE place IS NOT NULL;
