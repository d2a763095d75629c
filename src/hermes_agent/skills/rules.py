"""What a change of a skill must fit, and what is said when it does not."""

from __future__ import annotations

import difflib
import re

import msgspec

from ..types.errors import UsageError
from ..types.text import one_line
from .problem import SkillProblem
from .skill import MAIN, Files, Skill

_CATEGORY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SHOWN = 3


class Refused(UsageError):
    """A change that is not made. `error` is its short class, `problems` everything that is wrong."""

    def __init__(self, error: str, message: str, *problems: str) -> None:
        super().__init__(message)
        self.error = error
        self.problems = problems


def support_path(path: str) -> str:
    """The cleaned path of a support file; SKILL.md is none."""
    from .format import check_path

    if path.strip("/ ").casefold() == MAIN.casefold():
        raise Refused("invalid", f"{MAIN} is changed with edit or patch", f"{path} is no support file")
    return check_path(path)


def checked(name: str, files: Files) -> Skill:
    """The skill that these files are, if they are one: front matter, sizes, paths."""
    from .format import MAX_FILE, MAX_FILES, MAX_SKILL, MAX_TREE, check_path, parse_skill

    problems = []
    if MAIN not in files:
        raise SkillProblem(f"there is no {MAIN}")
    if len(files) > MAX_FILES:
        problems.append(f"{len(files)} files are more than {MAX_FILES}")
    if sum(map(len, files.values())) > MAX_TREE:
        problems.append(f"all files together have more than {MAX_TREE:,} bytes")
    for path, data in files.items():
        limit = MAX_SKILL if path == MAIN else MAX_FILE
        if len(data) > limit:
            problems.append(f"{one_line(path, 80)} has {len(data):,} bytes, more than {limit:,}")
        if path != MAIN and (cleaned := check_path(path)) != path:
            problems.append(f"{one_line(path, 80)} must be written {cleaned}")
    if problems:
        raise SkillProblem(*problems, remedy="split it, or move material into support files")
    return parse_skill(files[MAIN], name)


def categorised(content: str, name: str, category: str) -> bytes:
    """A new SKILL.md, with the category in its front matter if one is given."""
    from .format import MAX_SKILL, parse_skill, render_skill

    data = content.encode("utf-8", "surrogatepass")
    if not category:
        return data
    if len(category) > 32 or not _CATEGORY.fullmatch(category):
        raise Refused(
            "invalid",
            f"{one_line(category, 40)!r} is no category: use small letters, digits and hyphens, 32 at most",
            "category",
        )
    if len(data) > MAX_SKILL:
        raise SkillProblem(f"{MAIN} has {len(data):,} bytes, more than {MAX_SKILL:,}")
    skill = parse_skill(data, name)
    if skill.category == category:
        return data
    if skill.category:
        raise Refused(
            "invalid", f"the front matter says category {skill.category}, the call {category}: use one", "category"
        )
    return render_skill(msgspec.structs.replace(skill, category=category)).encode()


def patched(files: Files, path: str, old: str, new: str, *, replace_all: bool) -> bytes:
    """One file with a piece of it replaced. The piece must be there once; else the answer says where it is, or what is
    near to it."""
    if path not in files:
        raise Refused("not_found", f"there is no file {path}; there are: {', '.join(sorted(files)[:20])}")
    try:
        text = files[path].decode()
    except UnicodeDecodeError:
        raise Refused("invalid", f"{path} is not text and cannot be patched", "not text") from None
    if not old:
        raise Refused("invalid", "the text to replace is empty", "old is empty")
    count = text.count(old)
    if count == 0:
        raise Refused("no_match", f"{path} does not hold that text.{_near(text, old)}")
    if count > 1 and not replace_all:
        raise Refused(
            "ambiguous",
            f"{path} holds that text {count} times, in lines {_lines(text, old)}; give more of what is around the one"
            " you mean, or set replace_all",
        )
    return text.replace(old, new).encode("utf-8", "surrogatepass")


def _lines(text: str, old: str) -> str:
    """Where a text is found, with the line it is in."""
    places: list[str] = []
    start = text.find(old)
    while start >= 0 and len(places) < _SHOWN:
        line = text.count("\n", 0, start)
        places.append(f"{line + 1} ({one_line(text.splitlines()[line], 60)!r})")
        start = text.find(old, start + len(old))
    return ", ".join(places)


def _near(text: str, old: str) -> str:
    """The lines most like the one that was looked for."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")[:200]
    lines = {line.strip()[:200]: number for number, line in reversed(list(enumerate(text.splitlines()[:2000], 1)))}
    close = difflib.get_close_matches(wanted, [line for line in lines if line], n=_SHOWN, cutoff=0.5)
    if not close:
        return ""
    return " Nearest: " + "; ".join(f"line {lines[line]}: {one_line(line, 80)!r}" for line in close)
