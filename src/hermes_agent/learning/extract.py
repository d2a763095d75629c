"""From a run that was worth it to a skill: asked of a model, checked, and never a second one for the same thing.

What the model writes is data until it is proven to be a skill: it must be one JSON object of the right shape, become
Markdown that parses, pass the scanner, and run on its own test inputs. Anything else is a warning, and no skill.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec

from ..skills.format import SkillProblem, render_skill
from ..skills.library import Held, Library
from ..skills.manage import Editing
from ..skills.similarity import cosine
from ..skills.skill import MAIN, Author, Change, Files, Skill, Slot, Trial
from ..types.base import Value
from ..types.errors import HermesError, UsageError
from ..types.text import one_line
from ..types.trace import Trace
from .context import NEVER_LEARNED, error_class
from .observe import Observed
from .offering import vector_of_skill
from .refine import TEMPLATE, template_of

SAME = 0.9
_LONGEST_ANSWER = 40_000

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Few = Annotated[list[Line], msgspec.Meta(max_length=20)]


class Parameter(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that differs from task to task."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    default: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    description: Annotated[str, msgspec.Meta(max_length=300)] = ""


class Check(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A test input: a command and what it must print."""

    name: Line
    run: Text
    files: Annotated[dict[str, str], msgspec.Meta(max_length=10)] = {}
    contains: Few = []


class Draft(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an extraction must consist of."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: Annotated[str, msgspec.Meta(min_length=10, max_length=400)]
    triggers: Few
    steps: Annotated[list[Text], msgspec.Meta(min_length=1, max_length=30)]
    parameters: Annotated[list[Parameter], msgspec.Meta(max_length=12)] = []
    dependencies: Few = []
    success_criteria: Few = []
    pitfalls: Few = []
    code_template: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    language: Annotated[str, msgspec.Meta(pattern=r"^(|python|sh)$")] = ""
    tests: Annotated[list[Check], msgspec.Meta(max_length=5)] = []


class Extracted(Value, frozen=True, kw_only=True):
    """What came of an extraction: the change it led to, or why there is none."""

    change: Change | None = None
    reason: str = ""
    updated: bool = False


Ask = Callable[[str], Awaitable[str]]
"""Asks the model once, at the end of the conversation in which the run was made."""
Validate = Callable[[Files], Awaitable[Sequence[str]]]
"""What speaks against a skill (L11): syntax, scan, trial run. Nothing when it may be trusted."""

INSTRUCTION = (
    "The last request of this conversation was done with success. Write down how this kind of task is done, so that "
    "the next one like it goes right at once: the class of task, not this incident. Answer with one JSON object: name "
    "(lower case words joined by hyphens), description (what it does and when to use it), triggers (wordings of "
    "requests it fits), steps (in order, with the tools that worked and `{{parameter}}` where a value differs from "
    "task to task), parameters, dependencies, success_criteria (how to know that it worked), pitfalls (what went wrong "
    "here and how it was got past), and, only if a script is really reusable, code_template with language python or "
    "sh, and tests that run it as `python3 skill/scripts/main.py` or `sh skill/scripts/main.sh` on small files. Leave "
    "out what was missing on this machine, passing failures, names and secrets of this one case."
)


def asked(observed: Observed) -> str:
    """What the model is asked; the run itself is in the conversation."""
    return "\n".join([INSTRUCTION, *(f"- {insight}" for insight in observed.key_insights)])


def parse_draft(answer: str) -> Draft:
    """The draft in an answer. Raises UsageError for anything that is not exactly one."""
    text = answer.strip()
    if len(text) > _LONGEST_ANSWER:
        raise UsageError(f"the extraction has {len(text)} characters, more than {_LONGEST_ANSWER}")
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return msgspec.json.decode(text.encode("utf-8", "strict"), type=Draft)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise UsageError(f"the extraction is malformed: {one_line(str(error), 200)}") from error


def files_of(draft: Draft, trace: Trace) -> Files:
    """A draft as a skill's files: the Markdown, the way the run went, and the script if there is one. Raises
    SkillProblem."""
    script = (
        {"python": "scripts/main.py", "sh": "scripts/main.sh"}.get(draft.language, "") if draft.code_template else ""
    )
    skill = Skill(
        name=draft.name,
        description=draft.description,
        body=_body(draft, script),
        triggers=tuple(draft.triggers),
        slots=tuple(Slot(name=one.name, default=one.default, description=one.description) for one in draft.parameters),
        dependencies=tuple(draft.dependencies),
        template=script or TEMPLATE,
        success_criteria=tuple(draft.success_criteria),
        pitfalls=tuple(draft.pitfalls),
        trials=tuple(
            Trial(name=one.name, run=one.run, files=one.files, contains=tuple(one.contains)) for one in draft.tests
        ),
    )
    files = {MAIN: render_skill(skill).encode(), TEMPLATE: template_of(trace).encode()}
    return {**files, script: draft.code_template.encode()} if script else files


def _body(draft: Draft, script: str) -> str:
    parts = ["## Steps", *(f"{number}. {step}" for number, step in enumerate(draft.steps, 1))]
    if draft.pitfalls:
        parts += ["", "## Pitfalls", *(f"- {pitfall}" for pitfall in draft.pitfalls)]
    if draft.success_criteria:
        parts += ["", "## How to verify", *(f"- {criterion}" for criterion in draft.success_criteria)]
    more = f" `{script}` is a script that did it." if script else ""
    parts += ["", f"`{TEMPLATE}` lists the calls of a run that worked.{more}"]
    return "\n".join(parts) + "\n"


class Extraction:
    """Turns runs into skills, or into additions to the skill that is there already."""

    def __init__(self, library: Library, editing: Editing, ask: Ask, validate: Validate) -> None:
        self._library = library
        self._editing = editing
        self._ask = ask
        self._validate = validate

    async def run(self, observed: Observed, trace: Trace, author: Author) -> Extracted:
        """Ask for a draft and make it a skill. Only a failure of the model itself is raised."""
        answer = await self._ask(asked(observed))
        try:
            draft = _lasting(parse_draft(answer))
            files = files_of(draft, trace)
        except (UsageError, SkillProblem) as error:
            return Extracted(reason=str(error))
        nearest, likeness = await self._nearest(draft)
        if nearest is not None and (likeness >= SAME or nearest.name == draft.name):
            return await self._update(nearest, draft, author)
        problems = await self._validate(files)
        if problems:
            return Extracted(reason="; ".join(problems))
        return await self._create(draft, files, author)

    async def _create(self, draft: Draft, files: Files, author: Author) -> Extracted:
        change = await self._editing.create(draft.name, files[MAIN].decode(), author)
        if not change.ok:
            return Extracted(change=change, reason=change.message)
        change = await self._editing.replace(draft.name, files, author, change.version)
        return Extracted(change=change, reason="" if change.ok else change.message)

    async def _nearest(self, draft: Draft) -> tuple[Held | None, float]:
        wanted = vector_of_skill(
            Skill(name=draft.name, description=draft.description, body="", triggers=tuple(draft.triggers))
        )
        held = await self._library.all()
        scored = [(cosine(wanted, vector_of_skill(one.skill)), one) for one in held]
        named = [one for one in held if one.name == draft.name]
        if named:
            return named[0], 1.0
        best = max(scored, key=lambda pair: pair[0], default=None)
        return (best[1], best[0]) if best else (None, 0.0)

    async def _update(self, held: Held, draft: Draft, author: Author) -> Extracted:
        """Add what the skill that is there does not say yet. What a person made stays as it is."""
        if not held.origin.by_agent or held.stats.pinned:
            return Extracted(reason=f"the skill {held.name} covers it already")
        skill = held.skill
        richer = msgspec.structs.replace(
            skill,
            triggers=_joined(skill.triggers, draft.triggers),
            pitfalls=_joined(skill.pitfalls, draft.pitfalls),
            success_criteria=_joined(skill.success_criteria, draft.success_criteria),
        )
        if richer == skill:
            return Extracted(reason=f"the skill {held.name} says it already")
        try:
            content = render_skill(richer)
        except HermesError as error:
            return Extracted(reason=str(error))
        change = await self._editing.edit(held.name, content, author, held.version)
        return Extracted(change=change, updated=change.ok, reason="" if change.ok else change.message)


def _lasting(draft: Draft) -> Draft:
    """A draft without pitfalls that were only this machine's: a program or a key that was missing."""
    kept = [pitfall for pitfall in draft.pitfalls if error_class("", pitfall) not in NEVER_LEARNED]
    return msgspec.structs.replace(draft, pitfalls=kept)


def _joined(known: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    said = {one.casefold() for one in known}
    return (*known, *(one for one in more if one.casefold() not in said))[:20]


def draft_schema() -> dict[str, Any]:
    """The JSON schema of a draft, for providers that can hold a model to one."""
    _, definitions = msgspec.json.schema_components([Draft])
    return {**definitions["Draft"], "$defs": {name: one for name, one in definitions.items() if name != "Draft"}}
