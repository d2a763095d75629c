"""Finds tools by reading source before importing it.

Built-in tools come from `manifest.json`, which holds every declaration with a digest of the file it was read from:
start-up imports no tool. A file that changed or is new is found by its syntax tree and imported. Run this module
to write the manifest anew; a test keeps it true.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from ..types.base import Value
from ..types.errors import UsageError
from ..types.tools import ToolSpec
from .registry import Entry
from .tool import Tool, declared_tool

BUILTIN = Path(__file__).parent / "builtin"
MANIFEST = BUILTIN / "manifest.json"
_PACKAGE = f"{__package__}.builtin"


class Declared(Value, frozen=True, kw_only=True):
    """A tool as the manifest knows it."""

    function: str
    spec: ToolSpec


class Module(Value, frozen=True, kw_only=True):
    """The tools of one file, and the digest of the text they were read from."""

    digest: str
    tools: tuple[Declared, ...]


def builtin_tools(folder: Path = BUILTIN, package: str = _PACKAGE, manifest: Path = MANIFEST) -> list[Entry]:
    """Every built-in tool, without importing those the manifest still describes truly."""
    known = _read(manifest)
    entries: list[Entry] = []
    for path in _sources(folder):
        module = known.get(path.stem)
        if module is None or module.digest != _digest(path):
            module = scan(path, package)
        entries += [
            Entry(spec=tool.spec, load=partial(_load, f"{package}.{path.stem}", tool.function), source="builtin")
            for tool in module.tools
        ]
    return entries


def tool_functions(source: str) -> list[str]:
    """The names of functions that `@tool` decorates, read from the syntax tree alone."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"not valid Python: {error}") from error
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_tool, node.decorator_list)):
            found.append(node.name)
    return found


def scan(path: Path, package: str) -> Module:
    """The tools of a source file; it is imported only when its syntax tree shows that it has any."""
    names = tool_functions(path.read_text())
    tools = tuple(Declared(function=name, spec=_load(f"{package}.{path.stem}", name).spec) for name in names)
    return Module(digest=_digest(path), tools=tools)


def write_manifest(folder: Path = BUILTIN, package: str = _PACKAGE, manifest: Path = MANIFEST) -> None:
    """Describe every built-in tool, so that the next start need not import any."""
    modules = {path.stem: scan(path, package) for path in _sources(folder)}
    encoded = msgspec.json.encode(modules, order="sorted")
    manifest.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def _sources(folder: Path) -> Iterator[Path]:
    return iter(sorted(path for path in folder.glob("*.py") if path.stem != "__init__"))


def _read(manifest: Path) -> dict[str, Module]:
    try:
        return msgspec.json.decode(manifest.read_bytes(), type=dict[str, Module])
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()


def _is_tool(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "tool"


def _load(module: str, function: str) -> Tool:
    found = declared_tool(getattr(importlib.import_module(module), function))
    if found is None:
        raise UsageError(f"{module}.{function} is not declared with @tool")
    return found


def names(entries: Iterable[Entry]) -> list[str]:
    """The names of some tools, in order."""
    return [entry.spec.name for entry in entries]


if __name__ == "__main__":
    write_manifest()
