"""Only `config/load.py` touches the process environment.

Everything else receives its settings as values, so that a run can be understood from its configuration alone.
"""

import ast
import sys
from pathlib import Path
from typing import TypeGuard

import msgspec

ALLOWED = "src/hermes_agent/config/load.py"
NAMES = frozenset({"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"})


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One use of the environment."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name} (only {ALLOWED} may)"


def accesses(root: Path) -> list[Access]:
    """Every use of the environment under `root/src` outside the one allowed file."""
    found: list[Access] = []
    for file in sorted((root / "src").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        if path != ALLOWED:
            found.extend(_in_file(ast.parse(file.read_text(encoding="utf-8"), filename=path), path))
    return found


def _in_file(tree: ast.Module, path: str) -> list[Access]:
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in {"os", "posix"}
    }
    found: list[Access] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"os", "posix"}:
            found.extend(
                Access(path=path, line=node.lineno, name=f"os.{alias.name}")
                for alias in node.names
                if alias.name in NAMES
            )
        elif _reaches_environment(node, modules):
            found.append(Access(path=path, line=node.lineno, name=f"os.{node.attr}"))
    return sorted(found, key=lambda access: (access.line, access.name))


def _reaches_environment(node: ast.AST, modules: set[str]) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in NAMES
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    )


def main(arguments: list[str]) -> int:
    """Print each use; 1 if there is one."""
    found = accesses(Path(arguments[0]) if arguments else Path.cwd())
    for access in found:
        print(access)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
