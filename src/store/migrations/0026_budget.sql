-- A call that was approved ahead: exactly the one with this digest, once.
ALTER TABLE grants ADD COLUMN digest TEXT;
ALTER TABLE grants ADD COLUMN spent_at BIGINT;
CREATE INDEX grant_digest ON grants (digest) WHERE digest IS NOT NULL AND spent_at IS NULL;
