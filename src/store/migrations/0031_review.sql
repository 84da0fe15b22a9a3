-- The agent whose call this ask reviews after it ran; NULL: it is no review.
ALTER TABLE ask ADD COLUMN reviewed TEXT;
