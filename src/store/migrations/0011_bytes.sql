-- How large an ask's body is: pages end before they are too large to be held, and what is open is counted by
-- agent. It stands in the card too, so that no body is read only to learn its size.
ALTER TABLE ask ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE ask SET bytes = octet_length(body);
ALTER TABLE card ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE card SET bytes = (SELECT bytes FROM ask WHERE id = card.ask);
DROP INDEX ask_open;
CREATE INDEX ask_open ON ask (created_at, id, bytes) WHERE state = 'open';
DROP INDEX ask_closed;
CREATE INDEX ask_closed ON ask (closed_at, id, state, bytes) WHERE closed_at IS NOT NULL;
DROP INDEX ask_deadline;
CREATE INDEX ask_deadline ON ask (deadline_at, id) WHERE state = 'open';
CREATE INDEX ask_load ON ask (agent, bytes) WHERE state = 'open';
