-- What happens while nobody answers: when the next step is due, what is left until then while
-- everything is paused, and how many steps are done.
ALTER TABLE ask ADD COLUMN step_at BIGINT;
ALTER TABLE ask ADD COLUMN step_left_ms BIGINT;
ALTER TABLE ask ADD COLUMN steps_done BIGINT NOT NULL DEFAULT 0;
CREATE INDEX ask_step ON ask (step_at) WHERE step_at IS NOT NULL;
-- How many reminders the card should have had, and of how many was tried.
ALTER TABLE card ADD COLUMN reminders BIGINT NOT NULL DEFAULT 0;
ALTER TABLE card ADD COLUMN reminded BIGINT NOT NULL DEFAULT 0;
