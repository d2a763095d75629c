"""Commands inside a skill's text, written !`command`: run when the skill is invoked, their output put in their place.

Only what the user or the product wrote is run, in the sandbox, for a short time. Output is put in once and never looked
through for further commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..types.text import head_and_tail, one_line
from .skill import Origin, Shelf
from .slots import SNIPPET

if TYPE_CHECKING:
    from .trials import Runner

SECONDS = 10.0
MAX_OUTPUT = 4000
MAX_SNIPPETS = 8
_TRUSTED_SHELVES = (Shelf.USER, Shelf.BUNDLED)
_TRUSTED_ORIGINS = (Origin.USER, Origin.BUNDLED)


def is_trusted(shelf: Shelf, origin: Origin) -> bool:
    """Whether a skill's commands may run by themselves: it is the user's own or came with the product, and neither an
    agent nor anybody else wrote it."""
    return shelf in _TRUSTED_SHELVES and origin in _TRUSTED_ORIGINS


async def expanded(body: str, trusted: bool, runner: Runner, directory: Path) -> str:
    """`body` with its commands replaced by what they print. Of a skill that is not trusted they stay as they are, with
    a note. Commands run one after the other in `directory`; one that fails says so in its place."""
    pieces: list[str] = []
    end = 0
    for number, found in enumerate(SNIPPET.finditer(body), 1):
        pieces.append(body[end : found.start()])
        end = found.end()
        if not trusted:
            pieces.append(f"{found[0]} [not run: neither the user nor the product wrote this skill]")
        elif number > MAX_SNIPPETS:
            pieces.append(f"{found[0]} [not run: a skill may run {MAX_SNIPPETS} commands]")
        else:
            pieces.append(await _printed(found[1], runner, directory))
    return "".join((*pieces, body[end:]))


async def _printed(command: str, runner: Runner, directory: Path) -> str:
    result = await runner(command, directory=directory, timeout=SECONDS)
    output = head_and_tail(result.text.strip(), MAX_OUTPUT - 100)
    if result.ok:
        return output
    why = one_line(result.error or "error", 60)
    return f"[`{one_line(command, 200)}` failed ({why}): {output}]"
