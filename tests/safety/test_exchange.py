"""A file is replaced only where it holds what was expected."""

import os
import random
import threading
import time
from pathlib import Path

import pytest

from hermes_agent.safety.exchange import Overtaken, leftovers, replace_if

pytestmark = pytest.mark.req("A6")


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    replace_if(tmp_path / "a", b"new", None)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a"]


def test_the_mode_is_kept_and_the_replaced_file_itself_put_aside(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    file.chmod(0o640)
    inode = file.stat().st_ino
    replace_if(file, b"new", b"old", displaced=tmp_path / "aside")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o640)
    assert ((tmp_path / "aside").read_bytes(), (tmp_path / "aside").stat().st_ino) == (b"old", inode)
    assert names(tmp_path) == ["a", "aside"]


@pytest.mark.parametrize("expected", [None, b"", b"other", b"old and more"])
def test_something_else_stays(tmp_path: Path, expected: bytes | None) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    with pytest.raises(Overtaken):
        replace_if(file, b"new", expected, displaced=tmp_path / "aside")
    assert file.read_bytes() == b"old" and names(tmp_path) == ["a"]


@pytest.mark.parametrize("what", ["nothing", "link", "folder", "pipe"])
def test_what_is_no_file_stays(tmp_path: Path, what: str) -> None:
    file = tmp_path / "in" / "a"
    file.parent.mkdir()
    match what:
        case "link":
            (tmp_path / "target").write_bytes(b"old")
            file.symlink_to(tmp_path / "target")
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
    with pytest.raises(Overtaken):
        replace_if(file, b"new", b"old")
    assert names(file.parent) == ([] if what == "nothing" else ["a"])
    if what == "link":
        assert file.is_symlink() and (tmp_path / "target").read_bytes() == b"old"


def test_what_a_killed_process_left_is_found(tmp_path: Path) -> None:
    left = tmp_path / ".a.0011223344556677.tmp"
    left.write_bytes(b"")
    (tmp_path / ".b.0011223344556677.tmp").write_bytes(b"")
    (tmp_path / "a").write_bytes(b"")
    assert leftovers(tmp_path / "a") == [left]


@pytest.mark.parametrize("rounds", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_save_at_the_same_moment_is_never_lost(tmp_path: Path, rounds: int) -> None:
    """Whether the editor saves before, during or after the exchange: its text is there in the end."""
    file, draft = tmp_path / "a", tmp_path / "draft"
    dice = random.Random(7)
    took, overtaken, lost = 0.001, 0, []
    for number in range(rounds):
        file.write_bytes(b"old")
        draft.write_bytes(b"editor")
        pause = dice.random() * took * 1.3

        def save(pause: float = pause) -> None:
            time.sleep(pause)
            os.replace(draft, file)

        editor = threading.Thread(target=save)
        editor.start()
        began = time.perf_counter()
        try:
            replace_if(file, b"ours", b"old")
            took = 0.9 * took + 0.1 * (time.perf_counter() - began)
        except Overtaken:
            overtaken += 1
        editor.join()
        if file.read_bytes() != b"editor":
            lost.append(number)
    assert lost == []
    assert 0 < overtaken < rounds
    assert names(tmp_path) == ["a"]
