"""What may be said about a run beside its request: looked at before anything starts, journaled as the run's options."""

from __future__ import annotations

from typing import Any

from ..safety.redact import Redactor
from ..store.families import clean_name
from ..store.heuristics import EVERY_FAMILY, read_set
from ..store.open import Store
from ..types.errors import UsageError

_LONGEST_FAMILY = 100
_LARGEST = 2**63 - 1
_INSTEAD = {
    "pin": "give the version of a set; `hermes learning sets` lists them",
    "seed": "give a number such as 7",
    "check": "give a command that ends with 0 when the task was done, such as 'pytest -q'",
    "reset": "give a command that makes the start of the task again, such as 'git checkout .'",
}


async def examine_options(options: dict[str, Any], store: Store, redactor: Redactor) -> None:
    """Refuse options that cannot mean anything, with what to do instead."""
    for name in ("check", "reset"):
        if options.get(name) is not None:
            _examine_command(name, options[name], redactor)
    if options.get("family") is not None:
        _examine_family(options["family"])
    for name, least in (("pin", 0), ("seed", -_LARGEST - 1)):
        value = options.get(name)
        if value is not None and (type(value) is not int or not least <= value <= _LARGEST):
            raise UsageError(
                f"{name} must be a whole number{' from 0' if least == 0 else ''}, not {value!r}", remedy=_INSTEAD[name]
            )
    pin = options.get("pin")
    if pin is not None:
        await store.database.read(lambda connection: read_set(connection, pin))


def _examine_command(name: str, command: Any, redactor: Redactor) -> None:
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise UsageError(f"{name} must be a command: text without NUL characters, and not empty", remedy=_INSTEAD[name])
    if redactor.redact(command) != command:
        raise UsageError(
            f"the command of {name} holds a secret, and would be stored with the run",
            remedy="let it read the secret from a file or from its environment",
        )


def _examine_family(family: Any) -> None:
    if not isinstance(family, str) or not family.strip() or len(family) > _LONGEST_FAMILY or not family.isprintable():
        raise UsageError(f"a family needs a name of 1 to {_LONGEST_FAMILY} printable characters")
    if family.strip() == EVERY_FAMILY:
        raise UsageError(f"{EVERY_FAMILY!r} stands for all families", remedy="give the family a name of its own")
    clean_name(family)
