-- What a shelf holds is counted at every write: from this index, not from the rows with their values.
CREATE INDEX entries_held ON entries (tenant, user, store, bytes);
