-- What was learned from runs, and everything needed to say why, to check it, and to take it back.

-- Counters and switches of learning. The row 'sequence' is locked by whoever learns: one trace after the other.
CREATE TABLE learning (
    id TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO learning (id, value) VALUES ('sequence', 0), ('active_set', 0), ('frozen', 0), ('audit', 0), ('families', 0);

-- One row for each run that was learned from. The state of learning is the fold of these rows in the order of `seq`.
CREATE TABLE lessons (
    run_id TEXT PRIMARY KEY,
    seq BIGINT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    family TEXT NOT NULL,
    model TEXT NOT NULL,
    surface TEXT NOT NULL,
    success BIGINT,
    judged_by TEXT NOT NULL,
    set_version BIGINT NOT NULL,
    plan TEXT NOT NULL,
    calls BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    recovered BIGINT NOT NULL,
    advised BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    payload TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX lessons_by_family ON lessons (family, model, seq);
CREATE INDEX lessons_by_time ON lessons (at);
CREATE INDEX lessons_by_session ON lessons (session_id);

-- What a person or a verifier said later about a run that was learned from before; part of the same sequence.
CREATE TABLE judgements (
    seq BIGINT PRIMARY KEY,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    success BIGINT NOT NULL,
    judged_by TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);

-- Evidence: what was observed about a subject under a condition, in one family on one model.
CREATE TABLE cells (
    model TEXT NOT NULL,
    family TEXT NOT NULL,
    subject TEXT NOT NULL,
    condition TEXT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (model, family, subject, condition)
);

-- What a heuristic says never changes; only its stage does, and the figures in its text and evidence.
CREATE TABLE heuristics (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    family TEXT NOT NULL,
    subject TEXT NOT NULL,
    condition TEXT NOT NULL,
    better TEXT NOT NULL,
    text TEXT NOT NULL,
    detail TEXT NOT NULL,
    stage TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    evidence TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    applied_at DOUBLE PRECISION
);
CREATE INDEX heuristics_by_place ON heuristics (model, family);
CREATE INDEX heuristics_by_stage ON heuristics (stage);

-- Sets of heuristics that act. Immutable; learning.active_set says which one is in force.
CREATE TABLE heuristic_sets (
    version BIGINT PRIMARY KEY,
    parent BIGINT NOT NULL,
    members TEXT NOT NULL,
    cause TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
INSERT INTO heuristic_sets (version, parent, members, cause, run_id, at) VALUES (0, 0, '[]', 'nothing learned yet', '', 0);

CREATE TABLE heuristic_audit (
    seq BIGINT PRIMARY KEY,
    heuristic_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    family TEXT NOT NULL,
    was TEXT NOT NULL,
    became TEXT NOT NULL,
    cause TEXT NOT NULL,
    run_id TEXT NOT NULL,
    evidence TEXT NOT NULL,
    set_version BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX heuristic_audit_by_heuristic ON heuristic_audit (heuristic_id, seq);
CREATE INDEX heuristic_audit_by_place ON heuristic_audit (family, model, seq);
CREATE INDEX heuristic_audit_by_time ON heuristic_audit (at);

-- Kinds of tasks. A family that was merged points to the one it became part of. One that was found by its wording is
-- named with words of the session that founded it, and loses them when that session is erased.
CREATE TABLE families (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    named_by TEXT NOT NULL,
    centroid TEXT NOT NULL,
    tasks BIGINT NOT NULL,
    merged_into TEXT NOT NULL,
    founded_by TEXT NOT NULL DEFAULT '',
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX families_by_founder ON families (founded_by);

-- The guard's view of one family on one model: its baseline, and the test that runs against it.
CREATE TABLE watches (
    family TEXT NOT NULL,
    model TEXT NOT NULL,
    watching BIGINT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (family, model)
);
CREATE INDEX watches_under_way ON watches (model) WHERE watching = 1;

CREATE INDEX outcomes_by_time ON outcomes (at);
