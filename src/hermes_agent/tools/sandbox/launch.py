"""Runs as a process of its own, between the agent and a command: takes limits on, then becomes the sandbox.

Started as `python -I -S -c BOOT FOLDER PLAN ARGV...`, never imported by the agent. It and what it imports use little of
the standard library and nothing else, not even `typing`, because each command waits for them. What goes wrong before
the command begins is one line on its output and exit code 126: the command never runs unconfined.
"""

from __future__ import annotations

import marshal
import os
import resource
import sys

from . import cgroup, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plan import Plan

_UNLIMITED_FACTOR = 4
_IGNORED_BY_PYTHON = (13, 25)


def main() -> None:
    """Take the plan from the command line and follow it."""
    plan: Plan = marshal.loads(bytes.fromhex(sys.argv[1]))
    try:
        bound(plan)
        if plan["kind"] == "bubblewrap":
            from . import launch_bubblewrap

            launch_bubblewrap.become(plan, sys.argv[2:])
        else:
            from . import launch_landlock

            launch_landlock.become(plan, sys.argv[2:])
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        os.write(2, f"the sandbox could not be set up: {error.strerror}{where}\n".encode(errors="replace"))
    os._exit(126)


def bound(plan: Plan) -> None:
    """Limits that are inherited. Memory of all processes together is limited only where a control group can be made;
    elsewhere each process has its limit."""
    for number in _IGNORED_BY_PYTHON:
        kernel.on_signal(number, ignore=False)
    held = cgroup.join(plan["memory"], plan["processes"])
    _at_most(resource.RLIMIT_CORE, 0)
    _at_most(resource.RLIMIT_CPU, plan["cpu"])
    _at_most(resource.RLIMIT_FSIZE, plan["file"])
    _at_most(resource.RLIMIT_DATA, plan["memory"])
    if "memory" not in held:
        _at_most(resource.RLIMIT_AS, plan["memory"] * _UNLIMITED_FACTOR)
    plan["held"] = held


def _at_most(kind: int, amount: int) -> None:
    """Never more than is allowed already."""
    _, hard = resource.getrlimit(kind)
    limit = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(kind, (limit, limit))
