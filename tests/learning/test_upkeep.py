"""What is kept in memory follows the store without being read anew, and many cells are read in a few statements."""

import asyncio
from pathlib import Path

import pytest

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.advisor import LearnedAdvisor
from hermes_agent.learning.families import Book, centroid_of
from hermes_agent.store.database import Connection
from hermes_agent.store.families import Family, family_by_id, merge_families, read_families, save_family
from hermes_agent.store.heuristics import (
    AuditEntry,
    Heuristic,
    Kind,
    Stage,
    activate_members,
    add_audit,
    read_cells,
    save_heuristic,
    write_cells,
)
from hermes_agent.store.lessons import ascii_json
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.advice import Situation

REQUESTS = {
    "ledgers": "Sum up the ledger of last week and tell me the total.",
    "deploys": "Deploy the web service to the staging cluster.",
    "travel": "Book a flight to Lisbon and a hotel for three nights.",
}


def family(name: str, tasks: int = 3) -> Family:
    return Family(id=name, name=name, centroid=centroid_of([REQUESTS[name]]), tasks=tasks)


def placed(book: Book) -> dict[str, str]:
    return {name: book.place(text).family_id for name, text in REQUESTS.items()}


def test_a_book_that_is_refreshed_says_what_one_read_anew_says(store_url: str, tmp_path: Path) -> None:
    store = open_store(store_url, tmp_path)
    book = Book(())

    def agree(connection: Connection) -> None:
        book.refresh(connection)
        fresh = Book(read_families(connection))
        assert placed(book) == placed(fresh)
        assert [book.get(name) for name in REQUESTS] == [fresh.get(name) for name in REQUESTS]

    def begin(connection: Connection) -> None:
        for name in REQUESTS:
            save_family(connection, family(name))

    def merge(connection: Connection) -> None:
        source, target = family_by_id(connection, "travel"), family_by_id(connection, "deploys")
        assert source is not None and target is not None
        merge_families(connection, source, target, 2.0)

    store.database.read_now(agree)
    store.database.write_now(begin)
    store.database.read_now(agree)
    store.database.write_now(lambda connection: save_family(connection, family("ledgers", tasks=4)))
    store.database.read_now(agree)
    store.database.write_now(merge)
    store.database.read_now(agree)
    assert placed(book)["travel"] == "deploys"
    store.database.write_now(lambda connection: connection.run("DELETE FROM families WHERE id = 'ledgers'"))
    store.database.read_now(agree)
    store.close()


def change(store: Store, stage: Stage, members: list[str]) -> None:
    heuristic = Heuristic(
        id="h1", kind=Kind.WORKFLOW, model="m", family="ledgers", subject="plan:1", text="read > sum", stage=stage
    )
    entry = AuditEntry(
        seq=0,
        heuristic_id="h1",
        kind="workflow",
        model="m",
        family="ledgers",
        was="",
        became=stage.value,
        cause="test",
        run_id="",
        evidence={},
        set_version=0,
        at=1.0,
    )

    def unit(connection: Connection) -> None:
        save_heuristic(connection, heuristic)
        activate_members(connection, members, "test", "", 1.0)
        add_audit(connection, entry)

    store.database.write_now(unit)


@pytest.mark.req("H3")
def test_advice_follows_the_set_and_the_stage_of_its_members(store_url: str, tmp_path: Path) -> None:
    store = open_store(store_url, tmp_path)
    advisor = LearnedAdvisor(store, LearningSettings(), lambda text: None)

    def told(pin: int | None = None) -> list[float]:
        situation = Situation(request="Sum up.", model="m", family="ledgers", run_id="r", seed=1, pin=pin)
        items = asyncio.run(advisor.advise(situation)).items
        return [round(item.propensity if item.applied else 1 - item.propensity, 6) for item in items]

    assert told() == []
    change(store, Stage.PROBATION, ["h1"])
    assert told() == [0.5]
    change(store, Stage.TRUSTED, ["h1"])
    assert told() == [0.9]
    change(store, Stage.RETIRED, [])
    assert told() == []
    assert len(told(pin=1)) == 1
    assert told() == []
    store.close()


def test_any_number_of_cells_is_read_exactly(store_url: str, tmp_path: Path) -> None:
    store = open_store(store_url, tmp_path)
    cells = {
        (f"m{n % 2}", f"f{n % 3}", f"tool:{n}", c): f"{n}{c}" for n in range(150) for c in ("", "a=1", 'it\'s % ? "x"')
    }
    store.database.write_now(lambda connection: write_cells(connection, cells))
    for count in (0, 1, 2, 3, 127, 128, 129, 400):
        wanted = list(cells)[:count]
        missing = [("m0", "f0", f"tool:{n}", "nowhere") for n in range(count)]
        asked = [*wanted, *missing, *wanted]
        assert store.database.read_now(lambda connection, asked=asked: read_cells(connection, asked)) == {  # type: ignore[misc]
            key: cells[key] for key in wanted
        }
    store.close()


@pytest.mark.parametrize("text", ["plain", "naïve", "\ud800", "\x00", '"\\'])
def test_stored_json_is_ascii(text: str) -> None:
    import json

    stored = ascii_json({"a": text, "n": 0.1})
    assert stored.isascii()
    assert json.loads(stored) == {"a": text, "n": 0.1}
