"""System administration: four jobs on hosts that start their services in four ways. A host is a folder."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from ...types.base import Value
from ..verdict import read_plain
from .parameters import Parameters
from .stages import Stage
from .task import Draft, Step, Task, json_problem
from .world import Family, FamilyWorld

HOST, INVENTORY, USAGE = "host", "inventory.json", "usage.json"
_NAMES = ("mailer", "indexer", "gateway", "archiver", "poller", "printer", "relay", "scanner")
_SETTINGS = ("port", "workers", "timeout", "retries", "queue_size")
_MODES = ("640", "600", "440")
_KEPT = 3

_INVENTORY = Stage(
    program="administering",
    arguments={
        "host": "folder of the host",
        "system": "how the host starts services: units, scripts, runs or table",
        "output": "JSON file to write: the configuration and log of each service",
    },
    paths=("host", "output"),
    writes="output",
    ways={
        "inventory_units": "List the services of a host that has units under etc/system.",
        "inventory_scripts": "List the services of a host that has units, or start scripts under etc/init.d.",
        "inventory_runs": "List the services of a host that has units, start scripts, or supervises etc/service.",
        "inventory_any": "List the services of a host that has units, scripts, supervision or etc/inittab.",
    },
)
_APPLY = Stage(
    program="administering",
    arguments={
        "host": "folder of the host",
        "inventory": "JSON file with the services of the host",
        "job": "config, usage or permissions",
        "service": "name of a service, or all",
        "detail": "NAME=VALUE for config, the file to write for usage, the octal mode for permissions",
    },
    paths=("host", "inventory"),
    ways={
        "apply_settings": "Change a setting of a service.",
        "apply_sizes": "Change a setting of a service, or report the sizes of the logs of all services.",
        "apply_modes": "Change a setting, report sizes of logs, or set the permissions of all configurations.",
    },
)


class Host(Value, frozen=True, kw_only=True):
    """A host: its files, and where each service has its configuration and its log."""

    files: dict[str, str]
    configs: dict[str, str]
    logs: dict[str, str]


class Job(Value, frozen=True, kw_only=True):
    """A job: how it is asked for, what a tool is told, a command that does it, and what must be true afterwards."""

    asks: str
    service: str
    detail: str
    command: str
    truth: dict[str, Any]


def _host(rng: random.Random, system: str) -> Host:
    names = sorted(rng.sample(_NAMES, rng.randrange(3, 5)))
    files: dict[str, str] = {}
    configs, logs = {}, {}
    for name in names:
        configs[name] = f"etc/{name}/{name}.conf"
        logs[name] = f"var/log/{name}.log"
        settings = "".join(f"{key} = {rng.randrange(1, 9_000)}\n" for key in _SETTINGS)
        files[configs[name]] = f"# {name}\n{settings}"
        files[logs[name]] = "".join(f"{rng.randrange(10**9):09d} {name} ready\n" for _ in range(rng.randrange(3, 40)))
        for place in range(1, rng.randrange(1, _KEPT + 1)):
            files[f"{logs[name]}.{place}"] = f"older {place} {rng.randrange(10**6)}\n"
        files |= _started(system, name, configs[name], logs[name])
    if system == "table":
        lines = [f"{name}:respawn:/usr/sbin/{name} -c {configs[name]} -l {logs[name]}\n" for name in names]
        files["etc/inittab"] = "".join(lines)
    return Host(files=files, configs=configs, logs=logs)


def _started(system: str, name: str, config: str, log: str) -> dict[str, str]:
    match system:
        case "units":
            return {
                f"etc/system/{name}.service": f"[Service]\nExecStart=/usr/sbin/{name} --config={config} --log={log}\n"
            }
        case "scripts":
            return {f"etc/init.d/{name}": f"#!/bin/sh\nCONFIG={config}\nLOG={log}\nexec /usr/sbin/{name}\n"}
        case "runs":
            return {f"etc/service/{name}/run": f"#!/bin/sh\nexec /usr/sbin/{name} --config {config} --log {log}\n"}
        case _:
            return {}


def _config(rng: random.Random, host: Host) -> Job:
    name, key, value = rng.choice(sorted(host.configs)), rng.choice(_SETTINGS), rng.randrange(10_000, 60_000)
    path = host.configs[name]
    lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in host.files[path].splitlines()]
    return Job(
        asks=f"set {key} of the service {name} to {value}",
        service=name,
        detail=f"{key}={value}",
        command=f"sed -i 's/^{key} = .*/{key} = {value}/' {HOST}/{path}",
        truth={"files": {path: "\n".join(lines) + "\n"}},
    )


def _usage(rng: random.Random, host: Host) -> Job:
    sizes = {name: len(host.files[log]) for name, log in host.logs.items()}
    form = ", ".join(f'"{name}": %d' for name in sizes)
    found = " ".join(f"$(stat -c %s {HOST}/{log})" for log in host.logs.values())
    return Job(
        asks=f"report how many bytes the log of each service has, in {USAGE}, as an object from service to bytes",
        service="all",
        detail=USAGE,
        command=f"printf '{{{form}}}' {found} > {USAGE}",
        truth={"usage": sizes},
    )


def _permissions(rng: random.Random, host: Host) -> Job:
    mode = rng.choice(_MODES)
    paths = list(host.configs.values())
    return Job(
        asks=f"give the configuration files of all services the mode {mode}",
        service="all",
        detail=mode,
        command=f"chmod {mode} {' '.join(f'{HOST}/{path}' for path in paths)}",
        truth={"modes": {path: int(mode, 8) for path in paths}},
    )


def _rotate(rng: random.Random, host: Host) -> Job:
    name = rng.choice(sorted(host.logs))
    log = host.logs[name]
    old = [path for path in (log, *(f"{log}.{place}" for place in range(1, _KEPT))) if path in host.files]
    moves = [f"mv -f {HOST}/{old[place]} {HOST}/{log}.{place + 1}" for place in reversed(range(len(old)))]
    files = {f"{log}.{place + 1}": host.files[path] for place, path in enumerate(old)}
    return Job(
        asks=f"rotate the log of the service {name}: {log}.2 becomes {log}.3, {log}.1 becomes {log}.2 where they exist,"
        f" the log becomes {log}.1, and an empty log takes its place",
        service=name,
        detail=log,
        command=" && ".join([*moves, f"touch {HOST}/{log}"]),
        truth={"files": {**files, log: ""}},
    )


_JOBS = {"config": _config, "usage": _usage, "permissions": _permissions, "rotate": _rotate}


def _make(rng: random.Random, _seed: int, _number: int, given: Parameters) -> Draft:
    system, kind = given.drawn(rng, "system"), given.drawn(rng, "job")
    host = _host(rng, system)
    job = _JOBS[kind](rng, host)
    request = (
        f"Administer the host whose files are in the folder {HOST}; it starts its services by {system}. Please "
        f"{job.asks}. Paths in its files are relative to {HOST}. Change nothing else on the host."
    )
    apply = {"host": HOST, "inventory": INVENTORY, "job": kind, "service": job.service, "detail": job.detail}
    steps = (
        Step(tools=given.ways["inventory"], arguments={"host": HOST, "system": system, "output": INVENTORY}),
        Step(tools=given.ways["apply"], arguments=apply, own={"terminal": {"command": job.command}}),
    )
    files = {f"{HOST}/{path}": text.encode() for path, text in host.files.items()}
    modes = {f"{HOST}/{path}": 0o644 for path in host.configs.values()}
    truth = {**job.truth, "files": {**host.files, **job.truth.get("files", {})}}
    return Draft(
        request=request,
        steps=steps,
        files=files,
        truth=truth,
        modes=modes,
    )


def _problem(task: Task, workspace: Path) -> str:
    root = workspace / HOST
    for path, text in task.truth["files"].items():
        if read_plain(root / path) != text.encode():
            return f"{path} is not what it should be"
    if more := _unwanted(root, task.truth["files"]):
        return f"{more} should not be there"
    for path, mode in task.truth.get("modes", {}).items():
        if (root / path).stat().st_mode & 0o7777 != mode:
            return f"{path} does not have the mode {mode:o}"
    return json_problem(workspace, USAGE, task.truth["usage"]) if "usage" in task.truth else ""


def _unwanted(root: Path, wanted: dict[str, str]) -> str:
    """The first file of a host that nobody asked for."""
    found = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if not path.is_dir())
    return next((path for path in found if path not in wanted), "")


FAMILY = Family(name="administration", stages=(_INVENTORY, _APPLY), make=_make, problem=_problem)
World = partial(FamilyWorld, FAMILY)
