"""Requests are sorted by the wording of the job, not by its parameters; the same on every replica."""

import random

import pytest

from benchmarks.learning.families import GOAL, adjusted_rand_index, measure, written
from hermes_agent.learning.families import (
    Book,
    Placement,
    centroid_of,
    learn_family,
    learned,
    unique_name,
)
from hermes_agent.skills.similarity import vector_of
from hermes_agent.store.database import Connection
from hermes_agent.store.families import LARGEST_CENTROID, Centroid, Family, clean_name, read_families
from hermes_agent.store.heuristics import value_of
from hermes_agent.store.open import Store
from hermes_agent.types.errors import UsageError

CSV = 'Summarise the ledger.\n1. read_file {"path": "a.csv"} or terminal {"command": "cat a.csv"}'


def family(name: str, *texts: str) -> Family:
    return Family(id=name, name=name, centroid=centroid_of(texts), tasks=len(texts))


def test_parameters_do_not_count() -> None:
    one = 'Add up column amount in /srv/x/sales_2024.csv, 17 rows.\n1. read_file {"path": "/srv/x/sales_2024.csv"}'
    other = 'Add up column amount in ./q3.csv, 9000 rows.\n1. read_file {"path": "q3.csv"}'
    assert vector_of(one) == vector_of(other)
    assert Book().place(one) == Book().place(other)


def test_two_wordings_land_together_and_two_jobs_with_the_same_tools_do_not() -> None:
    totals = "Sum the amounts in the spreadsheet.\n1. read_file {} or terminal {}"
    tests = "Fix the failing unit test.\n1. read_file {} or terminal {}"
    book = Book([family("totals", totals), family("tests", tests)])
    places = [
        book.place("What is the total of the amount column? 1. terminal {} or read_file {}").family_id,
        book.place("The unit test breaks, debug it 1. terminal {} or read_file {}").family_id,
        book.place("Translate the brochure to French 1. terminal {} or read_file {}").is_new,
    ]
    assert places == ["totals", "tests", True]


def test_placing_is_pure_and_does_not_depend_on_the_order_of_families() -> None:
    families = [family(f"f{number}", text) for number, (text, _) in enumerate(written(held_out=False)[::9])]
    first, second = Book(families), Book(reversed(families))
    texts = [text for text, _ in written(held_out=True)[::7]]
    assert [first.place(text) for text in texts] == [second.place(text) for text in texts]
    assert [first.place(text) for text in texts] == [first.place(text) for text in texts]


def test_a_family_can_be_replaced_and_removed() -> None:
    book = Book([family("a", "resize pictures")])
    book.put(family("a", "translate the letter"))
    assert book.place("resize pictures").is_new
    assert book.place("translate the letter") == Placement(family_id="a", similarity=1.0, is_new=False)
    book.remove("a")
    book.remove("never there")
    assert (len(book), book.place("translate the letter").is_new) == (0, True)


def test_a_request_that_founded_a_merged_family_goes_where_that_went() -> None:
    founded = Book().place("resize pictures").family_id
    gone = Family(id=founded, name="resize", merged_into="other")
    book = Book([gone, family("other", "translate the letter")])
    assert book.place("resize pictures") == Placement(family_id="other", similarity=0.0, is_new=False)


def test_names_are_telling_and_unique() -> None:
    request = "Please parse the csv file a.csv and print totals"
    assert unique_name(request, set()) == "parse-csv-totals"
    assert unique_name(request, {"parse-csv-totals"}) == "parse-csv-totals-2"
    assert unique_name("12 /a/b {}", set()) == "task"


def test_a_centroid_is_a_bounded_mean() -> None:
    chance = random.Random(3)
    centroid: Centroid = {}
    for tasks in range(60):
        centroid = learned(
            centroid, " ".join(f"{chance.choice('bdfg')}ork{chance.random()}x" for _ in range(50)), tasks
        )
        centroid = learned(centroid, " ".join("".join(chance.choices("abcdefgh", k=9)) for _ in range(20)), tasks)
    assert len(centroid) == LARGEST_CENTROID
    assert learned({}, "resize pictures", 0) == {
        key: round(weight, 5) for key, weight in vector_of("resize pictures").items()
    }
    assert centroid_of([]) == {}


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\x00\x00", "\ud800 lone", "{" * 5000, '{"a":' * 3000, "/" * 20_000, "a@" * 9000, "é漢字" * 999,
     "x" * 1_000_000, "a." * 20_000, "'" * 9000, "-" * 9000 + "{}"],
)  # fmt: skip
def test_hostile_text_is_placed_like_any_other(text: str) -> None:
    book = Book([family("a", CSV)])
    assert book.place(text) == book.place(text)
    assert book.place(text).family_id
    assert clean_name(unique_name(text, set())) == unique_name(text, set())


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("Parse CSV", "parse-csv"), ("  a__b!! ", "a-b"), ("Ä1", "1"), ("x" * 90, "x" * 40), ("a" * 39 + "  b", "a" * 39)],
)
def test_a_name_is_cleaned(text: str, cleaned: str) -> None:
    assert clean_name(text) == cleaned


@pytest.mark.parametrize("text", ["", "  ", "漢字", "!!!", "\ud800"])
def test_a_name_without_letters_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no name for a family"):
        clean_name(text)


def test_tasks_found_a_family_and_settle_it(store: Store) -> None:
    founded = Book().place(CSV).family_id

    def unit(connection: Connection) -> list[int]:
        counts = []
        for number in range(41):
            learn_family(connection, founded, CSV, 100.0 + number)
            counts.append(value_of(connection, "families"))
        learn_family(connection, "my-family", CSV, 5.0)
        return counts

    changes = store.database.write_now(unit)
    assert changes == [*range(1, 32), *[31] * 9, 32], "a settled family does not tell everybody about every task"
    found = {one.id: one for one in store.database.write_now(read_families)}
    mine = Family(
        id="my-family", name="my-family", named_by="user", centroid=learned({}, CSV, 0), tasks=1, created_at=5.0,
        updated_at=5.0,
    )  # fmt: skip
    assert found["my-family"] == mine
    named = (found[founded].name, found[founded].named_by, found[founded].tasks, found[founded].updated_at)
    assert named == ("summarise-ledger", "text", 41, 140.0)


def test_the_index_of_agreement() -> None:
    assert adjusted_rand_index("aabb", "xxyy") == 1.0
    assert adjusted_rand_index("aabb", "xyxy") == pytest.approx(-0.5)
    assert adjusted_rand_index("aaaa", "aaaa") == 1.0
    assert adjusted_rand_index("aaabbb", "aabbcc") == pytest.approx(0.24242, abs=1e-5)


@pytest.mark.req("H2")
def test_held_out_wording_is_sorted_well() -> None:
    sorting = measure("held out", written(held_out=True)[::2], seeds=3)
    assert (sorting.count, sorting.labels) == (144, 12)
    assert sorting.lowest >= GOAL


def test_no_wording_is_in_both_halves() -> None:
    assert not {text for text, _ in written(held_out=True)} & {text for text, _ in written(held_out=False)}
