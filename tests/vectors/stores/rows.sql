-- The rows that the program of commit 3e915f4 wrote, for the tables of any version: two open asks, one of
-- them with a deadline, their cards, a grant and a revoked one.
INSERT INTO ask (id, agent, session, state, version, body, digest, progress, attended, created_at, deadline_at)
VALUES ('overdue1', 'claude-code', 's1', 'open', 1, '{"call":{"agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin late"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}', '56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506', '{"answered":[],"chosen":[]}', 0, 1795250000000, 1795250060000);
INSERT INTO ask (id, agent, session, key, state, version, body, digest, progress, attended, created_at)
VALUES ('waitsfor', 'claude-code', 's1', 'k1', 'open', 1, '{"call":{"key":"k1","agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin main"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}', '3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a', '{"answered":[],"chosen":[]}', 0, 1795250000000);
INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at)
VALUES ('nonce-of-late', 'overdue1', 'telegram', '100', 0, 1, 0, 0);
INSERT INTO card (nonce, ask, adapter, target, message, shown, wanted, attempts, due_at)
VALUES ('nonce-of-waits', 'waitsfor', 'telegram', '100', '4711', 1, 1, 0, 0);
INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, created_at, written)
VALUES ('granted1', 'settled1', 'Bash', 'cargo test *', 'always', 'claude-code', 's1', '{"kind":"person","platform":"telegram","id":"42","name":"Ana"}', 1795249000000, 0);
INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, created_at, revoked_at, written)
VALUES ('revoked1', 'settled1', 'Bash', 'cargo test *', 'always', 'claude-code', 's1', '{"kind":"person","platform":"telegram","id":"42","name":"Ana"}', 1795249000000, 1795250050000, 0);
INSERT INTO event (at, kind, ask, data)
VALUES (1795250000000, 'asked', 'waitsfor', '{"agent":"claude-code","session":"s1","tool":"Bash","digest":"3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a","why":"no rule allows it"}');
INSERT INTO event (at, kind, ask, data)
VALUES (1795250000000, 'asked', 'overdue1', '{"agent":"claude-code","session":"s1","tool":"Bash","digest":"56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506","why":"no rule allows it"}');
