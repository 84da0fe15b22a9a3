-- Who is away, or wants no direct messages for a while.
CREATE TABLE presence (
    person   TEXT NOT NULL,     -- their name in the config
    how      TEXT NOT NULL,     -- away | snoozed
    until_at BIGINT NOT NULL,   -- Unix milliseconds
    PRIMARY KEY (person, how)
);
