"""`hermes learning export` and `import`: from one home to another, reviewed, and taken back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.learning.bundle import LARGEST_FILE, written
from hermes_agent.learning.gathering import gather
from hermes_agent.learning.signing import signing_key
from hermes_agent.safety.redact import Redactor
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, save_heuristic, write_cells
from hermes_agent.store.imports import claim_id
from hermes_agent.store.open import open_store
from hermes_agent.surfaces.cli.learning.importing import content
from hermes_agent.types.errors import UsageError
from tests.cli.command import Hermes
from tests.cli.forked import ForkedHermes
from tests.cli.terminal import Terminal

pytestmark = pytest.mark.req("B7")
SECRET_RUN = "1jxk3m8q0a2b4c6d"


def learned(home: Path) -> None:
    """A home in which something was learned, some of it private."""
    home.mkdir(parents=True, exist_ok=True)
    store = open_store("", home)
    first = Heuristic(
        id="aaaaaaaaaaaa",
        kind=Kind.AVOID_TOOL,
        model="openai:m",
        family="f1",
        subject="read_csv",
        text="`read_csv` failed 9 of 10 times",
        better="query_data",
        stage=Stage.TRUSTED,
        confidence=0.96,
        evidence={"worked": 1, "failed": 9, "sessions": 2, "run": SECRET_RUN},
    )
    private = Heuristic(
        id="bbbbbbbbbbbb",
        kind=Kind.WORKFLOW,
        model="openai:m",
        family="f1",
        subject="plan:x",
        text="read_file > write_file",
        detail={"steps": ["read_file path=/srv/payroll.csv"]},
        stage=Stage.TRUSTED,
    )

    def unit(connection: Connection) -> None:
        save_heuristic(connection, first)
        save_heuristic(connection, private)
        cell = {"evidence": {"worked": 1, "failed": 9}, "sessions": [SECRET_RUN, "other"]}
        write_cells(connection, {("openai:m", "f1", "tool:read_csv", ""): json.dumps(cell)})
        connection.run(
            "INSERT INTO families (id, name, named_by, centroid, tasks, merged_into, created_at, updated_at)"
            " VALUES ('f1', 'parse-csv', 'cluster', '{}', 40, '', 1, 1)"
        )

    store.database.write_now(unit)
    store.close()


def heuristics(home: Path) -> list[Any]:
    store = open_store("", home)
    rows = store.database.read_now(lambda c: c.run("SELECT id, family, stage, confidence FROM heuristics ORDER BY id"))
    store.close()
    return rows


def signed(home: Path) -> bytes:
    """The bundle of a home, made without a process of its own."""
    store = open_store("", home)
    gathered = asyncio.run(gather(store.database, Redactor(), 1.0, stages=[Stage.TRUSTED]))
    store.close()
    return written(gathered.bundle, signing_key(home))


@pytest.fixture
def friend(tmp_path: Path) -> Hermes:
    """The home of somebody else, who has learned something."""
    other = Hermes(tmp_path / "friend")
    learned(other.home)
    return other


def test_from_one_home_to_another_and_back(forked: ForkedHermes, friend: Hermes, tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    done = ForkedHermes(friend).run("learning", "export", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-2:] == ["left out bbbbbbbbbbbb: it names a path", "1 heuristic, signed"]
    text = file.read_text()
    assert SECRET_RUN not in text and "payroll" not in text and "f1" not in json.loads(text)["families"][0]["name"]
    assert json.loads(text)["heuristics"][0]["counts"] == {"worked": 1, "failed": 9, "sessions": 2}
    assert ForkedHermes(friend).run("learning", "export", str(file)).returncode == 2

    done = forked.run("learning", "import", str(file), "--yes")
    assert done.returncode == 2
    assert "signed by a key that is not known here: SHA256:" in done.stderr
    key = ForkedHermes(friend).run("learning", "export", "--public-key").stdout
    (forked.home / "trusted_keys").mkdir()
    (forked.home / "trusted_keys" / "ada.pub").write_text(key)

    done = forked.run("learning", "import", str(file), "--yes")
    assert done.returncode == 0
    assert "(ada)" in done.stdout and "1 of 10" in done.stdout and "candidate" in done.stdout
    expected = Heuristic(
        id="",
        kind=Kind.AVOID_TOOL,
        model="openai:m",
        family="parse-csv",
        subject="read_csv",
        text="",
        better="query_data",
    )
    assert heuristics(forked.home) == [(claim_id(expected), "parse-csv", "candidate", 0.48)]
    again = forked.json("learning", "import", str(file), "--yes")
    (record,) = forked.json("learning", "import", "--list")
    assert (again["imported"], again["plan"]["already"]) == ("", record["id"])
    undone = forked.json("learning", "import", "--undo", record["id"])
    assert undone["removed"] == [claim_id(expected)]
    assert heuristics(forked.home) == []


def test_an_unknown_key_is_asked_about(forked: ForkedHermes, friend: Hermes, tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    file.write_text(ForkedHermes(friend).run("learning", "export", "-").stdout)
    dry = forked.json("learning", "import", str(file), "--dry-run")
    assert (dry["known_as"], dry["imported"], len(dry["plan"]["heuristics"])) == ("", "", 1)
    wrong = tmp_path / "wrong.pub"
    wrong.write_text(signing_key(tmp_path / "stranger").public.line)
    done = forked.run("learning", "import", str(file), "--yes", "--key", str(wrong))
    assert (done.returncode, "signed by another key" in done.stderr) == (2, True)
    file.write_text(file.read_text().replace("9 of 10", "0 of 10"))
    done = forked.run("learning", "import", str(file), "--yes", "--key", str(wrong))
    assert (done.returncode, "changed after it was signed" in done.stderr) == (2, True)
    assert heuristics(forked.home) == []


def test_at_a_terminal_a_person_decides_about_an_unknown_key(hermes: Hermes, friend: Hermes, tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    file.write_bytes(signed(friend.home))
    terminal = Terminal(hermes, "learning", "import", str(file), "--yes")
    terminal.expect("is not known here. Did its author confirm it to you? [y/N]")
    terminal.enter("n")
    assert terminal.process.wait() == 1
    assert heuristics(hermes.home) == []
    terminal = Terminal(hermes, "learning", "import", str(file))
    terminal.expect("confirm it to you? [y/N]")
    terminal.enter("y")
    terminal.expect("Take this in? [y/N]")
    terminal.enter("y")
    terminal.expect("taken in as import")
    assert terminal.process.wait() == 0
    assert len(heuristics(hermes.home)) == 1


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as sparse:
        sparse.truncate(200_000_000)
    assert len(content(file)) == LARGEST_FILE + 1
    for wrong in (tmp_path, tmp_path / "none.json", Path("nul\0byte")):
        with pytest.raises(UsageError):
            content(wrong)
