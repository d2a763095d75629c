"""Sums of the history, kept so that a scrape reads only what came since.

Each kind of row has a moment up to which it is summed up in the table `counts`. A figure is the stored sum plus what
came later, so it is exact at any time; moving the moment on changes no figure. A row counts as settled some time after
it was written: a transaction that began earlier may commit later. Sums outlive the rows of an erased session.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..types.base import Value
from .database import Backend, Connection
from .heuristics import value_of
from .learning_views import Pair, Totals, totals

AT_ONCE = 5_000
"""So many rows are summed up in one transaction, so that others get their turn in between."""
WORTH_IT = 500
"""With fewer new rows than this nothing is written."""
RECOUNT = 20_000
"""With more new lessons than this, counting all along the index is quicker."""
_FOREVER = 1e15
_TOOL = "CASE WHEN t.tool = '' THEN 'erased' ELSE t.tool END"
_ADD = (
    "INSERT INTO counts (subject, first, second, third, value) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (subject, first, second, third) DO UPDATE SET value = counts.value + excluded.value"
)
_OPEN_TOOLS = (
    f"SELECT {_TOOL}, t.status, COUNT(*), SUM(t.duration_ms) / 1000 FROM runs r CROSS JOIN tool_calls t"
    " WHERE r.status = 'open' AND t.run_id = r.id AND t.result_seq > 0 GROUP BY 1, 2"
)

Sums = dict[str, dict[tuple[str, str], float]]
"""Values by subject ("tools.calls") and two labels."""


class _Query(Value, frozen=True, kw_only=True):
    """Sums of a stretch of time: two labels, then one value for each of `values`."""

    sql: str
    values: tuple[str, ...]


class _Source(Value, frozen=True, kw_only=True):
    """One kind of rows, read along the index of `table` on its time. They may change for `margin` seconds."""

    id: str
    table: str
    margin: float
    queries: tuple[_Query, ...]


_STRETCH = "at >= ? AND at < ?"
SOURCES = (
    _Source(
        id="runs",
        table="outcomes",
        margin=120.0,
        queries=(
            _Query(
                sql="SELECT COALESCE(s.surface, ''), COALESCE(r.status, o.status), COUNT(*),"
                " SUM(COALESCE(r.finished_at - r.started_at, 0)) FROM outcomes o LEFT JOIN runs r ON r.id = o.run_id"
                f" LEFT JOIN sessions s ON s.id = o.session_id WHERE o.{_STRETCH.replace('AND ', 'AND o.')}"
                " GROUP BY 1, 2",
                values=("runs.ended", "runs.seconds"),
            ),
            _Query(
                sql=f"SELECT {_TOOL}, t.status, COUNT(*), SUM(t.duration_ms) / 1000 FROM outcomes o"
                f" JOIN tool_calls t ON t.run_id = o.run_id WHERE o.{_STRETCH.replace('AND ', 'AND o.')}"
                " GROUP BY 1, 2",
                values=("tools.calls", "tools.seconds"),
            ),
        ),
    ),
    _Source(
        id="models",
        table="model_calls",
        margin=120.0,
        queries=(
            _Query(
                sql="SELECT provider, model, COUNT(*), SUM(CASE WHEN failure <> '' THEN 1 ELSE 0 END),"
                " SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens), SUM(latency_ms) / 1000"
                f" FROM model_calls WHERE {_STRETCH} GROUP BY provider, model",
                values=(
                    "models.calls",
                    "models.failures",
                    "models.input",
                    "models.output",
                    "models.cached",
                    "models.seconds",
                ),
            ),
        ),
    ),
    _Source(
        id="background",
        table="background_work",
        margin=86_400.0,
        queries=(
            _Query(
                sql=f"SELECT kind, status, COUNT(*) FROM background_work WHERE {_STRETCH} GROUP BY kind, status",
                values=("background.work",),
            ),
        ),
    ),
)


def read_sums(connection: Connection) -> Sums:
    """Every sum as of now. Calls of runs that are under way are counted as soon as they are finished."""
    found: Sums = {name: {} for source in SOURCES for query in source.queries for name in query.values}
    for subject, first, second, value in connection.run(
        "SELECT subject, first, second, value FROM counts WHERE subject <> 'lessons'"
    ):
        found.setdefault(subject, {})[(first, second)] = float(value)
    for source in SOURCES:
        since = _until(connection, source.id)
        for query in source.queries:
            _add(found, query.values, connection.run(query.sql, (since, _FOREVER)))
    _add(found, ("tools.calls", "tools.seconds"), connection.run(_OPEN_TOOLS))
    return found


def unsettled(connection: Connection) -> bool:
    """Whether there is so much behind the stored sums that `settle` should run."""
    now = connection.now()
    return any(_stretch(connection, source, now, WORTH_IT) is not None for source in SOURCES)


def settle(connection: Connection, backend: Backend) -> None:
    """Take the next rows of each kind into the stored sums. One replica at a time, and each row once."""
    now = connection.now()
    connection.run(f"SELECT id FROM counted WHERE id <> 'lessons'{backend.row_lock}")
    for source in SOURCES:
        stretch = _stretch(connection, source, now, WORTH_IT)
        if stretch is None:
            continue
        for query in source.queries:
            for row in connection.run(query.sql, stretch):
                for name, value in zip(query.values, row[2:], strict=True):
                    connection.run(_ADD, (name, row[0], row[1], "", float(value or 0)))
        connection.run("UPDATE counted SET until = ? WHERE id = ?", (stretch[1], source.id))


def _stretch(connection: Connection, source: _Source, now: float, least: int) -> tuple[float, float] | None:
    """From where to where the next rows lie that are old enough; None where they are too few to bother."""
    since, settled = _until(connection, source.id), now - source.margin
    sql = f"SELECT at FROM {source.table} WHERE at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?"
    if not connection.run(sql, (since, settled, least - 1)):
        return None
    rows = connection.run(sql, (since, settled, AT_ONCE))
    end = float(rows[0][0]) if rows else settled
    return since, end if end > since else settled


def _until(connection: Connection, source: str) -> float:
    return float(connection.run("SELECT until FROM counted WHERE id = ?", (source,))[0][0])


def _add(sums: Sums, names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    for row in rows:
        place = (str(row[0]), str(row[1]))
        for name, value in zip(names, row[2:], strict=True):
            sums[name][place] = sums[name].get(place, 0.0) + float(str(value or 0))


def count_lessons(connection: Connection, backend: Backend) -> list[Totals]:
    """Runs learned from, by family, model and outcome, after bringing the stored counts up to date.

    Lessons and judgements share one sequence, so what lies behind a place in it is all that is new. A family and model
    with a judged run is counted anew along the index, and so is everything after families were merged or split.
    """
    connection.run(f"SELECT id FROM counted WHERE id = 'lessons'{backend.row_lock}")
    ((since, mark),) = connection.run("SELECT until, mark FROM counted WHERE id = 'lessons'")
    last, shape = value_of(connection, "sequence"), _shape(connection)
    if (int(since), mark) == (last, shape):
        return _stored(connection)
    if mark != shape or last < since or last - since > RECOUNT:
        connection.run("DELETE FROM counts WHERE subject = 'lessons'")
        _store(connection, totals(connection))
    else:
        _follow(connection, int(since), last)
    connection.run("UPDATE counted SET until = ?, mark = ? WHERE id = 'lessons'", (last, shape))
    return _stored(connection)


def _follow(connection: Connection, since: int, last: int) -> None:
    fresh = connection.run(
        "SELECT family, model, success, COUNT(*) FROM lessons WHERE seq > ? AND seq <= ?"
        " GROUP BY family, model, success",
        (since, last),
    )
    _store(connection, [Totals(family=row[0], model=row[1], outcome=_NAMES[row[2]], runs=int(row[3])) for row in fresh])
    judged = connection.run(
        "SELECT DISTINCT l.family, l.model FROM judgements j JOIN lessons l ON l.run_id = j.run_id"
        " WHERE j.seq > ? AND l.seq <= ?",
        (since, since),
    )
    for family, model in judged:
        connection.run("DELETE FROM counts WHERE subject = 'lessons' AND first = ? AND second = ?", (family, model))
        _store(connection, _counted_pair(connection, Pair(family=family, model=model)))


_NAMES = {None: "unknown", 0: "failure", 1: "success"}


def _counted_pair(connection: Connection, pair: Pair) -> list[Totals]:
    rows = connection.run(
        "SELECT success, COUNT(*) FROM lessons WHERE family = ? AND model = ? GROUP BY success",
        (pair.family, pair.model),
    )
    return [Totals(family=pair.family, model=pair.model, outcome=_NAMES[row[0]], runs=int(row[1])) for row in rows]


def judged_since(connection: Connection, seq: int) -> set[Pair]:
    """Where runs were judged behind a place in the sequence."""
    rows = connection.run(
        "SELECT DISTINCT l.family, l.model FROM judgements j JOIN lessons l ON l.run_id = j.run_id WHERE j.seq > ?",
        (seq,),
    )
    return {Pair(family=row[0], model=row[1]) for row in rows}


def newest_lessons(connection: Connection, places: Iterable[Pair]) -> dict[Pair, int]:
    """The last place in the sequence of each family and model: one step of the index for each."""
    found = {}
    for pair in places:
        rows = connection.run("SELECT MAX(seq) FROM lessons WHERE family = ? AND model = ?", (pair.family, pair.model))
        found[pair] = int(rows[0][0] or 0)
    return found


def _shape(connection: Connection) -> str:
    """Changes when families were merged or split, after which runs belong elsewhere."""
    ((merged, named),) = connection.run(
        "SELECT SUM(CASE WHEN merged_into <> '' THEN 1 ELSE 0 END), SUM(CASE WHEN named_by = 'user' THEN 1 ELSE 0 END)"
        " FROM families"
    )
    return f"{merged or 0}:{named or 0}"


def _store(connection: Connection, counted: Iterable[Totals]) -> None:
    for one in counted:
        connection.run(_ADD, ("lessons", one.family, one.model, one.outcome, float(one.runs)))


def _stored(connection: Connection) -> list[Totals]:
    rows = connection.run(
        "SELECT first, second, third, value FROM counts WHERE subject = 'lessons' ORDER BY first, second, third"
    )
    return [Totals(family=row[0], model=row[1], outcome=row[2], runs=int(row[3])) for row in rows]
