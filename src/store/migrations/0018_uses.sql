-- How often a grant let a call run, when last, and what that was.
ALTER TABLE grants ADD COLUMN used BIGINT NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN last_used_at BIGINT;
ALTER TABLE grants ADD COLUMN last_call TEXT;
