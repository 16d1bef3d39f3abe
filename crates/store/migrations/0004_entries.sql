-- What the five store tools keep: entries by owner and store. Bytes of key and value, for quotas.
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

-- The words entries are found by. shelf is a word of its own, the same for all entries of one owner and store, so that a
-- search looks at that owner's only.
CREATE VIRTUAL TABLE entry_words USING fts5(
    shelf, words, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
);
