import os
import stat
from pathlib import Path

import pytest

from hermes_agent.safety.paths import digest, digest_of
from hermes_agent.tools.builtin.files import list_files, patch, read_file, write_file
from hermes_agent.tools.tool import ArgumentProblem
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path)


def refusal(error: str, text: str) -> ToolResult:
    return ToolResult(ok=False, error=error, text=text)


# read_file


def test_reading_a_range(context: Context) -> None:
    context.write("a.txt", "".join(f"line {n}\n" for n in range(1, 11)))
    assert context.now(read_file, path="a.txt", offset=3, limit=2) == ToolResult(
        text="[a.txt: lines 3-4 of 10]\nline 3\nline 4"
    )
    assert context.now(read_file, path="a.txt", offset=10) == ToolResult(text="[a.txt: lines 10-10 of 10]\nline 10")
    assert context.now(read_file, path="a.txt", offset=11) == refusal("bad_argument", "a.txt has only 10 lines")
    assert context.now(read_file, path="a.txt", offset=0).error == "bad_argument"
    assert context.now(read_file, path="a.txt", limit=0).error == "bad_argument"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "[f: empty]\n"),
        (b"no end", "[f: lines 1-1 of 1]\nno end"),
        (b"\xef\xbb\xbfwith mark\n", "[f: lines 1-1 of 1]\nwith mark"),
        (b"one\r\ntwo\r\n", "[f: lines 1-2 of 2, CRLF line ends]\none\ntwo"),
        (b"caf\xe9\n", "[f: lines 1-1 of 1, not UTF-8: read as Latin-1]\ncafé"),
        ("ünï\n".encode(), "[f: lines 1-1 of 1]\nünï"),
    ],
)
def test_encodings_and_line_ends(context: Context, content: bytes, text: str) -> None:
    context.write("f", content)
    assert context.now(read_file, path="f") == ToolResult(text=text)


def test_what_is_no_text_is_said_with_a_remedy(context: Context) -> None:
    context.write("f", b"\x7fELF\0\0\0")
    context.write("wide", "text".encode("utf-16"))
    (context.workspace / "folder").mkdir()
    context.write("README.md", "x")
    assert [context.now(read_file, path=path) for path in ("f", "wide", "folder", "readme.md", "f/below")] == [
        refusal("binary", "f is no text (7 bytes); inspect it with a command such as file or xxd"),
        refusal("encoding", "wide is UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
        refusal("is_directory", "'folder' is a folder; list_files shows what is in it"),
        refusal("not_found", "'readme.md' does not exist; similar: README.md"),
        refusal("not_a_directory", "'f/below' leads through something that is not a folder"),
    ]


def test_a_line_without_end_is_cut_between_characters(context: Context) -> None:
    context.write("f", "ab" + "€" * 2000 + "\nnext\n")
    result = context.now(read_file, path="f")
    assert result.text == f"[f: lines 1-2 of 2]\nab{'€' * 1332} [… 2002 more bytes]\nnext"


@pytest.mark.req("R14")
def test_a_huge_file_is_read_in_part(context: Context) -> None:
    file = context.write("huge", b"begin\n")
    with file.open("r+b") as out:
        out.truncate(3 << 30)
        out.seek(6)
        out.write(b"x" * 9000)
    result = context.now(read_file, path="huge", limit=1)
    assert result == ToolResult(text="[huge: lines 1-1 of more than 2]\nbegin")
    second = context.now(read_file, path="huge", offset=2)
    assert second.text == f"[huge: lines 2-2 of more than 2]\n{'x' * 4000} [… 67108864 or more bytes]"


def test_stored_output_is_read_by_its_digest(context: Context) -> None:
    digest = context.blobs.put(b"kept\noutput\n")
    assert context.now(read_file, path=f"blob:{digest[:16]}", offset=2).text.endswith("lines 2-2 of 2]\noutput")
    for path in ("blob:", "blob:0123456789abcdef", "blob:../../workspace/f", "blob:*"):
        assert context.now(read_file, path=path).error == "not_found"


@pytest.mark.req("R3")
@pytest.mark.parametrize("tool", [read_file, write_file, patch, list_files])
@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "link/x", "fifo", "/dev/zero", "a\0b", "~/x", "n" * 300])
def test_no_tool_leaves_the_workspace_or_waits(context: Context, tmp_path: Path, tool: object, path: str) -> None:
    (tmp_path / "outside").write_text("secret")
    (context.workspace / "link").symlink_to(tmp_path)
    os.mkfifo(context.workspace / "fifo")
    more = {write_file: {"content": "x"}, patch: {"old_string": "secret", "new_string": "x"}}.get(tool, {})  # type: ignore[call-overload]
    with pytest.raises(PermissionRefused) as refused:
        context.now(tool, path=path, **more)
    assert refused.value.advice
    assert (tmp_path / "outside").read_text() == "secret"


# write_file


def test_writing(context: Context) -> None:
    made = context.now(write_file, path="new/deep/f.txt", content="one\ntwo")
    again = context.now(write_file, path="new/deep/f.txt", content="")
    assert [made, again] == [
        ToolResult(text="created new/deep/f.txt: 2 lines, 7 bytes"),
        ToolResult(text="replaced new/deep/f.txt: 0 lines, 0 bytes"),
    ]
    assert os.listdir(context.workspace / "new" / "deep") == ["f.txt"]
    script = context.write("run.sh", "x")
    script.chmod(0o755)
    context.now(write_file, path="run.sh", content="lone \ud800 and \0\n")
    assert script.read_bytes() == "lone \ufffd and \0\n".encode()
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert context.now(write_file, path="new", content="x").error == "is_directory"
    assert context.now(write_file, path="run.sh/below", content="x").error == "not_a_directory"


@pytest.mark.req("R14")
def test_a_write_that_runs_again_never_overwrites_an_edit(context: Context) -> None:
    file = context.write("f.txt", "old")
    before = digest(file)
    context.after_crash(f__txt=before)
    assert context.now(write_file, path="f.txt", content="new") == ToolResult(text="replaced f.txt: 1 lines, 3 bytes")
    assert context.now(write_file, path="f.txt", content="new") == ToolResult(
        text="f.txt was already written before the interruption"
    )
    file.write_text("edited by somebody")
    assert context.now(write_file, path="f.txt", content="new") == refusal(
        "changed",
        "f.txt was not written: it was changed since this call began; read it again before you decide",
    )
    assert file.read_text() == "edited by somebody"
    file.unlink()
    assert context.now(write_file, path="f.txt", content="new").error == "changed"
    context.after_crash(f__txt="absent")
    assert context.now(write_file, path="f.txt", content="new").ok
    context.after_crash()
    file.write_text("unknown before")
    assert context.now(write_file, path="f.txt", content="new").error == "changed"


# patch


def test_replacing_text(context: Context) -> None:
    file = context.write("f", "a = 1\nb = 2\na = 1\n")
    one = context.now(patch, path="f", old_string="b = 2", new_string="b = 3")
    many = context.now(patch, path="f", old_string="a = 1", new_string="a = 9")
    every = context.now(patch, path="f", old_string="a = 1", new_string="a = 9", replace_all=True)
    assert [one, many, every] == [
        ToolResult(text="patched f: 1 place (line 2)"),
        refusal(
            "ambiguous",
            "f was not patched: old_string is there 2 times (lines 1, 3); "
            "give more of the text around, or replace_all=true",
        ),
        ToolResult(text="patched f: 2 places (line 1, 3)"),
    ]
    assert file.read_text() == "a = 9\nb = 3\na = 9\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("if x:\n        return  1\n", "if x:\n    return  1", "if x:\n    return 2", "if x:\n        return 2\n"),
        ("    def f():\n        pass\n", "def f():\n    pass", "def g():\n    y()", "    def g():\n        y()\n"),
        ("a  \nb\n", "a\nb\n", "c\n", "c\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("\tone\n\ttwo", "one\ntwo", "three", "\tthree"),
        ("keep\n  gone\nkeep\n", "gone\n", "", "keep\n  keep\n"),
        ("keep\n  a\n  b\nkeep\n", "a\nb\n", "", "keep\nkeep\n"),
    ],
)
def test_whitespace_is_forgiven_where_it_is_unambiguous(
    context: Context, content: str, old: str, new: str, after: str
) -> None:
    file = context.write("f", content)
    result = context.now(patch, path="f", old_string=old, new_string=new)
    assert (result.ok, file.read_bytes().decode()) == (True, after)


@pytest.mark.parametrize(
    ("old", "error", "reason"),
    [
        ("", "bad_argument", "old_string is empty; write_file writes whole files"),
        ("same", "bad_argument", "old_string and new_string are the same"),
        ("   \n ", "not_found", "old_string is nothing but whitespace, and not there as written"),
        ("def handel(request):", "not_found", "old_string is not there; closest is line 1: def handle(request):"),
        (
            "def handle(request):\n    return 2",
            "not_found",
            "old_string is not there; line 1 has its first line, but what follows differs: read it from there",
        ),
        ("qqqqqqqq", "not_found", "old_string is not there; read the file and copy the text exactly"),
        (
            "x\n  y",
            "ambiguous",
            "old_string is not there as written, but for whitespace at lines 3, 5; copy one exactly",
        ),
    ],
)
def test_a_miss_says_where_to_look(context: Context, old: str, error: str, reason: str) -> None:
    content = "def handle(request):\n    return 1\nx\ny\nx\n y\n"
    file = context.write("f", content)
    result = context.now(patch, path="f", old_string=old, new_string="same")
    assert result == refusal(error, f"f was not patched: {reason}")
    assert file.read_text() == content


def test_a_file_in_another_encoding_keeps_it(context: Context) -> None:
    file = context.write("f", b"caf\xe9 one\n")
    assert context.now(patch, path="f", old_string="one", new_string="twö").ok
    assert file.read_bytes() == b"caf\xe9 tw\xf6\n"
    assert context.now(patch, path="f", old_string="twö", new_string="€").error == "encoding"
    assert context.now(patch, path="none", old_string="a", new_string="b").error == "not_found"


@pytest.mark.req("R14")
@pytest.mark.parametrize(
    ("content", "old", "new", "every"),
    [
        ("a b a\n", "b", "c", False),
        ("b c\n", "b", "c", False),
        ("a a\n", "a", "x", True),
        ("keep drop\n", " drop", "", False),
    ],
)
def test_a_patch_that_runs_again_knows_its_own_work(
    context: Context, content: str, old: str, new: str, every: bool
) -> None:
    file = context.write("f", content)
    call = {"path": "f", "old_string": old, "new_string": new, "replace_all": every}
    context.after_crash(f=digest_of(content.encode()))
    assert context.now(patch, **call).text.startswith("patched f: ")
    done = file.read_bytes()
    assert context.now(patch, **call) == ToolResult(text="f was already patched before the interruption")
    file.write_bytes(done + b"an edit\n")
    assert context.now(patch, **call) == refusal(
        "changed", "f was not patched: it was changed since this call began; read it again before you decide"
    )
    assert file.read_bytes() == done + b"an edit\n"


# list_files


def test_listing(context: Context, tmp_path: Path) -> None:
    context.write("b.txt", "12345")
    context.write("a/inner.txt", "1")
    context.write("a/deep/x", "")
    context.write(".git/config", "x")
    (context.workspace / "out").symlink_to(tmp_path)
    os.mkfifo(context.workspace / "pipe")
    (context.workspace / os.fsdecode(b"caf\xe9")).write_text("")
    flat = [".git/", "a/", "b.txt 5", "caf\ufffd 0", f"out -> {tmp_path}", "pipe [special file]"]
    assert context.now(list_files).text.split("\n") == flat
    assert context.now(list_files, path="a", depth=3).text.split("\n") == ["deep/", "deep/x 0", "inner.txt 1"]
    assert context.now(list_files, depth=2).text.split("\n") == [
        *flat[:2],
        "a/deep/",
        "a/inner.txt 1",
        *flat[2:],
    ]
    assert context.now(list_files, path="b.txt").error == "not_a_directory"
    assert context.now(list_files, path="nothing").error == "not_found"
    assert context.now(list_files, depth=0).error == "bad_argument"
    (context.workspace / "empty").mkdir()
    assert context.now(list_files, path="empty") == ToolResult(text="(empty)")


def test_a_long_listing_is_cut(context: Context) -> None:
    for number in range(510):
        (context.workspace / f"{number:04d}").touch()
    lines = context.now(list_files).text.split("\n")
    assert (len(lines), lines[-1]) == (501, "[more than 500 entries; list a folder below, or use search_files]")


def test_arguments_of_the_wrong_kind_are_refused_before_the_tool_runs(context: Context) -> None:
    for arguments in ({}, {"path": 3}, {"path": "f", "offset": "x"}, {"path": "f", "nonsense": 1}, {"path": None}):
        with pytest.raises(ArgumentProblem):
            context.now(read_file, **arguments)
