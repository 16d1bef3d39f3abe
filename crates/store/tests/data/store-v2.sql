-- Written by toolcrib's store of schema version 2.
PRAGMA application_id = 1953260386;
BEGIN TRANSACTION;
CREATE TABLE "definitions" (
    id            INTEGER PRIMARY KEY,
    source        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    fetched_at_ms INTEGER NOT NULL,
    instructions  TEXT,
    tools         TEXT NOT NULL,
    UNIQUE (source, fingerprint)
) STRICT;
INSERT INTO "definitions" VALUES(1,'mcp:a','one',32503680000000,'Read me.
''Quoted'', ünïcode.','[{"name":"search","inputSchema":{"type":"object","properties":{"q":{"maxLength":9}}}}]');
CREATE TABLE key_values (
    namespace     TEXT NOT NULL,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT;
INSERT INTO "key_values" VALUES('n','k','v ''quoted'' ✓',1796031229111);
CREATE TABLE results (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    handle        TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
INSERT INTO "results" VALUES(1,'411i405boshj4o1fg45o9dbip8','scope',13,32503680000000,'a long result');
CREATE TABLE schema_migrations (
            version INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL
        ) STRICT;
INSERT INTO "schema_migrations" VALUES(1,'80492fb04bc3d123d37baf5e4b14b968eb972b714d4ef6204b4595b5c55f4b8a',1796031229103);
INSERT INTO "schema_migrations" VALUES(2,'71715133e9bd0c9a875b95da2c84fc0f002d3d111464e43d23facd8551558e0a',1796031229103);
CREATE INDEX results_expiry ON results (expires_at_ms);
CREATE INDEX results_size ON results (id, bytes);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('results',1);
COMMIT;
