"""Code of other languages on a command line: what it can be seen to do."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from .report import RiskKind
from .words import names

_LONGEST = 8192
_NETWORK = names(
    "socket urllib http requests httpx aiohttp ftplib smtplib telnetlib paramiko websocket websockets xmlrpc "
    "asyncssh poplib imaplib socketserver urllib3 pycurl boto3"
)
_STARTING = names(
    "subprocess pty ctypes importlib runpy pickle marshal code codeop cffi pexpect sh plumbum fabric "
    "multiprocessing builtins imp zipimport pkgutil commands posix nt _posixsubprocess"
)
_RUNNING = names(
    "system popen popen2 popen3 popen4 getoutput getstatusoutput execv execve execvp execvpe execl execle execlp "
    "spawn spawnl spawnv spawnve spawnlp spawnvp posix_spawn posix_spawnp startfile fork forkpty Popen "
    "check_output check_call eval exec compile __import__ import_module getattr setattr globals locals vars loads "
    "breakpoint create_subprocess_shell create_subprocess_exec b64decode decodebytes fromhex run_module run_path "
    "modules"
)
_REMOVING = frozenset(["rmtree", "unlink", "remove", "rmdir", "removedirs", "truncate"])
_OTHER_RUNS = re.compile(
    r"system|exec|popen|spawn|fork|qx\W|`|%x|child_process|eval|Kernel|syscall|dlopen|require\s*\(?\s*['\"](?:os|net|http|"
    r"child|vm|module)|import\s*\(|shell|proc_open|passthru|os\.|io\.|IO\.|Open3|send\s*\(|\bopen\b|unpack|"
    r"decode|atob|Buffer|fromCharCode|chr\s*\(|process\.(?:binding|dlopen|mainModule)|Function\s*\(|constructor|"
    r"[/}|!#,~)\]>][gimsxro]*e[gimsxroe]*\s*(?:;|$|\})",
)
_OTHER_REMOVES = re.compile(r"unlink|rmtree|rmSync|rmdir|\brm\b|rm_r|FileUtils|File\.delete|remove_tree")
_OTHER_NETWORK = re.compile(
    r"fetch\s*\(|https?://|\bhttps?\b|Socket|\bnet\b|LWP|Net::|open-uri|fsockopen|curl_|file_get_contents\s*\(\s*['\"]http"
)
_SQL_LOSS = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|view|index|user|role|owned|tablespace|column|keyspace|collection)"
    r"|truncate\b|alter\s+table\b.{0,200}\bdrop\b|delete\s+from\s+\S+\s*(?:;|$)|dropDatabase|flushall|flushdb"
    r"|delete\s+from\s+\S+\s+where\s+(?:1\s*=\s*1|true)|update\s+\S+\s+set\s+(?:(?!where).){0,400}$)",
    re.IGNORECASE | re.DOTALL,
)
_SQL_RUNS = re.compile(
    r"\\!|\bprogram\b|^\s*\.(?:shell|system|load|once|output|excel|read)\b"
    r"|xp_cmdshell|\bsystem\s|load_extension|\binto\s+(?:out|dump)file|pg_read_file|\bdo\s+\$\$|readfile|writefile"
    r"|\\o\b|\|\s*\w|edit\s*\(|\\i\b",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_AWK_RUNS = re.compile(r"system\s*\(|getline|@load|@include|\|&|system\s*\\?\n|\bsystem\b")
_AWK_PIPE = re.compile(r"print[^\n;}]*\|(?!\|)")
_AWK_WRITES = re.compile(r"print[^\n;}]*>")
_STRINGS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"")
_EDITOR_RUNS = re.compile(
    r"!|\bsystem\b|\bterm|\bpython|\bpy3|\blua|\bperl|\bruby|\bsource\b|\bexe(?:cute)?\b|\bso\b|\bnorm|\bshell\b|\bpipe\b"
)


class Finding(NamedTuple):
    """Something the code does. `script` is a shell command that it runs, where that is literal."""

    kind: RiskKind
    why: str
    script: str = ""


def python(source: str) -> Iterator[Finding]:
    """What a piece of Python can be seen to do. It can always do more than can be seen."""
    if len(source) > _LONGEST:
        yield Finding(RiskKind.OPAQUE, "the Python code is too long to read")
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield Finding(RiskKind.OPAQUE, "the Python code cannot be parsed")
        return
    found = [finding for node in ast.walk(tree) for finding in _python_node(node)]
    yield from found
    if any(finding.kind is RiskKind.OPAQUE for finding in found):
        for node in ast.walk(tree):
            script = _python_script(node)
            if script:
                yield Finding(RiskKind.OPAQUE, "Python code may run a command", script)


def _python_node(node: ast.AST) -> Iterator[Finding]:
    match node:
        case ast.Import(names=names):
            for name in names:
                yield from _imported(name.name)
        case ast.ImportFrom(module=module, names=names):
            yield from _imported(module or "")
            for name in names:
                yield from _named(name.name)
        case ast.Attribute(attr=called) | ast.Name(id=called):
            yield from _named(called)
        case _:
            return


def _python_script(node: ast.AST) -> str:
    """A string, or a list of strings, that may be a command."""
    match node:
        case ast.Constant(value=str() as text) if " " in text:
            return text
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            return shlex.join(texts) if len(texts) > 1 else ""
        case _:
            return ""


def _imported(module: str) -> Iterator[Finding]:
    top = module.partition(".")[0]
    if top in _NETWORK:
        yield Finding(RiskKind.NETWORK, f"Python code uses {top}")
    if top in _STARTING:
        yield Finding(RiskKind.OPAQUE, f"Python code uses {top}, which can run anything")


def _named(name: str) -> Iterator[Finding]:
    if name in _RUNNING or (name.startswith("__") and name.endswith("__") and name not in _HARMLESS):
        yield Finding(RiskKind.OPAQUE, f"Python code uses {name}, which can run anything")
    if name in _REMOVING:
        yield Finding(RiskKind.DESTRUCTIVE, f"Python code calls {name}")
    if name == "environ":
        yield Finding(RiskKind.SECRETS, "Python code reads the environment")


_HARMLESS = names("__version__ __name__ __doc__ __file__ __main__ __path__ __all__ __future__")


def other(language: str, source: str) -> Iterator[Finding]:
    """What code of another language can be seen to do."""
    if len(source) > _LONGEST or _OTHER_RUNS.search(source):
        yield Finding(RiskKind.OPAQUE, f"{language} code may run anything")
    if _OTHER_REMOVES.search(source):
        yield Finding(RiskKind.DESTRUCTIVE, f"{language} code removes files")
    if _OTHER_NETWORK.search(source):
        yield Finding(RiskKind.NETWORK, f"{language} code uses the network")


def sql(source: str) -> Iterator[Finding]:
    """What a statement for a database client does."""
    if len(source) > _LONGEST or _SQL_RUNS.search(source):
        yield Finding(RiskKind.OPAQUE, "the database client may run commands or touch files")
    if _SQL_LOSS.search(source[:_LONGEST]):
        yield Finding(RiskKind.DESTRUCTIVE, "it deletes data from a database")


def awk(source: str) -> Iterator[Finding]:
    """Whether an awk program runs commands."""
    plain = source if "/" in source else _STRINGS.sub('""', source)
    if len(source) > _LONGEST or _AWK_RUNS.search(plain) or _AWK_PIPE.search(plain):
        yield Finding(RiskKind.OPAQUE, "the awk program may run commands")


def awk_writes(source: str) -> bool:
    """Whether an awk program may write files."""
    return bool(_AWK_WRITES.search(source))


def editor(source: str) -> Iterator[Finding]:
    """Whether a command for an editor runs programs."""
    if "!" in source:
        yield Finding(RiskKind.OPAQUE, "the editor runs a command", source.partition("!")[2])
    elif _EDITOR_RUNS.search(source):
        yield Finding(RiskKind.OPAQUE, "the editor may run commands")


_SED_PLAIN = frozenset("=dDgGhHnNpPxlzF{}")
_SED_ADDRESS = re.compile(r"\s*(?:(?:\d+|\$)(?:~\d+)?|/(?:[^/\\\n]|\\.)*/[IM]*|\\(.)(?:(?!\1)[^\\\n]|\\.)*\1[IM]*)?\s*")


class SedUse(NamedTuple):
    """What a sed script does besides editing the stream."""

    understood: bool
    writes: bool = False
    runs: bool = False


def sed(script: str) -> SedUse:
    """Read a sed script command by command. What is not understood is said."""
    at, writes, runs = 0, False, False
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "#":
            at = _line_end(script, at)
            continue
        after = _addresses(script, at)
        if after >= len(script):
            return SedUse(False, writes, runs)
        command = script[after]
        if command in "sy":
            end, flags = _replacing(script, after)
            if end < 0:
                return SedUse(False, writes, runs)
            runs |= command == "s" and "e" in flags
            writes |= command == "s" and "w" in flags
            at = _line_end(script, end) if "w" in flags else end
        elif command in "aicrRwWbtT:":
            writes |= command in "wW"
            at = _text_end(script, after) if command in "btT:" else _line_end(script, after)
        elif command in "qQlL":
            at = after + 1
            while at < len(script) and (script[at].isdigit() or script[at] in " \t"):
                at += 1
        elif command in _SED_PLAIN:
            at = after + 1
        else:
            return SedUse(command == "e", writes, runs or command == "e")
    return SedUse(True, writes, runs)


def _addresses(script: str, at: int) -> int:
    first = _SED_ADDRESS.match(script, at)
    at = first.end() if first else at
    if script[at : at + 1] == ",":
        relative = re.compile(r"\s*[+~]\d+").match(script, at + 1)
        second = relative or _SED_ADDRESS.match(script, at + 1)
        at = second.end() if second else at
    while script[at : at + 1] and script[at] in "! \t":
        at += 1
    return at


def _replacing(script: str, at: int) -> tuple[int, str]:
    """Where an `s` or `y` command ends, and its flags; -1 if it does not."""
    mark = script[at + 1 : at + 2]
    if not mark or mark in "\n\\":
        return -1, ""
    found, index = 0, at + 2
    while index < len(script) and found < 2:
        char = script[index]
        if char == "\\":
            index += 1
        elif char == mark:
            found += 1
        index += 1
    if found < 2:
        return -1, ""
    flags = re.compile(r"[gpiImMew0-9]*").match(script, index)
    end = flags.end() if flags else index
    rest = script[end : end + 1]
    return (end, script[index:end]) if not rest or rest in " \t\n;}#" else (-1, "")


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end + 1


def _text_end(script: str, at: int) -> int:
    found = re.compile(r"[;\n}]").search(script, at)
    return found.start() if found else len(script)
