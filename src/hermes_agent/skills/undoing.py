"""Taking changes of skills back. Nothing that somebody did since is lost: then nothing is taken back."""

from __future__ import annotations

from ..safety.exchange import Overtaken
from ..store.skills import SkillStats, SkillStore, Version
from ..types.base import Value
from ..types.errors import NotFound
from .folder import version_of
from .library import Held, Library
from .rules import Refused
from .skill import Author, Change, Files, Origin, Shelf
from .writing import Writing

ARCHIVING = frozenset(("delete",))
_MAKING = frozenset(("create", "copy"))


class _Plan(Value, frozen=True, kw_only=True):
    """What undoing a batch means for one skill: `wanted` is the version to go back to, empty for none at all."""

    stats: SkillStats
    held: Held | None
    wanted: str
    at: float
    changed: str = ""


async def restore(library: Library, store: SkillStore, writing: Writing, name: str, version: str, by: Author) -> Change:
    """Bring an archived skill back, or an earlier version of one that is in use."""
    held = await own(library, name)
    if held is None:
        stats = await _archived(store, name)
        done = await writing.revive("restore", stats, by)
        if not version or stats.version.startswith(version):
            return done
        held = await own(library, name)
    if held is None:
        raise NotFound(f"there is no skill {name!r} of yours", remedy="`hermes skills list` shows what there is")
    if not version:
        raise Refused("version", f"{name} is in use; say which version, `hermes skills history {name}` lists them")
    wanted = await _version(store, held, version)
    files = await store.files(held.stats.id, wanted)
    return await _put(library, writing, "restore", held, files, by, f"restored version {wanted}")


async def undo(library: Library, store: SkillStore, writing: Writing, batch: str) -> list[Change]:
    """Take a batch back, newest first; or say which skill was changed since, and take nothing back."""
    by_skill: dict[str, list[Version]] = {}
    for version in await store.by_batch(batch):
        by_skill.setdefault(version.skill_id, []).append(version)
    if not by_skill:
        raise NotFound(f"nothing was changed under {batch!r}", remedy="`hermes review list` lists what can be undone")
    plans = [await _plan(library, store, versions) for versions in by_skill.values()]
    changed = [plan for plan in plans if plan.changed]
    if changed:
        return [
            Change(ok=False, action="undo", name=plan.stats.name, error="changed", message=plan.changed)
            for plan in changed
        ]
    author = Author(origin=Origin.USER)
    return [await _undone(library, store, writing, plan, author) for plan in sorted(plans, key=lambda plan: -plan.at)]


async def own(library: Library, name: str) -> Held | None:
    """The skill of a name on the user's shelf, whole or broken."""
    return next((held for held in await library.named(name, alone=True) if held.shelf is Shelf.USER), None)


async def _plan(library: Library, store: SkillStore, versions: list[Version]) -> _Plan:
    first, last = versions[0], versions[-1]
    stats = await store.get(first.skill_id)
    held = await own(library, stats.name)
    if held is not None and held.stats.id != stats.id:
        held = None
    wanted = "" if first.action in _MAKING else first.parent
    changed = _changed_since(stats, held, last, wanted)
    return _Plan(stats=stats, held=held, wanted=wanted, at=last.at, changed=changed)


def _changed_since(stats: SkillStats, held: Held | None, last: Version, wanted: str) -> str:
    """What somebody did to a skill after its batch; empty when nothing stands against taking that back. A skill that is
    back where it was, as after an undo that did not get to its end, is no obstacle."""
    if held is not None and held.version == wanted:
        return ""
    if last.action in ARCHIVING:
        return f"{stats.name} was brought back since" if stats.archived_at is None or held is not None else ""
    if held is None:
        return f"{stats.name} is gone since" if wanted else ""
    if held.version != last.version:
        return f"{stats.name} was changed since (it is at version {held.version}, not {last.version})"
    return ""


async def _undone(library: Library, store: SkillStore, writing: Writing, plan: _Plan, author: Author) -> Change:
    name, held = plan.stats.name, plan.held
    if not plan.wanted:
        if held is None:
            return Change(ok=True, action="undo", name=name, message="it is gone already")
        return await writing.archive("undo", held, author)
    if held is None:
        done = await writing.revive("undo", plan.stats, author)
        held = await own(library, name)
        if done.version == plan.wanted or held is None:
            return done
    files = await store.files(plan.stats.id, plan.wanted)
    return await _put(library, writing, "undo", held, files, author, f"back to version {plan.wanted}")


async def _put(
    library: Library, writing: Writing, action: str, held: Held, files: Files, author: Author, note: str
) -> Change:
    before = await library.files(held)
    if version_of(before) != held.version:
        raise Overtaken(held.name)
    return await writing.step(action, held, before, files, author, note)


async def _archived(store: SkillStore, name: str) -> SkillStats:
    rows = [row for row in await store.listed() if row.name == name and row.archived_at is not None]
    if not rows:
        raise NotFound(f"there is no archived skill {name!r}", remedy="`hermes skills list --all` shows what there is")
    return max(rows, key=lambda row: row.archived_at or 0.0)


async def _version(store: SkillStore, held: Held, part: str) -> str:
    known = list(dict.fromkeys(version.version for version in await store.versions(held.stats.id)))
    fitting = [version for version in known if version == part] or [v for v in known if v.startswith(part)]
    if len(fitting) != 1:
        said = "has no version" if not fitting else "has more than one version that begins with"
        raise Refused("not_found", f"{held.name} {said} {part}; `hermes skills history {held.name}` lists them")
    return fitting[0]
