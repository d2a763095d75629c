"""The browser's processes: started late, noticed when they end, gone when they should be."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from hermes_agent.tools.browser.folder import BrowserFolder
from hermes_agent.tools.builtin.browser import browser_close, browser_navigate, browser_snapshot
from hermes_agent.types.tools import WebAccess
from tests.tools.browser.site import Site, Visitor, need_chromium
from tests.tools.context import Context, gone

AGENT = """
import asyncio, sys
from pathlib import Path
from hermes_agent.tools.builtin.browser import browser_navigate
from hermes_agent.types.tools import WebAccess
from tests.tools.context import Context

async def main(folder, place):
    context = Context(Path(folder))
    context.web = WebAccess(allowed=frozenset((place,)))
    shown = await context.call(browser_navigate, url=f"http://{place}/")
    print(shown.ok, flush=True)
    await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""
ROOT = Path(__file__).parents[3]


def family(pid: int) -> list[int]:
    """Everything a process has started."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def browsers(pids: list[int]) -> list[int]:
    """Those among them that are a Chromium, and not one of its own children."""
    found = []
    for pid in pids:
        words = psutil.Process(pid).cmdline()
        if any("remote-debugging-pipe" in word for word in words) and not any(w.startswith("--type=") for w in words):
            found.append(pid)
    return found


def until(done: Callable[[], bool]) -> bool:
    for _ in range(400):
        if done():
            return True
        time.sleep(0.05)
    return False


def _profile(pid: int) -> str:
    """The folder that a killed driver cannot remove."""
    option = "--user-data-dir="
    return next(str(w).removeprefix(option) for w in psutil.Process(pid).cmdline() if w.startswith(option))


def _all_gone(pids: list[int]) -> bool:
    return all(map(gone, pids))


@pytest.mark.req("A4", "R3")
def test_a_killed_browser_is_noticed_and_started_anew_without_the_agents_environment(visit: Visitor) -> None:
    visit.site.pages["/"] = "<p>here</p>"
    before = set(family(os.getpid()))
    os.environ["HERMES_TEST_SECRET"] = "kept"
    try:
        assert "here" in visit(browser_navigate, url=visit.site.url()).text
    finally:
        del os.environ["HERMES_TEST_SECRET"]
    (chromium,) = browsers([pid for pid in family(os.getpid()) if pid not in before])
    environment = psutil.Process(chromium).environ()
    folder = Path(environment["HOME"]).parent
    assert "HERMES_TEST_SECRET" not in environment and folder.name.startswith("hermes-browser-")
    for name in ("chromium", "driver"):
        ours = [pid for pid in family(os.getpid()) if pid not in before]
        victim = browsers(ours)[0] if name == "chromium" else ours[0]
        assert name == "chromium" or "run-driver" in psutil.Process(victim).cmdline()
        profile = _profile(browsers(ours)[0])
        os.kill(victim, signal.SIGKILL)
        ended = ours[1:] if name == "chromium" else ours
        assert until(partial(_all_gone, ended))
        shutil.rmtree(profile, ignore_errors=True)
        first = visit(browser_snapshot)
        assert not first.ok and first.error in ("no_page", "browser_gone"), first.text
        again = visit(browser_navigate, url=visit.site.url())
        assert again.ok and "here" in again.text, (name, first, again)
        assert "started anew" in first.text + again.text
    assert not folder.exists()
    left = [pid for pid in family(os.getpid()) if pid not in before]
    assert visit(browser_close).text == "the browser is closed"
    assert until(partial(_all_gone, left))
    assert visit(browser_close).text == "no browser was open"


@pytest.mark.req("A4", "R3")
def test_nothing_outlives_an_agent_that_is_killed(site: Site, tmp_path: Path) -> None:
    need_chromium()
    site.pages["/"] = "<p>here</p>"
    command = [sys.executable, "-c", AGENT, str(tmp_path), site.place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as agent:
        assert agent.stdout is not None and agent.stdout.readline() == "True\n"
        children = family(agent.pid)
        assert len(browsers(children)) == 1 and len(children) >= 4
        agent.kill()
    assert until(partial(_all_gone, children))


def test_folders_of_dead_agents_are_swept_up_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom hermes_agent.tools.browser.folder import BrowserFolder\n"
        "print(BrowserFolder(Path(sys.argv[1])).path, flush=True)\nos.kill(os.getpid(), 9)"
    )
    dead = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert Path(dead.stdout.strip()).is_dir()
    (tmp_path / "hermes-browser-link").symlink_to(tmp_path)
    (tmp_path / "hermes-browser-new").mkdir()
    living = BrowserFolder(tmp_path)
    again = BrowserFolder(tmp_path)
    names = {"hermes-browser-link", "hermes-browser-new", living.path.name, again.path.name}
    assert {path.name for path in tmp_path.iterdir()} == names
    living.remove()
    again.remove()
    assert {path.name for path in tmp_path.iterdir()} == {"hermes-browser-link", "hermes-browser-new"}


def test_a_missing_chromium_is_told_with_the_remedy(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    context = Context(tmp_path)
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)

    async def both() -> None:
        context.web = WebAccess(browser=str(tmp_path / "none"))
        absent = await context.call(browser_navigate, url="http://example.com/")
        assert (absent.ok, absent.error) == (False, "not_installed") and "apt install chromium" in absent.text
        await context.resources.close()
        context.web = WebAccess(browser=str(broken))
        failing = await context.call(browser_navigate, url="http://example.com/")
        assert (failing.ok, failing.error) == (False, "not_installed") and "did not start" in failing.text
        await context.resources.close()

    asyncio.run(both())


def test_a_missing_package_is_told_with_the_command(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['playwright'] = sys.modules['playwright.async_api'] = None\n"
        "from pathlib import Path\nfrom tests.tools.context import Context\n"
        "from hermes_agent.tools.builtin.browser import browser_navigate\n"
        "print(Context(Path(sys.argv[1])).now(browser_navigate, url='http://example.com/').text)"
    )
    told = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert told.stdout == "the browser needs an optional package: pip install 'hermes-harness[browser]'\n", told.stderr
