"""Becomes the command, restricted by Landlock. Standard library only: runs in the launcher."""

from __future__ import annotations

import os
import resource

from . import kernel
from .seccomp import families, filter_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plan import Plan

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_TRUNCATE = 1 << 14
_SCRATCH = "hermes-scratch-"


def become(plan: Plan, command: list[str]) -> None:
    """Replace this process by the command."""
    scratch = _scratch(plan["scratch_place"])
    kernel.no_new_privileges()
    if "pids" not in plan["held"]:
        _limit_processes(plan["processes"])
    rules = kernel.Ruleset(kernel.landlock_abi(), network=plan["network"])
    read, write = ([path for kind, path in plan["mounts"] if kind == wanted] for wanted in ("read", "write"))
    rules.allow(("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", *plan["system"]), kernel.READ_AND_RUN)
    rules.allow(("/proc", *read), kernel.READ_AND_RUN)
    rules.allow(_DEVICES, kernel.READ_AND_WRITE_FILE | _TRUNCATE)
    rules.allow((*write, scratch))
    kernel.drop_capabilities()
    rules.enforce()
    filtering = filter_program(sockets=families(network=plan["network"], local=plan["local"]))
    if filtering:
        kernel.filter_calls(filtering)
    os.execv("/usr/bin/env", ["env", f"TMPDIR={scratch}", f"HOME={scratch}", *command])


def _limit_processes(more: int) -> None:
    """As many more as agreed than this user runs now. Root is not held by this."""
    mine = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    mine += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    limit = mine + more if hard == resource.RLIM_INFINITY else min(mine + more, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _scratch(place: str) -> str:
    """A folder for temporary files that only this command may use. The next command removes those of ended ones."""
    for name in os.listdir(place):
        if name.startswith(_SCRATCH):
            path = f"{place}/{name}"
            pid = name[len(_SCRATCH) :].partition("-")[0]
            try:
                if os.lstat(path).st_uid == os.geteuid() and not os.path.exists(f"/proc/{pid}"):
                    _remove(path)
            except OSError:
                continue
    made = f"{place}/{_SCRATCH}{os.getpid()}-{os.urandom(8).hex()}"
    os.mkdir(made, 0o700)
    return made


def _remove(folder: str) -> None:
    """Through descriptors, so that nothing outside is removed if somebody still changes it meanwhile."""
    for _, folders, files, inside in os.fwalk(folder, topdown=False):
        for name in files:
            os.unlink(name, dir_fd=inside)
        for name in folders:
            try:
                os.rmdir(name, dir_fd=inside)
            except NotADirectoryError:
                os.unlink(name, dir_fd=inside)
    os.rmdir(folder)
