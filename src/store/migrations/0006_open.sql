-- Open asks are listed a page at a time, in this order.
CREATE INDEX ask_open ON ask (created_at, id) WHERE state = 'open';
