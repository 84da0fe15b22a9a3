-- 1: it stands without buttons, because presses were not received there when it was drawn.
ALTER TABLE card ADD COLUMN muted BIGINT NOT NULL DEFAULT 0;
-- Why its target does not take it at the moment.
ALTER TABLE card ADD COLUMN held TEXT;
