-- 1: a route says where the ask is shown; 0: every target shows it.
ALTER TABLE ask ADD COLUMN routed BIGINT NOT NULL DEFAULT 0;
-- Which target the card stands in for, and why; NULL: none.
ALTER TABLE card ADD COLUMN instead TEXT;
