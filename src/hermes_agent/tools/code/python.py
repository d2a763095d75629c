"""The command line that starts Python in the sandbox with everything it needs on its standard input.

Nothing is put into a file: the sandbox need not see our source, and a folder that code inside may write to holds no
code that anybody else runs.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

_BOOT = (
    "import json,sys,types;given=json.load(sys.stdin);"
    "inside=sys.modules['hermes']=types.ModuleType('hermes');"
    "exec(compile(given.pop('module'),'hermes.py','exec'),inside.__dict__);"
    "inside.main(given)"
)


def python_command(*options: str) -> str:
    """A shell command that runs our interpreter, or `python3` where the sandbox has another one.

    Isolated mode: neither the environment, nor the user's packages, nor a module in the workspace changes what runs.
    """
    arguments = shlex.join(["-I", "-B", "-X", "utf8", *options, "-c", _BOOT])
    return f'P={shlex.quote(sys.executable)}; [ -x "$P" ] || P=python3; exec "$P" {arguments}'


def python_input(module: Path, **given: Any) -> str:
    """What that command reads: the source of `module`, which becomes the module `hermes`, and what its `main` gets."""
    return json.dumps({"module": module.read_text(), **given})
