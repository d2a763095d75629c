"""Finds out which services a host has, and does small jobs on their files.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. The host is a
folder of the workspace.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Services = dict[str, dict[str, str]]
_CONFIG = re.compile(r"(?:--config[= ]|CONFIG=|-c )(\S+)")
_LOG = re.compile(r"(?:--log[= ]|LOG=|-l )(\S+)")


class Refused(Exception):
    """A way does not understand a host, or is not made for a job."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def _files(text: str) -> dict[str, str]:
    config, log = _CONFIG.search(text), _LOG.search(text)
    if config is None or log is None:
        raise Refused("parse", f"it names no configuration and log: {text!r:.80}")
    return {"config": config[1], "log": log[1]}


def _each(paths: list[Path], name: Callable[[Path], str], what: str) -> Services:
    if not paths:
        raise Refused("unsupported", f"the host has no {what}")
    return {name(path): _files(path.read_text("utf-8")) for path in sorted(paths)}


def of_units(host: Path) -> Services:
    """Services that are units."""
    return _each(list(host.glob("etc/system/*.service")), lambda path: path.stem, "units")


def of_scripts(host: Path) -> Services:
    """Services that have start scripts."""
    return _each(list(host.glob("etc/init.d/*")), lambda path: path.name, "start scripts")


def of_runs(host: Path) -> Services:
    """Services that are supervised."""
    return _each(list(host.glob("etc/service/*/run")), lambda path: path.parent.name, "supervised services")


def of_table(host: Path) -> Services:
    """Services that stand in a table."""
    table = host / "etc" / "inittab"
    if not table.is_file():
        raise Refused("unsupported", "the host has no inittab")
    lines = [line.split(":", 2) for line in table.read_text("utf-8").splitlines() if line.strip()]
    return {fields[0]: _files(fields[-1]) for fields in lines}


def settings(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Change one setting of one service."""
    key, sign, value = asked["detail"].partition("=")
    path = host / services[asked["service"]]["config"]
    text, changed = re.subn(
        rf"^{re.escape(key)} = .*$", lambda _: f"{key} = {value}", path.read_text("utf-8"), flags=re.MULTILINE
    )
    if not sign or changed != 1:
        raise Refused("value", f"{path} has no setting {key[:40]!r}")
    path.write_text(text, "utf-8")
    return f"{key} is set"


def sizes(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Report how large the logs are."""
    found = {name: (host / files["log"]).stat().st_size for name, files in services.items()}
    Path(asked["detail"]).write_text(json.dumps(found), "utf-8")
    return f"{len(found)} sizes are in {asked['detail']}"


def modes(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Set the permissions of all configurations."""
    for files in services.values():
        (host / files["config"]).chmod(int(asked["detail"], 8))
    return f"{len(services)} configurations have the mode {asked['detail']}"


_LOOKS = (of_units, of_scripts, of_runs, of_table)
INVENTORY = {"inventory_units": 1, "inventory_scripts": 2, "inventory_runs": 3, "inventory_any": 4}
"""In how many places a way looks."""
_JOBS = {"config": settings, "usage": sizes, "permissions": modes}
APPLY = {
    "apply_settings": ("config",),
    "apply_sizes": ("config", "usage"),
    "apply_modes": ("config", "usage", "permissions"),
}
"""Which jobs a way can do."""


def inventory(way: str, host: Path) -> Services:
    """The services of a host, from the first place that has some."""
    *earlier, last = _LOOKS[: INVENTORY[way]]
    for look in earlier:
        with contextlib.suppress(Refused):
            return look(host)
    return last(host)


def applied(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """A job done."""
    able = APPLY[asked["way"]]
    if asked["job"] not in able:
        raise Refused("unsupported", f"this way can do {', '.join(able)}, not {asked['job'][:40]!r}")
    return _JOBS[asked["job"]](host, services, asked)


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: look, or do a job."""
    try:
        host = Path(asked["host"])
        if asked["way"] in INVENTORY:
            services = inventory(asked["way"], host)
            Path(asked["output"]).write_text(json.dumps(services), "utf-8")
            return {"text": f"wrote {asked['output']}: {', '.join(services)}"}
        services = json.loads(Path(asked["inventory"]).read_text("utf-8"))
        return {"text": applied(host, services, asked)}
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be reached: {error}"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return {"error": "value", "text": f"the inventory or the detail is wrong: {error!r}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
