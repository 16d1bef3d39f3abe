-- Definitions by source and configuration: two projects whose servers share a name keep theirs apart. id grows with every
-- write, so the lowest of a source is the one written longest ago. The long text stands last: what reads the other columns
-- does not read it.
CREATE TABLE definitions_by_fingerprint (
    id            INTEGER PRIMARY KEY,
    source        TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    fetched_at_ms INTEGER NOT NULL,
    instructions  TEXT,
    tools         TEXT NOT NULL,
    UNIQUE (source, fingerprint)
) STRICT;
INSERT INTO definitions_by_fingerprint (source, fingerprint, fetched_at_ms, instructions, tools)
    SELECT source, fingerprint, fetched_at_ms, instructions, tools FROM definitions ORDER BY fetched_at_ms;
DROP TABLE definitions;
ALTER TABLE definitions_by_fingerprint RENAME TO definitions;
