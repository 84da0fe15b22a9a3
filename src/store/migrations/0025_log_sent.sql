-- The last row of the log that each destination has taken.
CREATE TABLE log_sent (
    destination TEXT PRIMARY KEY,
    seq         BIGINT NOT NULL
);
