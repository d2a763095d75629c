-- What learning does, as tables to look at: the product's own commands and Grafana's SQL data sources read these views.
-- Days begin at midnight UTC and are named by that moment, in seconds since 1970. Filters on family, model and day reach
-- the indexes. The division is written so that both engines round down: one casts by cutting off, the other by rounding.

CREATE INDEX lessons_by_day ON lessons (
    ((CAST(at AS BIGINT) - CASE WHEN CAST(at AS BIGINT) > at THEN 1 ELSE 0 END) / 86400 * 86400), family, model
);
CREATE INDEX lessons_by_model ON lessons (model, seq);
CREATE INDEX lessons_by_outcome ON lessons (family, model, success, calls);
CREATE INDEX lessons_by_seconds ON lessons (family, model, success, seconds);
CREATE INDEX heuristic_audit_by_change ON heuristic_audit (was, became);
CREATE INDEX heuristic_audit_by_rollback ON heuristic_audit (at, cause)
WHERE became = 'retired' AND substr(cause, 1, 11) = 'rolled back';

-- One row for each run that was learned from, without its text.
CREATE VIEW learning_runs AS
SELECT
    run_id, seq, family, model,
    (CAST(at AS BIGINT) - CASE WHEN CAST(at AS BIGINT) > at THEN 1 ELSE 0 END) / 86400 * 86400 AS day,
    at, success, judged_by, set_version, plan, calls, errors, recovered, advised, seconds,
    CASE WHEN success IS NULL THEN 'unknown' WHEN success = 1 THEN 'success' ELSE 'failure' END AS outcome
FROM lessons;

-- How often each plan (the tools that worked, in order) was taken on a day.
CREATE VIEW learning_plans AS
SELECT
    family, model, day, plan,
    COUNT(*) AS runs,
    COUNT(success) AS judged,
    CAST(COALESCE(SUM(success), 0) AS BIGINT) AS successes,
    CAST(SUM(CASE WHEN errors > 0 THEN 1 ELSE 0 END) AS BIGINT) AS with_errors,
    CAST(SUM(recovered) AS BIGINT) AS recovered,
    CAST(SUM(advised) AS BIGINT) AS advised,
    SUM(seconds) AS seconds
FROM learning_runs
GROUP BY family, model, day, plan;

-- Whole powers of two, for the logarithms below.
CREATE VIEW learning_powers (bits, power) AS
VALUES (0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64), (7, 128), (8, 256), (9, 512), (10, 1024),
(11, 2048), (12, 4096), (13, 8192), (14, 16384), (15, 32768), (16, 65536), (17, 131072), (18, 262144), (19, 524288),
(20, 1048576), (21, 2097152), (22, 4194304), (23, 8388608), (24, 16777216), (25, 33554432), (26, 67108864),
(27, 134217728), (28, 268435456), (29, 536870912);

-- Days summed up, with the sum of n log2 n over the plans of the day, n being how often a plan was taken. There is no
-- logarithm in every SQLite: the power of two below is looked up, the rest is the series of the inverse hyperbolic
-- tangent of y = (n - power) / (n + power), which lies below 1/3: exact to nine digits.
CREATE VIEW learning_days AS
SELECT
    family, model, day,
    CAST(SUM(runs) AS BIGINT) AS runs,
    CAST(SUM(judged) AS BIGINT) AS judged,
    CAST(SUM(successes) AS BIGINT) AS successes,
    COUNT(*) AS plans,
    MAX(runs) AS top_plan_runs,
    CAST(SUM(with_errors) AS BIGINT) AS with_errors,
    CAST(SUM(recovered) AS BIGINT) AS recovered,
    CAST(SUM(advised) AS BIGINT) AS advised,
    SUM(seconds) AS seconds,
    SUM(runs * (bits + y * (1 + y * y * (1e0 / 3 + y * y * (1e0 / 5 + y * y * (1e0 / 7 + y * y * (1e0 / 9
    + y * y * (1e0 / 11 + y * y * (1e0 / 13 + y * y * (1e0 / 15 + y * y / 17)))))))) * 2.8853900817779268))
    AS n_log_n
FROM (
    SELECT
        family, model, day, runs, judged, successes, with_errors, recovered, advised, seconds, bits,
        CAST(runs - power AS DOUBLE PRECISION) / CAST(runs + power AS DOUBLE PRECISION) AS y
    FROM learning_plans JOIN learning_powers ON runs >= power AND runs < power * 2
) plans
GROUP BY family, model, day;

-- One row for each family, model and day. tool_selection_entropy is in bits: 0 when every run took the same plan.
CREATE VIEW learning_daily AS
SELECT
    family, model, day, runs, judged, successes,
    CASE WHEN judged > 0 THEN CAST(successes AS DOUBLE PRECISION) / judged END AS success_rate,
    CASE WHEN plans > 1 THEN
        bits + y * (1 + y * y * (1e0 / 3 + y * y * (1e0 / 5 + y * y * (1e0 / 7 + y * y * (1e0 / 9
        + y * y * (1e0 / 11 + y * y * (1e0 / 13 + y * y * (1e0 / 15 + y * y / 17)))))))) * 2.8853900817779268
        - n_log_n / runs
    ELSE CAST(0 AS DOUBLE PRECISION) END AS tool_selection_entropy,
    plans,
    CAST(plans AS DOUBLE PRECISION) / runs AS plan_variance,
    CAST(top_plan_runs AS DOUBLE PRECISION) / runs AS top_plan_share,
    with_errors, recovered, advised,
    seconds / runs AS mean_seconds
FROM (
    SELECT
        learning_days.*, bits,
        CAST(runs - power AS DOUBLE PRECISION) / CAST(runs + power AS DOUBLE PRECISION) AS y
    FROM learning_days JOIN learning_powers ON runs >= power AND runs < power * 2
) days;

-- The success rate over the last 20 and 50 judged runs at every run; trend is the last 20 against the 20 before them.
CREATE VIEW learning_windows AS
SELECT
    run_id, seq, family, model, at, day, success,
    AVG(CAST(success AS DOUBLE PRECISION)) OVER last_20 AS rate_20,
    AVG(CAST(success AS DOUBLE PRECISION)) OVER last_50 AS rate_50,
    AVG(CAST(success AS DOUBLE PRECISION)) OVER last_20
    - AVG(CAST(success AS DOUBLE PRECISION)) OVER before_20 AS trend
FROM learning_runs
WHERE success IS NOT NULL
WINDOW
    last_20 AS (PARTITION BY family, model ORDER BY seq ROWS BETWEEN 19 PRECEDING AND CURRENT ROW),
    last_50 AS (PARTITION BY family, model ORDER BY seq ROWS BETWEEN 49 PRECEDING AND CURRENT ROW),
    before_20 AS (PARTITION BY family, model ORDER BY seq ROWS BETWEEN 39 PRECEDING AND 20 PRECEDING);

-- Every change of a heuristic, named: added, activated, retired, changed. rolled_back is 1 where it was retired because
-- the guard or a person went back; what acts again since then was activated.
CREATE VIEW learning_events AS
SELECT
    seq, at,
    (CAST(at AS BIGINT) - CASE WHEN CAST(at AS BIGINT) > at THEN 1 ELSE 0 END) / 86400 * 86400 AS day,
    family, model, heuristic_id, kind, was, became, cause, run_id, set_version,
    CASE WHEN became = 'retired' AND substr(cause, 1, 11) = 'rolled back' THEN 1 ELSE 0 END AS rolled_back,
    CASE
        WHEN became IN ('retired', 'rejected') THEN 'retired'
        WHEN became IN ('probation', 'trusted') AND was NOT IN ('probation', 'trusted') THEN 'activated'
        WHEN was = '' THEN 'added'
        ELSE 'changed'
    END AS change
FROM heuristic_audit;

-- Drift: how many heuristics a day added, changed (with those that began to act) and retired (with those taken back).
CREATE VIEW learning_drift AS
SELECT
    family, model, day,
    CAST(SUM(CASE WHEN was = '' THEN 1 ELSE 0 END) AS BIGINT) AS added,
    CAST(SUM(CASE WHEN was <> '' AND change <> 'retired' THEN 1 ELSE 0 END) AS BIGINT) AS changed,
    CAST(SUM(CASE WHEN change = 'activated' THEN 1 ELSE 0 END) AS BIGINT) AS activated,
    CAST(SUM(CASE WHEN change = 'retired' AND was <> '' THEN 1 ELSE 0 END) AS BIGINT) AS retired,
    CAST(SUM(rolled_back) AS BIGINT) AS rolled_back
FROM learning_events
GROUP BY family, model, day;

-- Feedback latency: from the moment a heuristic could act for the first time to the first run in which it did.
CREATE VIEW learning_feedback AS
SELECT
    id AS heuristic_id, kind, heuristics.family, heuristics.model, stage, active_at, applied_at,
    CASE WHEN applied_at < active_at THEN 0 ELSE applied_at - active_at END AS latency_seconds
FROM heuristics
JOIN (
    SELECT heuristic_id, MIN(at) AS active_at FROM heuristic_audit
    WHERE became IN ('probation', 'trusted') GROUP BY heuristic_id
) activated ON activated.heuristic_id = heuristics.id;
