-- The daemons at which callers of the ask wait, as `/one/two/`; empty where nobody does.
ALTER TABLE ask RENAME COLUMN keeper TO keepers;
UPDATE ask SET keepers = '/' || keepers || '/' WHERE keepers <> '';
