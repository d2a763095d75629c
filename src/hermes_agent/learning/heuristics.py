"""The heuristic store under the names of the library: query, learn_from_trace, is_known_failure."""

from __future__ import annotations

import threading

import msgspec

from ..config.settings import LearningSettings
from ..store.database import Connection
from ..store.families import clean_name
from ..store.heuristics import Kind, active_set, read_heuristics, value_of
from ..store.open import Store
from ..types.advice import Situation
from ..types.trace import Trace
from .advisor import instructs
from .context import error_class
from .families import Book
from .learner import Learner
from .lessons import strangers_texts
from .standing import Standing


class LearnedHeuristics:
    """What was learned, for programs without an event loop (the HeuristicStore protocol). Any database, any number of
    processes. A text in place of a situation is taken as the request.

    It keeps one copy of the families and reads those that changed only after some did."""

    def __init__(self, store: Store, settings: LearningSettings | None = None, model: str = "") -> None:
        self._store = store
        self._settings = settings or LearningSettings()
        self._model = model
        self._learner = Learner(store.database, store.owner, self._settings)
        self._book = Book(())
        self._families = -1
        self._placing = threading.Lock()

    def query(self, situation: Situation | str) -> list[str]:
        """What past executions say about a request, in words. Nothing is left aside for exploration where no run is
        named, because nobody could learn from it."""
        asked = Situation(request=situation, model=self._model) if isinstance(situation, str) else situation
        explore = self._settings.explore if asked.run_id or asked.seed is not None else 0.0

        def unit(connection: Connection) -> list[str]:
            placed = msgspec.structs.replace(asked, family=self._family(connection, asked))
            found = read_heuristics(connection, active_set(connection).members).values()
            known = [item for item in found if not asked.model or item.model == asked.model]
            return Standing(placed, known, explore, widened=False).opening()[1]

        return self._store.database.read_now(unit)

    def learn_from_trace(self, trace: Trace) -> None:
        """Take a run into account, once."""
        asked = Situation(request=trace.request, model=trace.model, family=trace.family)
        family = self._store.database.read_now(lambda connection: self._family(connection, asked))
        texts = strangers_texts(trace)
        self._learner.learn_now(trace, family, tainted=bool(texts) and instructs(texts))

    def is_known_failure(self, step: str, error: str) -> bool:
        """Whether trying this tool again after this error is known to be futile, for any kind of task."""
        signature = f"{step}:{error_class(error, error)}"

        def unit(connection: Connection) -> bool:
            found = read_heuristics(connection, active_set(connection).members).values()
            return any(item.kind is Kind.FUTILE_RETRY and item.subject == signature for item in found)

        return self._store.database.read_now(unit)

    def _family(self, connection: Connection, situation: Situation) -> str:
        """Where a request belongs. One thread at a time, because the copy may change under it."""
        with self._placing:
            counter = value_of(connection, "families")
            if counter != self._families:
                self._book.refresh(connection)
                self._families = counter
            if situation.family:
                return self._book.named(clean_name(situation.family))
            return self._book.place(situation.request).family_id
