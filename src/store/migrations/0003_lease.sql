-- Who leads: whoever holds the lease of a chat account receives for it and posts its cards.
CREATE TABLE lease (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    epoch    BIGINT NOT NULL,     -- counts the holders; fences what an earlier one still tries
    until_at BIGINT NOT NULL      -- by the database's clock
);

-- The daemon at which the ask's caller was last seen waiting.
ALTER TABLE ask ADD COLUMN keeper TEXT NOT NULL DEFAULT '';
CREATE INDEX ask_closed ON ask (closed_at) WHERE closed_at IS NOT NULL;

-- Cards that nobody has seen yet come before those to be redrawn.
DROP INDEX card_due;
CREATE INDEX card_new ON card (adapter, target, due_at) WHERE gone IS NULL AND shown = 0;
CREATE INDEX card_behind ON card (adapter, target, due_at)
    WHERE gone IS NULL AND shown > 0 AND shown < wanted;
