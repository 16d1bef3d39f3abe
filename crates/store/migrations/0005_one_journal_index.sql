-- One index in place of five. An intent is committed alone before its call leaves, and every index cost that commit a page
-- of its own. The new one finds the records of a call, and holds all that records are searched by: a search reads it from end
-- to end instead of the records, which are twenty times its size. It grows at its end only, because runs and their calls do.
DROP INDEX journal_time;
DROP INDEX journal_tool;
DROP INDEX journal_outcome;
DROP INDEX journal_call;
CREATE INDEX journal_search ON journal (run, call, at_ms, tenant, user, tool, outcome);
-- There are never more open intents than calls under way.
DROP INDEX open_intents_seq;
