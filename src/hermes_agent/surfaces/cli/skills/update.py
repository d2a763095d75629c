"""`hermes skills update`: show what changed at the source, and take it when it is wanted; pin, unpin, check."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from ....safety.scan import Verdict
from ....skills.hub import Hub, Offer
from ....skills.screening import refuse_blocked
from ....types.errors import HermesError, UsageError
from ..console import Console, print_json
from ..options import json_option, yes_option
from .hub import agreed, offer_as_json, open_hub, show_concerns, show_diff


@click.command(short_help="Update installed skills, after showing what changes.")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--ref", default=None, metavar="REF", help="Move one skill to this branch, tag or whole commit id.")
@click.option("--pin/--unpin", default=None, help="Keep skills at their commit, or let them be updated again.")
@click.option("--check", is_flag=True, help="Only say what differs from the lock file and what could be updated.")
@click.option("--accept-flagged", is_flag=True, help="Take what the scanner remarks on.")
@click.option("--discard-edits", is_flag=True, help="Replace skills that were edited here; the edits are archived.")
@yes_option
@json_option
def command(
    names: tuple[str, ...],
    ref: str | None,
    pin: bool | None,
    check: bool,
    accept_flagged: bool,
    discard_edits: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Without NAME all installed skills that are not pinned. Each difference is shown and must be agreed to; nothing
    of a skill runs."""
    if (ref is not None or pin is not None) and len(names) != 1:
        raise UsageError("--ref, --pin and --unpin are for one skill", remedy="name it")
    console = Console(quiet=as_json)
    update = _Update(open_hub(), console, ref=ref, yes=yes, accept_flagged=accept_flagged, discard_edits=discard_edits)

    async def work() -> int:
        if pin is not None and ref is None:
            locked = await update.hub.pin(names[0], pinned=pin)
            if as_json:
                print_json({"name": names[0], "locked": locked})
            console.note(f"{names[0]} {'stays at ' + (locked.commit or locked.version)[:12] if pin else 'is unpinned'}")
            return 0
        said = await update.checked() if check else await update.all(names, pin)
        if as_json:
            print_json(said)
        return 1 if said["failed"] or said.get("drift") else 0

    return asyncio.run(work())


class _Update:
    """One pass over installed skills."""

    def __init__(
        self, hub: Hub, console: Console, *, ref: str | None, yes: bool, accept_flagged: bool, discard_edits: bool
    ) -> None:
        self.hub = hub
        self._console = console
        self._ref = ref
        self._yes = yes
        self._accept_flagged = accept_flagged
        self._discard_edits = discard_edits

    async def all(self, names: tuple[str, ...], pin: bool | None) -> dict[str, Any]:
        """Update these skills, or all that are not pinned. One that fails does not stop the others."""
        said: dict[str, Any] = {"updated": [], "unchanged": [], "refused": [], "pinned": [], "failed": {}}
        installed = self.hub.installed()
        for name in names or sorted(installed):
            if name in installed and installed[name].pinned and self._ref is None:
                said["pinned"].append(name)
                self._console.note(f"{name} is pinned; `hermes skills update {name} --unpin` lets it change")
                continue
            try:
                said[await self._one(name, pin)].append(name)
            except HermesError as error:
                if len(names) == 1:
                    raise
                said["failed"][name] = error.explain()
                self._console.fail(error)
        if not installed and not names:
            self._console.note("nothing is installed; `hermes skills install ADDRESS` does")
        return said

    async def _one(self, name: str, pin: bool | None) -> str:
        offer = await self.hub.newer(name, self._ref)
        if offer is None:
            self._console.note(f"{name} is up to date")
            return "unchanged"
        self._console.note(f"{name}: {offer.replaces or 'missing'} → {offer.version}", "bold")
        show_diff(self._console, offer.diff)
        show_concerns(self._console, offer.screening)
        refuse_blocked(name, offer.screening)
        flagged = offer.screening.verdict is Verdict.FLAG
        if not agreed(
            f"Take {name} although it is flagged?", "--accept-flagged", yes=self._accept_flagged or not flagged
        ) or not agreed(f"Update {name}?", "--yes", yes=self._yes):
            self._console.note(f"{name} stays as it is")
            return "refused"
        await self.hub.install(offer, accept_flagged=flagged, discard_edits=self._discard_edits, pinned=pin)
        self._console.note(f"{name} is updated", "green")
        return "updated"

    async def checked(self) -> dict[str, Any]:
        """What differs from the lock file, and what an update would bring. Changes nothing."""
        drift = self.hub.verify()
        for one in drift:
            self._console.note(f"{one.name} is not what was installed: {one}", "yellow")
        offers: list[Offer] = []
        failed: dict[str, str] = {}
        for name, locked in self.hub.installed().items():
            try:
                offer = None if locked.pinned else await self.hub.newer(name)
            except HermesError as error:
                failed[name] = error.explain()
                self._console.fail(error)
                continue
            if offer is not None and offer.version != locked.version:
                offers.append(offer)
                self._console.note(f"{name} can be updated: {locked.version} → {offer.version}")
        if not drift and not offers and not failed:
            self._console.note("everything is as it was installed, and up to date", "green")
        return {"drift": drift, "newer": [offer_as_json(offer) for offer in offers], "failed": failed}
