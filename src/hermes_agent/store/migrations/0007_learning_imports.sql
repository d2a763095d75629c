-- Bundles of other people's learning that were taken in: who signed them, what was written, and what was there before.
CREATE TABLE imports (
    id TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    digest TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    undone_at DOUBLE PRECISION,
    payload TEXT NOT NULL
);
CREATE INDEX imports_by_digest ON imports (digest);
