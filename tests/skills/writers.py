"""Processes that change skills of one home at the same time: `python -m tests.skills.writers HOME PROCESSES WRITES`."""

import asyncio
import os
import sys
from pathlib import Path

from hermes_agent.skills import format, screening  # noqa: F401 - loaded once, before there are many processes
from hermes_agent.store.open import open_store
from tests.skills.samples import AGENT, PERSON, Place

SKILLS = 8


def body(lines: list[str]) -> str:
    return "\n".join(["Lines:", *lines, "End of lines."])


async def write(home: Path, number: int, writes: int) -> None:
    """Every writer adds a line to one of the skills, or a file of its own; agents say which version they read."""
    store = open_store("", home)
    place = Place(store)
    for each in range(writes):
        name, line = f"skill-{(number + each) % SKILLS}", f"line {number} {each}"
        while True:
            if number % 2:
                author, expect = AGENT, await place.version(name)
            else:
                author, expect = PERSON, ""
            if each % 4 == 3:
                done = await place.editing.write_file(name, f"references/{number}-{each}.md", line, author, expect)
            else:
                new = f"{line}\nEnd of lines."
                done = await place.editing.patch(name, "End of lines.", new, author, expect=expect)
            if done.ok:
                break
            assert done.error == "stale", done
    store.close()


def main(home: Path, processes: int, writes: int) -> int:
    """Fork the writers, all at once; the exit status is how many failed."""
    children = []
    for number in range(processes):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                asyncio.run(write(home, number, writes))
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        children.append(pid)
    return sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in children)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
