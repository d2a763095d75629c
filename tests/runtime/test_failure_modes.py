"""The nine ways in which learning in the background goes wrong, each provoked by a scripted reviewing model."""

import threading

import pytest

from hermes_agent.learning.overlaps import find_overlaps
from hermes_agent.learning.review import POLICY, RULE
from hermes_agent.skills.format import parse_skill
from hermes_agent.skills.skill import Author, Origin, Shelf
from hermes_agent.types.trace import RunStatus
from tests.harness.rig import Rig, call, calling, saying, until
from tests.runtime.reviewing import (
    REVIEW,
    WORK,
    Learner,
    Thinking,
    creating,
    draft,
    hard_work,
    learner,
    markdown,
    steps,
)

USER = Author(origin=Origin.USER)
NEVER = {"creation_nudge_interval": 0}


def overlaps(it: Learner) -> list[tuple[str, str]]:
    """The skills of the user's shelf that the curator finds alike."""
    held = it.agent.wait(it.knowledge.library.all())
    found = find_overlaps(one.skill for one in held if one.shelf is Shelf.USER)
    return [(one.one, one.other) for one in found]


def origins(it: Learner, name: str) -> list[tuple[str, str]]:
    """Who wrote each version of a skill, and how."""
    stats = it.agent.wait(it.store.skills.find("user", name))
    assert stats is not None
    return [(one.action, one.origin) for one in it.agent.wait(it.store.skills.versions(stats.id))]


@pytest.mark.req("S12", "S5", "L5")
def test_over_capture_a_second_skill_for_the_same_thing_is_an_addition_to_the_first(local_rig: Rig) -> None:
    again = draft(name="jar-sorting", pitfalls=["Lids come off when a jar is tilted."])
    model = Thinking(hard_work(), extraction=[saying(draft(name="sorting-jars"))])
    with learner(local_rig, model, skills=NEVER) as it:
        it.run("Sort the jars on shelf north.")
        model.change(extraction=[saying(again)])
        it.run("Sort the jars on shelf south.", session="new")
        assert list(it.skills()) == ["sorting-jars"]
        kept = parse_skill(it.skills()["sorting-jars"]["SKILL.md"])
        assert kept.pitfalls == ("The lever jams.", "Lids come off when a jar is tilted.")
        assert [work.status for work in it.works()] == ["done", "done"]
        assert overlaps(it) == []


@pytest.mark.req("S12", "S5")
def test_over_capture_a_reviewer_that_insists_on_a_second_skill_leaves_the_curator_a_finding(local_rig: Rig) -> None:
    wordy = "Sort jars on pantry shelves by date. Use when jars on a shelf are to be sorted."
    review = [creating("sorting-jars", description=wordy), creating("sorting-pantry-jars", description=wordy)]
    with learner(local_rig, Thinking(steps(1), review)) as it:
        it.run("work")
        found = overlaps(it)
        assert found == [("sorting-jars", "sorting-pantry-jars")]
        stale = calling(call("skill_manage", action="create", name="sorting-jars", content=markdown("sorting-jars")))
        it.model.change(review=[stale])
        it.run("work")
        ((_, status, text),) = it.model.of(REVIEW)[-1].results()
        assert (status, "there is a skill sorting-jars already" in text) == ("error", True)


@pytest.mark.req("S12", "S10")
def test_over_capture_two_skills_for_one_thing_are_merged_at_once_and_can_be_undone(local_rig: Rig) -> None:
    wordy = "Sort jars on pantry shelves by date. Use when jars on a shelf are to be sorted."
    review = [creating("sorting-jars", description=wordy), creating("sorting-pantry-jars", description=wordy)]
    eager = {"creation_nudge_interval": 1, "curate": True}
    with learner(local_rig, Thinking(steps(1), review), skills=eager) as it:
        it.run("work")
        reviewed, curated = it.works()
        assert (reviewed.kind, curated.kind) == ("review", "curation")
        assert (len(it.skills()), overlaps(it)) == (1, [])
        assert "undo with" in curated.summary
        (merged,) = it.skills()
        held = it.agent.wait(it.knowledge.library.get(merged))
        assert held.stats.validated == held.version, "what was put together is tried like anything else"


@pytest.mark.req("S12", "S2")
def test_under_capture_the_count_goes_on_over_turns_and_the_prompt_asks_for_skills(rig: Rig) -> None:
    model = Thinking(steps(3), [creating("sorting-jars"), saying("made one")])
    with learner(rig, model, skills={"creation_nudge_interval": 10}) as it:
        session = it.run("one").session_id
        for request in ("two", "three"):
            it.run(request, session=session)
        assert it.skills() == {}
        it.run("four", session=session)
        assert list(it.skills()) == ["sorting-jars"]
        system = model.of(WORK)[0].system
        for told in ("five or more calls", "hard to get past", "was not obvious", "patch it at once"):
            assert told in system


@pytest.mark.req("S12", "S5")
def test_stale_prohibitions_what_was_only_missing_here_is_never_written_down(local_rig: Rig) -> None:
    said = " ".join(POLICY.read_text().split())
    for rule in (
        "a program, a package, a key or a permission was missing",
        "failures that passed",
        "broad prohibitions",
    ):
        assert rule in said
    viewing = calling(call("skill_view", name="sorting-jars"))
    failing = [
        calling(call("press", lever="unarmed")),
        calling(call("press", lever="locked")),
        calling(call("press", lever="stuck")),
    ]
    model = Thinking([viewing, *failing, *steps(1)], [saying("nothing")])
    with learner(local_rig, model, learning={"mode": "on"}) as it:
        by = Author(origin=Origin.REVIEW)
        it.agent.wait(it.knowledge.editing.create("sorting-jars", markdown("sorting-jars"), by))
        it.run("Sort the jars.")
        assert "Never record" in model.of(REVIEW)[0].request
        assert parse_skill(it.skills()["sorting-jars"]["SKILL.md"]).pitfalls == ("press fails with ValueError",)


@pytest.mark.req("S12", "S3")
def test_review_latency_the_answer_is_delivered_before_a_review_that_hangs_even_begins(local_rig: Rig) -> None:
    held = threading.Event()
    model = Thinking(steps(1), [creating("sorting-jars")], held=held)
    with learner(local_rig, model) as it:
        first = it.agent.run("one")
        until(model.waiting.is_set)
        second = it.agent.run("two", session=first.session_id)
        assert (first.answer, second.answer, it.skills()) == ("all is done", "all is done", {})
        for result in (first, second):
            events = it.agent.wait(it.store.journal.run_events(result.run_id))
            delivered = next(entry.at for entry in events if type(entry.event).__name__ == "DeliveryFinished")
            assert all(work.at >= delivered for work in it.works() if work.run_id == result.run_id)
        held.set()
        it.settle()
        assert (len(it.works()), list(it.skills())) == (2, ["sorting-jars"])


@pytest.mark.req("S12", "S6")
def test_review_side_effects_every_other_tool_is_refused_by_name_and_by_rule(local_rig: Rig) -> None:
    code = "from hermes import tools\ntools.write_file(path='kept.txt', content='ruined')\n"
    tried = [
        call("terminal", command="rm kept.txt"),
        call("write_file", path="kept.txt", content="ruined"),
        call("use_tool", name="write_file", arguments={"path": "kept.txt", "content": "ruined"}),
        call("use_tool", name="use_tool", arguments={"name": "terminal", "arguments": {"command": "rm kept.txt"}}),
        call("execute_code", code=code),
        call("tool_search", query="delete files"),
        call("no_such_tool"),
        call("look", place="north"),
    ]
    model = Thinking([calling(call("read_file", path="kept.txt")), *steps(1)], [calling(*tried), saying("done")])
    with learner(local_rig, model) as it:
        kept = local_rig.workspace / "kept.txt"
        kept.write_text("mine\n")
        before = {path: path.read_bytes() for path in local_rig.workspace.rglob("*") if path.is_file()}
        assert it.run("read kept.txt").ok
        assert {path: path.read_bytes() for path in local_rig.workspace.rglob("*") if path.is_file()} == before
        named = [
            "terminal",
            "write_file",
            "write_file",
            "use_tool",
            "execute_code",
            "tool_search",
            "no_such_tool",
            "look",
        ]
        allowed = "(allowed: memory, skill_manage, skill_view, skills_list)"
        assert model.of(REVIEW)[-1].results() == [
            (name, "refused", f'{{"error":"{name} is refused: {RULE} {allowed}"}}') for name in named
        ]


@pytest.mark.req("S12", "S6")
def test_review_side_effects_a_tool_that_calls_tools_reaches_no_further_than_the_review(local_rig: Rig) -> None:
    review = [calling(call("skill_manage", action="create", name="../../etc", content=markdown("etc")))]
    review += [calling(call("skill_manage", action="write_file", name="sorting-jars", path="../x", content="x"))]
    review += [calling(call("memory", action="add", target="../../x", text="x"))]
    model = Thinking(steps(1), review)
    with learner(local_rig, model) as it:
        outside = sorted(local_rig.home.parent.iterdir())
        it.run("work")
        assert [status for _, status, _ in model.of(REVIEW)[-1].results()] == ["error"] * 3
        assert (sorted(local_rig.home.parent.iterdir()), it.skills(), it.memory()) == (outside, {}, {})


@pytest.mark.req("S12", "S4")
def test_recursive_learning_a_review_is_never_reviewed_and_teaches_nothing(local_rig: Rig) -> None:
    busy = [calling(call("skills_list", query=f"q {number}")) for number in range(12)]
    model = Thinking(steps(1), [*busy, saying("nothing")])
    with learner(local_rig, model, learning={"mode": "on"}, memory={"nudge_interval": 1}) as it:
        result = it.run("work")
        assert [(work.kind, work.run_id, work.status) for work in it.works()] == [("review", result.run_id, "done")]
        assert len([one for one in model.of(REVIEW) if len(one.since_request()) == 1]) == 1
        taught = it.store.database.read(lambda connection: connection.run("SELECT run_id FROM lessons"))
        assert it.agent.wait(taught) == [(result.run_id,)]
        it.run("more work", session=result.session_id)
        assert [work.kind for work in it.works()] == ["review", "review"]


@pytest.mark.req("S12", "S9", "A6")
def test_skill_cache_staleness_seen_at_once_and_in_the_next_session_while_the_prefix_stays(rig: Rig) -> None:
    noting = calling(call("memory", action="add", text="The pantry has four shelves."))
    viewing = [calling(call("skill_view", name="sorting-jars")), saying("seen")]
    model = Thinking({"work": steps(1), "see": viewing}, [creating("sorting-jars"), noting, saying("made one")])
    with learner(rig, model) as it:
        session = it.run("work").session_id
        it.model.change(review=[saying("nothing")])
        it.run("see", session=session)
        ((tool, status, text),) = model.of(WORK)[-1].results()
        assert (tool, status, "1. Look at the shelf." in text) == ("skill_view", "ok", True)
        assert len({(one.system, one.tools) for one in model.asked}) == 1
        assert "sorting-jars" not in model.of(WORK)[-1].system
        it.run("work", session="new")
        fresh = model.of(WORK)[-1].system
        assert "- sorting-jars: Sort the pantry. Use when jars are to be sorted." in fresh.splitlines()
        assert "The pantry has four shelves." in fresh
        it.run("see", session=session)
        assert model.of(WORK)[-1].system == model.asked[0].system


@pytest.mark.req("S12", "S8")
def test_provenance_loss_who_wrote_what_is_told_apart_through_edits_and_undo(rig: Rig) -> None:
    model = Thinking({"write": [creating("stacking-tins"), saying("ok")], "work": steps(1)}, [creating("sorting-jars")])
    with learner(rig, model) as it:
        it.run("write")
        it.run("work")
        (work,) = it.works()
        held = it.agent.wait(it.knowledge.library.get("sorting-jars"))
        patch = it.knowledge.editing.patch("sorting-jars", "Look", "Peer", USER)
        assert it.agent.wait(patch).ok
        made = {name: it.agent.wait(it.knowledge.library.get(name)) for name in ("sorting-jars", "stacking-tins")}
        assert {name: one.origin for name, one in made.items()} == {
            "sorting-jars": Origin.REVIEW,
            "stacking-tins": Origin.FOREGROUND,
        }
        assert made["sorting-jars"].stats.made_by == held.stats.made_by == work.payload["batch"]
        assert origins(it, "sorting-jars") == [("create", "background-review"), ("patch", "user")]
        restored = it.knowledge.editing.restore("sorting-jars", held.version, USER)
        assert it.agent.wait(restored).ok
        it.agent.wait(it.growth.undo(work.id))
        assert origins(it, "sorting-jars") == [
            ("create", "background-review"),
            ("patch", "user"),
            ("restore", "user"),
            ("undo", "user"),
        ]
        assert it.agent.wait(it.knowledge.editing.restore("sorting-jars")).ok
        assert it.agent.wait(it.knowledge.library.get("sorting-jars")).origin is Origin.REVIEW


@pytest.mark.req("S12", "S1")
def test_prompt_bloat_a_hundred_skills_take_no_more_than_their_share(local_rig: Rig) -> None:
    with learner(local_rig, Thinking(steps(0), [saying("nothing")]), skills=NEVER) as it:
        for number in range(100):
            name = f"sorting-shelf-{number}"
            folder = local_rig.home / "skills" / name
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(
                markdown(name, description=f"Sort shelf {number}. " + "Much to say. " * 20)
            )
        tuning = markdown("tuning-a-harp", description="Tune the strings of a harp. Use when a harp sounds wrong.")
        assert it.agent.wait(it.knowledge.editing.create("tuning-a-harp", tuning, USER)).ok
        assert it.run("My harp sounds wrong, tune its strings.").status is RunStatus.DONE
        index = it.model.of(WORK)[0].system.split("# skills\n")[1].split("\n\n# ")[0]
        listed = index[index.index("\n- ") + 1 :]
        lines = listed.splitlines()
        assert (len(listed) <= 1500, max(map(len, lines)) <= 80, "- tuning-a-harp:" in listed) == (True,) * 3
        assert lines[-1].startswith("and ")
