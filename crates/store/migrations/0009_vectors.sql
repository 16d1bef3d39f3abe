-- Vectors of texts, by the encoder that made them and the hash of the text.
CREATE TABLE vectors (
    encoder          TEXT NOT NULL,
    key              BLOB NOT NULL,
    bytes            BLOB NOT NULL,
    used_ms          INTEGER NOT NULL,
    PRIMARY KEY (encoder, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_used ON vectors (used_ms);
