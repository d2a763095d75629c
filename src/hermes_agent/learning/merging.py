"""Two skills made one, without a model and without losing a line.

The umbrella keeps its name and its text. What only the absorbed skill says is added: its triggers, pitfalls, criteria
and trials, its support files, and of its text either the steps that are its own or, where most of it is, the whole as
a reference. Where two skills cannot be one (`unmergeable`), they stay two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import msgspec

from ..safety.scan import Kind, Verdict, scan
from ..skills.format import MAX_FILES, MAX_SKILL, MAX_TREE, SkillProblem, check_path, parse_skill, render_skill
from ..skills.skill import MAIN, SUPPORT, Files, Skill, Slot, Trial
from ..types.base import Value
from ..types.text import decode, one_line

_COVERED = 0.8
"""A step is told already when so much of its words is in one step of the umbrella."""
_MOSTLY_OWN = 0.5
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,4}[.)])\s+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_CODE = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SLOT = re.compile(r"\{\{\s*([A-Za-z_][\w-]*)\s*\}\}")
_TELLING = frozenset(
    {"not", "never", "no", "don't", "only", "unless", "except", "without", "before", "after", "always"}
)
"""Words that turn a step into another one."""
_LONGEST_TRIGGER = 200
_PROSE = frozenset({".md", ".txt", ".rst", ""})
_SUPPORT_FILE = re.compile(rf"(?<![\w./-])(?:{'|'.join(SUPPORT)})/[\w./-]+")


class Whole(Value, frozen=True, kw_only=True):
    """A skill with everything in its folder."""

    skill: Skill
    files: Files


class Merged(Value, frozen=True, kw_only=True):
    """The umbrella as it will be. `moved` says which support files got another path, `kept_whole` that the absorbed
    text became a reference, `also` what was added to the umbrella's text."""

    whole: Whole
    moved: dict[str, str] = {}
    kept_whole: bool = False
    also: tuple[str, ...] = ()


def unmergeable(umbrella: Whole, absorbed: Whole) -> str:
    """Why these two must stay two, or nothing."""
    one, other = umbrella.skill, absorbed.skill
    if one.conditions != other.conditions:
        return "they are offered under different conditions"
    if one.license != other.license:
        return "they have different licences"
    moved = _moved(umbrella.files, absorbed)
    for old in moved:
        if user := _relies_on(absorbed.files, old):
            return f"{old} differs in both, and {user} of {other.name} relies on its name"
    try:
        result = _merge(umbrella, absorbed, moved)
        parse_skill(result.whole.files[MAIN], one.name)
        for path in result.whole.files:
            if path not in umbrella.files:
                check_path(path)
    except SkillProblem as problem:
        return f"together they would be no valid skill: {problem}"
    if len(result.whole.files[MAIN]) > MAX_SKILL:
        return f"together their SKILL.md would be larger than {MAX_SKILL} bytes"
    if len(result.whole.files) > MAX_FILES or sum(map(len, result.whole.files.values())) > MAX_TREE:
        return "together their support files would be too many or too large"
    return ""


def merged(umbrella: Whole, absorbed: Whole) -> Merged:
    """The umbrella with what only the absorbed skill says. Ask `unmergeable` first."""
    return _merge(umbrella, absorbed, _moved(umbrella.files, absorbed))


def rewritten(umbrella: Whole, absorbed: Whole, text: str) -> Merged | None:
    """What a model made of the two, or None when it cannot be taken: it must be a skill of the umbrella's name that
    the scanner lets pass, with every piece of code of the umbrella's text in it and no support file that is not there.

    Only its body and description are taken; everything else comes of the merge without it. The absorbed text is kept
    whole as a reference, so that a model which forgets half of it loses nothing."""
    try:
        answer = parse_skill(text, umbrella.skill.name)
    except SkillProblem:
        return None
    plain = _merge(umbrella, absorbed, _moved(umbrella.files, absorbed), keep_whole=True)
    skill = msgspec.structs.replace(plain.whole.skill, body=answer.body, description=answer.description)
    needed = _literal(umbrella.skill.body)
    named = {match[0].rstrip(".") for match in _SUPPORT_FILE.finditer(answer.body)}
    undeclared = set(_SLOT.findall(answer.body)) - {slot.name for slot in skill.slots}
    if undeclared or any(code not in answer.body for code in needed) or not named <= set(plain.whole.files):
        return None
    if not set(plain.whole.files) - set(umbrella.files) - {MAIN} <= named:
        body = answer.body.rstrip("\n") + _section(absorbed.skill.name, plain.also)
        skill = msgspec.structs.replace(skill, body=body)
    rendered = render_skill(skill).encode()
    if len(rendered) > MAX_SKILL or scan(rendered, Kind.SKILL).verdict is Verdict.BLOCK:
        return None
    whole = Whole(skill=parse_skill(rendered), files={**plain.whole.files, MAIN: rendered})
    return msgspec.structs.replace(plain, whole=whole)


def own_steps(text: str, beside: str) -> list[str]:
    """The steps and paragraphs of a text that `beside` does not tell. Code, numbers, and words such as "never" must be
    there as they are; of the rest of the words most."""
    there = [_telling(block) for block in blocks(beside)]
    return [block for block in blocks(text) if not any(_covers(other, block, beside) for other in there)]


def blocks(text: str) -> list[str]:
    """A Markdown text as list items and paragraphs, each with the code that belongs to it; headings are left out."""
    found: list[list[str]] = []
    fenced = False
    begins = True
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            if not found:
                found.append([])
            found[-1].append(line)
            begins = not fenced
        elif fenced:
            found[-1].append(line)
        elif not line.strip() or _HEADING.match(line):
            begins = True
        elif _ITEM.match(line) or (begins and not (found and line.startswith("  "))):
            found.append([line])
            begins = False
        else:
            found[-1].append(line)
            begins = False
    return ["\n".join(lines) for lines in found if lines]


def joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Both, each said once; upper and lower case and spaces make no difference."""
    said: dict[str, str] = {}
    for text in (*one, *other):
        said.setdefault(" ".join(text.lower().split()), text)
    return tuple(said.values())


def _merge(umbrella: Whole, absorbed: Whole, moved: Mapping[str, str], *, keep_whole: bool = False) -> Merged:
    one, other = umbrella.skill, _with_paths(absorbed.skill, moved)
    files = {path: content for path, content in umbrella.files.items() if path != MAIN}
    for path, content in absorbed.files.items():
        if path != MAIN:
            files[moved.get(path, path)] = _adjusted(content, moved)
    parts, own = len(blocks(other.body)), own_steps(other.body, one.body)
    kept_whole = keep_whole or (bool(own) and len(own) > _MOSTLY_OWN * parts)
    if kept_whole:
        reference = _free(f"references/{other.name}.md", files, other.name)
        files[reference] = other.body.encode()
        also = [f"{one_line(other.description, 300)} The steps are in `{reference}`."]
    else:
        also = [_as_item(block) for block in own]
    brought = sorted(path for path in files if path not in umbrella.files)
    unsaid = [path for path in brought if not any(path in text for text in also)]
    if unsaid:
        also.append("- Files: " + ", ".join(f"`{path}`" for path in unsaid))
    skill = _combined(one, other, one.body.rstrip("\n") + _section(other.name, also) if also else one.body)
    files[MAIN] = render_skill(skill).encode()
    whole = Whole(skill=parse_skill(files[MAIN]), files=files)
    return Merged(whole=whole, moved=dict(moved), kept_whole=kept_whole, also=tuple(also))


def _section(name: str, also: Iterable[str]) -> str:
    """What is added to a text of what another skill said."""
    return f"\n\n## Also ({name})\n\n" + "\n".join(also)


def _combined(one: Skill, other: Skill, body: str) -> Skill:
    """The front matter of both around one body."""
    triggers = other.triggers or (one_line(other.description, _LONGEST_TRIGGER),)
    slots = _slots(one, other, body)
    return msgspec.structs.replace(
        one,
        body=body,
        compatibility="; ".join(part for part in joined([one.compatibility], [other.compatibility]) if part)[:500],
        category=one.category or other.category,
        tags=joined(one.tags, other.tags),
        triggers=joined(one.triggers, triggers),
        slots=slots,
        dependencies=joined(one.dependencies, other.dependencies),
        template=one.template or other.template,
        success_criteria=joined(one.success_criteria, other.success_criteria),
        pitfalls=joined(one.pitfalls, other.pitfalls),
        trials=_trials(one, other, slots),
        other={**other.other, **one.other},
    )


def _slots(one: Skill, other: Skill, body: str) -> tuple[Slot, ...]:
    """The umbrella's parameters and those of the absorbed one that its steps still use, which nobody has to give: who
    invokes the umbrella as before must get it."""
    known = {slot.name for slot in one.slots}
    used = set(_SLOT.findall(body))
    more = [slot for slot in other.slots if slot.name not in known and slot.name in used]
    return one.slots + tuple(
        slot if slot.default is not None else msgspec.structs.replace(slot, default=f"({slot.name})") for slot in more
    )


def _trials(one: Skill, other: Skill, slots: tuple[Slot, ...]) -> tuple[Trial, ...]:
    """The trials of both. What a trial of the absorbed skill took from a default it now brings along."""
    kept = {slot.name: slot.default for slot in slots}
    found = list(one.trials)
    for trial in other.trials:
        used = set(_SLOT.findall(trial.run))
        needed = {
            slot.name: slot.default
            for slot in other.slots
            if slot.name in used and slot.default is not None and kept.get(slot.name) != slot.default
        }
        changed = msgspec.structs.replace(trial, parameters={**needed, **trial.parameters})
        if any(msgspec.structs.replace(changed, name=known.name) == known for known in found):
            continue
        names = {known.name for known in found}
        name, count = changed.name, 1
        while name in names:
            name = f"{other.name}-{changed.name}" if count == 1 else f"{other.name}-{changed.name}-{count}"
            count += 1
        found.append(msgspec.structs.replace(changed, name=name))
    return tuple(found)


def _moved(files: Files, absorbed: Whole) -> dict[str, str]:
    """New paths for support files of the absorbed skill whose path holds something else already."""
    taken: dict[str, bytes] = {**absorbed.files, **files}
    moved: dict[str, str] = {}
    for path, content in absorbed.files.items():
        if path != MAIN and path in files and files[path] != content:
            moved[path] = _free(path, taken, absorbed.skill.name)
            taken[moved[path]] = content
    return moved


def _free(path: str, taken: Mapping[str, bytes], name: str) -> str:
    """`path`, else one with the skill's name in it that is not taken."""
    pure, count = PurePosixPath(path), 1
    while path in taken:
        path = str(pure.with_name(f"{name}-{pure.name}" if count == 1 else f"{name}-{count}-{pure.name}"))
        count += 1
    return path


def _relies_on(files: Files, path: str) -> str:
    """The support file that names another one by anything but its path, as an import does; then it cannot move. Prose
    has to say the whole file name: the stem may be any word."""
    pure = PurePosixPath(path)
    for user, content in files.items():
        if user not in (MAIN, path):
            name = pure.name if PurePosixPath(user).suffix in _PROSE else pure.stem
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", decode(content).replace(path, "")):
                return user
    return ""


def _with_paths(skill: Skill, moved: Mapping[str, str]) -> Skill:
    """A skill that names its support files by their new paths."""
    if not moved:
        return skill
    return msgspec.structs.replace(
        skill,
        body=_replaced(skill.body, moved),
        template=_replaced(skill.template, moved),
        success_criteria=tuple(_replaced(text, moved) for text in skill.success_criteria),
        pitfalls=tuple(_replaced(text, moved) for text in skill.pitfalls),
        trials=tuple(msgspec.structs.replace(trial, run=_replaced(trial.run, moved)) for trial in skill.trials),
    )


def _adjusted(content: bytes, moved: Mapping[str, str]) -> bytes:
    """A support file with the new paths; what is no text stays as it is."""
    if not moved:
        return content
    try:
        return _replaced(content.decode(), moved).encode()
    except UnicodeDecodeError:
        return content


def _replaced(text: str, moved: Mapping[str, str]) -> str:
    paths = "|".join(re.escape(path) for path in sorted(moved, key=len, reverse=True))
    return re.sub(rf"(?<![\w-])(?:{paths})(?![\w-]|\.\w)", lambda match: moved[match[0]], text)


def _as_item(block: str) -> str:
    """A step as an item of a list, whatever it was before."""
    first, *rest = block.split("\n")
    return "\n".join(["- " + _ITEM.sub("", first, count=1).strip(), *rest])


def _telling(block: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a block, and those of them that must be in both."""
    plain = _ITEM.sub("", block, count=1)
    words = frozenset(word.lower() for word in _WORD.findall(plain))
    return words, frozenset(word for word in words if word in _TELLING or any(mark.isdigit() for mark in word))


def _literal(block: str) -> list[str]:
    """What must be told letter for letter: code."""
    found, fenced = [], False
    for line in block.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            found.append(line.strip())
        else:
            found += _CODE.findall(line)
    return found


def _covers(there: tuple[frozenset[str], frozenset[str]], block: str, beside: str) -> bool:
    words, exact = _telling(block)
    if exact != there[1] or any(code not in beside for code in _literal(block)):
        return False
    return not words or len(words & there[0]) >= _COVERED * len(words)
