"""A chat without a terminal: each line of standard input is a message, answers go to standard output."""

from __future__ import annotations

import sys

from ...tools.tool import in_thread
from .chat_commands import Leave, SlashCommands
from .chat_room import Room


async def talk_in_lines(room: Room, commands: SlashCommands) -> int:
    """Read to the end of the input; each message is answered before the next one is read."""
    await room.until_idle()
    while True:
        text = await _message()
        if text is None:
            return room.code
        if not text.strip():
            continue
        try:
            if commands.meant(text):
                await commands.run(text)
            else:
                await room.say(text)
        except Leave:
            return room.code
        await room.until_idle()


async def _message() -> str | None:
    """The next message: a line, and those behind it while each ends in a backslash. None at the end."""
    lines: list[str] = []
    while True:
        raw: bytes = await in_thread(sys.stdin.buffer.readline)
        line = raw.decode("utf-8", "replace")
        if not line:
            return "\n".join(lines) if lines else None
        line = line.rstrip("\r\n")
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])
