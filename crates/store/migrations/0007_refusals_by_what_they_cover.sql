-- What a grant covers, beside its record: a refusal is found by it however many grants there are, and one whose record
-- cannot be read any more still refuses. NULL in allow: unknown, so it may be a refusal; NULL in tool of a refusal: every
-- tool, of every user. session is that of a grant that ends with its session.
ALTER TABLE grants ADD COLUMN allow INTEGER;
ALTER TABLE grants ADD COLUMN tool TEXT;
ALTER TABLE grants ADD COLUMN user TEXT;
ALTER TABLE grants ADD COLUMN session TEXT;

UPDATE grants SET
    allow = CASE json_type(record, '$.allow') WHEN 'true' THEN 1 WHEN 'false' THEN 0 END,
    tool = CASE json_type(record, '$.tool') WHEN 'text' THEN record ->> '$.tool' END,
    user = CASE json_type(record, '$.principal.user') WHEN 'text' THEN record ->> '$.principal.user' END,
    session = CASE WHEN record ->> '$.reach' = 'session' AND json_type(record, '$.principal.session') = 'text'
                   THEN record ->> '$.principal.session' END
WHERE json_valid(record);

-- Only approvals are counted.
UPDATE grants SET allow = 1 WHERE allow IS NULL AND uses_left IS NOT NULL;

DROP INDEX grants_open;
CREATE INDEX grants_listed ON grants (allow, created_at_ms DESC, id DESC) WHERE ended_at_ms IS NULL;
CREATE INDEX grants_covering ON grants (tenant, tool) WHERE ended_at_ms IS NULL;
