"""The tool `memory`: what is to be known in every later session."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from ..safety.guard import unwatched
from ..tools.registry import Entry
from ..tools.tool import Tool
from ..tools.vouching import vouched
from ..types.errors import HermesError
from ..types.tools import ToolContext, ToolResult
from .answers import NoteChange
from .history import Author, Kind, Who
from .notes import Notes

SOURCE = "memory"
REVIEW = "review"
_TAINTED = (
    "text from strangers is in this conversation, and memory is not changed then: it would be obeyed in every later "
    "session. Tell the user what you would note; a person can do it with `hermes memory add`"
)


def entries(notes: Notes) -> list[Entry]:
    """The tools of a memory, for the registry."""
    tool = Tool("memory", _Remembering(notes).memory, capabilities=(), effect="idempotent", timeout=900)
    tool = tool.with_spec(family="memory", labels=frozenset())
    return [Entry(spec=tool.spec, load=lambda: tool, source=SOURCE)]


class _Remembering:
    """The tool's function, with the memory it works on."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def memory(
        self,
        context: ToolContext,
        action: Annotated[Literal["add", "replace", "remove", "read"], "what to do"],
        target: Annotated[
            Literal["memory", "user"],
            "memory: the work, the machine, conventions; user: who they are, what they prefer",
        ] = "memory",
        text: Annotated[str, "the entry, for add and replace: one durable fact, short"] = "",
        old: Annotated[str, "the entry to replace or remove: words only it has, or its number with `version`"] = "",
        version: Annotated[str, "the version you read; another one now is refused as stale"] = "",
    ) -> ToolResult:
        """Keep notes for every later session: what the user prefers or corrects, conventions, lessons that will hold.
        Not: progress of this task, passing failures, secrets, what can be looked up. The prompt shows the notes as they
        were when the session began; `read` shows them now. When a file is full, merge or remove entries first."""
        kind = Kind(target)
        try:
            with unwatched():
                if action == "read":
                    return await self._read(kind)
                if not await vouched(context, f"note ({action})", text or old):
                    return _answer({"ok": False, "error": "tainted", "message": _TAINTED})
                return _told(await self._changed(context, action, kind, text, old, version))
        except HermesError as error:
            return _answer({"ok": False, "error": "unavailable", "message": error.explain()})

    async def _read(self, kind: Kind) -> ToolResult:
        file = await self._notes.read(kind)
        out = {one.number: one.reason for one in file.left_out}
        if file.problem:
            return _answer(
                {"ok": False, "error": "unusable", "target": kind, "message": f"{kind.file}: {file.problem}"}
            )
        listed = [
            {"number": one.number, "left_out": out[one.number]}
            if one.number in out
            else {"number": one.number, "text": self._notes.redactor.redact(one.text)}
            for one in file.entries
        ]
        fill = {"used": file.used, "limit": kind.limit}
        return _answer({"ok": True, "target": kind, "version": file.version, **fill, "entries": listed})

    async def _changed(
        self, context: ToolContext, action: str, kind: Kind, text: str, old: str, version: str
    ) -> NoteChange:
        caller = context.caller
        author = Author(who=Who.REVIEW if caller.surface == REVIEW else Who.FOREGROUND, run_id=caller.run_id)
        if action != "add":
            missing = _missing(old, version)
            if missing:
                return NoteChange(ok=False, action=action, target=kind, error="invalid", message=missing)
        expect = "" if context.rerun and not old.isdigit() else version
        match action:
            case "add":
                return await self._notes.add(kind, text, author, expect)
            case "replace":
                return await self._notes.replace(kind, old, text, author, expect)
            case _:
                change = await self._notes.remove(kind, old, author, expect)
                if context.rerun and change.error == "not_found":
                    done = "it is not there any more: this call was repeated after an interruption"
                    return msgspec.structs.replace(change, ok=True, error="", message=done, entries=())
                return change


def _missing(old: str, version: str) -> str:
    """What the arguments lack to name an entry. A number alone may name another entry by now."""
    if not old.strip():
        return "say which entry in `old`: words only it has, or its number"
    if old.strip().isdigit() and not version:
        return "a number needs the `version` it was read with: call `read` first"
    return ""


def _told(change: NoteChange) -> ToolResult:
    """The answer without what is empty."""
    fields: dict[str, Any] = msgspec.to_builtins(change)
    return _answer({name: value for name, value in fields.items() if value or name in ("ok", "used")})


def _answer(fields: dict[str, Any]) -> ToolResult:
    return ToolResult(ok=fields["ok"], error=fields.get("error", ""), text=msgspec.json.encode(fields).decode())
