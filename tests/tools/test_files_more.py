"""Moving, deleting, inspecting, comparing and finding files of the workspace."""

import hashlib
import os
from pathlib import Path

import pytest

from hermes_agent.safety.paths import digest
from hermes_agent.tools.builtin.files import compare_files, delete_file, file_info, move_file
from hermes_agent.tools.builtin.search import find_files, search_files
from hermes_agent.tools.relocate import TRASH
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import ToolResult
from tests.tools.context import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path)


def tree(context: Context) -> list[str]:
    """Every file of the workspace, the trash left out."""
    found = (path.relative_to(context.workspace) for path in context.workspace.rglob("*") if not path.is_dir())
    return sorted(path.as_posix() for path in found if path.parts[0] != TRASH)


def trash(context: Context) -> dict[str, str]:
    """What is in the trash: old path and content."""
    root = context.workspace / TRASH
    found = [path for path in root.rglob("*") if path.is_file() and path.name != ".gitignore"]
    return {"/".join(path.relative_to(root).parts[1:]): path.read_text() for path in found}


@pytest.mark.req("A4")
def test_move(context: Context) -> None:
    context.write("a.txt", "a").chmod(0o640)
    context.write("folder/b.txt", "b")
    assert context.now(move_file, source="a.txt", destination="new/deep/c.txt") == ToolResult(
        text="moved a.txt to new/deep/c.txt"
    )
    assert (context.workspace / "new/deep/c.txt").stat().st_mode & 0o777 == 0o640
    assert context.now(move_file, source="new/deep/c.txt", destination="folder").text.endswith(" to folder/c.txt")
    assert context.now(move_file, source="folder/", destination="other").ok
    assert tree(context) == ["other/b.txt", "other/c.txt"]


def test_move_overwrites_only_when_told_and_keeps_the_old_one(context: Context) -> None:
    context.write("a", "new")
    context.write("b", "old")
    refused = context.now(move_file, source="a", destination="b")
    assert refused == ToolResult(ok=False, error="exists", text="b exists; choose another name, or set overwrite=true")
    assert (context.workspace / "b").read_text() == "old"
    done = context.now(move_file, source="a", destination="b", overwrite=True)
    assert done.ok and f"kept as {TRASH}/" in done.text
    assert (tree(context), (context.workspace / "b").read_text(), trash(context)) == (["b"], "new", {"b": "old"})


def test_move_of_folders_and_links(context: Context, tmp_path: Path) -> None:
    context.write("f/x", "1")
    context.write("g/x", "2")
    (tmp_path / "secret").write_text("s")
    (context.workspace / "out").symlink_to(tmp_path / "secret")
    inside = context.now(move_file, source="f", destination="f/below")
    assert not inside.ok
    assert context.now(move_file, source="f/x", destination="g", overwrite=False).error == "exists"
    assert context.now(move_file, source="f", destination="g/f").ok
    assert context.now(move_file, source="out", destination="renamed").ok
    assert os.readlink(context.workspace / "renamed") == str(tmp_path / "secret")
    assert (tmp_path / "secret").read_text() == "s"
    assert context.now(move_file, source="none", destination="x").error == "not_found"
    assert context.now(move_file, source="g/x", destination=f"{TRASH}/x").error == "bad_argument"


def test_move_after_a_crash(context: Context) -> None:
    context.write("b", "moved")
    context.after_crash()
    assert context.now(move_file, source="a", destination="b") == ToolResult(
        text="a was already moved before the interruption"
    )


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "/", "../x", "a/../..", "/etc/passwd", "link/secret", "~/x", "x\0y"),
        *(".git", ".GIT/config", "sub/.git/hooks", ".g\u200cit/config", ".git./x", "fifo"),
    ],
)
def test_what_may_neither_be_moved_nor_deleted(context: Context, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("s")
    (context.workspace / "link").symlink_to(tmp_path)
    os.mkfifo(context.workspace / "fifo")
    context.write("ok", "1")
    context.write(".git/config", "1")
    context.write("sub/.git/hooks", "1")
    before = tree(context)
    with pytest.raises(PermissionRefused):
        context.now(delete_file, path=path, recursive=True)
    with pytest.raises(PermissionRefused):
        context.now(move_file, source=path, destination="elsewhere")
    if path != "fifo":
        with pytest.raises(PermissionRefused):
            context.now(move_file, source="ok", destination=path)
    assert tree(context) == before
    assert (tmp_path / "secret").read_text() == "s"


@pytest.mark.req("A4")
def test_delete_can_be_undone(context: Context) -> None:
    context.write("a/b.txt", "precious")
    deleted = context.now(delete_file, path="a/b.txt")
    kept = deleted.text.partition("source='")[2].partition("'")[0]
    assert deleted == ToolResult(text=f"deleted a/b.txt; move_file(source='{kept}') brings it back")
    assert (tree(context), trash(context)) == ([], {"a/b.txt": "precious"})
    assert (context.workspace / TRASH / ".gitignore").read_text() == "*\n"
    assert context.now(move_file, source=kept, destination="a/b.txt").ok
    assert (tree(context), trash(context)) == (["a/b.txt"], {})


def test_folders_are_deleted_only_when_told(context: Context) -> None:
    context.write("f/g/x", "1")
    (context.workspace / "empty").mkdir()
    assert context.now(delete_file, path="f").error == "not_empty"
    assert context.now(delete_file, path="empty").ok
    assert context.now(delete_file, path="f", recursive=True).ok
    assert (tree(context), trash(context)) == ([], {"f/g/x": "1"})
    assert context.now(delete_file, path="f").error == "not_found"
    with pytest.raises(PermissionRefused):
        context.now(delete_file, path=TRASH, recursive=True)


def test_a_link_is_deleted_and_not_what_it_leads_to(context: Context, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target/x").write_text("1")
    (context.workspace / "link").symlink_to(tmp_path / "target")
    assert context.now(delete_file, path="link").ok
    assert (tmp_path / "target/x").read_text() == "1"
    (context.workspace / "other").symlink_to("nowhere")
    assert context.now(delete_file, path="other").ok and tree(context) == []


def test_a_trash_that_leads_elsewhere_is_not_used(context: Context, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (context.workspace / TRASH).symlink_to(tmp_path / "elsewhere")
    context.write("a", "1")
    assert not context.now(delete_file, path="a").ok
    assert (context.workspace / "a").read_text() == "1" and os.listdir(tmp_path / "elsewhere") == []


def test_the_trash_is_bounded(context: Context) -> None:
    for number in range(230):
        context.write(f"{TRASH}/20990101-000000-{number:06d}/f", "old")
    context.write(f"{TRASH}/20010101-000000-000000/f", "ancient")
    context.write("a", "1")
    assert context.now(delete_file, path="a").ok
    names = [name for name in os.listdir(context.workspace / TRASH) if name[0].isdigit()]
    assert len(names) <= 200 and "20010101-000000-000000" not in names


def test_delete_after_a_crash(context: Context) -> None:
    context.after_crash(a=digest(context.workspace / "a"))
    assert context.now(delete_file, path="a").text == "a was already deleted before the interruption"
    context.write("a", "written since")
    assert context.now(delete_file, path="a").error == "changed"
    context.after_crash(a=digest(context.workspace / "a"))
    assert context.now(delete_file, path="a").ok and tree(context) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"a\nb", "text: UTF-8, 2 lines, LF"),
        ("ä\r\nb\r\n".encode(), "text: UTF-8, 2 lines, CRLF"),
        (b"a\r\nb\nc\n", "text: UTF-8, 3 lines, mixed line ends"),
        (b"\xef\xbb\xbfa\n", "text: UTF-8 with a mark, 1 lines, LF"),
        ("ä".encode("utf-16"), "text: UTF-16, 1 lines, LF"),
        (b"\xe4\n", "text: not UTF-8, perhaps Latin-1, 1 lines, LF"),
        (b"a\0b", "binary"),
    ],
)
def test_info_of_files(context: Context, content: bytes, expected: str) -> None:
    path = context.write("f.txt", content)
    path.chmod(0o600)
    os.utime(path, (0, 0))
    assert context.now(file_info, path="f.txt") == ToolResult(
        text=f"f.txt: file, {len(content)} bytes, mode 0600, changed 1970-01-01 00:00:00 UTC\n"
        f"{expected}\nsha256 {hashlib.sha256(content).hexdigest()}"
    )


def test_info_of_everything_else(context: Context, tmp_path: Path) -> None:
    context.write("f/x", "1")
    (context.workspace / "out").symlink_to(tmp_path)
    os.mkfifo(context.workspace / "pipe")
    assert context.now(file_info, path="f").text.startswith("f/: folder, 1 entries, mode ")
    assert context.now(file_info, path="out").text.startswith(f"out: link to {tmp_path}, mode ")
    assert context.now(file_info, path="fx").error == "not_found"
    assert context.now(file_info, path=".git/x").error == "not_found"
    for path in ("pipe", "out/x", "../x", "/etc/passwd"):
        with pytest.raises(PermissionRefused):
            context.now(file_info, path=path)


def test_compare(context: Context) -> None:
    lines = [f"line {number}" for number in range(1, 3001)]
    context.write("old", "\n".join(lines) + "\n")
    lines[1500] = "changed"
    context.write("new", "\n".join(lines))
    assert context.now(compare_files, old="old", new="new", context_lines=1).text == (
        "--- old\n+++ new\n"
        "@@ -1500,3 +1500,3 @@\n line 1500\n-line 1501\n+changed\n line 1502\n"
        "@@ -2999,2 +2999,2 @@\n line 2999\n-line 3000\n+line 3000\n\\ No newline at end of file"
    )
    assert context.now(compare_files, old="old", new="old") == ToolResult(text="the files are equal")
    assert context.now(compare_files, old="old", new="none").error == "not_found"
    assert context.now(compare_files, old="old", new="new", context_lines=-1).error == "bad_argument"


def test_compare_hostile(context: Context, tmp_path: Path) -> None:
    context.write("a", "x\ny\n" * 20_000)
    context.write("b", "y\ny\nx\n" * 20_000)
    context.write("c", b"\0")
    context.write("d", b"\n" * (9 << 20))
    (context.workspace / "out").symlink_to(tmp_path)
    assert context.now(compare_files, old="a", new="b").error == "too_different"
    assert context.now(compare_files, old="a", new="c").text.endswith("they differ, and at least one is binary")
    assert context.now(compare_files, old="a", new="d").error == "too_different"
    with pytest.raises(PermissionRefused):
        context.now(compare_files, old="a", new="out/x")


@pytest.fixture
def project(context: Context) -> Context:
    context.write(".gitignore", "# made\n*.log\n!keep.log\n/build/\ndocs/**/draft*\n\\#odd\n[^a].tmp\ncache/\n")
    context.write("sub/.gitignore", "/local\n*.txt")
    for path in ("a.log", "keep.log", "build/x.py", "sub/build/x.py", "docs/a/b/draft1.md", "docs/final.md", "#odd"):
        context.write(path, "needle\n")
    for path in ("b.tmp", "a.tmp", "sub/local", "sub/x/local", "sub/n.txt", "n.txt", "x/cache/y.py", f"{TRASH}/t/z"):
        context.write(path, "needle\n")
    return context


VISIBLE = ["a.tmp", "docs/final.md", "keep.log", "n.txt", "sub/build/x.py", "sub/x/local"]


@pytest.mark.req("A4")
def test_find_files_leaves_out_what_git_does(project: Context) -> None:
    found = project.now(find_files, pattern="**/*").text.split("\n")
    assert [name for name in found if ".gitignore" not in name] == VISIBLE
    assert found[-1] == "[8 files or folders that .gitignore names were left out; give path to see]"
    assert project.now(find_files, pattern="*.py", path="build").text == "build/x.py"
    assert project.now(find_files, pattern="*.txt", path="sub").text.startswith("nothing found")
    assert project.now(find_files, pattern="sub/**/*.py").text.split("\n")[0] == "sub/build/x.py"
    lines = project.now(search_files, pattern="needle").text.split("\n")
    assert [line.partition(":")[0] for line in lines[:-1]] == VISIBLE


def test_find_files_in_pages(context: Context) -> None:
    for number in range(5):
        context.write(f"f{number}.py", "")
    assert context.now(find_files, pattern="*.py", limit=2, offset=2).text == (
        "f2.py\nf3.py\n[there are more; offset=4 shows them]"
    )
    assert context.now(find_files, pattern="none*") == ToolResult(text="nothing found")
    assert context.now(find_files, pattern="").error == "bad_argument"
    assert context.now(find_files, pattern="*", path="nowhere").error == "not_found"


@pytest.mark.req("R3")
def test_find_files_stays_inside_and_does_not_hang(context: Context, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    (context.workspace / "link").symlink_to(tmp_path)
    (context.workspace / "loop").symlink_to(".")
    os.mkfifo(context.workspace / "pipe.py")
    context.write(".gitignore", "*a" * 100 + "b\n" + "**/" * 200 + "x\n" + "[\n!\n/\n\\\n" + "\0\xff\n")
    context.write("a" * 200, "")
    assert context.now(find_files, pattern="**/*.py").text == "nothing found"
    assert context.now(find_files, pattern="*a" * 60 + "b").text == "nothing found"
    with pytest.raises(PermissionRefused):
        context.now(find_files, pattern="*", path="link")
