"""SKILL.md after the Agent Skills standard: Markdown under YAML front matter, with our extensions under `metadata`.

Reading names every problem at once, with its line. What others wrote in the standard's plain form loads, and metadata
that we do not know is kept. What we write passes the standard's reference validator and reads back as the same skill.
"""

from __future__ import annotations

import json

from .conditions import unmet
from .folder import (
    MAX_FILE,
    MAX_FILES,
    MAX_SKILL,
    MAX_TREE,
    check_path,
    paths_in,
    read_folder,
    safe_path,
    version_of,
)
from .frontmatter import MAX_DEPTH, MAX_KEY, Node, Writable, emit, load
from .problem import SkillProblem
from .reading import read_fields
from .skill import Skill, Slot, Trial
from .slots import filled, filled_command, usage

__all__ = [
    "MAX_FILE",
    "MAX_FILES",
    "MAX_SKILL",
    "MAX_TREE",
    "SkillProblem",
    "check_path",
    "filled",
    "filled_command",
    "nonstandard",
    "parse_skill",
    "paths_in",
    "read_folder",
    "render_skill",
    "safe_path",
    "unmet",
    "usage",
    "version_of",
]
_FENCE = "---"
STANDARD = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")


def parse_skill(text: str | bytes, folder_name: str = "") -> Skill:
    """The skill that a SKILL.md says; `folder_name`, where given, must be its name. Raises `SkillProblem`."""
    front, body, line = _divided(_decoded(text))
    return read_fields(load(front, 2), body, line, folder_name)


def nonstandard(text: str | bytes) -> tuple[str, ...]:
    """Fields at the top of the front matter that the standard does not know; they load as if under `metadata`."""
    front, _, _ = _divided(_decoded(text))
    return tuple(key for key in load(front, 2).data if key not in STANDARD)


def render_skill(skill: Skill) -> str:
    """A skill as its SKILL.md. Raises `SkillProblem` for one that could not be read back. Line ends become newlines."""
    fields: dict[str, Writable] = {"name": skill.name, "description": skill.description}
    fields |= _given(
        {"license": skill.license, "compatibility": skill.compatibility, "allowed-tools": skill.allowed_tools}
    )
    metadata = _metadata(skill)
    if metadata:
        fields["metadata"] = metadata
    body = f"\n{skill.body}\n" if skill.body else ""
    text = f"{_FENCE}\n{emit(fields)}{_FENCE}\n{_newlines(body)}"
    parse_skill(text)
    return text


def _decoded(text: str | bytes) -> str:
    if len(text) > MAX_SKILL:
        raise SkillProblem(f"SKILL.md is larger than {MAX_SKILL:,} bytes", remedy="move parts of it to references/")
    raw = text if isinstance(text, bytes) else _encoded(text)
    if len(raw) > MAX_SKILL:
        raise SkillProblem(f"SKILL.md is larger than {MAX_SKILL:,} bytes", remedy="move parts of it to references/")
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SkillProblem(
            f"line {line}: byte 0x{raw[error.start]:02x} is not UTF-8", remedy="save the file as UTF-8"
        ) from error
    nul = decoded.find("\0")
    if nul >= 0:
        raise SkillProblem(f"line {decoded.count(chr(10), 0, nul) + 1}: a NUL character; remove it")
    return _newlines(decoded)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise SkillProblem(f"line {line}: half a character (a lone surrogate); remove it") from error


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _divided(text: str) -> tuple[str, str, int]:
    """Front matter, body, and the line on which the body begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        raise SkillProblem("line 1: SKILL.md must begin with a line of three hyphens (---) and its front matter")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            rest = lines[number + 1 :]
            begin = 1 if rest and rest[0] == "" else 0
            body = "\n".join(rest[begin:]).removesuffix("\n")
            return "\n".join(lines[1:number]) + "\n", body, number + 2 + begin
    raise SkillProblem("line 1: the front matter is not closed; put a line of three hyphens (---) behind it")


def _metadata(skill: Skill) -> dict[str, Writable]:
    conditions = skill.conditions
    held: dict[str, Writable] = {
        "platforms": conditions.platforms,
        "tools": conditions.tools,
        "environment": conditions.environment,
    }
    held = _given(held)
    if conditions.group_chat is not None:
        held["group-chat"] = conditions.group_chat
    known: dict[str, Writable] = {
        "category": skill.category,
        "tags": skill.tags,
        "triggers": skill.triggers,
        "conditions": held,
        "parameters": [_slot(slot) for slot in skill.slots],
        "dependencies": skill.dependencies,
        "template": skill.template,
        "success-criteria": skill.success_criteria,
        "pitfalls": skill.pitfalls,
        "tests": [_trial(trial) for trial in skill.trials],
    }
    known = _given(known)
    twice = sorted(known.keys() & skill.other.keys())
    if twice:
        raise SkillProblem(f"other metadata may not be called {', '.join(twice)}: the skill has that itself")
    return known | {key: _unfolded(value) for key, value in skill.other.items()}


def _given(fields: dict[str, Writable]) -> dict[str, Writable]:
    """The fields that are not empty: an empty one is not written."""
    return {key: value for key, value in fields.items() if value or isinstance(value, int)}


def _slot(slot: Slot) -> dict[str, Writable]:
    fields: dict[str, Writable] = {"name": slot.name}
    if slot.default is not None:
        fields["default"] = slot.default
    return fields | _given({"description": slot.description})


def _trial(trial: Trial) -> dict[str, Writable]:
    fields: dict[str, Writable] = {"name": trial.name, "run": trial.run}
    fields |= _given({"files": trial.files, "parameters": trial.parameters, "contains": trial.contains})
    return fields | ({"exit": trial.exit} if trial.exit else {})


def _unfolded(value: str) -> Writable:
    """Unknown metadata as it was: nested again, where its text is the JSON that nesting was read as."""
    if value[:1] not in ("{", "["):
        return value
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return data if _plain(data, MAX_DEPTH - 2) and json.dumps(data, ensure_ascii=False) == value else value


def _plain(data: Node, depth: int) -> bool:
    """Whether block YAML can say this: nothing empty, nothing but text at its ends, not too deep."""
    if isinstance(data, str):
        return True
    if not isinstance(data, (list, dict)) or not data or depth < 1:
        return False
    if isinstance(data, list):
        return all(_plain(item, depth - 1) for item in data)
    return all(len(key) <= MAX_KEY and _plain(item, depth - 1) for key, item in data.items())
