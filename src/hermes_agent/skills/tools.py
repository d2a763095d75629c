"""The agent's tools for skills: find one, read one, and write down what was learned."""

from __future__ import annotations

from typing import Annotated, Any, Literal, assert_never

import msgspec

from ..tools.registry import Entry
from ..tools.tool import Tool
from ..tools.vouching import vouched
from ..types.base import Value
from ..types.errors import HermesError, NotFound
from ..types.tools import Capability, Effect, ToolContext, ToolResult
from .history import text_of
from .library import Held, Library
from .manage import Editing
from .skill import MAIN, Author, Change, Origin

_MOST = 100
_REVIEW = "review"
_TAINTED = (
    "text from strangers is in this conversation, and skills are not learned from it; a person can write the skill with"
    " `hermes skills new`"
)
Action = Literal["create", "edit", "patch", "delete", "write_file", "remove_file"]
Name = Annotated[str, "name of the skill"]


class Listed(Value, frozen=True, kw_only=True, omit_defaults=True):
    """One skill in the answer of `skills_list`; `match` is how well it fits the query."""

    name: str
    description: str
    category: str = ""
    shelf: str = ""
    match: float | None = None


class Listing(Value, frozen=True, kw_only=True):
    """The answer of `skills_list`."""

    total: int
    skills: tuple[Listed, ...]


class SkillTools:
    """The tools over one library. The docstrings of the three are what the model reads."""

    def __init__(self, library: Library, editing: Editing) -> None:
        self._library = library
        self._editing = editing

    async def skills_list(
        self,
        context: ToolContext,
        query: Annotated[str, "what the work is about: the best fitting first"] = "",
        limit: Annotated[int, "at most so many"] = 20,
    ) -> ToolResult:
        """List skills: written procedures for recurring work. Read one with skill_view."""
        from .similarity import cosine, vector_of

        held = await self._library.all(str(context.workspace))
        wanted = vector_of(query) if query else None
        listed = [
            Listed(
                name=one.name,
                description=one.skill.description,
                category=one.skill.category,
                shelf=one.shelf.value,
                match=cosine(wanted, vector_of(text_of(one.skill))) if wanted is not None else None,
            )
            for one in held
        ]
        ranked = sorted(listed, key=lambda one: (-(one.match or 0.0), one.name))
        answer = Listing(total=len(held), skills=tuple(ranked[: max(0, min(limit, _MOST))]))
        return ToolResult(text=msgspec.json.encode(answer).decode())

    async def skill_view(
        self,
        name: Name,
        context: ToolContext,
        path: Annotated[str, "a file of the skill; SKILL.md is the whole Markdown with its front matter"] = "",
    ) -> ToolResult:
        """Read a skill: its procedure, version and support files; with path, one file of it."""
        workspace = str(context.workspace)
        try:
            held = await self._library.get(name, workspace)
            content = await self._library.read_file(name, path, workspace) if path else held.skill.body.encode()
        except NotFound as error:
            return ToolResult(ok=False, text=error.explain(), error="not_found")
        except HermesError as error:
            return ToolResult(ok=False, text=error.explain(), error="invalid")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = f"[{len(content)} bytes that are not text; the file is {held.folder / path}]"
        await self._library.record_use(
            held, run_id=context.caller.run_id, session_id=context.caller.session_id, how="viewed"
        )
        labels, origin = held.provenance
        heading = await _heading(held, path, context)
        return ToolResult(text="\n".join((*heading, "", text)), labels=labels, origin=origin)

    async def skill_manage(
        self,
        action: Action,
        name: Name,
        context: ToolContext,
        content: Annotated[str, "create, edit: the whole SKILL.md; write_file: the file"] = "",
        old: Annotated[str, "patch: text that is there exactly once"] = "",
        new: Annotated[str, "patch: what replaces it"] = "",
        path: Annotated[str, "patch, write_file, remove_file: references/, templates/, scripts/ or assets/…"] = "",
        version: Annotated[str, "the version skill_view gave; needed for all but create"] = "",
        category: Annotated[str, "create: one word"] = "",
        replace_all: Annotated[bool, "patch: every occurrence"] = False,
    ) -> ToolResult:
        """Write down a procedure as a skill, or change one: create, edit (whole), patch (a piece), delete (archives),
        write_file, remove_file. SKILL.md begins with front matter: ---, name, description (what it does and when to use
        it), ---; then when to use it, steps, pitfalls, how to verify. Name the kind of work, not the incident."""
        caller = context.caller
        if not await vouched(context, f"change of the skill {name} ({action})", content or new or path):
            return _answer(Change(ok=False, action=action, name=name, error="tainted", message=_TAINTED))
        origin = Origin.REVIEW if caller.surface == _REVIEW else Origin.FOREGROUND
        author = Author(origin=origin, run_id=caller.run_id, batch=caller.run_id)
        where = str(context.workspace)
        editing = self._editing
        match action:
            case "create":
                change = await editing.create(name, content, author, category, workspace=where)
            case "edit":
                change = await editing.edit(name, content, author, version, workspace=where)
            case "patch":
                change = await editing.patch(
                    name, old, new, author, path or MAIN, version, replace_all, workspace=where
                )
            case "delete":
                change = await editing.delete(name, author, version, workspace=where)
            case "write_file":
                change = await editing.write_file(name, path, content, author, version, workspace=where)
            case "remove_file":
                change = await editing.remove_file(name, path, author, version, workspace=where)
            case _:
                assert_never(action)
        return _answer(change)


def entries(library: Library, editing: Editing) -> list[Entry]:
    """The three tools, for the registry. Writing needs no question: strangers' text rules it out by itself, and every
    change can be undone."""
    tools = SkillTools(library, editing)
    reading: dict[str, Any] = {"capabilities": frozenset(), "effect": Effect.NONE}
    writing: dict[str, Any] = {"capabilities": frozenset((Capability.FILES_WRITE,)), "effect": Effect.IDEMPOTENT}
    made = (
        Tool("skills_list", tools.skills_list).with_spec(**reading),
        Tool("skill_view", tools.skill_view).with_spec(**reading),
        Tool("skill_manage", tools.skill_manage, timeout=900.0).with_spec(**writing),
    )
    return [_entry(tool.with_spec(family="skills", labels=frozenset())) for tool in made]


def _entry(tool: Tool) -> Entry:
    return Entry(spec=tool.spec, load=lambda: tool, source="builtin")


async def _heading(held: Held, path: str, context: ToolContext) -> list[str]:
    """What stands above the text of a skill; a later view in the same session says when the version is another one."""
    key = f"skill:{held.name}"
    before = await context.values.get(key)
    if before != held.version:
        await context.values.set(key, held.version)
    shown = f", {path}" if path else ""
    lines = [f"skill {held.name}{shown}, version {held.version}, shelf {held.shelf}, in {held.folder}"]
    if before and before != held.version:
        lines.append(f"This skill changed since you read version {before}: what follows is in force now.")
    if held.paths and not path:
        lines.append(f"support files: {', '.join(held.paths)}")
    return lines


def _answer(change: Change) -> ToolResult:
    data = {name: value for name, value in msgspec.to_builtins(change).items() if value not in ("", [], ())}
    return ToolResult(ok=change.ok, text=msgspec.json.encode(data).decode(), error=change.error)
