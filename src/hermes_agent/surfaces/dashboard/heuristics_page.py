"""What was learned, on what evidence, and a person's hand on it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...app import App
from ...learning.control import Control
from ...store.dashboard_views import heuristics_page
from ...store.database import Connection
from ...store.heuristics import AuditEntry, Heuristic, Stage, active_set, value_of
from ...store.learning_views import family_names, latency_of
from ...types.base import Value
from ...types.errors import UsageError
from ..cli.learning.words import evidence_in_words, where
from .answers import answer, body_of, number_of, text_of

PAGE = 50
HISTORY = 100
SETS = 50
_BY = "a person at the page"


class RollBack(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which set to go to; None is the one before."""

    to: int | None = None


class Freeze(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the set may change by itself."""

    frozen: bool


class HeuristicsPage:
    """Reads what was learned; approves, rejects, rolls back, freezes."""

    def __init__(self, app: App) -> None:
        self._store = app.store
        self._control = Control(app.store.database, app.settings.learning)

    def routes(self) -> list[Route]:
        """Where it answers."""
        return [
            Route("/api/heuristics", self.listed),
            Route("/api/heuristics/{id}", self.one),
            Route("/api/heuristics/{id}/{decision:str}", self.decide, methods=["POST"]),
            Route("/api/audit", self.audit),
            Route("/api/sets", self.sets),
            Route("/api/rollback", self.roll_back, methods=["POST"]),
            Route("/api/freeze", self.freeze, methods=["POST"]),
        ]

    async def listed(self, request: Request) -> Response:
        """A page of heuristics."""
        stage = text_of(request, "stage")
        if stage and stage not in {known.value for known in Stage}:
            raise UsageError(f"{stage!r} is no stage", remedy=f"choose one of {', '.join(Stage)}")
        family, model = text_of(request, "family"), text_of(request, "model")
        offset = number_of(request, "offset", 0, 0, 1_000_000)

        def unit(connection: Connection) -> dict[str, Any]:
            total, found = heuristics_page(
                connection, stage=stage, family=family, model=model, offset=offset, limit=PAGE
            )
            names = family_names(connection, {one.family for one in found})
            return {"total": total, "offset": offset, "rows": [_row(one, names) for one in found]}

        return answer(await self._store.database.read(unit))

    async def one(self, request: Request) -> Response:
        """Everything about one, with its history."""
        found = await self._store.heuristics.get(request.path_params["id"])
        history = await self._store.heuristics.audit(found.id, HISTORY)

        def unit(connection: Connection) -> tuple[dict[str, str], float | None]:
            return family_names(connection, {found.family}), latency_of(connection, found.id)

        names, latency = await self._store.database.read(unit)
        detail = {key: str(value) for key, value in found.detail.items()}
        return answer(
            {**_row(found, names), "source": found.source, "detail": detail, "latency": latency, "audit": told(history)}
        )

    async def audit(self, request: Request) -> Response:
        """The last changes of all."""
        return answer(told(await self._store.heuristics.audit("", HISTORY)))

    async def sets(self, request: Request) -> Response:
        """The versions of the set, newest first."""
        active, found = await self._store.heuristics.sets(SETS)
        frozen = bool(await self._store.database.read(lambda connection: value_of(connection, "frozen")))
        rows = [
            {
                "version": one.version,
                "parent": one.parent,
                "heuristics": len(one.members),
                "cause": one.cause,
                "run": one.run_id,
                "at": one.at,
            }
            for one in found
        ]
        return answer({"active": active, "frozen": frozen, "rows": rows})

    async def decide(self, request: Request) -> Response:
        """Approve or reject one. The answer says how to undo it."""
        await body_of(request, dict[str, None])
        found = await self._store.heuristics.get(request.path_params["id"])
        before = await self._store.database.read(active_set)
        match request.path_params["decision"]:
            case "approve":
                changed = await self._control.approve(found.id, _BY)
                undo = "reject it, or roll back to the set before"
            case "reject":
                changed = await self._control.reject(found.id, _BY)
                undo = f"roll back to set {before.version}" if found.stage.acts else "it is not proposed again"
            case other:
                raise UsageError(f"{other!r} is no decision", remedy="approve or reject")
        return answer({"said": f"{changed.id} is {changed.stage.value} now", "undo": undo, "stage": changed.stage})

    async def roll_back(self, request: Request) -> Response:
        """Make an earlier set the one in force."""
        changed = await self._control.roll_back((await body_of(request, RollBack)).to)
        stopped, again = len(changed.stopped), len(changed.acting_again)
        said = f"set {changed.version} is in force: {stopped} stopped, {again} act again"
        return answer({"said": said, "undo": f"go to set {changed.was}", "changed": changed})

    async def freeze(self, request: Request) -> Response:
        """Keep the set as it is, or let it change again."""
        frozen = (await body_of(request, Freeze)).frozen
        new = await self._control.freeze(frozen=frozen)
        state = "frozen" if frozen else "free to change"
        undo = "let it change again" if frozen else "freeze it"
        return answer({"said": f"the set is {state}{'' if new else ' already'}", "undo": undo, "frozen": frozen})


def _row(one: Heuristic, names: dict[str, str]) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind.value,
        "text": one.text,
        "subject": one.subject,
        "better": one.better,
        "family": one.family,
        "where": where(one, names),
        "model": one.model,
        "stage": one.stage.value,
        "acts": one.stage.acts,
        "waits": one.stage in (Stage.AWAITING_APPROVAL, Stage.CANDIDATE),
        "confidence": one.confidence,
        "evidence": evidence_in_words(one.evidence),
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "applied_at": one.applied_at,
    }


def told(entries: list[AuditEntry]) -> list[dict[str, Any]]:
    """Changes as the page lists them."""
    return [
        {
            "seq": entry.seq,
            "heuristic": entry.heuristic_id,
            "kind": entry.kind,
            "was": entry.was,
            "became": entry.became,
            "cause": entry.cause,
            "run": entry.run_id,
            "set": entry.set_version,
            "evidence": evidence_in_words(entry.evidence),
            "at": entry.at,
        }
        for entry in entries
    ]
