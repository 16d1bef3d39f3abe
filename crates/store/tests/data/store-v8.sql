-- Written by toolcrib's store of schema version 8.
PRAGMA application_id = 1953260386;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
            version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL
        ) STRICT;
CREATE TABLE key_values (
    namespace     TEXT NOT NULL,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT;
CREATE TABLE results (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    handle        TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE TABLE "definitions" (
    id            INTEGER PRIMARY KEY,
    source        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    fetched_at_ms INTEGER NOT NULL,
    instructions  TEXT,
    tools         TEXT NOT NULL,
    UNIQUE (source, fingerprint)
) STRICT;
CREATE TABLE approvals (
    id               INTEGER PRIMARY KEY,
    request          TEXT NOT NULL UNIQUE,
    tenant           TEXT NOT NULL,
    user             TEXT,
    -- Who asked for what: equal for two requests where the first may stand for both.
    subject          TEXT NOT NULL,
    state            TEXT NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    expires_at_ms    INTEGER NOT NULL,
    answered_at_ms   INTEGER,
    answered_by      TEXT,
    record           TEXT NOT NULL
) STRICT;
CREATE TABLE grants (
    id               INTEGER PRIMARY KEY,
    grant_id         TEXT NOT NULL UNIQUE,
    tenant           TEXT NOT NULL,
    uses_left        INTEGER,
    created_at_ms    INTEGER NOT NULL,
    expires_at_ms    INTEGER,
    -- When it was used up or revoked.
    ended_at_ms      INTEGER,
    record           TEXT NOT NULL
, allow INTEGER, tool TEXT, user TEXT, session TEXT) STRICT;
CREATE TABLE changes (
    subject          TEXT PRIMARY KEY,
    count            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
    seq              INTEGER PRIMARY KEY,
    at_ms            INTEGER NOT NULL,
    run              TEXT NOT NULL,
    call             INTEGER NOT NULL,
    tenant           TEXT NOT NULL,
    user             TEXT,
    tool             TEXT,
    outcome          TEXT,
    hash             TEXT NOT NULL,
    record           TEXT NOT NULL
) STRICT;
CREATE TABLE journal_anchor (
    one              INTEGER PRIMARY KEY CHECK (one = 1),
    seq              INTEGER NOT NULL,
    hash             TEXT NOT NULL
) STRICT;
CREATE TABLE open_intents (
    run              TEXT NOT NULL,
    call             INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
    id               INTEGER PRIMARY KEY,
    owner            TEXT NOT NULL,
    key              TEXT NOT NULL,
    digest           TEXT NOT NULL,
    run              TEXT NOT NULL,
    call             INTEGER NOT NULL,
    expires_at_ms    INTEGER NOT NULL,
    outcome          TEXT,
    bytes            INTEGER NOT NULL DEFAULT 0,
    result           TEXT,
    UNIQUE (owner, key)
) STRICT;
CREATE TABLE runs (
    run              TEXT PRIMARY KEY,
    opened_at_ms     INTEGER NOT NULL,
    closed_at_ms     INTEGER
) STRICT;
CREATE TABLE pending (
    id               INTEGER PRIMARY KEY,
    handle           TEXT NOT NULL UNIQUE,
    kind             TEXT NOT NULL,
    tenant           TEXT NOT NULL,
    user             TEXT,
    run              TEXT NOT NULL,
    correlation      TEXT,
    state            TEXT NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    expires_at_ms    INTEGER NOT NULL,
    -- When the result came or the work was lost.
    ended_at_ms      INTEGER,
    record           TEXT NOT NULL,
    result           TEXT
) STRICT;
CREATE TABLE entries (
    id               INTEGER PRIMARY KEY,
    tenant           TEXT NOT NULL,
    user             TEXT NOT NULL,
    store            TEXT NOT NULL,
    key              TEXT NOT NULL,
    value            TEXT NOT NULL,
    bytes            INTEGER NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    updated_at_ms    INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    UNIQUE (tenant, user, store, key)
) STRICT;
CREATE VIRTUAL TABLE entry_words USING fts5(
    shelf, words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
);
CREATE TABLE experience (
    tenant           TEXT NOT NULL,
    word             TEXT NOT NULL,
    tool             TEXT NOT NULL,
    weight           REAL NOT NULL,
    at_ms            INTEGER NOT NULL,
    PRIMARY KEY (tenant, word, tool)
) STRICT, WITHOUT ROWID;
DELETE FROM approvals;
INSERT INTO approvals VALUES(1,'pending','t','ann','4b4bf2e30624991a886ead9f41bc24e0c0652491eee7e93360be12478828c645','pending',1000,32503680000000,NULL,NULL,'{"id":"pending","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","exposed":"files__write","definition":"49d3ecbd17b96441c4c59744a84629a1911ab223c833b02359a26e21d1dc3390","arguments_digest":"8e4f65133cb291a1dd3c218f4bbc38da0a46187766651a5b7f25f9335b7e32d9","arguments":"{\"path\":\"/tmp/é\"}","description":"Writes a file.","reason":"it may change something","risk":"high","offers":["once","session"],"patterns":[{"kind":"within","root":"/tmp"}],"created_at_ms":1000,"expires_at_ms":32503680000000}');
INSERT INTO approvals VALUES(2,'approved','t','ann','be7fdc4d79e6d7612924a0177860a3d6aefa1be97c1b34109dec74ff698e69c5','approved',1000,32503680000000,2000,'terminal','{"id":"approved","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","exposed":"files__write","definition":"49d3ecbd17b96441c4c59744a84629a1911ab223c833b02359a26e21d1dc3390","arguments_digest":"8770dd9753d518c8a369b0115c4b49ed860cac05fcdfdf9b76eac2f27937f8ec","arguments":"{\"path\":\"/tmp/é\"}","description":"Writes a file.","reason":"it may change something","risk":"high","offers":["once","session"],"patterns":[{"kind":"within","root":"/tmp"}],"created_at_ms":1000,"expires_at_ms":32503680000000}');
INSERT INTO approvals VALUES(3,'denied','t','ann','0ddb308ae5af91927ccbb074f0167a6ff20c4d25ed2fdadf4350cc10cdcd98fa','denied',1000,32503680000000,2000,'http:key','{"id":"denied","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","exposed":"files__write","definition":"49d3ecbd17b96441c4c59744a84629a1911ab223c833b02359a26e21d1dc3390","arguments_digest":"208179a25e984554e2cee59ec417b307f8462e03a0ea3b8eeb3a30cf3fd99309","arguments":"{\"path\":\"/tmp/é\"}","description":"Writes a file.","reason":"it may change something","risk":"high","offers":["once","session"],"patterns":[{"kind":"within","root":"/tmp"}],"created_at_ms":1000,"expires_at_ms":32503680000000}');
INSERT INTO approvals VALUES(4,'expired','t','ann','1826bb8c72df6b465659fe5aa71d0d7026588049c0db2f6cdadba78c678d5588','pending',1000,1500,NULL,NULL,'{"id":"expired","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","exposed":"files__write","definition":"49d3ecbd17b96441c4c59744a84629a1911ab223c833b02359a26e21d1dc3390","arguments_digest":"350a446443c5883ef452cb696c539955abfe5daa84c66189d37781e4d77c87f7","arguments":"{\"path\":\"/tmp/é\"}","description":"Writes a file.","reason":"it may change something","risk":"high","offers":["once","session"],"patterns":[{"kind":"within","root":"/tmp"}],"created_at_ms":1000,"expires_at_ms":1500}');
INSERT INTO approvals VALUES(5,'refused','t8','bob','29b08ac0cc21df7e9aaa96faf0d20892fe6f49637305daa63289548c1d56c677','denied',1000,32503680000000,2000,'http:key','{"id":"refused","principal":{"tenant":"t8","user":"bob","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","exposed":"files__write","definition":"49d3ecbd17b96441c4c59744a84629a1911ab223c833b02359a26e21d1dc3390","arguments_digest":"825e42b537070bbd6a890f87a969c512111466ab6a3d989d5cd6f05611e6400e","arguments":"{\"path\":\"/tmp/é\"}","description":"Writes a file.","reason":"it may change something","risk":"high","offers":["once","session"],"patterns":[{"kind":"within","root":"/tmp"}],"created_at_ms":1000,"expires_at_ms":32503680000000}');
DELETE FROM changes;
INSERT INTO changes VALUES('approvals',9);
DELETE FROM claims;
INSERT INTO claims VALUES(1,'t/ann','k','digest of k','r',1,32503680000000,'ok',7,'{"n":1}');
DELETE FROM definitions;
INSERT INTO definitions VALUES(1,'mcp:a','one',32503680000000,'Read me.
''Quoted'', ünïcode.','[{"name":"search","inputSchema":{"type":"object","properties":{"q":{"maxLength":9}}}}]');
DELETE FROM entries;
INSERT INTO entries VALUES(1,'t','ann','notes','trip','{"text":"of ''trip''"}',24,1796070021547,1796070021547,1);
INSERT INTO entries VALUES(2,'t','ann','notes','weiße Wände','{"text":"of ''weiße Wände''"}',42,1796070021547,1796070021547,1);
DELETE FROM entry_words_config;
INSERT INTO entry_words_config VALUES('version',4);
DELETE FROM entry_words_data;
INSERT INTO entry_words_data VALUES(1,X'020204');
INSERT INTO entry_words_data VALUES(10,X'00000000FF000001010202000201010101010000010201010202000001');
INSERT INTO entry_words_data VALUES(137438953473,X'0000003F0830666C6967687473010601010201066C6973626F6E0106010103011B73676932756F66763872617335716C366C3036656E393165666D35010202040E0D');
INSERT INTO entry_words_data VALUES(274877906945,X'0000003B06307061696E740206010103011B73676932756F66763872617335716C366C3036656E393165666D35020202010477616C6C0206010102040C20');
DELETE FROM entry_words_docsize;
INSERT INTO entry_words_docsize VALUES(1,X'0102',1);
INSERT INTO entry_words_docsize VALUES(2,X'0102',2);
DELETE FROM entry_words_idx;
INSERT INTO entry_words_idx VALUES(1,X'',2);
INSERT INTO entry_words_idx VALUES(2,X'',2);
DELETE FROM experience;
INSERT INTO experience VALUES('t','it','a/deploy',1.0,1000);
INSERT INTO experience VALUES('t','ship','a/deploy',1.0,1000);
DELETE FROM grants;
INSERT INTO grants VALUES(1,'g','t',2,1000,NULL,NULL,'{"id":"g","request":"request of g","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","definition":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","pattern":{"kind":"exact","digest":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"reach":"once","allow":true,"uses_left":3,"created_at_ms":1000,"expires_at_ms":null,"by":"terminal"}',1,'mcp:files/write/deep','ann',NULL);
INSERT INTO grants VALUES(2,'never','t8',NULL,1000,NULL,NULL,'{"id":"never","request":"request of never","principal":{"tenant":"t8","user":"bob","agent":"agent","session":"session"},"tool":"mcp:files/write/deep","definition":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","pattern":{"kind":"exact","digest":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"reach":"session","allow":false,"uses_left":null,"created_at_ms":1000,"expires_at_ms":null,"by":"terminal"}',0,'mcp:files/write/deep','bob','session');
DELETE FROM journal;
INSERT INTO journal VALUES(3,1764000000000,'r',0,'',NULL,NULL,NULL,'5c2fff052dec14366c03d584895e3fbeaffca7552784677c923d3d81cde5c772','{"kind":"breaker","at_ms":1764000000000,"run":"r","call":0,"principal":{"tenant":"","user":null,"agent":null,"session":null},"door":null,"mutating":false,"result_bytes":0,"backend_us":0,"total_us":0}');
INSERT INTO journal VALUES(4,1002,'r',2,'t','ann','mcp:files/write',NULL,'e539760a4acc54043add607cc9e31477ad2371c506ca6ba8f5769c5451d563a6','{"kind":"intent","at_ms":1002,"run":"r","call":2,"principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"door":"bridge","tool":"mcp:files/write","name":"files__write","definition":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","arguments":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","mutating":true,"result_bytes":0,"backend_us":0,"total_us":0}');
INSERT INTO journal VALUES(5,1764000000123,'0123456789abcdefghijklmnop',4294967296,'t','ann','mcp:files/write','tool_error','a610da54b734f8805ac245f605c9fc509b50451740bd81439c684335192662ab','{"kind":"outcome","at_ms":1764000000123,"run":"0123456789abcdefghijklmnop","call":4294967296,"principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"door":"http","tool":"mcp:files/write","name":"files__write ü \"quoted\" \u0001","definition":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","arguments":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","mutating":true,"outcome":"tool_error","reason":"a reason","authority":"rule 3","output":"oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo","result_bytes":1,"backend_us":2,"total_us":3,"trace":"trace","detail":"detail"}');
INSERT INTO journal VALUES(6,7,'r',2,'',NULL,NULL,'unknown','bb95c3d62b0b0af3ef100e80ba5606d1dcb047b668e9a996a9eed90115653efb','{"kind":"recovered","at_ms":7,"run":"r","call":2,"principal":{"tenant":"","user":null,"agent":null,"session":null},"door":null,"mutating":false,"outcome":"unknown","result_bytes":0,"backend_us":0,"total_us":0}');
INSERT INTO journal VALUES(7,1764000000200,'r',0,'',NULL,NULL,NULL,'aac96b000197b773f1337bdcf0ddab77397bd477c004aab68c3ecd4ce5200f86','{"kind":"pruned","at_ms":1764000000200,"run":"r","call":0,"principal":{"tenant":"","user":null,"agent":null,"session":null},"door":null,"mutating":false,"result_bytes":0,"backend_us":0,"total_us":0}');
INSERT INTO journal VALUES(8,1003,'r',3,'t','ann','mcp:files/write',NULL,'30b279578c7f3cd0e72b52509069f7938c2766b916ad494d3bb5893d4b2db70f','{"kind":"intent","at_ms":1003,"run":"r","call":3,"principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"door":"bridge","tool":"mcp:files/write","name":"files__write","definition":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","arguments":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","mutating":true,"result_bytes":0,"backend_us":0,"total_us":0}');
DELETE FROM journal_anchor;
INSERT INTO journal_anchor VALUES(1,2,'1cc636f75244cccc1b53d6f94ef34bba923a99e30a9a3b0d34d59d9c7b081ddc');
DELETE FROM key_values;
INSERT INTO key_values VALUES('n','k','v ''quoted'' ✓',1796070021539);
DELETE FROM open_intents;
INSERT INTO open_intents VALUES('r',3,8);
DELETE FROM pending;
INSERT INTO pending VALUES(1,'waiting','suspended','t','ann','run','c-waiting','waiting',1000,32503680000000,NULL,'{"handle":"waiting","kind":"suspended","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"run":"run","call":7,"tool":"mcp:files/scan","exposed":"files__scan","correlation":"c-waiting","resume_as":"user_message","state":"waiting","result":null,"created_at_ms":1000,"expires_at_ms":32503680000000,"metadata":{"z":1,"a":["é"]}}',NULL);
INSERT INTO pending VALUES(2,'ready','background','t','ann','run','c-ready','ready',1000,32503680000000,2000,'{"handle":"ready","kind":"background","principal":{"tenant":"t","user":"ann","agent":"agent","session":"session"},"run":"run","call":7,"tool":"mcp:files/scan","exposed":"files__scan","correlation":"c-ready","resume_as":"user_message","state":"waiting","result":null,"created_at_ms":1000,"expires_at_ms":32503680000000,"metadata":{"z":1,"a":["é"]}}','{"n":2}');
DELETE FROM results;
INSERT INTO results VALUES(1,'vjta4ah6qju9vfac0gku5p04on','scope',13,32503680000000,'a long result');
DELETE FROM runs;
DELETE FROM schema_migrations;
INSERT INTO schema_migrations VALUES(1,'80492fb04bc3d123d37baf5e4b14b968eb972b714d4ef6204b4595b5c55f4b8a',1796070021516);
INSERT INTO schema_migrations VALUES(2,'71715133e9bd0c9a875b95da2c84fc0f002d3d111464e43d23facd8551558e0a',1796070021516);
INSERT INTO schema_migrations VALUES(3,'d8739d92d839b0d190f73ea0b5b07b1216b263ceb7bb92f9d382f7a10eeb50a9',1796070021517);
INSERT INTO schema_migrations VALUES(4,'d0b2348d2ecd75769c876d6ad9f432f24c4a5a37a222007dbcb19ef51e737fe2',1796070021517);
INSERT INTO schema_migrations VALUES(5,'70a9e25635d6f747470b833a3c13aab47be9e6534cf8092c1012588dd8a4532d',1796070021517);
INSERT INTO schema_migrations VALUES(6,'02b3f9d5d87ff3032dd4bf9208c0dc6a06106a273335f0287cf912c849ccf2e6',1796070021518);
INSERT INTO schema_migrations VALUES(7,'7e68e8f6fc224cba91060f273e9e6048d7265ecc4efcfb9eddfe609be5174f30',1796070021527);
INSERT INTO schema_migrations VALUES(8,'6322d38ea47ebc913e992ea20f7e15eaade3c1596583540992a686665e9ab9d3',1796070021527);
CREATE INDEX results_expiry ON results (expires_at_ms);
CREATE INDEX results_size ON results (id, bytes);
CREATE INDEX approvals_pending ON approvals (tenant, user) WHERE state = 'pending';
CREATE INDEX approvals_subject ON approvals (subject) WHERE state = 'pending';
CREATE INDEX approvals_created ON approvals (created_at_ms);
CREATE INDEX claims_expiry ON claims (expires_at_ms);
CREATE INDEX claims_call ON claims (run, call);
CREATE INDEX claims_results ON claims (id, bytes) WHERE bytes > 0;
CREATE INDEX runs_open ON runs (run) WHERE closed_at_ms IS NULL;
CREATE INDEX pending_owner ON pending (tenant, user, created_at_ms);
CREATE INDEX pending_created ON pending (created_at_ms);
CREATE INDEX pending_correlation ON pending (tenant, correlation) WHERE correlation IS NOT NULL;
CREATE INDEX pending_run ON pending (run) WHERE state = 'waiting';
CREATE INDEX journal_search ON journal (run, call, at_ms, tenant, user, tool, outcome);
CREATE INDEX grants_listed ON grants (allow, created_at_ms DESC, id DESC) WHERE ended_at_ms IS NULL;
CREATE INDEX grants_covering ON grants (tenant, tool) WHERE ended_at_ms IS NULL;
CREATE INDEX entries_held ON entries (tenant, user, store, bytes);
COMMIT;
