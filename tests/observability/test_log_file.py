"""The log file: nobody else may read it, no secret is in it, it does not grow for ever, and many may write it."""

import json
import os
import stat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.observability.logs import KEPT, log_files
from hermes_agent.observability.sinks import LogFile
from hermes_agent.safety.redact import Redactor
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.events import AssistantMessage, CallFinished, ModelCalled, RunFinished, Usage, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus, Outcome, RunStatus

KEY = "sk-" + "a" * 24


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.req("R10")
def test_a_run_line_by_line(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "logs" / "hermes.log", clock=lambda: 12.3456)
    log.event("r1", UserMessage(text="my secret wish"))
    log.event(
        "r1",
        ModelCalled(
            provider="p", model="m", latency_ms=5, usage=Usage(input=1, output=2), failure=ModelFailure.OVERLOAD
        ),
    )
    log.event("r1", AssistantMessage(text="what I think", calls=(ToolCall(id="a", name="t", arguments={"x": "y"}),)))
    log.event("r1", CallFinished(call_id="a", tool="t", status=CallStatus.ERROR, text="its output", error="parse"))
    log.event("r1", RunFinished(answer="the answer", status=RunStatus.FAILED, outcome=Outcome(status=RunStatus.FAILED)))
    log.close()
    here = {"at": 12.346, "run": "r1"}
    assert lines(tmp_path / "logs" / "hermes.log") == [
        {**here, "level": "info", "kind": "user_message"},
        {
            **here,
            "level": "warning",
            "kind": "model_called",
            "provider": "p",
            "model": "m",
            "latency_ms": 5,
            "tokens": {"input": 1, "output": 2, "cached": 0},
            "failure": "overload",
            "decision": "",
        },
        {**here, "level": "info", "kind": "assistant_message", "calls": ["t"], "stop": ""},
        {
            **here,
            "level": "warning",
            "kind": "call_finished",
            "tool": "t",
            "call": "a",
            "status": "error",
            "error": "parse",
            "duration_ms": 0,
            "attempts": 1,
        },
        {**here, "level": "error", "kind": "run_finished", "status": "failed", "judged_by": "inferred"},
    ]


@pytest.mark.req("R10")
def test_secrets_are_taken_out_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    LogFile(path).note("notice", text=f"called with {KEY}", more={"deep": [f"x{KEY}", f" {KEY}"]})
    known = LogFile(path, redactor=Redactor(["hunter2hunter2"]))
    known.note("notice", reason='said "hunter2hunter2"\nagain')
    known.note("notice", reason=f"\n{KEY}")
    assert lines(path)[2]["reason"] == "\n[redacted:api-key]"
    assert KEY not in path.read_text().replace(f"x{KEY}", "") and "hunter2" not in path.read_text()
    assert lines(path)[0]["text"] == "called with [redacted:api-key]"
    assert lines(path)[1]["reason"] == 'said "[redacted:secret]"\nagain'


def test_hostile_text_stays_one_line_of_valid_json(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    LogFile(path).note("notice", text='a\n{"kind":"forged"}\r\x00\x1b[31m\u2028\udc80"')
    (line,) = lines(path)
    assert line["text"] == 'a\n{"kind":"forged"}\r\x00\x1b[31m\u2028\ufffd"'


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "logs" / "hermes.log"
        LogFile(path).note("a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        path.chmod(0o644)
        LogFile(path).note("b")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_it_is_rotated_while_it_is_written_and_old_files_go(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    log = LogFile(path, largest=2_000)
    for number in range(400):
        log.note("n", number=number)
    files = log_files(path)
    assert [file.name for file in files] == [f"hermes.log.{n}" for n in range(KEPT, 0, -1)] + ["hermes.log"]
    assert {path.name for path in tmp_path.iterdir()} == {file.name for file in files}
    numbers = [line["number"] for file in files for line in lines(file)]
    assert numbers == list(range(400 - len(numbers), 400)) and 60 < len(numbers) < 400
    assert all(file.stat().st_size < 2_200 and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def _write_many(path: str, writer: int, count: int) -> None:
    log = LogFile(Path(path), largest=20_000)
    for number in range(count):
        log.note("n", writer=writer, number=number)


def test_many_processes_write_one_log_and_lose_nothing(tmp_path: Path) -> None:
    """Small enough that nothing is rotated out of reach: three old files and the last hold all lines."""
    path = tmp_path / "hermes.log"
    context = get_context("forkserver")
    writers = [context.Process(target=_write_many, args=(str(path), number, 200)) for number in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    found = sorted((line["writer"], line["number"]) for file in log_files(path) for line in lines(file))
    assert found == [(writer, number) for writer in range(3) for number in range(200)]
    assert len(log_files(path)) > 1


def test_a_log_that_was_deleted_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    log = LogFile(path)
    log.note("a")
    path.unlink()
    log.note("b")
    assert [line["kind"] for line in lines(path)] == ["b"]


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    log = LogFile(tmp_path / "logs" / "hermes.log")
    log.note("a")
    log.event("r", UserMessage(text="x"))
