-- First turns of cards go round over agents, and within an agent over its sessions; critical asks come first.
ALTER TABLE ask ADD COLUMN critical BIGINT NOT NULL DEFAULT 0;
ALTER TABLE card ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE card ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE card ADD COLUMN critical BIGINT NOT NULL DEFAULT 0;
-- Which turn of its session this is, counted from the turn that its agent had come to.
ALTER TABLE card ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;
UPDATE card SET agent = (SELECT agent FROM ask WHERE id = card.ask),
    session = (SELECT session FROM ask WHERE id = card.ask);
DROP INDEX card_new;
CREATE INDEX card_line ON card (adapter, target, agent, critical DESC, turn, due_at)
    WHERE gone IS NULL AND shown = 0;
CREATE INDEX card_session ON card (adapter, target, agent, session, critical, turn)
    WHERE gone IS NULL AND shown = 0;
-- What is open is counted by session too.
DROP INDEX ask_load;
CREATE INDEX ask_load ON ask (agent, session, bytes) WHERE state = 'open';
