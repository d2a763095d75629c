-- What was spent and what is reserved, for each run, session and day under a cap.
CREATE TABLE budgets (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    usd DOUBLE PRECISION NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0,
    seconds DOUBLE PRECISION NOT NULL DEFAULT 0,
    reserved_usd DOUBLE PRECISION NOT NULL DEFAULT 0,
    reserved_tokens BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, key)
);
