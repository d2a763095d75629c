"""Size limits of the source tree: files, functions, constructors, and the `types` package as a whole.

Small units are what keeps the folders readable; the limits are checked so that they are not argued about.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

FILE_LINES = 400
FUNCTION_LINES = 60
CONSTRUCTOR_PARAMETERS = 8
TYPES_LINES = 1199
COUNTED_BY_FIELDS = frozenset({"Harness"})


class Offender(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is larger than its limit."""

    path: str
    line: int
    name: str
    size: int
    limit: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name} {self.size} {self.limit}"


def offenders(root: Path) -> list[Offender]:
    """Everything under `root/src` that exceeds a limit, in the order of paths and lines."""
    found: list[Offender] = []
    types_lines = 0
    types_folder = root / "src" / "hermes_agent" / "types"
    for file in sorted((root / "src").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        path = file.relative_to(root).as_posix()
        if types_folder in file.parents:
            types_lines += lines
        if lines > FILE_LINES:
            found.append(Offender(path=path, line=1, name="file", size=lines, limit=FILE_LINES))
        found.extend(_in_scope(ast.parse(text, filename=path), path, scope=""))
    if types_lines > TYPES_LINES:
        path = types_folder.relative_to(root).as_posix()
        found.append(Offender(path=path, line=1, name="package", size=types_lines, limit=TYPES_LINES))
    return found


def _in_scope(node: ast.AST, path: str, scope: str) -> Iterator[Offender]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{scope}{child.name}"
            yield from _function(child, path, name)
            yield from _in_scope(child, path, f"{name}.")
        elif isinstance(child, ast.ClassDef):
            name = f"{scope}{child.name}"
            yield from _class(child, path, name)
            yield from _in_scope(child, path, f"{name}.")
        else:
            yield from _in_scope(child, path, scope)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, name: str) -> Iterator[Offender]:
    size = (node.end_lineno or node.lineno) - node.lineno + 1
    if size > FUNCTION_LINES:
        yield Offender(path=path, line=node.lineno, name=name, size=size, limit=FUNCTION_LINES)


def _class(node: ast.ClassDef, path: str, name: str) -> Iterator[Offender]:
    """The explicit constructor counts; generated fields count only for the classes named in COUNTED_BY_FIELDS."""
    constructors = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    for constructor in constructors:
        size = _parameters(constructor.args)
        if size > CONSTRUCTOR_PARAMETERS:
            yield Offender(
                path=path, line=constructor.lineno, name=f"{name}.__init__", size=size, limit=CONSTRUCTOR_PARAMETERS
            )
    fields = sum(isinstance(item, ast.AnnAssign) for item in node.body)
    if not constructors and node.name in COUNTED_BY_FIELDS and fields > CONSTRUCTOR_PARAMETERS:
        yield Offender(path=path, line=node.lineno, name=name, size=fields, limit=CONSTRUCTOR_PARAMETERS)


def _parameters(arguments: ast.arguments) -> int:
    named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    gathered = sum(extra is not None for extra in (arguments.vararg, arguments.kwarg))
    return named + gathered - 1


def main(arguments: list[str]) -> int:
    """Print each offender as `path:line name size limit`; 1 if there is one."""
    found = offenders(Path(arguments[0]) if arguments else Path.cwd())
    for offender in found:
        print(offender)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
