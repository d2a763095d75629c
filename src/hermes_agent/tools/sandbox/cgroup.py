"""Limits for a command with everything it starts, where the user may make control groups. Standard library only.

A group is made for each command and cannot be removed by it: the agent removes it afterwards, and each command those
that were left empty by a crash.
"""

import os

_ROOT = "/sys/fs/cgroup"
_NAME = "hermes-command-"
_TRIES = 5
_V1 = {"memory": ("memory.limit_in_bytes",), "pids": ("pids.max",)}
_V2 = {"memory": ("memory.max", "memory.swap.max"), "pids": ("pids.max",)}


def join(memory: int, processes: int) -> frozenset[str]:
    """Move this process into a group of its own with these limits; the controllers that hold it now."""
    values = {"memory.swap.max": "0", "pids.max": str(processes)}
    held: set[str] = set()
    for parent, files in places().items():
        amounts = {file: values.get(file, str(memory)) for names in files.values() for file in names}
        try:
            _enter(parent, amounts)
        except OSError:
            continue
        held |= files.keys()
    return frozenset(held)


def sweep() -> None:
    """Remove the groups of commands that have ended."""
    for parent in places():
        _sweep(parent)


def places() -> dict[str, dict[str, tuple[str, ...]]]:
    """The folders in which a group can be made, and the files of each controller there."""
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return {}
    places: dict[str, dict[str, tuple[str, ...]]] = {}
    for _, controllers, path in lines:
        for controller in controllers.split(","):
            if controller in _V1:
                places[_outside(f"{_ROOT}/{controllers}{path}")] = {controller: _V1[controller]}
    unified = next((path for _, controllers, path in lines if not controllers), None)
    if unified is not None and not places:
        parent = os.path.dirname(_outside(f"{_ROOT}{unified}")) if unified != "/" else _ROOT
        places[parent] = _V2
    return {place: files for place, files in places.items() if os.access(place, os.W_OK)}


def _outside(path: str) -> str:
    """The folder of the agent's own group, also when it was itself started by a command of another agent."""
    path = path.rstrip("/")
    return os.path.dirname(path) if os.path.basename(path).startswith(_NAME) else path


def _enter(parent: str, amounts: dict[str, str]) -> None:
    _sweep(parent)
    group = f"{parent}/{_NAME}{os.getpid()}"
    for attempt in range(_TRIES):
        try:
            os.makedirs(group, exist_ok=True)
            for file, amount in amounts.items():
                _put(f"{group}/{file}", amount, missing_ok=file == "memory.swap.max")
            return _put(f"{group}/cgroup.procs", str(os.getpid()))
        except FileNotFoundError:
            if attempt == _TRIES - 1:
                raise
    return None


def _put(path: str, text: str, *, missing_ok: bool = False) -> None:
    if missing_ok and not os.path.exists(path):
        return
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _sweep(parent: str) -> None:
    """Remove groups that nobody is in any more; one that is in use cannot be removed."""
    for name in os.listdir(parent):
        if name.startswith(_NAME):
            try:
                os.rmdir(f"{parent}/{name}")
            except OSError:
                continue
