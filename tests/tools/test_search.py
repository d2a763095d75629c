import os
from pathlib import Path

import pytest

from hermes_agent.tools.builtin.search import in_own_process, search_files
from hermes_agent.tools.grep import Found, Query, find, runs_away
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    context = Context(tmp_path)
    context.write("b.py", "import os\n\ndef beta():\n    return os.name\n")
    context.write("a/alpha.py", "def alpha():\r\n    pass\r\n")
    context.write("a/notes.md", "def in prose\n")
    context.write("a/b/c/deep.py", "x = 1\n")
    context.write(".git/config", "def hidden\n")
    context.write("node_modules/x.js", "def hidden\n")
    context.write("data.bin", b"def \0 binary\n")
    return context


def test_lines_come_sorted_with_their_place(context: Context) -> None:
    assert context.now(search_files, pattern="def ") == ToolResult(
        text="a/alpha.py:1:def alpha():\na/notes.md:1:def in prose\nb.py:3:def beta():"
    )
    assert context.now(search_files, pattern=r"^def \w+\(", path="a").text == "a/alpha.py:1:def alpha():"
    assert context.now(search_files, pattern="def", glob="*.md").text == "a/notes.md:1:def in prose"
    assert context.now(search_files, pattern="def", path="b.py").text == "b.py:3:def beta():"
    assert context.now(search_files, pattern="absent") == ToolResult(text="nothing found")
    assert context.now(search_files, pattern="def h", path=".git").text == ".git/config:1:def hidden"


def test_context_and_pages(context: Context) -> None:
    around = context.now(search_files, pattern="def beta", context_lines=1)
    assert around.text == "b.py-2-\nb.py:3:def beta():\nb.py-4-    return os.name\n--"
    first = context.now(search_files, pattern="def", limit=2)
    assert first.text.endswith("a/notes.md:1:def in prose\n[there are more; offset=2 shows them]")
    assert context.now(search_files, pattern="def", limit=2, offset=2).text == "b.py:3:def beta():"
    assert context.now(search_files, pattern="def", offset=9).text == "nothing found"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a/alpha.py", "a/b/c/deep.py", "b.py"]),
        ("deep", ["a/b/c/deep.py"]),
        ("a/*.py", ["a/alpha.py"]),
        ("a/**/*.py", ["a/alpha.py", "a/b/c/deep.py"]),
        ("**/deep.py", ["a/b/c/deep.py"]),
        ("a/**", ["a/alpha.py", "a/b/c/deep.py", "a/notes.md"]),
        ("[ab].py", ["b.py"]),
        ("*.none", ["nothing found"]),
    ],
)
def test_names_by_glob(context: Context, pattern: str, expected: list[str]) -> None:
    assert context.now(search_files, pattern=pattern, target="files").text.split("\n") == expected


def test_bad_arguments_are_answered_with_a_remedy(context: Context) -> None:
    assert context.now(search_files, pattern="(") == ToolResult(
        ok=False,
        error="bad_pattern",
        text="'(' is no regular expression: missing ), unterminated subpattern at position 0; "
        "escape . ( [ * + ? with \\",
    )
    for arguments in ({"pattern": ""}, {"pattern": "x", "limit": 0}, {"pattern": "x", "offset": -1}):
        assert context.now(search_files, **arguments).error == "bad_argument"
    assert context.now(search_files, pattern="x", path="missing").error == "not_found"


@pytest.mark.req("R3")
def test_a_search_neither_leaves_the_workspace_nor_waits(context: Context, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("def secret\n")
    (context.workspace / "link").symlink_to(tmp_path)
    (context.workspace / "file").symlink_to(tmp_path / "secret")
    (context.workspace / "loop").symlink_to(".")
    os.mkfifo(context.workspace / "fifo")
    (context.workspace / os.fsdecode(b"caf\xe9")).write_text("def odd\n")
    assert context.now(search_files, pattern="def ").text.split("\n")[-1] == "caf\ufffd:1:def odd"
    assert "secret" not in context.now(search_files, pattern="d.f|secret").text
    for path in ("link", "file", "/etc", "..", "fifo"):
        with pytest.raises(PermissionRefused):
            context.now(search_files, pattern="x", path=path)


def test_both_ways_of_running_find_the_same(context: Context) -> None:
    (context.workspace / os.fsdecode(b"caf\xe9")).write_text("def odd\n")
    for pattern in (r"def \w+.*", "import", r"(?i)DEF\s+(alpha|beta)"):
        query = Query(root=str(context.workspace), path=".", pattern=pattern, context=1, most=2)
        assert in_own_process(query) == list(find(query)) != []


@pytest.mark.req("R14")
def test_a_pattern_that_runs_away_is_ended_and_keeps_what_was_found(context: Context) -> None:
    context.write("a/first.txt", "aab\n")
    context.write("z.txt", "a" * 60 + "\n")
    pattern = r"(a+)+b"
    assert runs_away(pattern)
    query = Query(root=str(context.workspace), path=".", pattern=pattern, seconds=0.5)
    assert in_own_process(query, grace=0.5) == [
        Found("a/first.txt:1:aab"),
        Found("ended after 1 s: the pattern takes too long on some line; use a simpler one", note=True),
    ]


@pytest.mark.parametrize(
    ("pattern", "away"),
    [
        ("plain text", False),
        (r"a\(b\)\*c", False),
        ("a.*b", False),
        ("(a|b)", False),
        ("(a|aa)+b", True),
        ("a.*b.*c", True),
        ("a?a?", True),
    ],
)
def test_which_patterns_need_a_process(pattern: str, away: bool) -> None:
    assert runs_away(pattern) is away


def test_large_files_deep_folders_and_long_lines_are_bounded(context: Context) -> None:
    with context.write("large", b"needle\n").open("r+b") as file:
        file.truncate(17 << 20)
    context.write("long", "needle " + "x" * 100_000 + "\n")
    folder = context.workspace
    for _ in range(80):
        folder = folder / "d"
        folder.mkdir()
    (folder / "below").write_text("needle\n")
    result = context.now(search_files, pattern="needle")
    assert result.text == f"long:1:needle {'x' * 293}…\n[1 files over 16 MB were not searched]"


def test_time_is_bounded(context: Context) -> None:
    query = Query(root=str(context.workspace), path=".", pattern="def", seconds=-1)
    assert list(find(query)) == [Found("stopped after -1 s; search a smaller folder or a simpler pattern", note=True)]
