-- The one full-text index: what was said and what tools answered. Words are cut by us, not by the engine.
CREATE TABLE search (
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    role TEXT NOT NULL,
    words TSVECTOR NOT NULL
);
CREATE INDEX search_words ON search USING GIN (words);
CREATE INDEX search_by_session ON search (session_id);
