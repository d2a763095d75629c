-- The one full-text index: what was said and what tools answered. Words are cut by us, not by the engine.
CREATE VIRTUAL TABLE search USING fts5 (
    words, session_id UNINDEXED, run_id UNINDEXED, seq UNINDEXED, role UNINDEXED, tokenize = 'ascii', detail = none
);
