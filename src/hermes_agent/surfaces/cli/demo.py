"""`hermes demo`: watch it learn, or watch a run survive SIGKILL. No key, no network, no server."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from ...types.errors import HermesError
from ...types.text import one_line
from .console import Console, print_json

_TASK = """Prepare the shop's weekly note. Steps:
1. write_file {"path": "sales.csv", "content": "day,amount\\nmon,120\\ntue,95\\nwed,143\\n"}
2. search_files {"pattern": "mon|tue|wed", "path": "sales.csv"} or read_file {"path": "sales.csv"}
3. terminal {"command": "awk -F, '{s+=$2}END{print s}' sales.csv > total.txt"} verify read_file {"path": "total.txt"}
4. terminal {"command": "echo sent >> outbox.txt; sleep 60"} verify read_file {"path": "outbox.txt"}
5. read_file {"path": "total.txt"}
"""
_WISH = "write hello to the file hello.txt"
_PATIENCE = 30.0


@click.command(short_help="Watch it learn, or survive kill -9, without key or network.")
@click.option("--crash", is_flag=True, help="Kill a run in the middle instead, and watch it go on by itself.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
@click.option("--keep", is_flag=True, help="With --crash: keep the demonstration's folder and print its path.")
def command(crash: bool, as_json: bool, keep: bool) -> int:
    """Twenty tasks on bank exports, with learning and without it, side by side; then one exchange with the embedded
    model. The tools, the sandbox and the database are real. The policy is the Apprentice, a simulated one: it needs no
    key and is no language model.
    """
    return _crash(as_json, keep) if crash else _learning(as_json)


def _learning(as_json: bool) -> int:
    from ...config.load import read_environment
    from .bench.finance import show
    from .demo_learning import TASKS, Learning

    console, say = Console(), _Saying(quiet=as_json)
    play = Learning(read_environment().home / "demo", quiet=as_json)
    say(f"1. The agent does {TASKS} tasks on exports of fictional banks, once with learning and once without.", "bold")
    say("   Tools, sandbox, database and verdicts are real; the policy is simulated (apprentice), no language model.")
    found = play.play()
    if not as_json:
        show(console, found)
    say("2. One exchange with the embedded model: a real one, small, without key or network.", "bold")
    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as folder:
        exchange = asyncio.run(embedded(Path(folder)))
    say(f"   {one_line(exchange, 300)}")
    say(f"picture: {play.picture}")
    say(f"the page: HERMES_HOME={play.home} hermes dashboard   (then open the address it prints)")
    say('Next: export OPENAI_API_KEY=…  then  hermes run --model openai:NAME "your task"')
    if as_json:
        print_json({"report": found, "picture": str(play.picture), "home": str(play.home), "embedded": exchange})
    return 0


def _crash(as_json: bool, keep: bool) -> int:
    folder = Path(tempfile.mkdtemp(prefix="hermes-demo-"))
    try:
        facts = asyncio.run(_Demo(folder, quiet=as_json).play())
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        print_json(facts)
    elif keep:
        print(f"kept: {folder}")
    return 0 if facts["survived"] else 1


class _Saying:
    """Says things on stdout, unless a document is wanted."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console()
        self._quiet = quiet

    def __call__(self, text: str, style: str = "") -> None:
        if not self._quiet:
            print(self._console.styled(text, style, sys.stdout) if style else text, flush=True)


async def embedded(folder: Path) -> str:
    """One exchange with the embedded model, where it is installed: what it called, or why it could not."""
    process = started(folder / "home", folder, "run", _WISH, "--model", "local:smollm2", "--json")
    out, _ = await asyncio.get_running_loop().run_in_executor(None, process.communicate)
    try:
        said = msgspec.json.decode(out)
    except msgspec.MsgspecError:
        said = {"error": "it gave no report"}
    if "error" in said:
        return f"left out: {said['error']} ({said.get('remedy', '')})"
    calls = "; ".join(f"{call['tool']} {call['input']}: {call['status']}" for call in said["calls"])
    return f"{_WISH!r} → {calls or 'no call'}; it answered: {said['answer']}"


def started(home: Path, directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The product as a process of its own, with nothing of this environment."""
    where = ["-C", str(directory)] if arguments[0] == "run" else []
    return subprocess.Popen(
        [sys.executable, "-m", "hermes_agent.surfaces.cli.main", *arguments, *where],
        env={"HERMES_HOME": str(home), "PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


class _Demo:
    """The play in three acts: start, kill, resume."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self._home = folder / "home"
        self._shop = folder / "shop"
        self._shop.mkdir(parents=True)
        self._say = _Saying(quiet=quiet)

    async def play(self) -> dict[str, Any]:
        """All three acts; returns what was seen."""
        self._say("1. A run begins: five steps, the fourth one sends a message and must happen only once.", "bold")
        self._say("   Tools, database and kill are real; the policy is simulated (apprentice), no language model.")
        victim = self._start("run", _TASK, "--model", "apprentice:4", "--yes", "-q")
        self._wait_for(lambda: (self._shop / "outbox.txt").exists(), victim)
        self._say(f"2. kill -9 {victim.pid}, in the middle of the fourth step.", "bold")
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        orphans = self._sleeping()
        left = f"still runs: {len(orphans)} orphan" if orphans else "ended with it: the sandbox sees to that"
        self._say(f"   The command it had started {left}.")
        self._say("3. The agent starts again and goes on by itself.", "bold")
        started = time.monotonic()
        resumed = self._start("resume", "--json", "--yes")
        out, _ = await asyncio.get_running_loop().run_in_executor(None, resumed.communicate)
        seconds = time.monotonic() - started
        facts = self._told(self._facts(out, orphans, seconds))
        return facts

    def _facts(self, out: bytes, orphans: list[int], seconds: float) -> dict[str, Any]:
        try:
            run = msgspec.json.decode(out)["resumed"][0]
        except (msgspec.MsgspecError, KeyError, IndexError) as error:
            raise HermesError(f"the resumed run gave no report: {out[:300]!r}", remedy="run `hermes doctor`") from error
        sent = (self._shop / "outbox.txt").read_text().count("sent")
        facts = {
            "policy": "apprentice (simulated)",
            "status": run["outcome"]["status"],
            "answer": run["answer"],
            "in_doubt": len(run["in_doubt"]),
            "orphans_ended": len(orphans) - len(self._sleeping()),
            "times_sent": sent,
            "seconds_to_finish": round(seconds, 2),
        }
        facts["survived"] = facts["status"] == "done" and sent == 1 and not self._sleeping()
        return facts

    def _told(self, facts: dict[str, Any]) -> dict[str, Any]:
        self._say(f"   answer: {facts['answer']}")
        self._say(f"   effects in doubt that were reported, then verified: {facts['in_doubt']}")
        self._say(f"   orphans ended: {facts['orphans_ended']}; messages sent: {facts['times_sent']}")
        self._say(f"   from restart to answer: {facts['seconds_to_finish']} s")
        verdict = "Nothing lost, nothing done twice." if facts["survived"] else "Something went wrong."
        self._say(verdict, "green" if facts["survived"] else "red")
        return facts

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return started(self._home, self._shop, *arguments)

    def _wait_for(self, seen: Any, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not seen():
            if process.poll() is not None or time.monotonic() > deadline:
                raise HermesError("the demonstration did not get to its fourth step", remedy="run `hermes doctor`")
            time.sleep(0.02)

    def _sleeping(self) -> list[int]:
        """The processes that still work in the shop's folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(entry / "cwd")) == self._shop and b"sleep" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found
