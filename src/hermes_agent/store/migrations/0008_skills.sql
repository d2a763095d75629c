-- Skills: what is known about each beside its Markdown, every version of it, and every use.

-- A session that works beside another one, such as a background review: found through it, and erased with it.
ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';

CREATE TABLE skills (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    shelf TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    made_by TEXT NOT NULL,
    description TEXT NOT NULL,
    trigger_conditions TEXT NOT NULL,
    code_template TEXT NOT NULL,
    parameters TEXT NOT NULL,
    dependencies TEXT NOT NULL,
    success_criteria TEXT NOT NULL,
    pitfalls TEXT NOT NULL,
    test_parameters TEXT NOT NULL,
    tags TEXT NOT NULL,
    embedding TEXT NOT NULL,
    version TEXT NOT NULL,
    usage_count BIGINT NOT NULL,
    success_rate DOUBLE PRECISION NOT NULL,
    best_efficiency_score DOUBLE PRECISION NOT NULL,
    utility DOUBLE PRECISION,
    health_status TEXT NOT NULL,
    health_note TEXT NOT NULL,
    checked_at DOUBLE PRECISION,
    validated TEXT NOT NULL,
    needs_rewrite BIGINT NOT NULL,
    enabled BIGINT NOT NULL,
    pinned BIGINT NOT NULL,
    archived_at DOUBLE PRECISION,
    created_at DOUBLE PRECISION NOT NULL,
    last_used_at DOUBLE PRECISION,
    UNIQUE (owner, shelf, name)
);

-- Every version that was ever seen, whoever wrote it. `files` holds the whole skill, so that nothing is lost.
CREATE TABLE skill_versions (
    skill_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    version TEXT NOT NULL,
    parent TEXT NOT NULL,
    origin TEXT NOT NULL,
    run_id TEXT NOT NULL,
    action TEXT NOT NULL,
    note TEXT NOT NULL,
    batch TEXT NOT NULL,
    files TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (skill_id, seq)
);
CREATE INDEX skill_versions_by_version ON skill_versions (skill_id, version);
CREATE INDEX skill_versions_by_batch ON skill_versions (batch);

-- One row for each run and skill: how it was reached, and what became of the run.
CREATE TABLE skill_uses (
    run_id TEXT NOT NULL,
    skill_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    version TEXT NOT NULL,
    how TEXT NOT NULL,
    family TEXT NOT NULL,
    model TEXT NOT NULL,
    success BIGINT,
    efficiency DOUBLE PRECISION NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run_id, skill_id)
);
CREATE INDEX skill_uses_by_skill ON skill_uses (skill_id, at);
CREATE INDEX skill_uses_by_session ON skill_uses (session_id);

-- What background work did: reviews, extraction, curation, rewrites. `undone_at` when a person took it back.
CREATE TABLE background_work (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    summary TEXT NOT NULL,
    payload TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    told_at DOUBLE PRECISION,
    undone_at DOUBLE PRECISION
);
CREATE INDEX background_work_by_time ON background_work (owner, at);
CREATE INDEX background_work_by_session ON background_work (session_id);
