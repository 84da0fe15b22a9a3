-- A store at step 19 of src/store/migrations, with its rows as that version writes them. It holds the
-- checksum of every step so far: a step that is changed after its release makes this file's test fail.
-- Made by applying the steps, not by running that program.
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL);
INSERT INTO "_sqlx_migrations" VALUES(1,'start','2026-11-21 09:00:00',1,X'22D960517071B2A55B5D145DFB11BD6C172D5F7594ADC7BE5B9D5470C00EA5969D73A1A41414A7E8893A6F76E2531F3F',0);
INSERT INTO "_sqlx_migrations" VALUES(2,'pulse','2026-11-21 09:00:00',1,X'230D602059C16EA9D786AB21835C3D85E07BB02A266E52C9273583482BD6F6A3AA22AC33757CB1377482604D8178408B',0);
INSERT INTO "_sqlx_migrations" VALUES(3,'lease','2026-11-21 09:00:00',1,X'F7154028D6B5712266F591C062EEDC283A9469DAA3316D24224150435166564B1F365402378D763E68B4712D7C59CB9C',0);
INSERT INTO "_sqlx_migrations" VALUES(4,'session','2026-11-21 09:00:00',1,X'ED00B757D96CA049EAD52530E44B657BD2D95AA805B577EF2CBA020E24AFBE9A043CEB5988A44FF5934C67C2E7996B8A',0);
INSERT INTO "_sqlx_migrations" VALUES(5,'keepers','2026-11-21 09:00:00',1,X'D13CC03A05B353F9ADBCF4399970BE6D9FB9ACCA5F7E2594B0FD759AE3B5F72C2620FCA2D16B45D49C662EE3971DA376',0);
INSERT INTO "_sqlx_migrations" VALUES(6,'open','2026-11-21 09:00:00',1,X'A9031798A234CF7B99346B10AD6A3C5D5B703161BEE9BFA2B20AB0BE56548D055FC5830C17345B7091C0570AA1D442BC',0);
INSERT INTO "_sqlx_migrations" VALUES(7,'deadline','2026-11-21 09:00:00',1,X'853053DCBEEDDF0A8BA9D1CFA18BB52A5E85A2718EC483C0BD29A8ECA443B6606850A279E986931AC70B9C38235E2DC2',0);
INSERT INTO "_sqlx_migrations" VALUES(8,'meta','2026-11-21 09:00:00',1,X'14B3C3D327739B5CE37D564C70F0A5E305358DED413E6AB065EA04978DA8B0B2615E580650D69E8B8B0B5C5491F24694',0);
INSERT INTO "_sqlx_migrations" VALUES(9,'owner','2026-11-21 09:00:00',1,X'256BF9348B7A381B938EB8FC0EC4460F2BA0C579337CBB300C22D84DF8BA30702A61B6CEED595AFBE03A07BFC07B85F7',0);
INSERT INTO "_sqlx_migrations" VALUES(10,'delivery','2026-11-21 09:00:00',1,X'E7F273E6AA6DB8FB6467E497135BF891A31626134715A288CA70C95C5BDEC012C7DC45F3E6C55DD1E7DB74E6A353287D',0);
INSERT INTO "_sqlx_migrations" VALUES(11,'bytes','2026-11-21 09:00:00',1,X'AEA1D7083236335263785EA996C08CC6E289E57709A56961C660EEAAFF9CF2185DBA278DB94C8D656B0666FCB8E19DAC',0);
INSERT INTO "_sqlx_migrations" VALUES(12,'forgotten','2026-11-21 09:00:00',1,X'245575F95E7A657A2325C81BDC94FD407B4CF7BF6E54285597D08902E9B134E860F5CB1895BCEBD1967063856FBF03E3',0);
INSERT INTO "_sqlx_migrations" VALUES(13,'owed_text','2026-11-21 09:00:00',1,X'6EC5E3551120836B7DB5F505D1E4518ACFBAF6A1ABB50CD1AACAD4821150873508503818A03E3B24FF62655475ACF2C9',0);
INSERT INTO "_sqlx_migrations" VALUES(14,'turns','2026-11-21 09:00:00',1,X'EBB57C7437E773E638CE2E595AE3D4533638AE4C0026B08E91756F04D04BB5BF03F54A09F10B8EF103AD8CCDA1277685',0);
INSERT INTO "_sqlx_migrations" VALUES(15,'pause','2026-11-21 09:00:00',1,X'E6103276D6D655050464ECEE4289BC7A7B6F8B2EB739ECF8F5569C969C1B7A1DC91D47699CDA29208CACEC0D549EA4F3',0);
INSERT INTO "_sqlx_migrations" VALUES(16,'bundle','2026-11-21 09:00:00',1,X'E6DD0BF78822FD4C50B0742F06544F80990D22C33ACBECAB0DE4A4B284079B0E6218B62308C8F24D2AC908C2605C5A20',0);
INSERT INTO "_sqlx_migrations" VALUES(17,'undo','2026-11-21 09:00:00',1,X'472539803B4CA9521CCF88D9877322769D60268BF4DAB9A0E20CDF82FFC967E61A7603F0C7E89D9C4114B6E7B5091B68',0);
INSERT INTO "_sqlx_migrations" VALUES(18,'uses','2026-11-21 09:00:00',1,X'F612695B4D4E76068F3B2D78987B238B5D781C5840A05C894FA25E570D49A3F496EA98854383903567EF9E7084EB5B91',0);
INSERT INTO "_sqlx_migrations" VALUES(19,'votes','2026-11-21 09:00:00',1,X'2507B36131DD8EF5111839ADC55869E33B24BC701AF3FED5F83B947484DF90EF647B8E31D9419F0E46398125FAFAD1F7',0);
CREATE TABLE ask (
    id          TEXT PRIMARY KEY,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    key         TEXT,             -- the caller's idempotency key; NULL where there is none (any more)
    state       TEXT NOT NULL,    -- open | answered | expired | cancelled
    version     BIGINT NOT NULL,  -- counts every change
    body        TEXT NOT NULL,    -- JSON: the call and the ruling on it, never changed
    digest      TEXT NOT NULL,    -- SHA-256 of exactly that call
    progress    TEXT NOT NULL,    -- JSON: what has been answered of its questions so far
    attended    BIGINT NOT NULL,  -- 1: opened by a caller that waits on its connection
    created_at  BIGINT NOT NULL,
    deadline_at BIGINT,           -- NULL: waits for ever
    closed_at   BIGINT,
    answer      TEXT              -- JSON, once closed
, keepers TEXT NOT NULL DEFAULT '', bytes BIGINT NOT NULL DEFAULT 0, critical BIGINT NOT NULL DEFAULT 0, left_ms BIGINT, votes TEXT);
INSERT INTO "ask" VALUES('waitsfor','claude-code','s1','k1','open',1,'{"call":{"key":"k1","agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin main"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}','3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a','{"answered":[],"chosen":[]}',0,1795250000000,NULL,NULL,NULL,'',248,0,NULL,NULL);
INSERT INTO "ask" VALUES('overdue1','claude-code','s1',NULL,'open',1,'{"call":{"agent":"claude-code","session":"s1","cwd":"/home/ana/shop","tool":"Bash","args":{"command":"git push origin late"}},"why":"no rule allows it","always":[{"tool":"Bash","pattern":"git push *","verdict":"allow"}],"critical":false}','56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506','{"answered":[],"chosen":[]}',0,1795250000000,1795250060000,NULL,NULL,'',237,0,NULL,NULL);
CREATE TABLE bundle (
    nonce      TEXT PRIMARY KEY,    -- opaque; the first part of its button tokens
    adapter    TEXT NOT NULL,
    target     TEXT NOT NULL,
    crowd      TEXT NOT NULL,       -- what its asks have in common: whose they are, or which call
    message    TEXT,                -- the adapter's name for the posted message
    revision   BIGINT NOT NULL,     -- counts its drawings; stored before each is sent
    attempts   BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,     -- not to be drawn before
    gone       TEXT,                -- why it is given up; its asks have cards of their own then
    muted      BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE TABLE card (
    nonce    TEXT PRIMARY KEY,    -- opaque; the first part of the card's button tokens
    ask      TEXT NOT NULL REFERENCES ask (id),
    adapter  TEXT NOT NULL,
    target   TEXT NOT NULL,
    message  TEXT,                -- the adapter's name for the posted message
    shown    BIGINT NOT NULL,     -- the ask's version that stands there; 0: nothing yet
    wanted   BIGINT NOT NULL,     -- the ask's version that should stand there
    attempts BIGINT NOT NULL,
    due_at   BIGINT NOT NULL,     -- not to be tried before
    gone     TEXT, muted BIGINT NOT NULL DEFAULT 0, held TEXT, bytes BIGINT NOT NULL DEFAULT 0, agent TEXT NOT NULL DEFAULT '', session TEXT NOT NULL DEFAULT '', critical BIGINT NOT NULL DEFAULT 0, turn BIGINT NOT NULL DEFAULT 0, bundle TEXT, joined BIGINT NOT NULL DEFAULT 0, seen BIGINT NOT NULL DEFAULT 0,                -- why it is given up
    UNIQUE (ask, adapter, target)
);
INSERT INTO "card" VALUES('nonce-of-waits','waitsfor','telegram','100','4711',1,1,0,0,NULL,0,NULL,300,'claude-code','s1',0,0,NULL,0,1);
INSERT INTO "card" VALUES('nonce-of-late','overdue1','telegram','100',NULL,0,1,0,0,NULL,0,NULL,300,'claude-code','s1',0,0,NULL,0,0);
CREATE TABLE event (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   BIGINT NOT NULL,
    kind TEXT NOT NULL,
    ask  TEXT,
    data TEXT NOT NULL            -- JSON
);
INSERT INTO "event" VALUES(1,1795250000000,'asked','waitsfor','{"agent":"claude-code","session":"s1","tool":"Bash","digest":"3427b3a5c4c88736fcef2d4f38766003958858eff67e1c13bc6b62979b58132a","why":"no rule allows it"}');
INSERT INTO "event" VALUES(2,1795250000000,'asked','overdue1','{"agent":"claude-code","session":"s1","tool":"Bash","digest":"56d4771ea4f305b44af3eb251c6ba751c5179cc5bbc7a36fcc788cc5bd870506","why":"no rule allows it"}');
CREATE TABLE forgotten (
    kind   TEXT PRIMARY KEY,
    events BIGINT NOT NULL,
    newest BIGINT NOT NULL
);
CREATE TABLE grants (
    id         TEXT PRIMARY KEY,
    ask        TEXT NOT NULL,
    tool       TEXT NOT NULL,
    pattern    TEXT NOT NULL,
    scope      TEXT NOT NULL,     -- session | always | timed
    agent      TEXT NOT NULL,
    session    TEXT NOT NULL,     -- covers this session only, unless scope is always
    granted_by TEXT NOT NULL,     -- JSON: who
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    written    BIGINT NOT NULL    -- 1: stands in the rules file, or belongs in none
, owner TEXT, undo_until BIGINT, used BIGINT NOT NULL DEFAULT 0, last_used_at BIGINT, last_call TEXT);
INSERT INTO "grants" VALUES('granted1','settled1','Bash','cargo test *','always','claude-code','s1','{"kind":"person","platform":"telegram","id":"42","name":"Ana"}',1795249000000,NULL,NULL,0,NULL,NULL,0,NULL,NULL);
INSERT INTO "grants" VALUES('revoked1','settled1','Bash','cargo test *','always','claude-code','s1','{"kind":"person","platform":"telegram","id":"42","name":"Ana"}',1795249000000,NULL,1795250050000,0,NULL,NULL,0,NULL,NULL);
CREATE TABLE lease (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    epoch    BIGINT NOT NULL,     -- counts the holders; fences what an earlier one still tries
    until_at BIGINT NOT NULL      -- by the database's clock
);
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE owed_text (
    adapter TEXT NOT NULL,
    message TEXT NOT NULL,
    presser TEXT NOT NULL,
    token   TEXT NOT NULL,
    ask     TEXT NOT NULL,
    PRIMARY KEY (adapter, message, presser)
);
CREATE TABLE pause (
    id        BIGINT PRIMARY KEY,
    how       TEXT,             -- deny | hold; NULL: nothing is paused
    paused_by TEXT NOT NULL,    -- JSON: who; empty where nobody ever did
    since     BIGINT NOT NULL
);
INSERT INTO "pause" VALUES(1,NULL,'',0);
CREATE TABLE pulse (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL
);
CREATE TABLE session (
    agent      TEXT NOT NULL,
    session    TEXT NOT NULL,
    mode       TEXT NOT NULL,     -- in the words of the profile
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (agent, session)
);
CREATE UNIQUE INDEX ask_key ON ask (agent, session, key) WHERE key IS NOT NULL;
CREATE INDEX card_message ON card (adapter, message);
CREATE INDEX card_behind ON card (adapter, target, due_at)
    WHERE gone IS NULL AND shown > 0 AND shown < wanted;
CREATE INDEX ask_open ON ask (created_at, id, bytes) WHERE state = 'open';
CREATE INDEX ask_closed ON ask (closed_at, id, state, bytes) WHERE closed_at IS NOT NULL;
CREATE INDEX ask_deadline ON ask (deadline_at, id) WHERE state = 'open';
CREATE INDEX event_at ON event (at);
CREATE INDEX owed_text_ask ON owed_text (ask);
CREATE INDEX ask_load ON ask (agent, session, bytes) WHERE state = 'open';
CREATE INDEX bundle_place ON bundle (adapter, target, created_at);
CREATE INDEX bundle_message ON bundle (adapter, message);
CREATE INDEX card_bundle ON card (bundle) WHERE bundle IS NOT NULL;
CREATE INDEX ask_twins ON ask (digest) WHERE state = 'open';
CREATE INDEX card_line ON card (adapter, target, agent, critical DESC, turn, due_at)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
CREATE INDEX card_session ON card (adapter, target, agent, session, critical, turn)
    WHERE gone IS NULL AND shown = 0 AND bundle IS NULL;
CREATE INDEX grants_undo ON grants (undo_until) WHERE undo_until IS NOT NULL;
COMMIT;
