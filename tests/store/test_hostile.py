"""Full disks, read-only homes, damaged files: said clearly with the remedy, and never silently empty."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_agent.store.backends.sqlite import Sqlite, file_system_of
from hermes_agent.store.open import backend_for, open_store
from hermes_agent.types.errors import ConfigError, HermesError, StoreDamaged, StoreError, StoreUnwritable
from hermes_agent.types.events import Fragment
from tests.store.samples import begun

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
FILLER = """
import asyncio, resource, sys
from pathlib import Path
from hermes_agent.store.open import open_store
from hermes_agent.types.errors import StoreUnwritable
from hermes_agent.types.events import Fragment
from tests.store.samples import begun

home, limit = Path(sys.argv[1]), int(sys.argv[2])
store = open_store("", home)
run = asyncio.run(begun(store))
print(run.id)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

async def main():
    for number in range(4000):
        try:
            await store.journal.append(run.id, 1, [Fragment(source=str(number), text="x" * 20_000)])
        except StoreUnwritable as error:
            print(number, bool(error.advice), str(home / "hermes.db") in str(error))
            return

asyncio.run(main())
"""
VISITOR = """
import os, sys
from pathlib import Path
import hermes_agent.store.backends.sqlite
from hermes_agent.store.open import open_store
from hermes_agent.types.errors import StoreUnwritable

os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    open_store("", Path(sys.argv[1]))
except StoreUnwritable as error:
    print(error.explain())
"""


def python(code: str, *arguments: object) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def full_run(home: Path, output: str) -> None:
    """What was acknowledged before the disk was full is there; the failing write left nothing."""
    run_id, number, advised, named = output.split()
    assert (advised, named) == ("True", "True")
    store = open_store("", home)
    events = [entry.event for entry in asyncio.run(store.journal.run_events(run_id))[2:]]
    assert events == [Fragment(source=str(count), text="x" * 20_000) for count in range(int(number))]
    assert int(number) > 3
    assert store.database.backend.check() == []
    asyncio.run(store.journal.append(run_id, 1, [Fragment(source="after", text="")]))
    store.close()


@pytest.mark.req("R14")
def test_a_file_that_may_not_grow(home: Path) -> None:
    full_run(home, python(FILLER, home, 1_000_000))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.req("R14")
def test_a_full_disk(small_disk: Path) -> None:
    output = python(FILLER, small_disk, 0)
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    full_run(small_disk, output)


@pytest.mark.req("R14")
@pytest.mark.parametrize("made_before", [False, True])
def test_a_read_only_disk(small_disk: Path, made_before: bool) -> None:
    if made_before:
        open_store("", small_disk).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreUnwritable) as caught:
        store = open_store("", small_disk)
        asyncio.run(begun(store))
    assert str(small_disk) in str(caught.value)
    assert "HERMES_HOME" in caught.value.advice


@pytest.mark.req("R14")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_home_of_somebody_else(home: Path) -> None:
    for folder in (home, *home.parents):
        if folder.stat().st_uid == 0 and folder != Path("/") and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    said = python(VISITOR, home, NOBODY)
    assert said.startswith(f"cannot write to {home}: Permission denied (") and "HERMES_HOME" in said
    said = python(VISITOR, home / "below", NOBODY)
    assert "Permission denied" in said


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(StoreUnwritable):
        open_store("", tmp_path / "home")


def filled(home: Path) -> str:
    """A closed database with one run of many pages; returns the run."""
    store = open_store("", home)

    async def scenario() -> str:
        run = await begun(store)
        for number in range(60):
            await store.journal.append(run.id, 1, [Fragment(source=str(number), text=f"<{number}>" * 300)])
        return run.id

    run_id = asyncio.run(scenario())
    store.close()
    return run_id


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 8192 * 4096],
    "odd": lambda data: data[: len(data) // 2 + 123],
    "short": lambda data: data[:50],
    "first page": lambda data: os.urandom(4096) + data[4096:],
    "text": lambda data: b"hello, I am a text file\n" * 1000,
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.req("R14")
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_set_aside_and_never_silently_empty(home: Path, kind: str) -> None:
    filled(home)
    path = home / "hermes.db"
    damaged = DAMAGE[kind](path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(StoreDamaged) as caught:
        open_store("", home)
    (aside,) = home.glob("hermes.db.damaged-*")
    assert aside.read_bytes() == damaged
    assert str(aside) in str(caught.value) and f"--repair {aside}" in caught.value.advice
    assert not path.exists()
    store = open_store("", home)
    assert list(store.notices) == [f"the database {path} is gone; a new, empty one was made; {aside} is still there"]
    assert asyncio.run(store.sessions.recent(5)) == []
    store.close()
    again = open_store("", home)
    assert list(again.notices) == []
    again.close()


@pytest.mark.req("R14")
def test_a_deleted_file_is_noticed(home: Path) -> None:
    filled(home)
    for path in home.glob("hermes.db*"):
        if path.name in ("hermes.db", "hermes.db-wal", "hermes.db-shm"):
            path.unlink()
    store = open_store("", home)
    assert list(store.notices) == [f"the database {home / 'hermes.db'} is gone; a new, empty one was made"]
    store.close()


@pytest.mark.req("R14")
def test_a_flipped_bit_in_a_payload_is_found(home: Path) -> None:
    run_id = filled(home)
    path = home / "hermes.db"
    data = bytearray(path.read_bytes())
    place = data.index(b"<33><33><33>") + 6
    data[place] ^= 1
    path.write_bytes(data)
    store = open_store("", home)
    with pytest.raises(StoreDamaged) as caught:
        asyncio.run(store.journal.run_events(run_id))
    assert f"{run_id}/36" in str(caught.value) and "hermes doctor" in caught.value.advice
    store.close()


@pytest.mark.req("R14")
def test_damage_in_the_middle_is_said_and_the_file_kept(home: Path) -> None:
    run_id = filled(home)
    path = home / "hermes.db"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 8] = os.urandom(8)
    path.write_bytes(data)
    found: list[HermesError] = []
    try:
        store = open_store("", home)
    except StoreDamaged as error:
        found.append(error)
    else:
        assert store.database.backend.check() != []
        with pytest.raises(StoreDamaged) as caught:
            asyncio.run(store.journal.run_events(run_id))
        found.append(caught.value)
        store.close()
    assert "--repair" in found[0].advice
    kept = [file for file in home.glob("hermes.db*") if file.suffix == ".db" or ".damaged-" in file.name]
    assert [file.stat().st_size for file in kept] == [len(data)]


def test_store_urls(home: Path) -> None:
    for url, path in {
        "": home / "hermes.db",
        "sqlite": home / "hermes.db",
        "sqlite:other.db": home / "other.db",
        "sqlite:///elsewhere/x.db": Path("/elsewhere/x.db"),
    }.items():
        engine = backend_for(url, home)
        assert isinstance(engine, Sqlite) and engine.path == path
    for url in ("mysql://x", "garbage", "http://", "postgres", "\x00"):
        with pytest.raises(ConfigError) as caught:
            backend_for(url, home)
        assert "postgresql://" in caught.value.advice


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret@127.0.0.1:1/x", "postgresql://u:s3cret@[", "postgresql://u:s3cret@h?nonsense=1"]
)
def test_a_server_that_is_not_there(home: Path, url: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(url, home)
    assert caught.value.advice
    assert "s3cret" not in caught.value.explain()


MOUNTS = """/dev/sda1 / ext4 rw 0 0
tmpfs /home tmpfs rw 0 0
server:/export /home/me nfs4 rw 0 0
//nas/share /home/me/with\\040space cifs rw 0 0
me@host: /home/me/ssh fuse.sshfs rw 0 0
/dev/sdb1 /home/me/local xfs rw 0 0
short
"""


def test_the_file_system_of_a_folder() -> None:
    kinds = {
        "/var/x": "ext4",
        "/home": "tmpfs",
        "/home/menu": "tmpfs",
        "/home/me": "nfs4",
        "/home/me/deep/er": "nfs4",
        "/home/me/with space/x": "cifs",
        "/home/me/ssh": "fuse.sshfs",
        "/home/me/local/x": "xfs",
    }
    assert {folder: file_system_of(Path(folder), MOUNTS) for folder in kinds} == kinds
    assert file_system_of(Path("/x"), "") == ""


@pytest.mark.req("R14")
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused(home: Path, kind: str) -> None:
    with pytest.raises(StoreUnwritable) as caught:
        Sqlite(home / "hermes.db", mounts=f"server:/x {home} {kind} rw 0 0\n").prepare()
    assert kind in str(caught.value) and "PostgreSQL" in caught.value.advice
    assert list(home.iterdir()) == []
