"""Self-written tools through their whole life: real files, real processes."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxKind
from hermes_agent.tools.builtin.workshop import tool_manage
from hermes_agent.types.errors import UsageError
from hermes_agent.types.tools import ToolResult
from tests.tools.workshop.bench import ADD, Bench, confine, source

pytestmark = pytest.mark.req("R5")
READY = "add version {} passed its checks and its trial, and is ready: use_tool(name='add', arguments={{…}})"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_tool_is_created_and_used_without_a_restart(bench: Bench) -> None:
    assert bench.create("add", ADD) == ToolResult(text=READY.format(1))
    assert bench.names() == ["read_file", "add"]
    assert bench.use("add", left=2) == ToolResult(text="7")
    assert bench.use("add", left="2", right=3) == ToolResult(text="5")
    assert sorted(path.relative_to(bench.home).as_posix() for path in bench.home.rglob("*.*")) == [
        ".lock",
        "add/history/0001.py",
        "add/state.json",
        "add/tool.py",
    ]
    assert bench.listed() == "add version 1 of 1: good; 2 runs, 0 crashes; reaches nothing: Add two numbers."


def test_it_is_there_after_a_restart_and_nothing_of_it_was_imported(bench: Bench, tmp_path: Path) -> None:
    bench.create("add", ADD)
    again = Bench(tmp_path)
    assert (again.names(), again.broken) == (["read_file", "add"], [])
    assert again.registry.spec("add") == bench.registry.spec("add")
    assert again.use("add", left=1, right=1) == ToolResult(text="2")


def test_the_tool_of_tools(bench: Bench) -> None:
    bench.context.workshop = bench.workshop
    now = bench.context.now
    assert now(tool_manage, action="list").text == "no self-written tools; tool_manage create makes one"
    assert now(tool_manage, action="create", name="add", source=ADD).text == READY.format(1)
    assert now(tool_manage, action="edit", name="add", source=ADD + "# two\n").text == READY.format(2)
    assert now(tool_manage, action="rollback", name="add", version=1).text == "add is at version 1 again"
    assert now(tool_manage, action="list").text.startswith("add version 1 of 1, 2: good")
    assert now(tool_manage, action="edit").error == "bad_argument"


def test_what_a_tool_gives_back(bench: Bench) -> None:
    body = """
print("not the result")
kind = json.loads(text) if text != "example" else None
if kind == "error":
    return {"error": "choose another"}
if kind == "odd":
    return {"set": {1}, "nan": float("nan"), "where": str(context.workspace)}
return "é" * kind if isinstance(kind, int) else kind
"""
    bench.create("echo", source("echo", body, parameters="text: str, context"))
    assert bench.use("echo", text="null") == ToolResult(text="done")
    assert bench.use("echo", text="[1, true]") == ToolResult(text="[1,true]")
    assert bench.use("echo", text='"error"') == ToolResult(ok=False, text="choose another", error="tool_error")
    assert json.loads(bench.use("echo", text='"odd"').text) == {
        "set": "{1}",
        "nan": None,
        "where": str(bench.context.workspace),
    }
    assert bench.use("echo", text="50000") == ToolResult(text="é" * 50_000)
    assert bench.use("echo", text="2000000").error == "crashed"


def test_a_coroutine_that_reads_the_workspace(bench: Bench) -> None:
    bench.context.write("a.txt", "content")
    text = source("peek", "return open(text).read()", capabilities="('files.read',)", example="{'text': 'a.txt'}")
    assert bench.create("peek", text.replace("def peek", "async def peek")).ok
    assert bench.use("peek", text="a.txt") == ToolResult(text="content")


def test_the_trial_of_a_writer_leaves_the_workspace_alone(bench: Bench) -> None:
    body = "open(context.workspace / text, 'w').write('x')\nopen('beside', 'w').close()"
    text = source("scribble", body, capabilities="('files.write',)", parameters="text: str, context")
    assert bench.create("scribble", text).ok
    assert list(bench.context.workspace.iterdir()) == []
    assert bench.use("scribble", text="made").ok
    assert sorted(path.name for path in bench.context.workspace.iterdir()) == ["beside", "made"]


@pytest.mark.parametrize(
    ("name", "text", "error", "part"),
    [
        ("../add", ADD, "bad_name", "small letters"),
        ("Add", ADD, "bad_name", "small letters"),
        ("class", ADD, "bad_name", "small letters"),
        ("read_file", ADD.replace("def add", "def read_file"), "exists", "not self-written"),
        ("add", "def add(:", "refused", "line 1"),
        ("add", ADD.replace("Add two", "Some flattery for two"), "refused", "does not like flattery"),
        ("add", ADD.replace('"""Sums."""', "import ctypes"), "refused", "'ctypes' may not be imported"),
        ("add", ADD.replace("left + right", "left / 0"), "refused", "ZeroDivisionError: division by zero"),
        ("add", ADD.replace("left + right", "{'error': 'no luck'}"), "refused", "gave an error: no luck"),
        (
            "add",
            ADD.replace("timeout=60", "timeout=0.3").replace("return", "while True: pass\n    return"),
            "refused",
            "",
        ),
    ],
)
def test_what_is_not_kept(bench: Bench, name: str, text: str, error: str, part: str) -> None:
    result = bench.create(name, text)
    assert (result.ok, result.error) == (False, error)
    assert part in result.text
    assert bench.names() == ["read_file"]
    assert not bench.home.exists()


def test_wrong_names_and_versions(bench: Bench) -> None:
    bench.create("add", ADD)
    assert bench.create("add", ADD).text == "add exists already (change it with tool_manage edit)"
    assert bench.edit("other", ADD).text == "there is no self-written tool 'other' (there are: add)"
    assert bench.edit("../../etc", ADD).error == "not_done"
    assert bench.rollback("../../etc").error == "not_done"
    assert bench.rollback("add").text == "add has no other good version (tool_manage edit changes it)"
    assert bench.rollback("add", 7).text == "add has no version 7 (there are: 1)"


HIGH = source("reach", "return text", capabilities="('network', 'files.read')")


def test_high_stakes_need_a_person_who_sees_the_text(tmp_path: Path) -> None:
    bench = Bench(tmp_path, answer="yes")
    hostile = HIGH.replace("return text", "return text  # \x1b[2Jharmless\u202e")
    assert bench.create("reach", hostile).ok
    ((question, choices),) = bench.asked
    assert "wants to use: network." in question and "\\u{001b}[2Jharmless\\u{202e}" in question
    assert ("\x1b" in question, "\u202e" in question, choices) == (False, False, ("yes", "no"))
    bench.edit("reach", HIGH)
    bench.rollback("reach")
    assert len(bench.asked) == 2


@pytest.mark.parametrize("answer", [None, "no", "session"])
def test_without_a_yes_nothing_of_it_runs(tmp_path: Path, answer: str | None) -> None:
    bench = Bench(tmp_path, answer=answer)
    assert bench.create("reach", HIGH).text == "not kept: nobody approved a tool that uses network"
    assert (bench.names(), bench.context.journal.spawned) == (["read_file"], [])


def test_a_file_that_was_edited_outside_is_not_run_until_it_was_checked(bench: Bench) -> None:
    bench.create("add", ADD)
    file = bench.home / "add" / "tool.py"
    file.write_text(ADD.replace("left + right", "left * right"))
    with pytest.raises(UsageError, match="edited outside"):
        bench.use("add", left=2)
    assert "edited outside" in bench.listed()
    assert bench.edit("add").text == READY.format(2)
    assert bench.use("add", left=2) == ToolResult(text="10")
    file.write_text("import ctypes\n" + ADD)
    assert bench.edit("add").error == "refused"
    with pytest.raises(UsageError, match="edited outside"):
        bench.use("add", left=2)
    file.write_bytes(b"\xff")
    assert bench.edit("add").error == "not_done"


def test_a_crash_between_two_files_leaves_the_tool_usable(bench: Bench) -> None:
    """The state is written before tool.py: an older text of ours beside a newer state is an interrupted change."""
    bench.create("add", ADD)
    bench.edit("add", ADD.replace("left + right", "left * right"))
    shutil.copy(bench.home / "add/history/0001.py", bench.home / "add/tool.py")
    assert bench.use("add", left=3) == ToolResult(text="15")
    (bench.home / "add/tool.py").unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        bench.use("add", left=3)
    assert bench.rollback("add", 2).ok
    assert bench.use("add", left=3) == ToolResult(text="15")


def test_history_that_was_edited_outside_is_not_gone_back_to(bench: Bench) -> None:
    bench.create("add", ADD)
    bench.edit("add", ADD + "# two\n")
    (bench.home / "add/history/0001.py").write_text(ADD.replace("+", "-"))
    assert "version 1 of add was edited outside" in bench.rollback("add", 1).text
    assert bench.use("add", left=2) == ToolResult(text="7")


def test_broken_states_are_named_and_skipped(bench: Bench, tmp_path: Path) -> None:
    bench.create("add", ADD)
    state = (bench.home / "add/state.json").read_bytes()
    for name, data in {
        "garbage": b"\xff{",
        "empty": b"",
        "deep": b"[" * 100_000,
        "other": state,
        "wrong": state.replace(b'"add"', b'"wrong"').replace(b'"current": 1', b'"current": 9'),
        "read_file": state.replace(b'"add"', b'"read_file"'),
    }.items():
        (bench.home / name).mkdir()
        (bench.home / name / "state.json").write_bytes(data)
    (bench.home / "none").mkdir()
    (bench.home / "linked").symlink_to(bench.home / "add")
    (bench.home / "fifo").mkdir()
    os.mkfifo(bench.home / "fifo/state.json")
    (bench.home / "stray.txt").write_text("x")
    again = Bench(tmp_path)
    assert again.names() == ["read_file", "add"]
    assert [line.split(" ")[0].partition("/")[0] for line in again.broken] == [
        "deep",
        "empty",
        "fifo",
        "garbage",
        "none",
        "other",
        "the",
        "wrong",
    ]
    assert again.use("add", left=1) == ToolResult(text="6")
    assert again.edit("garbage", ADD.replace("def add", "def garbage")).error == "not_done"
    assert again.create("garbage", ADD.replace("def add", "def garbage")).ok
    assert "garbage version 1 of 1: good" in again.listed() and "wrong: broken" in again.listed()


def test_two_sessions_create_the_same_tool_and_one_wins(bench: Bench) -> None:
    async def story() -> list[ToolResult]:
        texts = [ADD, ADD.replace("left + right", "left - right")]
        return list(await asyncio.gather(*(bench.workshop.create("add", text) for text in texts)))

    assert sorted(result.ok for result in asyncio.run(story())) == [False, True]
    assert bench.listed().startswith("add version 1 of 1: good")


def test_runs_at_the_same_time_are_all_counted(bench: Bench) -> None:
    bench.create("add", ADD)

    async def story() -> list[ToolResult]:
        return list(await asyncio.gather(*(bench.used("add", left=number) for number in range(6))))

    assert [result.text for result in asyncio.run(story())] == ["5", "6", "7", "8", "9", "10"]
    assert "6 runs, 0 crashes" in bench.listed()


def test_a_run_that_cannot_be_counted_still_has_its_result(bench: Bench) -> None:
    bench.create("add", ADD)
    tool = bench.registry.get("add")
    shutil.rmtree(bench.home)
    bench.home.write_text("in the way")
    result = asyncio.run(tool.run(tool.bind({"left": 1}), bench.context))
    assert result == ToolResult(text="6")


@pytest.mark.req("R3")
@pytest.mark.parametrize("kind", [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK])
def test_in_each_sandbox_of_this_machine(bench: Bench, tmp_path: Path, kind: SandboxKind) -> None:
    """A declared capability is not enough where the sandbox gives less: here the home is not seen."""
    confine(bench.context, kind)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    text = source("spy", "return open(text).read()", capabilities="('files.read',)", example="{'text': 'a.txt'}")
    bench.context.write("a.txt", "mine")
    assert bench.create("spy", text).ok
    assert bench.use("spy", text="a.txt") == ToolResult(text="mine")
    assert bench.use("spy", text=str(secret)).error == "crashed"
    writer = source(
        "scribble",
        "open(context.workspace / text, 'w').write('x')",
        capabilities="('files.write',)",
        parameters="text: str, context",
    )
    assert bench.create("scribble", writer).ok
    assert bench.use("scribble", text="made").ok
    assert (bench.context.workspace / "made").read_text() == "x"


def test_only_so_many_versions_are_kept(bench: Bench) -> None:
    bench.create("add", ADD)
    spec = bench.registry.spec("add")
    assert spec is not None
    with bench.tools.drawer.locked():
        for number in range(60):
            bench.tools.drawer.add("add", f"{ADD}# {number}\n", spec, "edit")
    kept = sorted(path.name for path in (bench.home / "add/history").iterdir())
    assert (len(kept), kept[0], kept[-1]) == (50, "0012.py", "0061.py")
    assert bench.use("add", left=1) == ToolResult(text="6")
