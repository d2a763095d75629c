"""One member of a team, as a process: proposes, and accepts what others proposed, until nothing waits.

Arguments: where the team's library is, the member's folder, their name, how many proposals, how many members. Every
member adds a line of their own to one shared skill, and skills of their own; prints the ids they proposed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from hermes_agent.skills.git import Git
from hermes_agent.skills.team import Team, open_team
from hermes_agent.types.errors import HermesError, NotFound, UsageError
from tests.skills.repositories import skill_text

_PATIENCE = 60.0


def sections(count: int, lines: dict[int, str]) -> bytes:
    """A skill of numbered sections, far enough from each other that two changes never touch."""
    parts = [f"## Section {number}\n\n{lines.get(number, 'empty')}\n\n\n" for number in range(count)]
    return skill_text("shared", "\n".join(parts))


async def work(team: Team, name: str, number: int, members: int, count: int, room: Path) -> None:
    first = await team.current("shared")
    proposed = []
    for turn in range(count):
        place = number * count + turn
        empty, filled = (f"## Section {place}\n\n{line}\n".encode() for line in ("empty", f"{name} {turn}"))
        assert first["SKILL.md"].count(empty) == 1
        mine = first["SKILL.md"].replace(empty, filled)
        proposed.append((await team.propose("shared", {"SKILL.md": mine}, first)).id)
        skill = f"{name}-{turn}"
        proposed.append((await team.propose(skill, {"SKILL.md": skill_text(skill)}, {})).id)
    print(json.dumps(proposed), flush=True)
    (room / f"{name}.done").touch()
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit:
        ready = _ready(room) == members
        waiting = await team.proposals()
        if ready and not waiting:
            return
        for proposal in waiting:
            try:
                await team.accept(proposal.id, own=True)
            except NotFound:
                continue
        await asyncio.sleep(0.02)
    raise UsageError("proposals were left over")


def _ready(room: Path) -> int:
    return len(list(room.glob("*.done")))


def main() -> int:
    where, folder, name, number, members, count = sys.argv[1:]
    home = Path(folder)
    git = Git({"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(home)})
    team = open_team(where, home, git, f"{name} <{name}@example.org>")
    try:
        asyncio.run(work(team, name, int(number), int(members), int(count), home.parent))
    except HermesError as error:
        print(error.explain(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
