-- Last-known tool definitions of a source, one row per source.
CREATE TABLE definitions (
    source        TEXT PRIMARY KEY,
    fingerprint   TEXT NOT NULL,
    tools         TEXT NOT NULL,
    instructions  TEXT,
    fetched_at_ms INTEGER NOT NULL
) STRICT;

-- The key-value built-in tools.
CREATE TABLE key_values (
    namespace     TEXT NOT NULL,
    key           TEXT NOT NULL,
    value         TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT;

-- Whole results behind a handle. id grows, so the lowest is the oldest.
CREATE TABLE results (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    handle        TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE INDEX results_expiry ON results (expires_at_ms);
-- Covers both the sum of all sizes and the walk from the oldest on.
CREATE INDEX results_size ON results (id, bytes);
