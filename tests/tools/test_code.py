import asyncio
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.config.settings import SandboxKind
from hermes_agent.tools.builtin.code import execute_code
from hermes_agent.tools.builtin.files import read_file, write_file
from hermes_agent.tools.code.bridge import Bridge, BridgeLimits
from hermes_agent.tools.tool import declared_tool, tool
from hermes_agent.types.tools import Label, ToolResult
from tests.tools.context import Context, gone
from tests.tools.workshop.bench import confine

pytestmark = pytest.mark.req("A4", "R3")
PRIVATE = frozenset({Label.PRIVATE})


@tool(capabilities=("network",), effect="none")
async def fetched(text: str) -> ToolResult:
    """Text that a stranger wrote."""
    return ToolResult(text=text, labels=frozenset({Label.UNTRUSTED}))


@tool(capabilities=("shell",), effect="once")
async def other_shell() -> str:
    """A command."""
    raise AssertionError("was called")


@tool(capabilities=(), effect="none")
async def slow() -> str:
    """Never ends."""
    await asyncio.sleep(600)
    return "late"


@tool(capabilities=(), effect="none")
def bursting() -> str:
    """Raises."""
    raise RuntimeError("burst")


@pytest.fixture
def context(tmp_path: Path) -> Context:
    made = Context(tmp_path)
    for function in (read_file, write_file, fetched, other_shell, slow, bursting):
        declared = declared_tool(function)
        assert declared is not None
        made.tools.tools[declared.spec.name] = declared
    return made


@pytest.fixture(autouse=True)
def no_folder_left(tmp_path: Path) -> Iterator[None]:
    """Folders of sockets are made in a place of their own and must be gone afterwards."""
    short = Path(tempfile.mkdtemp(prefix="t"))
    before, tempfile.tempdir = tempfile.tempdir, str(short)
    yield
    tempfile.tempdir = before
    left = list(short.glob("hermes-run-*"))
    shutil.rmtree(short)
    assert left == []


def run(context: Context, code: str, **arguments: Any) -> ToolResult:
    return context.now(execute_code, code=code, **arguments)


def test_what_it_prints_is_the_result(context: Context) -> None:
    context.write("mine.py", "VALUE = 7")
    context.write("json.py", "raise SystemExit('hijacked')")
    code = """
import os, sys, json
from mine import VALUE
print(os.getcwd(), VALUE, __name__)
print('é\u2028', file=sys.stderr)
"""
    assert run(context, code) == ToolResult(text=f"{context.workspace} 7 __main__\né\u2028", labels=PRIVATE)
    assert run(context, "try: input()\nexcept EOFError: print('no input')").text == "no input"
    assert run(context, "x = 1").text == "(no output)"


def test_it_calls_tools(context: Context) -> None:
    context.write("a.txt", "one\n")
    code = """
from hermes import call, tools
print(call("read_file", path="a.txt"))
print(call("write_file", path="b.txt", content="x" * 100_000)["ok"])
print(call("read_file", path="none"))
print(call("bursting"), call("read_file", way="wrong")["error"], call("nothing")["error"])
print([found["name"] for found in tools("read")])
"""
    read = context.now(read_file, path="a.txt").text
    result = run(context, code)
    assert result.labels == PRIVATE
    assert result.text.splitlines() == [
        str({"ok": True, "text": read, "error": ""}),
        "True",
        "{'ok': False, 'text': \"'none' does not exist\", 'error': 'not_found'}",
        "{'ok': False, 'text': 'RuntimeError: burst', 'error': 'RuntimeError'} ArgumentProblem unknown_tool",
        "['read_file']",
    ]
    assert (context.workspace / "b.txt").stat().st_size == 100_000
    assert context.tools.called[0] == ("read_file", {"path": "a.txt"})


@pytest.mark.req("B5")
def test_the_result_carries_the_labels_of_what_it_called(context: Context) -> None:
    result = run(context, "from hermes import call\nprint(call('fetched', text='hello')['text'])")
    assert result == ToolResult(text="hello", labels=frozenset({Label.PRIVATE, Label.UNTRUSTED}))


def test_a_traceback_is_the_error_with_the_right_lines(context: Context) -> None:
    code = "print('before')\ndef inner():\n    return 1 / 0\n\ninner()\n"
    result = run(context, code)
    assert (result.ok, result.error) == (False, "exit_1")
    assert result.text.splitlines() == [
        "before",
        "Traceback (most recent call last):",
        '  File "code.py", line 5, in <module>',
        "    inner()",
        '  File "code.py", line 3, in inner',
        "    return 1 / 0",
        *(["           ~~^~~"] if "~~^~~" in result.text else []),
        "ZeroDivisionError: division by zero",
        "[exit code 1]",
    ]
    broken = run(context, "a = 1\nb = = 2\n")
    assert broken.text.splitlines()[0] == '  File "code.py", line 2' and "SyntaxError" in broken.text
    assert run(context, "raise SystemExit(3)").error == "exit_3"


def test_bad_arguments(context: Context) -> None:
    assert [
        run(context, **arguments).error
        for arguments in ({"code": " \n"}, {"code": "1", "timeout": 0}, {"code": "#" * 300_000})
    ] == ["bad_argument", "bad_argument", "too_long"]
    assert context.journal.spawned == []


def test_what_may_not_be_called_from_code(context: Context) -> None:
    names = ["execute_code", "terminal", "process", "clarify", "use_tool", "tool_manage", "other_shell"]
    result = run(context, f"from hermes import call\nprint([call(name)['error'] for name in {names}])")
    assert result.text == str(["not_from_code"] * len(names))
    assert context.tools.called == []


def test_the_number_of_calls_is_limited(context: Context) -> None:
    code = """
from hermes import call
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool:
    answers = list(pool.map(lambda number: call("fetched", text=str(number))["error"], range(60)))
print(sorted(set(answers)), answers.count(""))
"""
    assert run(context, code).text == "['', 'too_many_calls'] 50"
    assert len(context.tools.called) == 50


HOSTILE = {
    "garbage": "s = link(); s.sendall(b'\\xff' * 100_000); s.settimeout(5); print(ended(s))",
    "not json": "s = link(); s.sendall(struct.pack('>I', 5) + b'{{{{{'); print(ended(s))",
    "deep json": "n = 400_000; s = link(); s.sendall(struct.pack('>I', 2 * n) + b'[' * n + b']' * n); print(ended(s))",
    "wrong types": "s = link(); b = b'{\"token\": 1}'; s.sendall(struct.pack('>I', len(b)) + b); print(ended(s))",
    "frame of 4 GB": "s = link(); s.sendall(struct.pack('>I', 2**32 - 1) + b'x'); print(ended(s))",
    "half a frame and gone": "s = link(); s.sendall(struct.pack('>I', 100) + b'x'); s.close(); print('ended')",
    "half a frame kept open": "s = link(); s.sendall(b'\\0'); keep = s; print('ended')",
    "no frame, many times": "keep = [link() for _ in range(60)]; print('ended')",
    "answer never read": """
arguments = {'text': 'x' * 900_000}
question = json.dumps({'token': hermes._given['token'], 'name': 'fetched', 'arguments': arguments}).encode()
for _ in range(20):
    s = link(); s.sendall(struct.pack('>I', len(question)) + question); kept.append(s)
print('ended')""",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_script_sends_harms_only_itself(context: Context, name: str) -> None:
    prelude = """
import hermes, json, socket, struct
kept = []
def link():
    s = socket.socket(socket.AF_UNIX); s.connect(hermes._given['socket']); return s
def ended(s):
    s.settimeout(8)
    try:
        return 'ended' if s.recv(10) == b'' else 'answered'
    except ConnectionError:
        return 'ended'
"""
    result = run(context, prelude + HOSTILE[name])
    assert (result.ok, result.text) == (True, "ended")
    assert run(context, "from hermes import call\nprint(call('fetched', text='alive')['text'])").text == "alive"


def test_a_script_that_floods_the_socket_finds_it_closed(context: Context) -> None:
    code = """
import hermes, socket, time
refused = 0
for number in range(3000):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(hermes._given['socket'])
    except OSError:
        refused += 1
        if refused > 3: break
        time.sleep(0.01)
    s.close()
print(refused > 3)
"""
    assert run(context, code).text == "True"


def test_another_script_without_the_token_gets_nothing(context: Context) -> None:
    async def story() -> list[dict[str, Any] | None]:
        limits = BridgeLimits(wait=0.3)
        bridge = Bridge(context.tools, limits)
        async with bridge.opened() as folder:
            assert os.stat(folder).st_mode & 0o777 == 0o700
            token = bridge.handover(folder)["token"]
            return [
                await asked(folder, {"token": "guess", "name": "fetched", "arguments": {"text": "x"}}),
                await asked(folder, {"token": "é", "name": "fetched", "arguments": {"text": "x"}}),
                await asked(folder, {"name": "fetched", "arguments": {"text": "x"}}),
                await asked(folder, {"token": token, "name": "fetched", "arguments": {"text": "x"}}),
            ]

    async def asked(folder: Path, question: dict[str, Any]) -> dict[str, Any] | None:
        reader, writer = await asyncio.open_unix_connection(folder / "tools")
        data = json.dumps(question).encode()
        writer.write(struct.pack(">I", len(data)) + data)
        answer = await reader.read()
        writer.close()
        return json.loads(answer[4:]) if answer else None

    wrong = {"ok": False, "text": "this socket belongs to another script", "error": "bad_token"}
    assert asyncio.run(story()) == [wrong, wrong, None, {"ok": True, "text": "x", "error": ""}]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os; print('out'); os._exit(4)", "exit_4"),
        ("import os, signal; print('out'); os.kill(os.getpid(), signal.SIGKILL)", "signal_9"),
        ("import os; print('out'); os.abort()", "signal_6"),
        ("print('out')\ndef deep(n): return deep(n + 1)\ndeep(0)", "exit_1"),
        ("import sys, os; print('out'); sys.stdout.close(); os.close(1); os.close(2)", ""),
        (
            "import threading, time; print('out'); threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
            "",
        ),
        ("import sys; print('out'); sys.excepthook = None; sys.stderr = None; raise ValueError", "exit_1"),
        ("print('out'); raise BaseExceptionGroup('g', [SystemExit(2)])", "exit_1"),
        ("import sys; print('out'); sys.modules.clear()", ""),
    ],
)
def test_however_it_ends_it_is_a_result(context: Context, code: str, error: str) -> None:
    result = run(context, code)
    assert (result.error, result.ok) == (error, not error)
    assert result.text.startswith("out")


def test_what_it_leaves_running_is_ended(context: Context) -> None:
    code = """
import os, time
child = os.fork()
if child:
    print(child, flush=True)
else:
    time.sleep(600)
"""
    result = run(context, code)
    assert "left behind were ended" in result.text
    assert gone(int(result.text.split()[0]))


def test_a_script_that_prints_without_end_is_cut(context: Context) -> None:
    result = run(context, "line = 'x' * 999\nfor _ in range(100_000): print(line)")
    assert result.ok and len(result.text) < 20_000 and "bytes left out" in result.text and result.blob


def test_time_is_up_also_while_a_tool_is_called(context: Context) -> None:
    result = run(context, "from hermes import call\nprint('begun')\ncall('slow')", timeout=3)
    assert (result.ok, result.error, result.labels) == (False, "timeout", PRIVATE)
    assert result.text.startswith("begun")


def test_cancelling_ends_the_script_and_removes_the_socket(context: Context) -> None:
    async def story() -> None:
        running = asyncio.create_task(context.call(execute_code, code="from hermes import call\ncall('slow')"))
        for _ in range(3000):
            if context.tools.called:
                break
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(story())
    assert gone(context.journal.spawned[0].identity.pid)


def test_whatever_it_puts_beside_the_socket_is_removed(context: Context) -> None:
    context.write("precious", "kept")
    code = f"""
import hermes, os
folder = os.path.dirname(hermes._given['socket'])
os.symlink({str(context.workspace)!r}, folder + '/link')
os.chdir(folder)
for _ in range(1500):
    os.mkdir('d'); os.chdir('d')
os.unlink(hermes._given['socket'])
print('made')
"""
    assert run(context, code).text == "made"
    assert (context.workspace / "precious").read_text() == "kept"


def test_many_scripts_at_once_do_not_mix(context: Context) -> None:
    async def story() -> list[str]:
        codes = [f"from hermes import call\nprint(call('fetched', text='{number}')['text'])" for number in range(6)]
        results = await asyncio.gather(*(context.call(execute_code, code=code) for code in codes))
        return [result.text for result in results]

    assert asyncio.run(story()) == [str(number) for number in range(6)]


@pytest.mark.parametrize("kind", [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK])
def test_in_each_sandbox_of_this_machine(context: Context, kind: SandboxKind) -> None:
    confine(context, kind)
    context.write("a.txt", "one\n")

    async def story() -> ToolResult:
        other = Bridge(context.tools)
        async with other.opened() as folder:
            code = f"""
import socket
from hermes import call
print(call("read_file", path="a.txt")["ok"])
open("b.txt", "w").write("two")
try:
    socket.socket(socket.AF_UNIX).connect({str(folder / "tools")!r})
    open({str(folder / "new")!r}, "w")
    print("reached the socket of another")
except OSError:
    print("cannot reach the socket of another")
"""
            return await context.call(execute_code, code=code)

    result = asyncio.run(story())
    assert result == ToolResult(text="True\ncannot reach the socket of another", labels=PRIVATE)
    assert (context.workspace / "b.txt").read_text() == "two"
