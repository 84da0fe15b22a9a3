-- Which daemon wrote the event, and its proof: only such events join the log.
ALTER TABLE event ADD COLUMN proof TEXT;
-- A destination of the log is wanted while daemons try it; what it lacks is kept for a while.
ALTER TABLE log_sent ADD COLUMN tried_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE log_sent ADD COLUMN since BIGINT;              -- when its oldest row that was not taken was tried first
ALTER TABLE log_sent ADD COLUMN why TEXT;                  -- why it took none
ALTER TABLE log_sent ADD COLUMN lost BIGINT NOT NULL DEFAULT 0; -- rows that it never got
