-- What was learnt from use: how often a tool was called upon a query with this word, decayed up to at_ms.
CREATE TABLE experience (
    tenant           TEXT NOT NULL,
    word             TEXT NOT NULL,
    tool             TEXT NOT NULL,
    weight           REAL NOT NULL,
    at_ms            INTEGER NOT NULL,
    PRIMARY KEY (tenant, word, tool)
) STRICT, WITHOUT ROWID;
