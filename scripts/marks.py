"""Which tests carry which pytest marks, read from the source without importing it."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec


class MarkedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test and one mark on it; `arguments` are the mark's literal strings."""

    test: str
    line: int
    mark: str
    arguments: tuple[str, ...]


class UnreadableMark(Exception):
    """A mark whose arguments cannot be read without running the test; write them as literal strings."""


def marked_tests(root: Path) -> list[MarkedTest]:
    """Every mark of every test in `root/tests`: on the function, on a parameter set, on its class, on its module."""
    found: list[MarkedTest] = []
    for file in sorted((root / "tests").rglob("test_*.py")):
        path = file.relative_to(root).as_posix()
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=path)
        found.extend(_in_body(tree.body, path, ()))
    return found


def _in_body(body: list[ast.stmt], prefix: str, outer: tuple[ast.expr, ...]) -> Iterator[MarkedTest]:
    marks = (*outer, *_pytestmark(body))
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _in_body(node.body, f"{prefix}::{node.name}", (*marks, *node.decorator_list))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            test = f"{prefix}::{node.name}"
            for mark, arguments in dict.fromkeys(_marks((*marks, *node.decorator_list), test)):
                yield MarkedTest(test=test, line=node.lineno, mark=mark, arguments=arguments)


def _pytestmark(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for node in body:
        if isinstance(node, ast.Assign):
            targets: list[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        if node.value and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets):
            yield node.value


def _marks(expressions: Iterable[ast.expr], test: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for expression in expressions:
        called: set[ast.expr] = set()
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and (name := _mark_name(node.func)):
                called.add(node.func)
                yield name, _strings(node, test) if name == "req" else ()
            elif isinstance(node, ast.expr) and node not in called and (name := _mark_name(node)):
                yield name, ()


def _mark_name(node: ast.expr) -> str | None:
    """`NAME` of `pytest.mark.NAME` or `mark.NAME`."""
    if not isinstance(node, ast.Attribute):
        return None
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr == "mark":
        return node.attr
    if isinstance(owner, ast.Name) and owner.id == "mark":
        return node.attr
    return None


def _strings(call: ast.Call, test: str) -> tuple[str, ...]:
    values = tuple(
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )
    if not values or len(values) != len(call.args) or call.keywords:
        raise UnreadableMark(f"{test}: `req` takes one or more literal strings")
    return values
