-- Messages to people, until they are read or a surface delivers them. The same key of a session is one message.
CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    owner TEXT NOT NULL,
    recipient TEXT NOT NULL,
    text TEXT NOT NULL,
    urgent BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    read_at DOUBLE PRECISION,
    delivered_at DOUBLE PRECISION,
    UNIQUE (session_id, key)
);
CREATE INDEX outbox_unread ON outbox (created_at) WHERE read_at IS NULL;
