-- JSON: the votes on an open ask so far, one for each account; NULL where nobody has voted.
ALTER TABLE ask ADD COLUMN votes TEXT;
