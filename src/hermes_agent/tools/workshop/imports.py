"""What the source of a self-written tool may name. A check of declarations: the sandbox is what holds."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator

from ...types.tools import Capability

_FILES = (Capability.FILES_READ, Capability.FILES_WRITE)
_HARMLESS = frozenset(
    """__future__ abc array base64 binascii bisect calendar cmath collections collections.abc colorsys configparser
    contextlib copy csv dataclasses datetime decimal difflib email email.message email.utils enum fnmatch fractions
    functools graphlib hashlib heapq hermes_agent hmac html html.entities html.parser io ipaddress itertools
    json keyword locale math numbers operator pprint queue quopri random re secrets shlex statistics string struct
    textwrap threading time tomllib typing unicodedata urllib.parse uuid warnings weakref xml.etree
    xml.etree.ElementTree xml.sax.saxutils zlib zoneinfo""".split()  # noqa: SIM905 - a page of quotes reads worse
)
_BY_CAPABILITY: dict[str, tuple[Capability, ...]] = {
    **dict.fromkeys(
        (
            "os",
            "os.path",
            "pathlib",
            "glob",
            "shutil",
            "tempfile",
            "fileinput",
            "gzip",
            "bz2",
            "lzma",
            "zipfile",
            "tarfile",
            "sqlite3",
            "mimetypes",
            "stat",
            "filecmp",
            "linecache",
            "mmap",
        ),
        _FILES,
    ),
    **dict.fromkeys(
        (
            "socket",
            "ssl",
            "urllib",
            "urllib.request",
            "urllib.error",
            "http",
            "http.client",
            "http.cookiejar",
            "ftplib",
            "imaplib",
            "poplib",
            "smtplib",
            "xmlrpc.client",
            "select",
            "selectors",
        ),
        (Capability.NETWORK,),
    ),
    **dict.fromkeys(("subprocess", "signal", "multiprocessing", "concurrent.futures.process"), (Capability.SHELL,)),
    **dict.fromkeys(("asyncio", "concurrent.futures"), (Capability.NETWORK, Capability.SHELL, *_FILES)),
}
_COMMANDS = ("system", "popen", "exec", "spawn", "posix_spawn", "fork", "kill")
_NEVER_CALLED = frozenset(
    ("exec", "eval", "compile", "__import__", "globals", "locals", "vars", "breakpoint", "input", "exit", "quit")
)
_BY_NAME = frozenset(("getattr", "setattr", "delattr", "hasattr"))
_DUNDERS = frozenset(("__name__", "__doc__", "__init__", "__post_init__", "__version__"))


def problems(tree: ast.Module, declared: Iterable[Capability]) -> Iterator[str]:
    """Everything in a source that its declaration does not cover or that no self-written tool may do."""
    capabilities = frozenset(declared)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _imported(alias.name, capabilities, node.lineno)
            case ast.ImportFrom(module=module, level=level, names=names):
                yield from _imported_from(module or "", level, names, capabilities, node.lineno)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                yield from _called(name, arguments, capabilities, node.lineno)
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(_COMMANDS):
                if Capability.SHELL not in capabilities:
                    yield f"line {node.lineno}: os.{name} needs the capability 'shell'"
            case ast.Attribute(attr=name) if _dunder(name):
                yield f"line {node.lineno}: {name} is not for self-written tools"
            case ast.Name(id=name) if name in _NEVER_CALLED or _dunder(name):
                yield f"line {node.lineno}: {name} is not for self-written tools"
            case _:
                continue


def _imported(name: str, capabilities: frozenset[Capability], line: int) -> Iterator[str]:
    if name in _HARMLESS:
        return
    needed = _BY_CAPABILITY.get(name)
    if needed is None:
        close = difflib.get_close_matches(name, [*_HARMLESS, *_BY_CAPABILITY], n=1, cutoff=0.8)
        hint = f"; did you mean {close[0]}?" if close else "; only some of the standard library may be imported"
        yield f"line {line}: {name!r} may not be imported{hint}"
    elif not capabilities.intersection(needed):
        wanted = " or ".join(f"'{capability}'" for capability in needed)
        yield f"line {line}: importing {name} needs the capability {wanted}"


def _imported_from(
    module: str, level: int, names: list[ast.alias], capabilities: frozenset[Capability], line: int
) -> Iterator[str]:
    if level:
        yield f"line {line}: there is nothing beside a self-written tool to import from"
    elif module == "hermes_agent":
        for alias in names:
            if alias.name != "tool":
                yield f"line {line}: hermes_agent offers only `tool` here, not {alias.name}"
    elif module == "os":
        yield from _imported(module, capabilities, line)
        for alias in names:
            if alias.name.startswith(_COMMANDS) and Capability.SHELL not in capabilities:
                yield f"line {line}: os.{alias.name} needs the capability 'shell'"
    else:
        for alias in names:
            whole = f"{module}.{alias.name}"
            known = whole in _BY_CAPABILITY or whole in _HARMLESS
            yield from _imported(whole if known else module, capabilities, line)


def _called(name: str, arguments: list[ast.expr], capabilities: frozenset[Capability], line: int) -> Iterator[str]:
    if name == "open" and not capabilities.intersection(_FILES):
        yield f"line {line}: open() needs the capability 'files.read' or 'files.write'"
    if name in _BY_NAME:
        given = arguments[1] if len(arguments) > 1 else None
        if not isinstance(given, ast.Constant) or not isinstance(given.value, str) or _dunder(given.value):
            yield f"line {line}: {name}() only with a plain name that is written out"


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _DUNDERS
