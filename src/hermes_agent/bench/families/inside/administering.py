"""Finds out which services a host has, and does small jobs on their files.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. The host is a
folder of the workspace.
"""

from __future__ import annotations

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


def inventory_units(host: Path) -> Services:
    """Services that are units."""
    return _each(list(host.glob("etc/system/*.service")), lambda path: path.stem, "units")


def inventory_scripts(host: Path) -> Services:
    """Services that have start scripts."""
    return _each(list(host.glob("etc/init.d/*")), lambda path: path.name, "start scripts")


def inventory_runs(host: Path) -> Services:
    """Services that are supervised."""
    return _each(list(host.glob("etc/service/*/run")), lambda path: path.parent.name, "supervised services")


def inventory_table(host: Path) -> Services:
    """Services that stand in a table."""
    table = host / "etc" / "inittab"
    if not table.is_file():
        raise Refused("unsupported", "the host has no inittab")
    lines = [line.split(":", 2) for line in table.read_text("utf-8").splitlines() if line.strip()]
    return {fields[0]: _files(fields[-1]) for fields in lines}


def apply_settings(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Change one setting of one service."""
    if asked["job"] != "config":
        raise Refused("unsupported", f"this way changes settings; {asked['job'][:40]!r} is another job")
    key, sign, value = asked["detail"].partition("=")
    path = host / services[asked["service"]]["config"]
    text, changed = re.subn(
        rf"^{re.escape(key)} = .*$", lambda _: f"{key} = {value}", path.read_text("utf-8"), flags=re.MULTILINE
    )
    if not sign or changed != 1:
        raise Refused("value", f"{path} has no setting {key[:40]!r}")
    path.write_text(text, "utf-8")
    return f"{key} is set"


def apply_sizes(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Report how large the logs are."""
    if asked["job"] != "usage":
        raise Refused("unsupported", f"this way reports sizes; {asked['job'][:40]!r} is another job")
    sizes = {name: (host / files["log"]).stat().st_size for name, files in services.items()}
    Path(asked["detail"]).write_text(json.dumps(sizes), "utf-8")
    return f"{len(sizes)} sizes are in {asked['detail']}"


def apply_modes(host: Path, services: Services, asked: dict[str, Any]) -> str:
    """Set the permissions of all configurations."""
    if asked["job"] != "permissions":
        raise Refused("unsupported", f"this way sets permissions; {asked['job'][:40]!r} is another job")
    for files in services.values():
        (host / files["config"]).chmod(int(asked["detail"], 8))
    return f"{len(services)} configurations have the mode {asked['detail']}"


INVENTORY = {
    "inventory_units": inventory_units,
    "inventory_scripts": inventory_scripts,
    "inventory_runs": inventory_runs,
    "inventory_table": inventory_table,
}
APPLY = {"apply_settings": apply_settings, "apply_sizes": apply_sizes, "apply_modes": apply_modes}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: look, or do a job."""
    try:
        host = Path(asked["host"])
        if asked["way"] in INVENTORY:
            services = INVENTORY[asked["way"]](host)
            Path(asked["output"]).write_text(json.dumps(services), "utf-8")
            return {"text": f"wrote {asked['output']}: {', '.join(services)}"}
        services = json.loads(Path(asked["inventory"]).read_text("utf-8"))
        return {"text": APPLY[asked["way"]](host, services, asked)}
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be reached: {error}"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"error": "value", "text": f"the inventory or the detail is wrong: {error!r}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
