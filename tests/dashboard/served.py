"""The page's server as a real process, a home to show, and a browser to look with."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import random
import signal
import subprocess
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

import httpx
import msgspec
import pytest

from hermes_agent.store.families import Family, save_family
from hermes_agent.store.heuristics import Kind, Stage
from hermes_agent.store.lessons import Lesson
from hermes_agent.store.open import open_store
from hermes_agent.tools.browser.launch import find_chromium
from hermes_agent.types.errors import HermesError
from hermes_agent.types.trace import AdviceItem
from tests.cli.command import HERMES, Hermes, call, say
from tests.store.learning_samples import DAY, entry, fill, heuristic, lesson, taught

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


class Served:
    """A server that was started, and how to reach it."""

    def __init__(self, hermes: Hermes, *arguments: str) -> None:
        self.hermes = hermes
        self.process = subprocess.Popen(
            [HERMES, "dashboard", "--port", "0", "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=hermes.workspace,
            env=hermes.environment(),
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1].decode()
        self.url: str = json.loads(line)["url"]
        self.base, _, self.token = self.url.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])
        self.stranger = httpx.Client(base_url=self.base, verify=False, trust_env=False, timeout=30)
        """Asks without the token."""

    def get(self, path: str, **headers: str) -> httpx.Response:
        """As a program with the token asks."""
        return self.stranger.get(path, headers={"authorization": f"Bearer {self.token}", **headers})

    def json(self, path: str) -> Any:
        """The answer to a question that is in order."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, method: str = "POST", **headers: str) -> httpx.Response:
        """As the page changes something."""
        word = hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()
        own = {"origin": self.base, "x-hermes-csrf": word, "content-type": "application/json"}
        bearer = {"authorization": f"Bearer {self.token}"}
        content = json.dumps({} if body is None else body)
        return self.stranger.request(method, path, content=content, headers={**bearer, **own, **headers})

    def stop(self) -> int:
        """End it as Ctrl-C does; returns its exit code."""
        self.stranger.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return self.process.returncode


def need_chromium() -> str:
    """The path of a browser; its absence is visible, and an error where CI promises it."""
    try:
        if find_spec("playwright") is None:
            raise HermesError("playwright is not installed")
        return find_chromium()
    except HermesError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI=true promises a browser: {error}")
        pytest.skip(str(error))


def learning_home(hermes: Hermes, remark: str = HOSTILE) -> None:
    """A home with weeks of runs in three families, things that act, wait and were rolled back, and a real session."""
    hermes.home.mkdir(parents=True, exist_ok=True)
    now = time.time()
    taught("", hermes.home, start=now - 60 * 3600)
    store = open_store("", hermes.home)
    waiting = msgspec.structs.replace(
        heuristic("h3", Stage.AWAITING_APPROVAL),
        kind=Kind.SKIP_STEP,
        subject="fetch_quotes",
        text=f"skip `fetch_quotes` when the file has prices already {remark}",
        updated_at=now - 600,
    )
    doubtful = msgspec.structs.replace(
        heuristic("h4", Stage.AWAITING_APPROVAL), subject="plot_png", text="`plot_png` fails here, use `plot_svg`"
    )
    fill(
        store,
        [*_weeks(now, "month-end reports", 0.55, 0.93), *_weeks(now, "log triage", 0.7, 0.88)],
        [waiting, doubtful],
        [entry("h1", "candidate", "probation", now - (24 - 7 * n) * DAY, version=1) for n in range(3)]
        + [entry("h3", "candidate", "awaiting_approval", now - 600)],
    )
    for name, tasks in (("invoices", 60), ("month-end reports", 140), ("log triage", 140)):
        family = Family(id=name, name=name, named_by="user", tasks=tasks, created_at=now - 28 * DAY, updated_at=now)
        store.database.write_now(partial(save_family, family=family))
    store.close()


def _weeks(now: float, family: str, first: float, last: float) -> list[Lesson]:
    """Five runs a day for four weeks that get better; by a coin half of the later ones were advised."""
    draw = random.Random(family)
    days = 28
    found = []
    for n in range(days * 5):
        part = n / (days * 5)
        rate = last - (last - first) * math.exp(-4 * part)
        advised = part > 0.3 and draw.random() < 0.5
        plan = "read_file > write_file" if draw.random() < 0.3 + 0.6 * part else f"read_file > tool_{draw.randrange(4)}"
        made = lesson(
            n,
            at=now - days * DAY + n * DAY / 5,
            success=draw.random() < rate + (0.05 if advised else 0),
            plan=plan,
            family=family,
            error="encoding" if draw.random() < 0.3 else "",
            seconds=2 + 5 * math.exp(-3 * part) + draw.random(),
        )
        item = AdviceItem(id="h1", text="use write_file", applied=advised, propensity=0.5)
        found.append(msgspec.structs.replace(made, items=(item,)) if part > 0.3 else made)
    return found


def real_run(hermes: Hermes, text: str = "sum up the invoices", remark: str = HOSTILE) -> None:
    """A run of the installed command that reads a file and answers."""
    (hermes.workspace / "invoices.csv").write_text("date,amount\n2026-01-01,12.50\n")
    model = hermes.script(call("read_file", path="invoices.csv"), say(f"The total is 12.50. {remark}"))
    done = hermes.run("run", text, "-y", "-m", model)
    assert done.returncode == 0, done
