-- What is looked for after each change: the next step, the cards that nobody has seen, and those of
-- which somebody has to be reminded. Without these, each look read every ask or card there is.
DROP INDEX ask_step;
CREATE INDEX ask_step ON ask (step_at, id) WHERE state = 'open' AND step_at IS NOT NULL;
CREATE INDEX card_unseen ON card (ask) WHERE gone IS NULL AND shown = 0 AND seen = 0;
CREATE INDEX card_reminder ON card (adapter, target) WHERE gone IS NULL AND reminded < reminders;
