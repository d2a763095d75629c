"""A skill's folder: what is read, what is refused, its digest; and when a skill is offered."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_agent.skills.format import (
    MAX_FILE,
    MAX_FILES,
    SkillProblem,
    check_path,
    paths_in,
    read_folder,
    safe_path,
    unmet,
    version_of,
)
from hermes_agent.skills.skill import MAIN, Circumstances, Conditions

STANDARD = "---\nname: weather\ndescription: Tell the weather.\n---\n\nLook out of the window.\n"


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("references/a.md", "references/a.md"),
        ("./scripts//b/c.py", "scripts/b/c.py"),
        ("assets/grün.png", "assets/grün.png"),
    ],
)
def test_paths_of_support_files(path: str, cleaned: str) -> None:
    assert check_path(path) == cleaned


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "/etc/passwd",
        "scripts",
        "scripts/",
        "../scripts/a",
        "scripts/../../a",
        "scripts/..",
        "other/a.md",
        "SKILL.md",
        "~/a",
        "scripts\\..\\a",
        "C:/a",
        "scripts/a\0b",
        "scripts/a\nb",
        "scripts/\u202egnp.exe",
        "scripts/.git/hooks",
        "scripts/a.",
        "scripts/a ",
        "scripts/\udcff",
        "scripts/" + "a/" * 9 + "b",
        "scripts/" + "a" * 200,
    ],
)
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    with pytest.raises(SkillProblem):
        check_path(path)


def test_any_file_inside_may_be_named_for_reading() -> None:
    assert safe_path("forms.md") == "forms.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill's folder with support files, and with what does not belong to it."""
    folder = tmp_path / "weather"
    (folder / "scripts/inner").mkdir(parents=True)
    (folder / "scripts/__pycache__").mkdir()
    (folder / MAIN).write_text(STANDARD)
    (folder / "scripts/inner/a.py").write_text("print(1)\n")
    (folder / "scripts/__pycache__/a.pyc").write_bytes(b"x")
    (folder / "notes.md").write_bytes(b"\xff\0")
    (folder / ".git").mkdir()
    return folder


FILES = {MAIN: STANDARD.encode(), "scripts/inner/a.py": b"print(1)\n", "notes.md": b"\xff\0"}


def test_a_folder_is_read_whole(folder: Path) -> None:
    assert read_folder(folder) == FILES
    assert paths_in(folder) == sorted(FILES)


def test_a_version_is_of_the_whole_tree() -> None:
    assert version_of(FILES) == version_of(dict(reversed(FILES.items())))
    assert version_of(FILES) == "233ba7b00dc26608"
    others = [
        {**FILES, MAIN: b""},
        {**FILES, "b": b""},
        {MAIN: STANDARD.encode()},
        {"a": b"bc", "d": b""},
        {"a": b"b", "cd": b""},
        {"ab": b"c", "d": b""},
        {},
    ]
    assert len({version_of(files) for files in [FILES, *others]}) == 8


def _link(folder: Path) -> None:
    (folder / "references").symlink_to("/etc")


def _link_to_file(folder: Path) -> None:
    (folder / "scripts/b.py").symlink_to(folder / "scripts/inner/a.py")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def _socket(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
    finally:
        os.chdir(here)


def _odd_name(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/a\xffb")).write_text("x")


def _large(folder: Path) -> None:
    (folder / "assets.bin").write_bytes(b"x" * (MAX_FILE + 1))


def _ten_megabytes(folder: Path) -> None:
    (folder / MAIN).write_bytes(b"x" * 10_000_000)


def _large_in_all(folder: Path) -> None:
    for number in range(6):
        (folder / f"{number}.bin").write_bytes(b"x" * MAX_FILE)


def _many(folder: Path) -> None:
    for number in range(MAX_FILES):
        (folder / f"{number}.md").touch()


def _no_main(folder: Path) -> None:
    (folder / MAIN).rename(folder / "skill.md")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_link, "references: it is a link, and links are not followed; put the file itself there"),
        (_link_to_file, "scripts/b.py: it is a link, and links are not followed; put the file itself there"),
        (_pipe, "pipe is no ordinary file; remove it"),
        (_socket, "socket: it is no ordinary file; remove it"),
        (_odd_name, "the path 'a\\u{dcff}b' holds characters that cannot be seen"),
        (_large, "assets.bin is larger than 1,000,000 bytes"),
        (_ten_megabytes, "SKILL.md is larger than 100,000 bytes"),
        (_large_in_all, "the skill is larger than 5,000,000 bytes in all"),
        (_many, "the skill has more than 200 files"),
        (_no_main, "weather has no SKILL.md"),
    ],
)
def test_folders_that_hold_what_they_must_not(folder: Path, spoil: Callable[[Path], None], problem: str) -> None:
    spoil(folder)
    with pytest.raises(SkillProblem) as raised:
        read_folder(folder)
    assert raised.value.problems == (problem,)


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_refusing_leaves_nothing_open(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for spoil in (_link, _pipe, _large):
        spoil(folder)
        with pytest.raises(SkillProblem):
            read_folder(folder)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_is_a_link_or_not_there_is_refused(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    with pytest.raises(SkillProblem, match="link cannot be read: it is a link"):
        read_folder(link)
    with pytest.raises(SkillProblem, match="gone cannot be read: No such file"):
        read_folder(folder.parent / "gone")


HERE = Circumstances(platform="Linux", tools=frozenset({"terminal"}), environment=frozenset({"HOME"}))


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        (Conditions(), ""),
        (Conditions(platforms=("linux", "macos"), group_chat=False, tools=("terminal",), environment=("HOME",)), ""),
        (Conditions(platforms=("windows",)), "it is for windows only"),
        (Conditions(group_chat=True), "it is for group chats only"),
        (Conditions(tools=("browser", "terminal", "x")), "it needs the tools browser, x"),
        (
            Conditions(tools=("browser",), environment=("KEY",)),
            "it needs the tool browser; it needs KEY to be set in the environment",
        ),
    ],
)
def test_conditions_say_why_a_skill_is_not_offered(conditions: Conditions, reason: str) -> None:
    assert unmet(conditions, HERE) == reason


def test_a_private_skill_is_not_for_group_chats() -> None:
    assert unmet(Conditions(group_chat=False), Circumstances(group_chat=True)) == "it is not for group chats"
