"""Corrections in the next message: found where they are plain, and nowhere else; the run before is judged by them."""

import asyncio

import pytest

from hermes_agent.learning.corrections import REASON, is_correction, judge_correction
from hermes_agent.store.judging import Judgement, judge
from hermes_agent.store.open import Store
from hermes_agent.types.events import InboxMode, Judged, RunFinished
from hermes_agent.types.trace import Judge, Outcome, RunStatus, Trace

REQUEST = "Sum the amounts in march.csv and write the total into report.txt"
ANSWER = "Done: the total is in report.txt."
QUESTION = "The total is 41. Shall I also delete march.csv?"

CORRECTIONS = [
    "no, that's wrong",
    "No, that is not what I asked for.",
    "Nope, still wrong",
    "no, use the other file",
    "No, not the March file. The April one.",
    "no it should be in euros",
    "No, the other column",
    "no, you forgot the header",
    "No. I said the total, not the average",
    "wrong",
    "Wrong file!",
    "That's wrong, the total is 42.",
    "that is incorrect. please look again",
    "That’s not right",
    "This is not what I wanted",
    "it's still broken",
    "The result is wrong, it must be 42",
    "That isn't what I meant.",
    "Hmm, that's not correct",
    "Sorry, but that's not it",
    "not what I asked for",
    "not like that!",
    "still fails",
    "It still fails with the same error",
    "the tests are still failing",
    "Still not working",
    "still the same error",
    "I still get the same error",
    "I'm still getting an exception in line 3",
    "it doesn't work",
    "That didn't work.",
    "doesn't work either",
    "same error",
    "You forgot to close the file",
    "you missed the last row",
    "You didn't write the report",
    "you deleted the wrong file",
    "You've misunderstood: I need the sum per month.",
    "undo that",
    "Please undo your changes",
    "revert it and use the old version",
    "Don't do that again",
    "try again",
    "I meant the April file",
    "I said Python, not Perl",
    "I told you to keep the header",
    "Actually, I asked for a sum, not an average",
    "Nein, das ist falsch",
    "Nein, nicht die Datei vom März",
    "nein, nimm die andere Spalte",
    "Das stimmt nicht.",
    "Das ist leider falsch",
    "das war nicht das, was ich wollte",
    "falsch!",
    "Es funktioniert immer noch nicht",
    "geht nicht",
    "Immer noch derselbe Fehler",
    "Du hast die letzte Zeile vergessen",
    "du hast die falsche Datei gelöscht",
    "Mach das bitte rückgängig",
    "Ich meinte die Datei vom April",
    "Ich wollte die Summe, sondern nicht den Durchschnitt",
    "Versuch es bitte nochmal",
    "Sum the amounts in march.csv and write the total into report.txt, not the average",
    "I still want this: sum the amounts in march.csv, write the total into report.txt",
]

OTHERS = [
    "thanks",
    "Thanks, that's great!",
    "thank you, no further questions",
    "perfect",
    "Well done",
    "not bad",
    "Not bad at all!",
    "no problem",
    "No worries, thanks",
    "no thanks",
    "No, thank you.",
    "No, that's all",
    "no, that's fine",
    "No, that is exactly what I wanted",
    "Nope, that's it.",
    "no need",
    "no idea",
    "No, I'm good",
    "no, nothing else",
    "no, not yet",
    "No, don't worry about it",
    "no, it should be fine",
    "No",
    "Oh no!",
    "nope",
    "No Country for Old Men: who directed it",
    "No. 5 is the next chapter, please summarise it",
    "What's wrong with this function?",
    "What is wrong here",
    "Wrong number of arguments: what does that error mean",
    "wrong password: how do I reset it",
    "That's not bad",
    "that's not a problem",
    "It's not urgent",
    "is that wrong?",
    "That's wrong, isn't it?",
    "are there still failing tests",
    "Does it still fail on Windows?",
    "I still need a chart of it",
    "I still have a question about the file",
    "Still, I would like a second opinion on the design",
    "You didn't have to do that, thank you!",
    "you did not mention the tax rate; what is it?",
    "You are right",
    "you're wrong about many things, said the fox: translate this",
    "undo the last commit in the other repository",
    "Revert commit 3f2a and push",
    "how do I undo a commit",
    "Explain why this doesn't work: print(x",
    "This doesn't work: for x in range(3) print(x)",
    "I asked my boss about the budget. Write him a reminder.",
    "I wanted to thank you",
    "I meant to ask: what is the VAT in Spain",
    "I said hello to her. Translate that into French",
    "again",
    "Now do the same for april.csv",
    "and the total for April",
    "Sum the amounts in april.csv and write the total into spring.txt, not into report.txt",
    "Write a test that fails when the total is wrong",
    "Fix the bug that users still see",
    "don't forget to mail it to Anna",
    "Do not delete anything in the archive folder, only list it",
    "stop the server",
    "try again tomorrow at nine",
    '"No, that\'s wrong" — translate this into Spanish',
    "> it still fails\nwhat does he mean",
    "Summarise: it's broken glass everywhere in the poem",
    "nicht schlecht",
    "Nein danke",
    "Nein, das ist alles",
    "Nein, passt so",
    "nein, mehr nicht",
    "kein Problem",
    "Das ist nicht schlimm",
    "du hast recht",
    "Du hast das toll gemacht",
    "Was ist falsch an dieser Zeile?",
    "Geht das nicht auch mit awk?",
    "Falsche Freunde im Englischen: nenne fünf",
    "Ich wollte dich nicht stören, aber wie spät ist es",
    "immer noch ein Wunsch: ein Diagramm",
    "/etc/hosts is wrong on the server, fix it",
    "",
    "   ",
    "🙂",
    "\x00\ud800",
    "no " * 5000,
    "still " * 5000,
]


@pytest.mark.parametrize("message", CORRECTIONS)
def test_corrections_are_found(message: str) -> None:
    sure = is_correction(REQUEST, ANSWER, message)
    assert sure is not None and 0.8 <= sure <= 1.0


@pytest.mark.parametrize("message", OTHERS)
def test_nothing_else_is_taken_for_one(message: str) -> None:
    assert is_correction(REQUEST, ANSWER, message) is None


@pytest.mark.parametrize(
    "message", ["no, don't", "No, use the trash instead", "nein, nicht die Datei", "no, that's wrong"]
)
def test_a_no_to_a_question_is_an_answer(message: str) -> None:
    assert is_correction(REQUEST, ANSWER, message) is not None
    assert is_correction(REQUEST, QUESTION, message) is None


def test_blame_counts_also_after_a_question() -> None:
    assert is_correction(REQUEST, QUESTION, "that's wrong, the total is 42") is not None


@pytest.mark.parametrize(
    ("request_before", "message"),
    [
        ("run the tests in the backend folder", "run the tests in the backend folder again"),
        ("list files", "list files again"),
        ("what is not in the index of the book", "what is not in the index of the book"),
    ],
)
def test_doing_something_once_more_is_no_correction(request_before: str, message: str) -> None:
    assert is_correction(request_before, ANSWER, message) is None


class Heard:
    """Keeps what learning was told."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []

    async def learn(self, trace: Trace) -> None:
        self.traces.append(trace)


async def _run(store: Store, session_id: str, text: str, status: RunStatus = RunStatus.DONE) -> str:
    await store.inbox.put(session_id, text, InboxMode.QUEUE, {"model": "m"})
    run = await store.runs.begin(session_id, "me", "m")
    assert run is not None
    if status is not RunStatus.OPEN:
        finished = RunFinished(answer=ANSWER, status=status, outcome=Outcome(status=status))
        await store.journal.append(run.id, run.epoch, [finished])
    return run.id


async def _session(store: Store) -> str:
    return (await store.sessions.create(agent="a", surface="cli", workspace="/w", title="t")).id


@pytest.mark.req("H7")
def test_a_correction_judges_the_run_before(store: Store) -> None:
    async def work() -> None:
        heard, session = Heard(), await _session(store)
        first = await _run(store, session, REQUEST)
        second = await _run(store, session, "that's wrong", RunStatus.OPEN)
        made = await judge_correction(store, heard.learn, second, "that's wrong")
        after = Outcome(status=RunStatus.FAILED, judged_by=Judge.USER, reason=REASON)
        assert made == Judgement(run_id=first, before=Outcome(status=RunStatus.DONE), after=after)
        assert heard.traces == [await store.traces.of_run(first)]
        assert heard.traces[0].outcome == after
        last = (await store.journal.run_events(first))[-1].event
        assert last == Judged(success=False, by=Judge.USER, reason=REASON)
        assert await judge_correction(store, heard.learn, second, "that's wrong") is None

    asyncio.run(work())


def test_what_was_judged_and_what_was_interrupted_stays(store: Store) -> None:
    async def work() -> None:
        heard, session = Heard(), await _session(store)
        first = await _run(store, session, REQUEST)
        await judge(store, first, success=True, by=Judge.VERIFIER, reason="tests pass")
        second = await _run(store, session, "that's wrong", RunStatus.INTERRUPTED)
        assert await judge_correction(store, heard.learn, second, "that's wrong") is None
        third = await _run(store, session, "still wrong", RunStatus.OPEN)
        assert await judge_correction(store, heard.learn, third, "still wrong") is None
        assert await judge_correction(store, heard.learn, first, "that's wrong") is None
        assert await judge_correction(store, heard.learn, "nobody", "that's wrong") is None
        assert heard.traces == []

    asyncio.run(work())
