-- Only open asks have a deadline that matters. An index that begins with the state would be taken for pages
-- of open asks too, each of which would then be sorted anew.
DROP INDEX ask_state;
CREATE INDEX ask_deadline ON ask (deadline_at) WHERE state = 'open';
