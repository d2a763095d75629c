"""A save against an exchange, as close together as two processes get: `python -m tests.skills.duel FOLDER ROUNDS`.

Prints how often the exchange was made, how often it was overtaken, and how often the saved text was lost."""

import json
import mmap
import os
import random
import sys
from pathlib import Path

from hermes_agent.safety.exchange import Overtaken, swapped
from hermes_agent.skills.swap import opened


def save(folder: Path, number: int) -> None:
    """As an editor that renames."""
    fresh = folder / "fresh"
    fresh.write_bytes(b"saved %d" % number)
    os.replace(fresh, folder / "file")


def editor(folder: Path, shared: mmap.mmap, rounds: int) -> None:
    dice = random.Random(1)
    for number in range(1, rounds + 1):
        while shared[0] != number % 251:
            os.sched_yield()
        for _ in range(dice.randrange(400)):
            pass
        save(folder, number)
        shared[1] = number % 251


def duel(folder: Path, rounds: int) -> dict[str, int]:
    work = folder / "work"
    work.mkdir()
    shared = mmap.mmap(-1, 2)
    counts = {"made": 0, "overtaken": 0, "lost": 0}
    pid = os.fork()
    if pid == 0:
        editor(folder, shared, rounds)
        os._exit(0)
    with opened(folder) as there, opened(work) as here:
        for number in range(1, rounds + 1):
            (folder / "file").write_bytes(b"old")
            (work / "new").write_bytes(b"new")
            shared[0] = number % 251
            try:
                swapped(here, "new", there, "file", b"old")
                counts["made"] += 1
            except Overtaken:
                counts["overtaken"] += 1
            while shared[1] != number % 251:
                os.sched_yield()
            counts["lost"] += (folder / "file").read_bytes() != b"saved %d" % number
    os.waitpid(pid, 0)
    return counts


if __name__ == "__main__":
    print(json.dumps(duel(Path(sys.argv[1]), int(sys.argv[2]))))
