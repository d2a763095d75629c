"""Runs the tests of a small repository, and repairs one fault of its module: every repair is tried on the tests.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_MODULES = ("bisect", "collections", "itertools", "math", "statistics", "string")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_IMPORTED = re.compile(r"^from (\w+) import ", re.MULTILINE)
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.Gt, ast.LtE),
    ast.Gt: (ast.Lt, ast.GtE),
    ast.LtE: (ast.GtE, ast.Lt),
    ast.GtE: (ast.LtE, ast.Gt),
}
_COMPUTED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
}


class Refused(Exception):
    """A way does not find what it looks for."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def _places(tests: list[Path], folder: Path) -> tuple[Path, Path]:
    """The tests, and the module that they are about."""
    if not tests:
        raise Refused("layout", "there are no tests where this way looks")
    name = _IMPORTED.search(tests[0].read_text("utf-8"))
    module = folder / f"{name[1] if name else ''}.py"
    if not module.is_file():
        raise Refused("layout", f"{tests[0]} cannot import what it is about")
    return tests[0], module


def tests_root(root: Path) -> tuple[Path, Path]:
    """Tests beside the module."""
    return _places(sorted(root.glob("test_*.py")), root)


def tests_src(root: Path) -> tuple[Path, Path]:
    """Tests beside the module, or in `tests` with the module in `src`."""
    found = sorted(root.glob("tests/test_*.py"))
    return _places(found, root / "src") if found else tests_root(root)


def tests_search(root: Path) -> tuple[Path, Path]:
    """Tests and module wherever they are."""
    files = sorted(root.rglob("*.py"))
    tests = [path for path in files if "def test_" in path.read_text("utf-8")]
    folders = {path.parent for path in files if path not in tests}
    return _places(tests, next(iter(sorted(folders)), root))


def failure_of(source: str, module: str, tests: str) -> BaseException | None:
    """The first failure of the tests with this source of the module; None when they pass."""
    made = types.ModuleType(module)
    sys.modules[module] = made
    space: dict[str, Any] = {}
    try:
        exec(compile(source, module, "exec"), made.__dict__)
        exec(compile(tests, "tests", "exec"), space)
        for name, test in list(space.items()):
            if name.startswith("test_"):
                test()
    except Exception as error:  # noqa: BLE001 - the boundary of code under test: any failure is a finding
        return error
    finally:
        del sys.modules[module]
    return None


def of_bounds(source: str, failure: str) -> Iterator[str]:
    """Ranges that end one too late, and places one behind the end."""
    for found in re.finditer(r"range\((.+?) \+ 1\)", source):
        yield source[: found.start()] + f"range({found[1]})" + source[found.end() :]
    for found in re.finditer(r"(\w+)\[len\((\w+)\)\]", source):
        yield source[: found.start()] + f"{found[1]}[len({found[2]}) - 1]" + source[found.end() :]


def of_operators(source: str, failure: str) -> Iterator[str]:
    """Operators that should be another one."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            first = node.ops[0]
            for compared in _COMPARED.get(type(first), ()):
                node.ops[0] = compared()
                yield ast.unparse(tree)
            node.ops[0] = first
        elif isinstance(node, ast.BinOp | ast.AugAssign):
            right = node.op
            for computed in _COMPUTED.get(type(right), ()):
                node.op = computed()
                yield ast.unparse(tree)
            node.op = right


def of_names(source: str, failure: str) -> Iterator[str]:
    """Names that are misspelt, or modules that are not imported."""
    found = _UNDEFINED.search(failure)
    if found is None:
        return
    if found[1] in _MODULES:
        yield f"import {found[1]}\n{source}"
    known = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    known |= {node.arg for node in ast.walk(ast.parse(source)) if isinstance(node, ast.arg)}
    for name in difflib.get_close_matches(found[1], sorted(known - {found[1]}), n=4):
        yield re.sub(rf"\b{found[1]}\b", name, source)


def of_types(source: str, failure: str) -> Iterator[str]:
    """Values that must be text, or numbers, where they are joined."""
    tree = ast.parse(source)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
    for node in joined:
        left, right = node.left, node.right
        for wanted in ("str", "int"):
            node.left = ast.Call(func=ast.Name(id=wanted), args=[left], keywords=[])
            yield ast.unparse(tree)
            node.left = left
            node.right = ast.Call(func=ast.Name(id=wanted), args=[right], keywords=[])
            yield ast.unparse(tree)
            node.right = right


TESTS: dict[str, Callable[[Path], tuple[Path, Path]]] = {
    "tests_root": tests_root,
    "tests_src": tests_src,
    "tests_search": tests_search,
}
_REPAIRS: tuple[Callable[[str, str], Iterator[str]], ...] = (of_bounds, of_operators, of_names, of_types)
REPAIR = {"repair_bounds": 1, "repair_operators": 2, "repair_names": 3, "repair_any": 4}
"""How many kinds of repairs a way tries."""


def _tested(asked: dict[str, Any]) -> str:
    tests, module = TESTS[asked["way"]](Path(asked["repository"]))
    failure = failure_of(module.read_text("utf-8"), module.stem, tests.read_text("utf-8"))
    found = {"tests": str(tests), "module": str(module), "failure": f"{type(failure).__name__}: {failure}"}
    Path(asked["output"]).write_text(json.dumps(found), "utf-8")
    return f"{tests} fails with {found['failure']}" if failure else f"{tests} passes"


def _repaired(asked: dict[str, Any]) -> str:
    found = json.loads(Path(asked["failures"]).read_text("utf-8"))
    module, tests = Path(found["module"]), Path(found["tests"]).read_text("utf-8")
    source = module.read_text("utf-8")
    for repair in _REPAIRS[: REPAIR[asked["way"]]]:
        for candidate in repair(source, found["failure"]):
            if failure_of(candidate, module.stem, tests) is None:
                module.write_text(candidate, "utf-8")
                return f"{module} is repaired: its tests pass"
    raise Refused("no_repair", f"no repair of these kinds makes the tests of {module} pass")


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: run the tests, or repair the module."""
    try:
        return {"text": _tested(asked) if asked["way"] in TESTS else _repaired(asked)}
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be read: {error}"}
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError) as error:
        return {"error": "value", "text": f"that cannot be repaired: {error!r}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
