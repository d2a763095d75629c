-- Sums over the history, so that a figure never reads all of it. `counted` says up to where each kind is summed up.
CREATE TABLE counts (
    subject TEXT NOT NULL,
    first TEXT NOT NULL,
    second TEXT NOT NULL,
    third TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (subject, first, second, third)
);
CREATE TABLE counted (
    id TEXT PRIMARY KEY,
    until DOUBLE PRECISION NOT NULL,
    mark TEXT NOT NULL
);
INSERT INTO counted (id, until, mark)
VALUES ('runs', 0, ''), ('models', 0, ''), ('background', 0, ''), ('lessons', 0, '');
CREATE INDEX background_work_in_time ON background_work (at);
CREATE INDEX families_by_shape ON families (merged_into, named_by);
