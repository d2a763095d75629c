"""Procedures the agent can follow: how each fares, who wrote it, and its switches."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...app import App
from ...runtime.knowledge import Knowledge
from ...skills.library import Held
from ...store.database import Connection
from ...store.learning_views import family_names
from ...types.base import Value
from ...types.errors import NotFound, UsageError
from ...types.text import visible
from ..cli.learning.words import evidence_in_words, where
from .answers import answer, body_of

USES = 30
VERSIONS = 50
_LONGEST_BODY = 20_000
_SWITCHES = {"enabled": ("offered again", "not offered any more"), "pinned": ("pinned", "not pinned any more")}


class Switch(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which way a switch is set."""

    on: bool


class SkillsPage:
    """Lists skills and sets their switches. Their text is changed in an editor, not here."""

    def __init__(self, app: App, workspace: str) -> None:
        self._app = app
        self._workspace = workspace

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/skills", self.listed),
            Route("/api/skills/{id}", self.one),
            Route("/api/skills/{id}/{switch:str}", self.switch, methods=["POST"]),
        ]

    async def listed(self, request: Request) -> Response:
        """Every skill on every shelf; of several with one name the first is used."""
        seen: set[str] = set()
        rows = []
        for held in await self._known().library.everything(self._workspace):
            archived = held.stats.archived_at is not None
            rows.append({**_outline(held), "shadowed": not archived and held.name in seen})
            if not archived:
                seen.add(held.name)
        return answer(rows)

    async def one(self, request: Request) -> Response:
        """One skill with its evidence, its uses and its history."""
        held = await self._find(request.path_params["id"])
        store = self._app.store
        uses = await store.skills.uses(held.stats.id, USES)
        versions = (await store.skills.versions(held.stats.id))[::-1][:VERSIONS]
        coins = await store.heuristics.of_skill(held.name)
        ids = {use.family for use in uses} | {one.family for one in coins}

        def unit(connection: Connection) -> dict[str, str]:
            return family_names(connection, ids)

        names = await store.database.read(unit)
        measured = [
            {
                "id": one.id,
                "where": where(one, names),
                "model": one.model,
                "stage": one.stage.value,
                "evidence": evidence_in_words(one.evidence),
            }
            for one in coins
        ]
        return answer(
            {
                **_outline(held),
                "body": visible(held.skill.body[:_LONGEST_BODY]),
                "files": list(held.paths),
                "pitfalls": list(held.stats.pitfalls),
                "uses": [{**_plain(use), "family": names.get(use.family, use.family)} for use in uses],
                "versions": [_plain(version) for version in versions],
                "measured": measured,
            }
        )

    async def switch(self, request: Request) -> Response:
        """Offer a skill or not, pin it or not."""
        column = request.path_params["switch"]
        if column not in _SWITCHES:
            raise NotFound(f"a skill has no switch {column[:40]!r}", remedy=f"it has {', '.join(_SWITCHES)}")
        on = (await body_of(request, Switch)).on
        held = await self._find(request.path_params["id"])
        if held.stats.archived_at is not None:
            raise UsageError(f"{held.name} is archived", remedy=f"`hermes skills restore {held.name}` brings it back")
        await self._app.store.skills.mark(held.stats.id, **{column: on})
        said = _SWITCHES[column][0 if on else 1]
        return answer({"said": f"{held.name} is {said}", "undo": "set the switch back", column: on})

    def _known(self) -> Knowledge:
        if self._app.knowledge is None:
            raise UsageError("this installation has no skills", remedy="install the whole of hermes-harness")
        return self._app.knowledge

    async def _find(self, skill_id: str) -> Held:
        for held in await self._known().library.everything(self._workspace):
            if held.stats.id and held.stats.id == skill_id:
                return held
        raise NotFound("there is no such skill any more", remedy="load the list again")


def _outline(held: Held) -> dict[str, Any]:
    stats = held.stats
    return {
        "id": stats.id,
        "name": held.name,
        "description": held.skill.description,
        "shelf": held.shelf.value,
        "origin": stats.origin,
        "made_by": stats.made_by,
        "version": held.version,
        "folder": str(held.folder),
        "uses_count": stats.usage_count,
        "success_rate": stats.success_rate if stats.usage_count else None,
        "best_efficiency": stats.best_efficiency_score,
        "utility": stats.utility,
        "health": stats.health_status,
        "health_note": stats.health_note,
        "checked_at": stats.checked_at,
        "validated": bool(stats.validated) and stats.validated == held.version,
        "needs_rewrite": stats.needs_rewrite,
        "enabled": stats.enabled,
        "pinned": stats.pinned,
        "archived_at": stats.archived_at,
        "last_used_at": stats.last_used_at,
        "problem": held.problem,
        "now": time.time(),
    }


def _plain(value: Value) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}
