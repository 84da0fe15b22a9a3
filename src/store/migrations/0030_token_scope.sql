-- What the token of an agent is for; NULL: everything.
ALTER TABLE agent_token ADD COLUMN profile TEXT;  -- the profile that has to decide on its calls
ALTER TABLE agent_token ADD COLUMN target TEXT;   -- the only target or route that shows its asks
