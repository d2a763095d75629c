"""The stranger's program: runs inside the sandbox and tries to get out, in every way it is told to.

    python -m attacker ATTEMPTS.json LOOT_FOLDER

Standard library only. What an attempt could read goes to LOOT_FOLDER/NUMBER, and there it also says what worked that
should not have. Each attempt runs in a process of its own with an alarm, so that none stops the others.
"""

import json
import os
import signal
import sys
from typing import Any

from .calls import CALL
from .files import READ, WRITE
from .loot import SECONDS, SEEN
from .reach import NET, PROC


def attempt(kind: str, way: str, arguments: list[Any]) -> None:
    match kind:
        case "read":
            READ[way](arguments[0])
        case "write":
            WRITE[way](arguments[0], arguments[1])
        case "net":
            NET[way](arguments)
        case "proc":
            PROC[way](arguments[0], arguments[1])
        case "call":
            CALL[way](arguments)
        case _:
            raise ValueError(kind)


def main(table: str, folder: str) -> None:
    with open(table) as file:
        attempts = json.load(file)
    os.makedirs(folder, exist_ok=True)
    for number, (kind, way, arguments) in enumerate(attempts):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        with open(f"{folder}/{number}", "wb") as kept:
            kept.write(b"BEGAN\n")
        try:
            attempt(kind, way, arguments)
        except Exception as error:  # noqa: BLE001 - whatever stops an attempt is what it was stopped by
            SEEN.append(f"STOPPED {type(error).__name__}: {error}".encode(errors="replace"))
        finally:
            with open(f"{folder}/{number}", "ab") as kept:
                kept.write(b"\n".join(SEEN))
            os._exit(0)
    with open(f"{folder}/done", "w") as kept:
        kept.write(str(len(attempts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
