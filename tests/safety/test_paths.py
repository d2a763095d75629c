import contextlib
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.safety.paths import Scope, digest, digest_of
from hermes_agent.types.errors import PermissionRefused


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.txt").write_text("a")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    return Scope(root)


def test_paths_inside_are_resolved_however_they_are_written(scope: Scope) -> None:
    (scope.root / "link").symlink_to("inner/a.txt")
    (scope.root / "folder").symlink_to(scope.root / "inner")
    expected = scope.root / "inner" / "a.txt"
    written = ["inner/a.txt", "./inner//a.txt", "inner/../inner/a.txt", "link", "folder/a.txt", str(expected)]
    assert [scope.resolve(path) for path in written] == [expected] * len(written)
    assert scope.resolve("new/deep/file") == scope.root / "new" / "deep" / "file"
    assert scope.resolve(".") == scope.root


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "..",
        "../secret/key",
        "inner/../../secret/key",
        "/etc/passwd",
        "/",
        "~",
        "~/x",
        "a\0b",
        "n" * 256,
        "ü" * 128,
        "\ud800",
        "missing/../../x",
        "/dev/zero",
        "/proc/self/environ",
    ],
)
def test_what_is_not_ours_is_refused_with_a_remedy(scope: Scope, path: str) -> None:
    with pytest.raises(PermissionRefused) as refused:
        scope.resolve(path)
    assert refused.value.advice
    for attempt in (scope.open_read, scope.open_folder):
        with pytest.raises(PermissionRefused):
            attempt(path)
    with pytest.raises(PermissionRefused), scope.open_write(path):
        pass


@pytest.mark.req("R3")
def test_links_that_lead_out_are_refused(scope: Scope, tmp_path: Path) -> None:
    (scope.root / "file").symlink_to(tmp_path / "secret" / "key")
    (scope.root / "folder").symlink_to(tmp_path / "secret")
    (scope.root / "chain").symlink_to("folder")
    (scope.root / "dangling").symlink_to(tmp_path / "secret" / "new")
    (scope.root / "zero").symlink_to("/dev/zero")
    for path in ("file", "folder/key", "chain/key", "dangling", "zero", "folder"):
        with pytest.raises(PermissionRefused):
            scope.open_read(path)
        with pytest.raises(PermissionRefused), scope.open_write(path) as file:
            file.write(b"x")
    assert (tmp_path / "secret" / "key").read_text() == "secret"
    assert not (tmp_path / "secret" / "new").exists()


def test_a_loop_of_links_ends(scope: Scope) -> None:
    (scope.root / "a").symlink_to("b")
    (scope.root / "b").symlink_to("a")
    with pytest.raises((PermissionRefused, OSError)):
        scope.open_read("a")
    with pytest.raises((PermissionRefused, OSError)), scope.open_write("a"):
        pass


def test_special_files_are_refused_and_never_waited_for(scope: Scope) -> None:
    os.mkfifo(scope.root / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(scope.root / "socket"))
        for name in ("fifo", "socket"):
            with pytest.raises(PermissionRefused):
                scope.open_read(name)
            with pytest.raises(PermissionRefused), scope.open_write(name):
                pass
            assert digest(scope.root / name) == "unreadable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device")
def test_a_device_inside_is_refused(scope: Scope) -> None:
    try:
        os.mknod(scope.root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices may not be made here")
    with pytest.raises(PermissionRefused):
        scope.open_read("zero")
    assert digest(scope.root / "zero") == "unreadable"


def test_writing_replaces_in_one_step_and_keeps_the_mode(scope: Scope) -> None:
    target = scope.root / "inner" / "a.txt"
    target.chmod(0o640)
    with scope.open_write("inner/a.txt") as file:
        file.write(b"new")
        file.flush()
        assert target.read_text() == "a"
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)
    with scope.open_write("made/on/the/way") as file:
        file.write(b"x")
    assert (scope.root / "made/on/the/way").read_text() == "x"


def test_a_write_that_fails_changes_nothing(scope: Scope) -> None:
    with pytest.raises(ZeroDivisionError), scope.open_write("inner/a.txt") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert os.listdir(scope.root / "inner") == ["a.txt"]
    assert (scope.root / "inner" / "a.txt").read_text() == "a"


def test_a_link_inside_is_written_through(scope: Scope) -> None:
    (scope.root / "link").symlink_to("inner/a.txt")
    with scope.open_write("link") as file:
        file.write(b"new")
    assert (scope.root / "link").is_symlink()
    assert (scope.root / "inner" / "a.txt").read_text() == "new"


def test_folders_are_neither_read_nor_replaced(scope: Scope) -> None:
    for path in ("inner", "."):
        with pytest.raises(IsADirectoryError):
            scope.open_read(path)
        with pytest.raises(IsADirectoryError), scope.open_write(path):
            pass
    with pytest.raises(NotADirectoryError):
        scope.open_read("inner/a.txt/below")


def test_names_that_are_not_utf8_can_be_used(scope: Scope) -> None:
    name = os.fsdecode(b"caf\xe9")
    with scope.open_write(name) as file:
        file.write(b"x")
    with scope.open_read(name) as file:
        assert file.read() == b"x"
    assert os.listdir(os.fsencode(scope.root)) != []
    assert b"caf\xe9" in os.listdir(os.fsencode(scope.root))


SWAP = """
import os, shutil, sys
root, outside = sys.argv[1:]
os.chdir(root)
while True:
    os.rename("inner", "real")
    os.symlink(outside, "link")
    try:
        os.rename("link", "inner")
    except OSError:
        os.unlink("link")
    if os.path.islink("inner"):
        os.rename("inner", "link")
        os.unlink("link")
    while True:
        try:
            os.rename("real", "inner")
            break
        except OSError:
            shutil.rmtree("inner", ignore_errors=True)
"""


@contextlib.contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """Meanwhile `root/inner` is now a folder, now a link to somewhere else."""
    process = subprocess.Popen([sys.executable, "-c", SWAP, str(root), str(outside)])
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.req("R3", "R14")
def test_a_folder_swapped_for_a_link_never_leads_out(scope: Scope, tmp_path: Path) -> None:
    """The way below the swapped folder is long, so that the swap mostly falls between looking and opening."""
    outside, deep = tmp_path / "secret", "/".join("d" * 40)
    for top, content in ((scope.root / "inner", "ours"), (outside, "secret")):
        (top / deep).mkdir(parents=True)
        (top / deep / "a.txt").write_text(content)
    reads: set[bytes] = set()
    refusals = attempts = 0
    with swapping(scope.root, outside):
        while refusals < 25 or not reads:
            try:
                with contextlib.suppress(OSError), scope.open_read(f"inner/{deep}/a.txt") as source:
                    reads.add(source.read())
            except PermissionRefused:
                refusals += 1
            attempts += 1
            if attempts % 50 == 0:
                with contextlib.suppress(OSError, PermissionRefused), scope.open_write(f"inner/{deep}/b.txt") as file:
                    file.write(b"ours")
    assert reads == {b"ours"}
    assert os.listdir(outside / deep) == ["a.txt"]


def test_digests(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert digest(file) == "absent"
    file.write_bytes(b"content")
    assert digest(file) == digest_of(b"content") == digest(file)
    assert len(digest(file)) == 32
    assert digest(file / "below") == "absent"
    assert digest(tmp_path) == "unreadable"


@given(st.lists(st.sampled_from(["..", ".", "inner", "a.txt", "out", "", "x"]), max_size=8))
def test_no_combination_of_parts_leads_out(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    base = tmp_path_factory.getbasetemp() / "combinations"
    (base / "root" / "inner").mkdir(parents=True, exist_ok=True)
    if not (base / "root" / "out").is_symlink():
        (base / "root" / "out").symlink_to(base)
    scope = Scope(base / "root")
    with contextlib.suppress(PermissionRefused):
        assert scope.resolve("/".join(parts)).is_relative_to(scope.root)
