"""Archives: listed, unpacked whole or not at all, and made; hostile ones leave nothing behind."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_agent.tools.archive_names import Refused, safe_name
from hermes_agent.tools.builtin.archives import archive_create, archive_extract, archive_list
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context

pytestmark = [pytest.mark.req("A4"), pytest.mark.req("R3")]

KINDS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return held.getvalue()


def tarred(*members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return held.getvalue()


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def tree(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder: files by content, links by where they lead, folders as '/'."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else "/" if path.is_dir() else path.read_bytes()
    return found


def refused(context: Context, data: bytes, name: str = "bad.zip") -> str:
    """The class of the refusal; nothing but the archive is in the workspace or beside it afterwards."""
    context.write(name, data)
    before = tree(context.workspace.parent)
    result = context.now(archive_extract, path=name)
    assert not result.ok, result
    assert "nothing was written" in result.text
    assert tree(context.workspace.parent) == before
    return result.error


@pytest.mark.parametrize("suffix", KINDS)
def test_what_was_packed_comes_out_again(tmp_path: Path, suffix: str) -> None:
    context = Context(tmp_path)
    context.write("src/a.txt", "alpha")
    context.write("src/deep/b.bin", bytes(range(256)))
    context.write("ünï code.md", "text").chmod(0o755)
    packed = context.now(archive_create, path=f"out/x{suffix}", sources=["src", "ünï code.md"])
    assert packed == ToolResult(text=f"packed 3 files, 265 bytes into out/x{suffix}")
    unpacked = context.now(archive_extract, path=f"out/x{suffix}")
    assert unpacked == ToolResult(text="unpacked 3 files, 265 bytes to out/x", origin=f"out/x{suffix}")
    assert tree(context.workspace / "out/x") == {
        "src": "/",
        "src/a.txt": b"alpha",
        "src/deep": "/",
        "src/deep/b.bin": bytes(range(256)),
        "ünï code.md": b"text",
    }
    assert stat.S_IMODE((context.workspace / "out/x/ünï code.md").stat().st_mode) & 0o100
    listed = context.now(archive_list, path=f"out/x{suffix}")
    assert listed.text.splitlines() == [
        "3 entries, 265 bytes unpacked",
        "src/a.txt 5",
        "src/deep/b.bin 256",
        "ünï code.md 4",
    ]


def test_one_file_in_gzip(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("log.txt", "line\n" * 100)
    assert context.now(archive_create, path="log.txt.gz", sources=["log.txt"]).ok
    assert gzip.decompress((context.workspace / "log.txt.gz").read_bytes()) == b"line\n" * 100
    assert context.now(archive_extract, path="log.txt.gz", folder="new/place").ok
    assert tree(context.workspace / "new") == {"place": "/", "place/log.txt": b"line\n" * 100}
    context.write("other.txt", "x")
    assert context.now(archive_create, path="y.gz", sources=["log.txt", "other.txt"]).error == "bad_argument"
    assert not (context.workspace / "y.gz").exists()


def test_packing_leaves_out_links_and_itself(tmp_path: Path) -> None:
    context = Context(tmp_path)
    (tmp_path / "secret").write_text("not yours")
    context.write("d/a", "1")
    (context.workspace / "d/link").symlink_to(tmp_path / "secret")
    os.mkfifo(context.workspace / "d/pipe")
    first = context.now(archive_create, path="d/x.tar", sources=["d"])
    second = context.now(archive_create, path="d/x.tar", sources=["d"])
    assert first == second == ToolResult(text="packed 1 files, 1 bytes into d/x.tar; 1 links left out")
    with tarfile.open(context.workspace / "d/x.tar") as archive:
        assert archive.getnames() == ["d/a"]


@pytest.mark.parametrize("source", ["../secret", "/etc/passwd", "missing", "link"])
def test_packing_what_is_not_ours(tmp_path: Path, source: str) -> None:
    context = Context(tmp_path)
    (tmp_path / "secret").write_text("not yours")
    (context.workspace / "link").symlink_to(tmp_path / "secret")
    try:
        result = context.now(archive_create, path="x.zip", sources=[source])
        assert (result.ok, result.error) == (False, "not_found")
    except PermissionRefused:
        assert source != "missing"
    assert not (context.workspace / "x.zip").exists()
    assert [path.name for path in context.workspace.iterdir()] == ["link"]


def test_bad_arguments(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("a", "1")
    context.write("x.txt", "no archive")
    context.write("empty", "")
    assert context.now(archive_create, path="x.rar", sources=["a"]).error == "bad_argument"
    assert context.now(archive_create, path="x.zip", sources=[]).error == "bad_argument"
    assert context.now(archive_extract, path="missing.zip").error == "not_found"
    assert context.now(archive_extract, path="x.txt").error == "unsupported"
    assert context.now(archive_extract, path="empty").error == "unsupported"
    assert context.now(archive_list, path="x.txt").error == "unsupported"
    context.write("y.zip", zipped(("b", b"2")))
    assert context.now(archive_extract, path="y.zip", folder="a").error == "exists"
    with pytest.raises(PermissionRefused):
        context.now(archive_extract, path="y.zip", folder="../out")
    with pytest.raises(PermissionRefused):
        context.now(archive_extract, path="../y.zip")
    (context.workspace / "way").symlink_to(tmp_path)
    with pytest.raises(PermissionRefused):
        context.now(archive_extract, path="y.zip", folder="way/out")
    assert not (tmp_path / "out").exists()


TRAVERSALS = (
    "../x",
    "../../x",
    "a/../../x",
    "a/b/../../../x",
    "..",
    "../",
    "./../x",
    "a/..",
    "/x",
    "//x",
    "/etc/passwd",
    "///x",
    "..\\x",
    "..\\..\\x",
    "a\\..\\..\\x",
    "\\x",
    "\\\\server\\share\\x",
    "a\\b",
    "C:\\x",
    "C:/x",
    "c:x",
    "Z:..\\x",
    "//?/C:/x",
    "\\\\.\\pipe\\x",
    "~/x",
    "~root/x",
    "%2e%2e/x",
    "%2e%2e%2fx",
    "..%2fx",
    "..%5cx",
    "%2e%2e%5cx",
    "%252e%252e%252fx",
    "..%252fx",
    "%2fetc%2fpasswd",
    "%c0%ae%c0%ae/x",
    "..%c0%afx",
    "%e0%80%ae/x",
    "..%00/x",
    "．．/x",
    "．．／x",
    "..／x",
    "..∕x",
    "..⁄x",
    "․․/x",
    "‥/x",
    "…/x",
    "..＼x",
    "．./x",
    "..\u2216x",
    "....//x",
    ".../x",
    "a/.../x",
    "a/..../x",
    " ../x",
    ".. /x",
    "../ x",
    "a/ ..",
    "a/.. ",
    "a\0b",
    "../x\0.txt",
    "x\0",
    "a\nb",
    "a\rb",
    "a\x1b[2Kb",
    "a\x7fb",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "\ufeffx",
    "a\u00adb",
    "x.",
    "x ",
    "a./b",
    "a /b",
    "x...",
    "x. .",
    " x",
    "a/ b",
    "CON",
    "con",
    "nul",
    "NUL.txt",
    "aux.c",
    "PRN",
    "COM1",
    "com9.log",
    "LPT1",
    "a/CON/b",
    "a/nul",
    "CONIN$",
    "COM¹",
    "x:y",
    "x:$DATA",
    "file.txt::$DATA",
    "a" * 256,
    "/".join("a" * 41),
    "é" * 200,
    "x/" * 600 + "x",
    "",
    "\ud800",
    "a/\udcff",
)


@pytest.mark.parametrize("name", TRAVERSALS, ids=range(len(TRAVERSALS)))
def test_names_that_lead_elsewhere(name: str) -> None:
    with pytest.raises(Refused):
        safe_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "a/b/c.txt",
        "./a",
        "a//b",
        ".hidden",
        "..a",
        "a..b",
        "a...b/c",
        "ünï",
        "100%",
        "日本/語",
        "a b",
        "con-fig",
        "comma",
        "x%20y",
    ],
)
def test_names_that_are_fine(name: str) -> None:
    assert safe_name(name) == "/".join(part for part in name.split("/") if part not in ("", "."))


@pytest.mark.parametrize("name", [name for name in TRAVERSALS if name.isprintable() and 0 < len(name) < 80][::3])
def test_traversal_writes_nothing(tmp_path: Path, name: str) -> None:
    context = Context(tmp_path)
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    assert refused(context, zipped(("fine.txt", b"1"), (info, b"2"))) in ("traversal", "bad_name")
    assert refused(context, tarred(("fine.txt", b"1"), (name, b"2")), "bad.tar") in ("traversal", "bad_name")


LINKS = (
    ("s", "/etc/passwd"),
    ("s", ".."),
    ("s", "../x"),
    ("a/s", "../../x"),
    ("a/s", "b/../../../x"),
    ("s", "a/../x"),
    ("s", ""),
    ("s", "~/x"),
    ("s", "..\\x"),
    ("s", "C:/x"),
)


@pytest.mark.parametrize(("name", "link"), LINKS)
def test_links_that_lead_out(tmp_path: Path, name: str, link: str) -> None:
    context = Context(tmp_path)
    assert refused(context, tarred(("f", b"1"), special(name, tarfile.SYMTYPE, link)), "bad.tar") in (
        "bad_link",
        "damaged",
    )
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    assert refused(context, zipped(("f", b"1"), (info, link.encode()))) == "bad_link"


HOSTILE_TARS: dict[str, tuple[str, bytes]] = {
    "through a link": ("bad_link", tarred(special("d", tarfile.SYMTYPE, "x"), ("d/f", b"1"))),
    "link to a link": (
        "bad_link",
        tarred(special("a/b/x", tarfile.SYMTYPE, "../.."), special("y", tarfile.SYMTYPE, "a/b/x/q")),
    ),
    "itself": ("bad_link", tarred(special("x", tarfile.SYMTYPE, "x"))),
    "hard link out": ("traversal", tarred(special("x", tarfile.LNKTYPE, "../../etc/passwd"))),
    "hard link to nothing": ("bad_link", tarred(special("x", tarfile.LNKTYPE, "y"))),
    "hard link absolute": ("traversal", tarred(special("x", tarfile.LNKTYPE, "/etc/passwd"))),
    "character device": ("special_file", tarred(special("x", tarfile.CHRTYPE))),
    "block device": ("special_file", tarred(special("x", tarfile.BLKTYPE))),
    "pipe": ("special_file", tarred(special("x", tarfile.FIFOTYPE))),
    "twice": ("collision", tarred(("a", b"1"), ("a", b"2"))),
    "twice, written differently": ("collision", tarred(("a/b", b"1"), ("a//b", b"2"))),
    "case": ("collision", tarred(("Makefile", b"1"), ("makefile", b"2"))),
    "compatible letters": ("collision", tarred(("ﬁle", b"1"), ("file", b"2"))),
    "composed": ("collision", tarred(("é", b"1"), ("e\u0301", b"2"))),
    "file as folder": ("bad_link", tarred(("a", b"1"), ("a/b", b"2"))),
    "cut short": ("damaged", tarred(("a", b"1" * 5000))[:2000]),
}


@pytest.mark.parametrize("case", HOSTILE_TARS)
def test_hostile_tars(tmp_path: Path, case: str) -> None:
    error, data = HOSTILE_TARS[case]
    assert refused(Context(tmp_path), data, "bad.tar") == error


def test_links_that_stay_inside(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write(
        "x.tar",
        tarred(
            ("a/f", b"1"),
            special("a/s", tarfile.SYMTYPE, "f"),
            special("t", tarfile.SYMTYPE, "a/f"),
            special("b/u", tarfile.SYMTYPE, "../a/f"),
            special("copy", tarfile.LNKTYPE, "a/f"),
        ),
    )
    assert context.now(archive_extract, path="x.tar").ok
    assert tree(context.workspace / "x") == {
        "a": "/",
        "a/f": b"1",
        "a/s": "f",
        "b": "/",
        "b/u": "../a/f",
        "copy": b"1",
        "t": "a/f",
    }


def test_set_user_id_is_dropped(tmp_path: Path) -> None:
    context = Context(tmp_path)
    info = tarfile.TarInfo("x")
    info.mode = 0o6777
    context.write("x.tar", tarred(info))
    assert context.now(archive_extract, path="x.tar").ok
    assert stat.S_IMODE((context.workspace / "x/x").stat().st_mode) & 0o7022 == 0


def overlapping() -> bytes:
    """Many names for the same bytes."""
    data = bytearray(zipped(("a", zlib.compress(b"x" * 1000))))
    directory = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = bytes(data[directory:end])
    copies = b"".join(entry[:46] + bytes([97 + index]) + entry[47:] for index in range(20))
    tail = bytearray(data[end:])
    struct.pack_into("<HHII", tail, 8, 20, 20, len(copies), directory)
    return bytes(data[:directory] + copies + tail)


def lying() -> bytes:
    """A member that says it is small and is not."""
    data = bytearray(zipped(("a", b"0" * 100_000)))
    struct.pack_into("<I", data, 22, 10)
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    return bytes(data)


def nested(levels: int, width: int, data: bytes) -> bytes:
    for _ in range(levels):
        data = zipped(*((f"lib {index}.zip", data) for index in range(width)))
    return data


def sparse() -> bytes:
    """A tar member that claims eight tebibytes."""
    info = tarfile.TarInfo("huge")
    info.size = 8 << 40
    return info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024


def zeros(compress: Callable[[bytes], bytes], size: int) -> bytes:
    info = tarfile.TarInfo("zeros")
    info.size = size
    return compress(info.tobuf() + b"\0" * (size + 1024))


def repeated_bzip2() -> bytes:
    """Ten thousand streams of nothing but zeros, one after another: ten gigabytes."""
    info = tarfile.TarInfo("zeros")
    info.size = 8 << 30
    return bz2.compress(info.tobuf()) + bz2.compress(b"\0" * 1_000_000) * 10_000


BOMBS: dict[str, Callable[[], tuple[str, bytes]]] = {
    "zip of zeros": lambda: ("x.zip", zipped(("zeros", b"\0" * (16 << 20)))),
    "gzip of zeros": lambda: ("x.gz", gzip.compress(b"\0" * (16 << 20))),
    "tar.gz of zeros": lambda: ("x.tar.gz", zeros(gzip.compress, 16 << 20)),
    "tar.bz2 of zeros": lambda: ("x.tar.bz2", zeros(bz2.compress, 16 << 20)),
    "tar.xz of zeros": lambda: ("x.tar.xz", zeros(lambda data: lzma.compress(data, preset=0), 16 << 20)),
    "many bzip2 streams": lambda: ("x.tar.bz2", repeated_bzip2()),
    "shared bytes": lambda: ("x.zip", overlapping()),
    "archives in archives": lambda: ("x.zip", nested(5, 4, zipped(("zeros", b"\0" * 4096)))),
    "like 42.zip": lambda: ("x.zip", nested(3, 16, zipped(("zeros", b"\0" * (3 << 20))))),
    "one level down": lambda: ("x.zip", zipped(("inner.tar.gz", zeros(gzip.compress, 16 << 20)))),
    "claims too much": lambda: ("x.tar", sparse()),
    "too many": lambda: (
        "x.zip",
        zipped(*((f"{index}", b"") for index in range(10_001)), compression=zipfile.ZIP_STORED),
    ),
    "too many in a tar": lambda: ("x.tar", tarred(*(tarfile.TarInfo(f"{index}") for index in range(10_001)))),
}


@pytest.mark.req("A12")
@pytest.mark.parametrize("case", BOMBS)
def test_bombs(tmp_path: Path, case: str) -> None:
    name, data = BOMBS[case]()
    assert refused(Context(tmp_path), data, name) in ("bomb", "too_large", "too_many")


def quine() -> bytes:
    """An archive that holds itself again and again, as far as anybody looks."""
    data = b"PK\x05\x06" + b"\0" * 18
    for _ in range(8):
        data = zipped(("r.zip", data), compression=zipfile.ZIP_STORED)
    return data


def test_an_archive_without_end(tmp_path: Path) -> None:
    assert refused(Context(tmp_path), quine()) == "bomb"


def test_an_honest_archive_in_an_archive(tmp_path: Path) -> None:
    context = Context(tmp_path)
    inner = zipped(("a", b"1"))
    note = gzip.compress(b"text")
    context.write("x.zip", zipped(("lib/inner.jar", inner), ("note.gz", note)))
    assert context.now(archive_extract, path="x.zip").ok
    assert tree(context.workspace / "x") == {"lib": "/", "lib/inner.jar": inner, "note.gz": note}


def test_sizes_that_lie(tmp_path: Path) -> None:
    assert refused(Context(tmp_path), lying()) in ("damaged", "bomb")


def test_encrypted(tmp_path: Path) -> None:
    data = bytearray(zipped(("a", b"secret")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert refused(Context(tmp_path), bytes(data)) == "encrypted"


@pytest.mark.parametrize("suffix", KINDS)
def test_damage_anywhere_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    context = Context(tmp_path)
    context.write("src/a.txt", os.urandom(3000))
    context.write("src/b.txt", b"b" * 3000)
    context.now(archive_create, path=f"good{suffix}", sources=["src"])
    good = (context.workspace / f"good{suffix}").read_bytes()
    for index, cut in enumerate((10, len(good) // 3, len(good) // 2)):
        before = tree(context.workspace)
        context.write("cut", good[:cut])
        result = context.now(archive_extract, path="cut", folder=f"out{index}")
        assert not result.ok
        assert {**before, "cut": good[:cut]} == tree(context.workspace)


def test_a_rerun_after_a_crash(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("x.zip", zipped(("a", b"1"), ("b", b"2")))
    assert context.now(archive_extract, path="x.zip").ok
    context.after_crash()
    assert context.now(archive_extract, path="x.zip").text == "x was already unpacked before the interruption"


_KILLED = """
import os, sys
from pathlib import Path
from hermes_agent.tools.builtin import archives
from tests.tools.context import Context

write = archives._write
def dying(root, entry, content, size):
    if entry.name == "b":
        os._exit(9)
    write(root, entry, content, size)

archives._write = dying
Context(Path(sys.argv[1])).now(archives.archive_extract, path="x.zip")
"""


def test_what_a_crash_left_is_taken_away(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("x.zip", zipped(("a", b"1"), ("b", b"2")))
    died = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    assert died.returncode == 9
    assert not (context.workspace / "x").exists()
    context.after_crash()
    assert context.now(archive_extract, path="x.zip").text == "unpacked 2 files, 2 bytes to x"
    assert tree(context.workspace) == {"x": "/", "x/a": b"1", "x/b": b"2", "x.zip": zipped_again(context)}


def zipped_again(context: Context) -> bytes:
    return (context.workspace / "x.zip").read_bytes()


def test_listing_a_hostile_archive_shows_why(tmp_path: Path) -> None:
    context = Context(tmp_path)
    context.write("x.tar", tarred(("fine", b"1"), special("out", tarfile.SYMTYPE, "/etc/passwd")))
    assert context.now(archive_list, path="x.tar").text.splitlines() == [
        "archive_extract would refuse it: the link 'out' leads out of the folder",
        "fine 1",
        "out -> /etc/passwd",
    ]


def test_declarations() -> None:
    for function in (archive_list, archive_extract, archive_create):
        declared = declared_tool(function)
        assert declared is not None
        assert declared.spec.rare
