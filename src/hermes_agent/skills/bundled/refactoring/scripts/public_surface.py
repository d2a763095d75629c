"""Write down what a Python package offers, and later say what a refactoring changed of it.

    public_surface.py snapshot FOLDER > before.json
    public_surface.py compare before.json FOLDER

Nothing is imported or run: the source is read. Exit code 1 when something public is gone or takes other arguments.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

SKIPPED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist"})


def is_public(name: str) -> bool:
    """Whether others may lean on it."""
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function's arguments and result as written."""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{kind}({ast.unparse(node.args)}){result}"


def names(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    """Each public name of a module or class, with what is known of it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_public(node.name):
            yield f"{prefix}{node.name}", signature(node)
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield f"{prefix}{node.name}", f"class({', '.join(map(ast.unparse, node.bases))})"
            yield from names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and is_public(target.id):
                    yield f"{prefix}{target.id}", "value"


def snapshot(folder: Path) -> dict[str, str]:
    """Everything public below a folder. Files that do not parse are named on stderr."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if SKIPPED & set(parts):
            continue
        try:
            tree = ast.parse(path.read_bytes(), filename=str(path))
        except (SyntaxError, ValueError) as error:
            print(f"{path}: left out: {error}", file=sys.stderr)
            continue
        module = ".".join(part for part in parts if part != "__init__")
        found.update(names(tree.body, f"{module}." if module else ""))
    return found


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what changed."""
    gone = sorted(before.keys() - after.keys())
    new = sorted(after.keys() - before.keys())
    other = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    for name in gone:
        print(f"gone: {name} {before[name]}")
    for name in other:
        print(f"changed: {name} {before[name]} => {after[name]}")
    for name in new:
        print(f"new: {name} {after[name]}")
    print(f"{len(before)} names before, {len(after)} after: {len(gone)} gone, {len(other)} changed, {len(new)} new")
    return 1 if gone or other else 0


def main() -> int:
    """Read the arguments."""
    match sys.argv[1:]:
        case ["snapshot", folder] if Path(folder).is_dir():
            print(json.dumps(snapshot(Path(folder)), indent=1, sort_keys=True))
            return 0
        case ["compare", file, folder] if Path(folder).is_dir():
            return compare(json.loads(Path(file).read_text()), snapshot(Path(folder)))
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
