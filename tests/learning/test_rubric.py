"""How learnable a task is: the seed's examples, the bands, and properties that hold for any text and any history."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.learning.families import Book, learn_family
from hermes_agent.learning.rubric import Band, History, Rubric, Verdict, history_of, rubric_of
from hermes_agent.store.database import Connection
from hermes_agent.store.open import Store, open_store
from tests.store.learning_samples import fill, lesson

GOOD = (
    "Each day download sales data from S3 (CSV), calculate MoM growth rate, send alert email if growth rate < -5%,"
    " otherwise generate standard report to /reports/",
    "Read user behavior logs from PostgreSQL, build RFM model in Python, if connection fails use cached data, export"
    " Excel report",
)
BAD = ("Give me a creative idea", "How are you?", "Explain quantum mechanics")
NAMES = ("repeatability", "clarity", "tool_diversity", "error_scenarios")


def scores(task: str, history: History | None = None) -> dict[str, float]:
    return {one.name: one.score for one in rubric_of(task, history).scores}


def bands(task: str, history: History | None = None) -> dict[str, Band]:
    return {one.name: one.band for one in rubric_of(task, history).scores}


@pytest.mark.req("L8")
def test_the_good_and_the_bad_examples_are_told_apart() -> None:
    good, bad = [rubric_of(task) for task in GOOD], [rubric_of(task) for task in BAD]
    assert [one.verdict for one in good] == [Verdict.LEARNABLE] * len(GOOD)
    assert [one.verdict for one in bad] == [Verdict.NOT_LEARNABLE] * len(BAD)
    assert min(one.total for one in good) - max(one.total for one in bad) > 0.6
    assert all(score.band is Band.LOW for one in bad for score in one.scores)


@pytest.mark.req("L8")
@pytest.mark.parametrize(
    ("question", "task", "band"),
    [
        ("repeatability", "Make the monthly data report", Band.HIGH),
        ("repeatability", "One-time special task", Band.LOW),
        ("clarity", "generate a PDF report with 5 charts", Band.HIGH),
        ("clarity", "help me organize this", Band.LOW),
        ("tool_diversity", "Query the database, compute the trend, send an email", Band.HIGH),
        ("tool_diversity", "Rename a file", Band.LOW),
        ("error_scenarios", "Read the file; it may be missing or corrupt, then download it again", Band.HIGH),
        ("error_scenarios", "Sort these numbers", Band.LOW),
    ],
)
def test_the_bands_of_each_question(question: str, task: str, band: Band) -> None:
    assert bands(task)[question] is band


def test_a_whole_answer() -> None:
    found = rubric_of("How are you?")
    assert found == Rubric(
        scores=found.scores,
        total=0.062,
        verdict=Verdict.NOT_LEARNABLE,
        advice=tuple(one.advice for one in sorted(found.scores, key=lambda one: one.score)),
    )
    assert [one.name for one in found.scores] == list(NAMES) and all(found.advice)
    perfect = next(one for one in rubric_of(GOOD[0]).scores if one.name == "repeatability")
    assert (perfect.band, perfect.advice, perfect.why) == (Band.HIGH, "", ("says that it comes back (each day)",))


def history(**more: float) -> History:
    given = {"runs": 30, "looked_at": 30, "told": 30, "with_errors": 10, "mean_tools": 4.0, **more}
    return History(family="f", name="n", similarity=1.0, **given)  # type: ignore[arg-type]


@pytest.mark.req("L8")
def test_history_outweighs_the_wording() -> None:
    """A task in words that say nothing, which was done thirty times with four tools and errors in between."""
    vague = "Das Übliche, bitte"
    assert rubric_of(vague).verdict is Verdict.NOT_LEARNABLE
    assert rubric_of(vague, history()).verdict is Verdict.LEARNABLE
    dull = history(mean_tools=1.0, with_errors=0, told=0)
    assert scores(GOOD[0], dull)["tool_diversity"] < scores(GOOD[0])["tool_diversity"]
    assert scores(GOOD[1], dull)["error_scenarios"] < scores(GOOD[1])["error_scenarios"]


texts = st.one_of(st.text(max_size=300), st.sampled_from([*GOOD, *BAD]))
counts = st.integers(0, 10_000)


@st.composite
def histories(draw: st.DrawFn) -> History:
    looked_at = draw(st.integers(0, 200))
    part = st.integers(0, looked_at)
    return History(
        family="f",
        name="n",
        similarity=draw(st.floats(0, 1)),
        runs=max(looked_at, draw(counts)),
        told=draw(part),
        successes=draw(part),
        with_errors=draw(part),
        recovered=draw(part),
        mean_tools=draw(st.floats(0, 100)),
        looked_at=looked_at,
    )


@given(texts, st.none() | histories())
def test_any_text_and_history_give_bounded_scores_and_the_same_answer_twice(task: str, past: History | None) -> None:
    found = rubric_of(task, past)
    assert [one.name for one in found.scores] == list(NAMES)
    for one in found.scores:
        assert 0 <= one.score <= 1 and one.why
        assert one.band is (Band.HIGH if one.score >= 0.8 else Band.LOW if one.score <= 0.3 else Band.MEDIUM)
        assert bool(one.advice) == (one.band is not Band.HIGH)
    assert found.total == pytest.approx(sum(one.score for one in found.scores) / 4, abs=0.001)
    assert rubric_of(task, past) == found


@given(texts, st.none() | histories(), st.sampled_from(["every week", "daily", "each morning"]))
def test_saying_that_it_comes_back_never_lowers_repeatability(task: str, past: History | None, often: str) -> None:
    assert scores(f"{task} . {often}", past)["repeatability"] >= scores(task, past)["repeatability"]


@given(texts, st.sampled_from(["if the file is missing", "retry on timeout", "the server may be unavailable"]))
def test_naming_what_may_go_wrong_never_lowers_error_scenarios(task: str, trouble: str) -> None:
    assert scores(f"{task} . {trouble}")["error_scenarios"] >= scores(task)["error_scenarios"]


@given(texts, st.sampled_from(["query the database", "send an email", "draw a chart", "fetch the url"]))
def test_one_more_tool_never_lowers_diversity(task: str, more: str) -> None:
    assert scores(f"{task} . {more}")["tool_diversity"] >= scores(task)["tool_diversity"]


@given(texts, histories(), st.integers(1, 100))
def test_more_of_it_in_the_past_never_lowers_its_score(task: str, past: History, more: int) -> None:
    before = scores(task, past)
    again = msgspec.structs.replace(past, runs=past.runs + more)
    assert scores(task, again)["repeatability"] >= before["repeatability"]
    told = msgspec.structs.replace(past, told=min(past.looked_at, past.told + more))
    assert scores(task, told)["clarity"] >= before["clarity"]
    tools = msgspec.structs.replace(past, mean_tools=past.mean_tools + more)
    assert scores(task, tools)["tool_diversity"] >= before["tool_diversity"]
    errors = msgspec.structs.replace(past, with_errors=min(past.looked_at, past.with_errors + more))
    assert scores(task, errors)["error_scenarios"] >= before["error_scenarios"]


def test_a_text_of_megabytes_is_scored() -> None:
    for piece in ("ab/.,<%5 \n", "<", "9", "a.", "/", " every day"):
        assert 0 <= rubric_of(piece * 500_000).total <= 1


REQUEST = "Summarise the invoices of March in a table"


def _taught(store: Store) -> str:
    """Eight runs of one kind, half of them with an error; and one of another kind."""

    def unit(connection: Connection) -> str:
        founded = Book().place(REQUEST).family_id
        for number in range(8):
            learn_family(connection, founded, REQUEST, 100.0 + number, "s1")
        return founded

    family_id = store.database.write_now(unit)
    plan = "read_file > parse_csv > write_file"
    runs = [
        lesson(n, at=100.0 + n, family=family_id, plan=plan, error="encoding" if n < 4 else "", success=n != 0)
        for n in range(8)
    ]
    fill(store, [*runs, lesson(99, at=1.0, family="elsewhere", plan="shell")])
    return family_id


@pytest.mark.req("L8")
def test_history_comes_from_runs_of_the_same_kind(store: Store) -> None:
    family_id = _taught(store)
    found = store.database.read_now(lambda connection: history_of(connection, "Summarise the invoices of April"))
    assert found is not None and found.similarity > 0.26
    assert msgspec.structs.replace(found, similarity=1.0, name="") == History(
        family=family_id,
        name="",
        similarity=1.0,
        runs=8,
        told=8,
        successes=7,
        with_errors=4,
        recovered=3,
        mean_tools=3.0,
        looked_at=8,
        pitfalls=("parse_csv:encoding",),
    )
    assert store.database.read_now(lambda connection: history_of(connection, "Book a flight to Oslo")) is None


def test_there_is_no_history_in_an_empty_store_or_for_empty_text(home: Path) -> None:
    store = open_store("", home)
    for task in ("", " ", "\x00", "\udc80", "Summarise the invoices"):
        assert store.database.read_now(partial(history_of, task=task)) is None
    store.close()


def test_an_erased_session_leaves_no_pitfalls(home: Path) -> None:
    store = open_store("", home)
    _taught(store)
    store.database.write_now(lambda connection: connection.run("UPDATE lessons SET payload = ''"))
    found = asyncio.run(store.database.read(lambda connection: history_of(connection, REQUEST)))
    assert found is not None and (found.pitfalls, found.looked_at) == ((), 8)
    store.close()
