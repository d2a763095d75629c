"""From front matter to a skill: every field held against what it must be, every problem kept with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import TypeVar

from ..types.text import one_line
from .folder import check_path, safe_path
from .frontmatter import Front, Node, Place
from .problem import SkillProblem
from .skill import Conditions, Skill, Slot, Trial
from .slots import SLOT_NAME, command_problem, snippet_problems

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_NAME, _MAX_DESCRIPTION, _MAX_COMPATIBILITY = 64, 1024, 500
_MOST_PROBLEMS = 40
_STRUCTURED = frozenset(("conditions", "parameters", "tests"))
_KNOWN = _STRUCTURED | {
    "category",
    "tags",
    "triggers",
    "dependencies",
    "template",
    "success-criteria",
    "pitfalls",
}
_TOP = frozenset(("name", "description", "license", "compatibility", "allowed-tools", "metadata"))
Given = TypeVar("Given")


def read_fields(front: Front, body: str, body_line: int, folder_name: str) -> Skill:
    """The skill that front matter and body make. Raises `SkillProblem` with everything that does not fit."""
    reading = _Reading(front)
    name = _name(reading, folder_name)
    fields, places = _extensions(reading)
    slots = reading.each(places, fields, "parameters", _slot)
    skill = Skill(
        name=name,
        description=_required(reading, "description", _MAX_DESCRIPTION),
        body=body,
        license=reading.text(("license",), front.data.get("license", "")).strip(),
        compatibility=_short(reading, "compatibility", _MAX_COMPATIBILITY),
        allowed_tools=" ".join(reading.texts(("allowed-tools",), front.data.get("allowed-tools", ""))).strip(),
        category=reading.text(places.get("category", ()), fields.get("category", "")),
        tags=_tags(reading, places.get("tags", ()), fields.get("tags", "")),
        triggers=reading.texts(places.get("triggers", ()), fields.get("triggers", "")),
        conditions=_conditions(reading, places.get("conditions", ()), fields.get("conditions", "")),
        slots=slots,
        dependencies=reading.texts(places.get("dependencies", ()), fields.get("dependencies", "")),
        template=_path(reading, places.get("template", ()), fields.get("template", ""), check_path),
        success_criteria=reading.texts(places.get("success-criteria", ()), fields.get("success-criteria", "")),
        pitfalls=reading.texts(places.get("pitfalls", ()), fields.get("pitfalls", "")),
        trials=reading.each(places, fields, "tests", _trial),
        other={key: _folded(value) for key, value in fields.items() if _is_other(key, value)},
    )
    _once(reading, places.get("parameters", ()), "parameter", [slot.name for slot in slots])
    _once(reading, places.get("tests", ()), "test", [trial.name for trial in skill.trials])
    _commands(reading, skill, places.get("tests", ()), body_line)
    reading.finish()
    return skill


class _Reading:
    """Front matter on its way to a skill, and what was wrong with it so far."""

    def __init__(self, front: Front) -> None:
        self.front = front
        self._problems: list[tuple[int, str]] = list(front.problems)

    def complain(self, place: Place, problem: str) -> None:
        """Keep a problem with the line of a place."""
        self.complain_at(self.front.line(place), problem)

    def complain_at(self, line: int, problem: str) -> None:
        """Keep a problem with its line."""
        self._problems.append((line, problem))

    def finish(self) -> None:
        """Raise what was found, in the order of lines."""
        told = [f"line {line}: {problem}" for line, problem in sorted(self._problems)]
        if len(told) > _MOST_PROBLEMS:
            told[_MOST_PROBLEMS:] = [f"and {len(told) - _MOST_PROBLEMS} more problems"]
        if told:
            raise SkillProblem(*told)

    def text(self, place: Place, value: Node) -> str:
        """A single text."""
        if isinstance(value, str):
            return value
        self.complain(place, f"'{_shown(place)}' must be a text, not a list or a mapping")
        return ""

    def texts(self, place: Place, value: Node) -> tuple[str, ...]:
        """A list of texts; one alone may stand without a list."""
        if isinstance(value, str):
            return (value,) if value else ()
        if isinstance(value, dict):
            self.complain(place, f"'{_shown(place)}' must be a list of texts")
            return ()
        return tuple(self.text((*place, number), item) for number, item in enumerate(value))

    def pairs(self, place: Place, value: Node) -> dict[str, str]:
        """A mapping from texts to texts."""
        if isinstance(value, dict):
            return {key: self.text((*place, key), item) for key, item in value.items()}
        if value:
            self.complain(place, f"'{_shown(place)}' must be a mapping")
        return {}

    def known(self, place: Place, value: Node, keys: Collection[str]) -> dict[str, Node]:
        """A mapping that has no keys but these: one that is not understood must not be passed over."""
        if not isinstance(value, dict):
            self.complain(place, f"'{_shown(place)}' must be a mapping with {', '.join(keys)}")
            return {}
        for key in value:
            if key not in keys:
                told = f"'{_shown(place)}' has no '{one_line(key, 40)}'; it may have {', '.join(keys)}"
                self.complain((*place, key), told)
        return value

    def each(
        self,
        places: dict[str, Place],
        fields: dict[str, Node],
        key: str,
        read: Callable[[_Reading, Place, Node], Given],
    ) -> tuple[Given, ...]:
        """A list read one by one."""
        place, value = places.get(key, ()), fields.get(key, "")
        if isinstance(value, str):
            return ()
        if isinstance(value, dict):
            self.complain(place, f"'{key}' must be a list")
            return ()
        return tuple(read(self, (*place, number), item) for number, item in enumerate(value))


def _extensions(reading: _Reading) -> tuple[dict[str, Node], dict[str, Place]]:
    """What lies under `metadata`, and fields that others put beside it, with their places."""
    data = reading.front.data
    fields: dict[str, Node] = {}
    places: dict[str, Place] = {}
    metadata = data.get("metadata", "")
    if isinstance(metadata, dict):
        fields = dict(metadata)
        places = {key: ("metadata", key) for key in metadata}
    elif metadata:
        reading.complain(("metadata",), "'metadata' must be a mapping")
    for key, value in data.items():
        if key in _TOP:
            continue
        if key in fields:
            reading.complain((key,), f"'{one_line(key, 40)}' is given here and under metadata; keep the latter")
        fields[key], places[key] = value, (key,)
    return fields, places


def _name(reading: _Reading, folder_name: str) -> str:
    name = _required(reading, "name", _MAX_NAME)
    if name and not _NAME.fullmatch(name):
        told = "must be small letters a-z, digits and single hyphens between them"
        reading.complain(("name",), f"name '{one_line(name, 70)}' {told}")
    elif name and folder_name and name != folder_name:
        told = f"the skill is called '{name[:70]}' but its folder '{one_line(folder_name, 70)}'; make them the same"
        reading.complain(("name",), told)
    return name


def _required(reading: _Reading, key: str, limit: int) -> str:
    if key not in reading.front.data:
        reading.complain((), f"'{key}' is missing")
        return ""
    text = _short(reading, key, limit)
    if not text and isinstance(reading.front.data[key], str):
        reading.complain((key,), f"'{key}' is empty")
    return text


def _short(reading: _Reading, key: str, limit: int) -> str:
    text = reading.text((key,), reading.front.data.get(key, "")).strip()
    if len(text) > limit:
        reading.complain((key,), f"'{key}' is longer than {limit} characters ({len(text)})")
    return text


def _tags(reading: _Reading, place: Place, value: Node) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word for word in (each.strip() for each in value.split(",")) if word)
    return reading.texts(place, value)


def _conditions(reading: _Reading, place: Place, value: Node) -> Conditions:
    if isinstance(value, str):
        return Conditions()
    fields = reading.known(place, value, ("platforms", "group-chat", "tools", "environment"))
    group = fields.get("group-chat", "")
    if group not in ("", "true", "false"):
        reading.complain((*place, "group-chat"), "'group-chat' must be true or false")
    return Conditions(
        platforms=reading.texts((*place, "platforms"), fields.get("platforms", "")),
        group_chat=None if group == "" else group == "true",
        tools=reading.texts((*place, "tools"), fields.get("tools", "")),
        environment=reading.texts((*place, "environment"), fields.get("environment", "")),
    )


def _slot(reading: _Reading, place: Place, value: Node) -> Slot:
    fields = (
        {"name": value} if isinstance(value, str) else reading.known(place, value, ("name", "default", "description"))
    )
    name = reading.text((*place, "name"), fields.get("name", ""))
    if not SLOT_NAME.fullmatch(name):
        told = "needs a name of letters, digits, _ and -, beginning with a letter or _"
        reading.complain(place, f"a parameter {told}" + (f", not '{one_line(name, 40)}'" if name else ""))
    return Slot(
        name=name,
        default=reading.text((*place, "default"), fields["default"]) if "default" in fields else None,
        description=reading.text((*place, "description"), fields.get("description", "")),
    )


def _trial(reading: _Reading, place: Place, value: Node) -> Trial:
    fields = reading.known(place, value, ("name", "run", "files", "parameters", "exit", "contains"))
    texts = {key: reading.text((*place, key), fields.get(key, "")) for key in ("name", "run")}
    for key, text in texts.items():
        if isinstance(value, dict) and not text.strip():
            reading.complain(place, f"a test needs '{key}'")
    code = fields.get("exit", "0")
    if not isinstance(code, str) or not re.fullmatch(r"[0-9]{1,3}", code) or int(code) > 255:
        reading.complain((*place, "exit"), "'exit' must be a number from 0 to 255")
        code = "0"
    files = reading.pairs((*place, "files"), fields.get("files", ""))
    return Trial(
        name=texts["name"],
        run=texts["run"],
        files={_path(reading, (*place, "files", path), path, _beside): text for path, text in files.items()},
        parameters=reading.pairs((*place, "parameters"), fields.get("parameters", "")),
        exit=int(code),
        contains=reading.texts((*place, "contains"), fields.get("contains", "")),
    )


def _beside(path: str) -> str:
    cleaned = safe_path(path)
    if cleaned.split("/")[0] == "skill":
        raise SkillProblem(f"the path '{one_line(path, 80)}' is taken: the skill itself lies in skill/")
    return cleaned


def _path(reading: _Reading, place: Place, value: Node, check: Callable[[str], str]) -> str:
    path = reading.text(place, value)
    if not path and check is not _beside:
        return ""
    try:
        return check(path)
    except SkillProblem as error:
        reading.complain(place, error.explain())
        return path


def _once(reading: _Reading, place: Place, what: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            reading.complain((*place, number), f"there are two {what}s called '{one_line(name, 40)}'")


def _commands(reading: _Reading, skill: Skill, tests: Place, body_line: int) -> None:
    names = [slot.name for slot in skill.slots]
    for line, problem in snippet_problems(skill.body, names):
        reading.complain_at(body_line + line - 1, problem)
    for number, trial in enumerate(skill.trials):
        problem = command_problem(trial.run, [*names, *trial.parameters])
        if problem:
            reading.complain((*tests, number, "run"), problem)


def _is_other(key: str, value: Node) -> bool:
    """Whether it is not ours to read. The standard's metadata are plain texts, and one may be called as ours are."""
    return key not in _KNOWN or (key in _STRUCTURED and isinstance(value, str) and bool(value))


def _folded(value: Node) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(place: Place) -> str:
    return ".".join(one_line(str(part), 40) for part in place if part != "metadata") or "metadata"
