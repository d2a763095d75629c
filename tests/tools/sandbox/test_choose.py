"""Which sandbox is taken, and that nothing happens before one is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxKind, SandboxSettings
from hermes_agent.tools.sandbox.base import Boundary
from hermes_agent.tools.sandbox.choose import choose
from hermes_agent.tools.sandbox.kernel import landlock_abi
from hermes_agent.types.errors import ConfigError
from tests.tools.context import ENVIRONMENT
from tests.tools.sandbox.conftest import Making, need


@pytest.mark.req("R3")
def test_the_kinds(tmp_path: Path) -> None:
    need("bubblewrap", {})
    need("landlock", {})
    kinds = (SandboxKind.AUTO, SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK, SandboxKind.NONE)
    chosen = {kind.value: choose(SandboxSettings(kind=kind), ENVIRONMENT) for kind in kinds}
    assert {kind: (found.name, found.confines) for kind, found in chosen.items()} == {
        "auto": ("bubblewrap", True),
        "bubblewrap": ("bubblewrap", True),
        "landlock": ("landlock", True),
        "none": ("direct", False),
    }
    assert chosen["auto"].reason.startswith("bubblewrap 0.")
    assert chosen["auto"].reason.endswith(
        ": commands see only the workspace and a read-only system, no network unless granted"
    )
    assert chosen["landlock"].reason.startswith(f"Landlock ABI {landlock_abi()}: commands read only the system")
    assert chosen["none"].reason == "none: sandbox.kind is none, commands run with your own rights"
    boundary = Boundary(workspace=tmp_path, directory=tmp_path)
    argv = chosen["auto"].wrap("echo $HOME", boundary)
    done = subprocess.run(argv, env=chosen["auto"].environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "/home/agent\n"


def test_one_that_was_named_is_never_replaced() -> None:
    missing = choose(SandboxSettings(kind=SandboxKind.SSH), ENVIRONMENT)
    with pytest.raises(ConfigError, match=r"sandbox\.host is ''"):
        assert missing.name
    unreachable = choose(SandboxSettings(kind=SandboxKind.SSH, host="nobody@127.0.0.1"), {"PATH": "/usr/bin"})
    with pytest.raises(ConfigError, match=r"ssh to nobody@127.0.0.1 does not work"):
        assert unreachable.confines


NESTED = """
from hermes_agent.config.settings import SandboxKind, SandboxSettings
from hermes_agent.tools.sandbox.choose import choose
from hermes_agent.types.errors import ConfigError

found = choose(SandboxSettings(), {})
print(found.name, found.confines)
try:
    print(choose(SandboxSettings(kind=SandboxKind.BUBBLEWRAP), {}).name)
except ConfigError as error:
    print(error.explain())
"""


def test_auto_takes_the_second_where_the_first_does_not_work(bubblewrap: Making) -> None:
    """Inside of one sandbox there are no namespaces for another."""
    bench = bubblewrap(SandboxSettings())
    (bench.workspace / "nested.py").write_text(NESTED)
    taken, refused = bench.run(f"{sys.executable} nested.py").text.splitlines()
    assert taken == "landlock True"
    assert refused.startswith("bubblewrap does not work here: bwrap: ")
    assert refused.endswith("kernel.apparmor_restrict_unprivileged_userns=0)")


def test_choosing_costs_nothing_until_a_command_runs() -> None:
    code = (
        "import sys; from hermes_agent.config.settings import SandboxSettings\n"
        "from hermes_agent.tools.sandbox.choose import choose; found = choose(SandboxSettings(), {})\n"
        "print(sorted(n.rpartition('.')[2] for n in sys.modules if n.startswith('hermes_agent.tools.sandbox.')))\n"
        "print('ctypes' in sys.modules, 'subprocess' in sys.modules, 'asyncio' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout == "['base', 'choose', 'direct']\nFalse False False\n"
