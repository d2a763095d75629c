"""Past runs as far as replay needs them, read from the lessons in batches that one range of one index gives."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from ..store.database import Connection, Database, Row
from ..types.base import Value
from ..types.errors import StoreDamaged
from ..types.trace import AdviceItem, Judge
from .lessons import REPLAYED

_BATCH = 2000
_COLUMNS = "seq, payload, success, judged_by, family"


class Seen(Value, frozen=True, kw_only=True):
    """The part of an observation that says whether a heuristic would have applied."""

    tool: str
    worked: bool = True
    error: str = ""
    tries: int = 1


class Logged(Value, frozen=True, kw_only=True):
    """The part of a lesson that replay needs."""

    run_id: str
    family: str
    model: str
    set_version: int = 0
    success: bool | None = None
    judged_by: Judge = Judge.INFERRED
    tainted: bool = False
    items: tuple[AdviceItem, ...] = ()
    observations: tuple[Seen, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether somebody who can know said how it went."""
        return self.judged_by is not Judge.INFERRED


class Window(Value, frozen=True, kw_only=True):
    """Which runs are replayed."""

    family: str = ""
    model: str = ""
    since: float = 0.0


class Past:
    """The lessons of a window. `members` holds the sets that advised the runs read so far."""

    def __init__(self, database: Database, window: Window) -> None:
        self.members: dict[int, frozenset[str]] = {}
        self._database = database
        self._window = window

    async def batches(self) -> AsyncIterator[list[Logged]]:
        """All runs that are there now, a few at a time, oldest first for each model."""
        after, last, models = await self._database.read(self._bounds)
        for model in models:
            place = after
            while place < last:
                rows, sets = await self._read(model, place, last)
                self.members.update(sets)
                if rows:
                    yield [_logged(*row) for row in rows]
                place = int(rows[-1][0]) if len(rows) == _BATCH else last

    def _bounds(self, connection: Connection) -> tuple[int, int, list[str]]:
        """Behind which place to begin (`+ 0` has it found by time), where to end, and the models to read in turn: a
        family's lessons are in order of the sequence only within one model."""
        window = self._window
        last = int(connection.run("SELECT COALESCE(MAX(seq), 0) FROM lessons")[0][0])
        after, models = 0, [window.model]
        if window.since:
            first = connection.run("SELECT MIN(seq + 0) FROM lessons WHERE at >= ?", (window.since,))[0][0]
            after = last if first is None else int(first) - 1
        if window.family and not window.model:
            rows = connection.run("SELECT DISTINCT model FROM lessons WHERE family = ?", (window.family,))
            models = sorted(row[0] for row in rows)
        return after, last, models

    async def _read(self, model: str, after: int, last: int) -> tuple[list[Row], dict[int, frozenset[str]]]:
        """The next rows, and the sets that advised runs since `after`. Erased sessions left rows without a payload.
        `at + 0` keeps the engines from reading by time, which is not the order asked for."""
        chosen = {"family = ?": self._window.family, "model = ?": model, "at + 0 >= ?": self._window.since}
        always = ("seq > ?", "seq <= ?", "surface <> ?", "payload <> ''")
        where = [*always, *(text for text, value in chosen.items() if value)]
        params = (after, last, REPLAYED, *filter(None, chosen.values()), _BATCH)
        sql = f"SELECT {_COLUMNS}, set_version FROM lessons WHERE {' AND '.join(where)} ORDER BY seq LIMIT ?"

        def unit(connection: Connection) -> tuple[list[Row], dict[int, frozenset[str]]]:
            rows = connection.run(sql, params)
            unknown = {int(row[-1]) for row in rows} - set(self.members)
            return [row[:-1] for row in rows], {version: _members(connection, version) for version in unknown}

        return await self._database.read(unit)


def _members(connection: Connection, version: int) -> frozenset[str]:
    rows = connection.run("SELECT members FROM heuristic_sets WHERE version = ?", (version,))
    return frozenset(msgspec.json.decode(rows[0][0], type=list[str])) if rows else frozenset()


_decoder = msgspec.json.Decoder(Logged)


def _logged(seq: int, payload: str, success: int | None, judge: str, family: str) -> Logged:
    """The latest judgement and the present family are in the columns."""
    try:
        run = _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(f"lesson {seq} cannot be read: {error}") from error
    outcome = None if success is None else bool(success)
    if run.success == outcome and run.judged_by == judge and run.family == family:
        return run
    return msgspec.structs.replace(run, success=outcome, judged_by=Judge(judge), family=family)
