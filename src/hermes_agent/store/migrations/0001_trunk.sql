-- Sessions, their inbox, their runs, and the journal that is the truth about each run.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    surface TEXT NOT NULL,
    workspace TEXT NOT NULL,
    title TEXT NOT NULL,
    runs BIGINT NOT NULL DEFAULT 0,
    messages BIGINT NOT NULL DEFAULT 0,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    deleted_at DOUBLE PRECISION
);
CREATE INDEX sessions_recent ON sessions (agent, updated_at);

CREATE TABLE session_values (
    session_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (session_id, key)
);

CREATE TABLE inbox (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    owner TEXT NOT NULL,
    mode TEXT NOT NULL,
    text TEXT NOT NULL,
    options TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    run_id TEXT
);
CREATE INDEX inbox_waiting ON inbox (session_id, ordinal) WHERE run_id IS NULL;
CREATE INDEX inbox_by_run ON inbox (run_id);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    status TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    holder TEXT NOT NULL,
    lease_until DOUBLE PRECISION NOT NULL,
    model TEXT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION,
    indexed BIGINT NOT NULL DEFAULT 0,
    UNIQUE (session_id, ordinal)
);
-- One driver per session: the database itself refuses a second open run.
CREATE UNIQUE INDEX runs_one_open ON runs (session_id) WHERE status = 'open';
CREATE INDEX runs_open ON runs (agent) WHERE status = 'open';
CREATE INDEX runs_recent ON runs (started_at);

CREATE TABLE events (
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    kind TEXT NOT NULL,
    version BIGINT NOT NULL,
    payload TEXT NOT NULL,
    crc BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- The frozen prefixes by content, and which one a session used in which of its epochs.
CREATE TABLE prefixes (
    fingerprint TEXT PRIMARY KEY,
    payload TEXT NOT NULL
);
CREATE TABLE prefix_epochs (
    session_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    fingerprint TEXT NOT NULL,
    model TEXT NOT NULL,
    product TEXT NOT NULL,
    reason TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session_id, epoch)
);

-- Projections: written with the events they are read from, and always rebuildable from them.
CREATE TABLE tool_calls (
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL,
    digest TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    duration_ms DOUBLE PRECISION NOT NULL,
    asked_seq BIGINT NOT NULL,
    result_seq BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run_id, call_id)
);

-- Model calls and decisions are asked for by time only: an index that grows at its end costs a commit next to nothing.
CREATE TABLE model_calls (
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    failure TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    latency_ms DOUBLE PRECISION NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX model_calls_by_time ON model_calls (at);

CREATE TABLE decisions (
    run_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    session_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    choice TEXT NOT NULL,
    reason TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX decisions_by_time ON decisions (at);

CREATE TABLE outcomes (
    run_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    judged_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    delivered_at DOUBLE PRECISION
);
CREATE INDEX outcomes_undelivered ON outcomes (run_id) WHERE delivered_at IS NULL;
