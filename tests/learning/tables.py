"""What learning left in the database, as data that can be compared; and histories that teach something."""

from typing import Any

from hermes_agent.learning.learner import Learned, Learner
from hermes_agent.store.database import Connection, Row
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, read_heuristics, value_of
from hermes_agent.store.lessons import Lesson
from hermes_agent.store.open import Store
from tests.learning.lesson_maker import lesson, mended, seen

ORDERED = {
    "learning": "id",
    "lessons": "seq",
    "judgements": "seq",
    "cells": "model, family, subject, condition",
    "heuristics": "id",
    "heuristic_sets": "version",
    "heuristic_audit": "seq",
    "families": "id",
    "watches": "family, model",
}


def dump(store: Store, *tables: str) -> dict[str, list[Row]]:
    """Whole tables of learning; all of them unless some are named."""

    def unit(connection: Connection) -> dict[str, list[Row]]:
        return {
            table: [tuple(row) for row in connection.run(f"SELECT * FROM {table} ORDER BY {ORDERED[table]}")]
            for table in tables or ORDERED
        }

    return store.database.read_now(unit)


def counter(store: Store, name: str) -> int:
    """A counter or switch of learning, such as the version in force."""
    return store.database.read_now(lambda connection: value_of(connection, name))


def absorb(store: Store, learner: Learner, *lessons: Lesson) -> list[Learned]:
    """Learn lessons one after the other."""
    return store.database.write_now(
        lambda connection: [learner.absorb(connection, taught, "Summarise the ledger.") for taught in lessons]
    )


def failing(number: int, **more: Any) -> Lesson:
    """A run in which `bad` failed and `good` did its job."""
    return lesson(
        number,
        seen("bad", False),
        seen("good", True),
        mendings=[mended("bad", "good")],
        **more,
    )


def heuristics(store: Store) -> list[Heuristic]:
    """Everything learned, whatever its stage, by id."""

    def unit(connection: Connection) -> list[str]:
        return [row[0] for row in connection.run("SELECT id FROM heuristics ORDER BY id")]

    names = store.database.read_now(unit)
    return list(store.database.read_now(lambda connection: read_heuristics(connection, names)).values())


def stages(store: Store) -> dict[tuple[Kind, str], Stage]:
    """The stage of each heuristic by kind and subject."""
    return {(item.kind, item.subject): item.stage for item in heuristics(store)}


def named(store: Store, kind: Kind, subject: str = "bad") -> Heuristic:
    """The one heuristic of a kind about a subject."""
    (found,) = [item for item in heuristics(store) if (item.kind, item.subject) == (kind, subject)]
    return found
