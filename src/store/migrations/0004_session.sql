-- A session's own mode; a session without one is ruled in the configured mode.
CREATE TABLE session (
    agent      TEXT NOT NULL,
    session    TEXT NOT NULL,
    mode       TEXT NOT NULL,     -- in the words of the profile
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (agent, session)
);
