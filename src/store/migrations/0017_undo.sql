-- Until when the answer that made a grant can be undone; NULL once it cannot any more.
ALTER TABLE grants ADD COLUMN undo_until BIGINT;
CREATE INDEX grants_undo ON grants (undo_until) WHERE undo_until IS NOT NULL;
