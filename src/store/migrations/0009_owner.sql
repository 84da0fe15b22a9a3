-- Whose session a grant was made in: where its calls come in, and a hash of the secret that they bring.
-- NULL: of an earlier version; it covers no session any more.
ALTER TABLE grants ADD COLUMN owner TEXT;
