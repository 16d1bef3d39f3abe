-- Questions to people. The record is the whole question; the columns are what is searched and what changes. id grows, so
-- among those asked in one millisecond the highest is the newest.
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
CREATE INDEX approvals_pending ON approvals (tenant, user) WHERE state = 'pending';
CREATE INDEX approvals_subject ON approvals (subject) WHERE state = 'pending';
CREATE INDEX approvals_created ON approvals (created_at_ms);

-- What answers granted or forbade. uses_left and ended_at_ms change; the record is the grant as it was given.
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
) STRICT;
CREATE INDEX grants_open ON grants (created_at_ms) WHERE ended_at_ms IS NULL;

-- How often each subject changed: what other processes look at to see whether there is something new.
CREATE TABLE changes (
    subject          TEXT PRIMARY KEY,
    count            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO changes VALUES ('approvals', 0);

-- The journal. The record and the hash are the evidence; the columns between are copies to search by.
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
CREATE INDEX journal_time ON journal (at_ms);
CREATE INDEX journal_call ON journal (run, call);
CREATE INDEX journal_tool ON journal (tool) WHERE tool IS NOT NULL;
CREATE INDEX journal_outcome ON journal (outcome) WHERE outcome IS NOT NULL;

-- What the oldest kept record is chained to: the last one dropped, or the beginning.
CREATE TABLE journal_anchor (
    one              INTEGER PRIMARY KEY CHECK (one = 1),
    seq              INTEGER NOT NULL,
    hash             TEXT NOT NULL
) STRICT;
INSERT INTO journal_anchor VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');

-- Intents without an outcome so far: few, however long the journal is.
CREATE TABLE open_intents (
    run              TEXT NOT NULL,
    call             INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_intents_seq ON open_intents (seq);

-- Idempotency keys. id grows, so the lowest is the oldest; bytes is the size of the kept result. The long text stands
-- last: what reads the other columns does not read it.
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
CREATE INDEX claims_expiry ON claims (expires_at_ms);
CREATE INDEX claims_call ON claims (run, call);
CREATE INDEX claims_results ON claims (id, bytes) WHERE bytes > 0;

-- Runs of processes. Whether one is alive is told by a lock on a file beside the store, never by this table.
CREATE TABLE runs (
    run              TEXT PRIMARY KEY,
    opened_at_ms     INTEGER NOT NULL,
    closed_at_ms     INTEGER
) STRICT;
CREATE INDEX runs_open ON runs (run) WHERE closed_at_ms IS NULL;

-- Work that outlives its call. The record is the piece as it was opened, without state and result.
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
CREATE INDEX pending_owner ON pending (tenant, user, created_at_ms);
CREATE INDEX pending_created ON pending (created_at_ms);
CREATE INDEX pending_correlation ON pending (tenant, correlation) WHERE correlation IS NOT NULL;
CREATE INDEX pending_run ON pending (run) WHERE state = 'waiting';
