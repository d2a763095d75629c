"""Code debugging: small Python repositories in three layouts, whose tests show one of four symptoms."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

from ...config.settings import SandboxSettings
from ...tools.sandbox.base import Boundary, Sandbox
from ...tools.sandbox.choose import choose
from ...types.errors import UsageError
from ..verdict import read_plain, same
from .parameters import Parameters
from .repositories import repository
from .stages import Stage
from .task import Draft, Step, Task
from .world import Family, FamilyWorld

REPOSITORY, FAILURES = "repository", "failures.json"
_NAMES = ("ledger", "parcel", "meter", "shelf", "ticket", "garden", "signal", "basket")
_LAYOUTS = {
    "flat": ("{name}.py", "test_{name}.py"),
    "src": ("src/{name}.py", "tests/test_{name}.py"),
    "nested": ("lib/python/{name}.py", "checks/{name}_checks.py"),
}
_SECONDS = 20.0
_LARGEST = 1 << 20
_CALLING = """import json, sys, types
asked = json.load(sys.stdin)
sys.stdout = sys.stderr
made = types.ModuleType("checked")
exec(compile(asked["source"], "checked", "exec"), made.__dict__)
results = [getattr(made, call[0])(*call[1:]) for call in asked["calls"]]
print(json.dumps(results), file=sys.__stdout__)
"""

_TESTS = Stage(
    program="debugging",
    arguments={
        "repository": "folder of the repository",
        "layout": "flat (tests beside the module), src (src and tests) or nested (elsewhere)",
        "output": "JSON file to write: the module, its tests and how they fail",
    },
    paths=("repository", "output"),
    writes="output",
    ways={
        "tests_root": "Run the tests of a repository that has them beside its module.",
        "tests_src": "Run the tests of a repository that has them beside its module, or in tests and src.",
        "tests_search": "Run the tests of a repository, wherever they and the module are.",
    },
)
_REPAIR = Stage(
    program="debugging",
    arguments={
        "failures": "JSON file that tells how the tests fail",
        "symptom": "how they fail: IndexError, AssertionError, NameError or TypeError",
    },
    paths=("failures",),
    ways={
        "repair_bounds": "Repair ranges and places that are one off, until the tests pass.",
        "repair_operators": "Repair places that are one off or wrong operators, until the tests pass.",
        "repair_names": "Repair places, operators, misspelt names or missing imports, until the tests pass.",
        "repair_any": "Repair places, operators, names, imports or missing conversions, until the tests pass.",
    },
)


def _make(rng: random.Random, _seed: int, _number: int, given: Parameters) -> Draft:
    layout, symptom = given.drawn(rng, "layout"), given.drawn(rng, "symptom")
    made = repository(rng, rng.choice(_NAMES), symptom)
    module, tests = (f"{REPOSITORY}/{path.format(name=made.module)}" for path in _LAYOUTS[layout])
    request = (
        f"Debug the small Python repository in the folder {REPOSITORY}, which has the layout {layout}: its tests in "
        f"{tests} fail with {symptom}. Repair the module {module} so that it does what the tests show; leave the "
        "tests as they are."
    )
    steps = (
        Step(
            tools=given.ways["tests"],
            arguments={"repository": REPOSITORY, "layout": layout, "output": FAILURES},
        ),
        Step(tools=given.ways["repair"], arguments={"failures": FAILURES, "symptom": symptom}),
    )
    return Draft(
        request=request,
        steps=steps,
        files={module: made.source.encode(), tests: made.tests.encode()},
        truth={"module": module, "tests": tests, "calls": made.calls, "results": made.results},
    )


@cache
def _sandbox() -> Sandbox:
    """Where repaired modules are tried: whoever wrote them, they are strangers' code."""
    chosen = choose(SandboxSettings(memory_mb=512, cpu_seconds=20, file_mb=1), {"PATH": "/usr/bin:/bin"})
    if not chosen.confines:
        raise UsageError(
            f"repaired code cannot be tried safely here: {chosen.reason}",
            remedy="install bubblewrap, or leave this family out with --only",
        )
    return chosen


def _problem(task: Task, workspace: Path) -> str:
    source = read_plain(workspace / task.truth["module"], 1 << 16)
    if source is None:
        return f"there is no {task.truth['module']} of a decent size"
    if read_plain(workspace / task.truth["tests"]) != task.files[task.truth["tests"]]:
        return "the tests were changed"
    found = _results(source.decode("utf-8", "replace"), task.truth["calls"])
    return "" if same(found, task.truth["results"]) else "the module does not do what it should"


def _results(source: str, calls: list[Any]) -> Any:
    """What calls of a module give, which run where they reach nothing; None when they cannot be made."""
    with tempfile.TemporaryDirectory(prefix="hermes-verify-") as name, tempfile.TemporaryFile() as output:
        folder = Path(name).resolve()
        command = shlex.join([sys.executable or "python3", "-I", "-S", "-c", _CALLING])
        sandbox = _sandbox()
        try:
            subprocess.run(
                sandbox.wrap(command, Boundary(workspace=folder, directory=folder)),
                env=sandbox.environment(),
                cwd=folder,
                input=json.dumps({"source": source, "calls": calls}).encode(),
                stdout=output,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
            output.seek(0)
            return json.loads(output.read(_LARGEST))
        except (subprocess.TimeoutExpired, ValueError, RecursionError):
            return None


FAMILY = Family(name="debugging", stages=(_TESTS, _REPAIR), make=_make, problem=_problem)
World = partial(FamilyWorld, FAMILY)
