"""git as it may be used on repositories of strangers: nothing of theirs runs, nothing is checked out.

Repositories are fetched into bare ones of our own and read object by object: hooks, filters, submodules, symbolic links
and attributes of a stranger are bytes here and never act. Every address is held against a list of protocols, and every
call has a time limit and a limit for the files it may write.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ..types.base import Value
from ..types.errors import HermesError, NotFound, UsageError
from ..types.text import decode, one_line

PROTOCOLS = ("https", "ssh", "file")
_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_CEILING_DIRECTORIES": "/",
    "LC_ALL": "C.UTF-8",
}
_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.pager=cat",
    "core.alternateRefsCommand=true",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
)
_LIMITED = 'ulimit -f "$1" && shift && exec git "$@"'
_BLOCK = 512
_CUT_SHORT = ("signal 25", "File too large", "invalid index-pack output")
"""What git says when a process of its own reached the limit for files."""
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SHORT_SSH = re.compile(r"(?:[A-Za-z0-9_][\w.-]*@)?[A-Za-z0-9][\w.-]*:(?![/:-]{2})[^-]\S*")
_REF = re.compile(r"[A-Za-z0-9][\w./-]{0,200}")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GitFailed(HermesError):
    """git could not do it."""

    remedy = "check the address and that you may reach it: `git ls-remote ADDRESS` says what git says"


class Done(Value, frozen=True, kw_only=True):
    """What one call of git came to."""

    code: int
    out: bytes
    err: str


class Entry(Value, frozen=True, kw_only=True):
    """One file of a commit. `mode` is git's: 100644 and 100755 are files, 120000 a symbolic link, 160000 a module."""

    mode: str
    object: str
    size: int
    path: bytes


class Git:
    """Runs git with nothing switched on that a repository or the system could use to run something else.

    `environment` is what may be passed on (search path, home, agent of ssh); the user's own git configuration is
    theirs and holds, so that their credentials work.
    """

    def __init__(self, environment: Mapping[str, str], *, timeout: float = 120.0, largest: int = 200_000_000) -> None:
        self._environment = {**environment, **_FIXED}
        self._timeout = timeout
        self._largest = largest

    async def run(
        self, *arguments: str, at: Path | None = None, stdin: bytes = b"", ok: Sequence[int] = (0,), what: str = ""
    ) -> Done:
        """Run git in the bare repository `at`. An exit code not in `ok` is `GitFailed`, and so is too long or large."""
        options = [word for option in _OPTIONS for word in ("-c", option)]
        place = [f"--git-dir={at}"] if at is not None else []
        limit = str(self._largest // _BLOCK)
        try:
            process = await asyncio.create_subprocess_exec(
                *("sh", "-c", _LIMITED, "git", limit, *place, *options, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                cwd="/",
                start_new_session=True,
            )
        except FileNotFoundError:
            raise GitFailed("there is no shell to start git with", remedy="install a POSIX shell") from None
        subject = what or f"git {arguments[0]}"
        try:
            done = await asyncio.wait_for(_talk(process, stdin, self._largest), self._timeout)
        except TimeoutError:
            raise GitFailed(f"{subject} took longer than {self._timeout:g} s", remedy="try again later") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if done.code not in ok:
            raise _failure(subject, done, self._largest)
        return done


async def identity(git: Git) -> str:
    """Who a commit or a proposal is by: as the user's own git configuration says, else the account and the machine."""
    found = []
    for key, otherwise in (("user.name", account()), ("user.email", f"{account()}@{platform.node() or 'localhost'}")):
        done = await git.run("config", "--get", key, ok=(0, 1))
        plain = "".join(char for char in decode(done.out).strip() if char.isprintable() and char not in "<>")
        found.append(plain or otherwise)
    return f"{found[0]} <{found[1]}>"


def account() -> str:
    """The name of the account we run in."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, largest: int) -> Done:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None

    async def give(pipe: asyncio.StreamWriter) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(stdin)
            await pipe.drain()
            pipe.close()
            await pipe.wait_closed()

    out, err, _ = await asyncio.gather(
        _drain(process.stdout, largest), _drain(process.stderr, 1_000_000), give(process.stdin)
    )
    return Done(code=await process.wait(), out=out, err=decode(err))


async def _drain(stream: asyncio.StreamReader, largest: int) -> bytes:
    """Everything a stream says, as far as it may be long."""
    pieces: list[bytes] = []
    total = 0
    while piece := await stream.read(1 << 16):
        total += len(piece)
        if total > largest:
            raise GitFailed(f"git answered more than {largest} bytes", remedy="use a smaller repository")
        pieces.append(piece)
    return b"".join(pieces)


def _failure(subject: str, done: Done, largest: int) -> GitFailed:
    if done.code == 127:
        return GitFailed("git is not installed", remedy="install git, for example with `apt install git`")
    said = [line for line in done.err.splitlines() if line.strip() and not line.startswith(("hint:", "remote: "))]
    if done.code in (-25, 128 + 25) or any(mark in done.err for mark in _CUT_SHORT):
        why = f"the repository is larger than {largest} bytes, or broken"
        return GitFailed(f"{subject}: {why}", remedy="use a smaller one; `git fsck` there says whether it is broken")
    if "dubious ownership" in done.err:
        return GitFailed(
            f"{subject}: the repository belongs to somebody else",
            remedy="if you trust it: `git config --global --add safe.directory PATH`",
        )
    reason = next((line for line in said if "fatal:" in line or "error:" in line), said[0] if said else "no reason")
    return GitFailed(f"{subject} failed: {one_line(reason, 300)}")


def address(written: str) -> str:
    """The address of a repository in the form in which it is used and kept: https, ssh or file. A path of this machine
    becomes a file address. Everything that git could take for an option or a program to run is refused."""
    shown = one_line(written, 80)
    if not written or len(written) > 2000 or not written.isprintable():
        raise UsageError("this is no address of a repository", remedy="give https://…, ssh://…, or a folder")
    if written.startswith("-") or _HELPER.match(written):
        raise UsageError(f"{shown!r} is no address: git would run it", remedy="give https://…, ssh://…, or a folder")
    if scheme := _SCHEME.match(written):
        return _with_scheme(written, scheme[1].lower(), shown)
    if not written.startswith((".", "/")) and not Path(written).exists() and _SHORT_SSH.fullmatch(written):
        return written
    path = Path(written).absolute()
    if not path.is_dir():
        raise NotFound(f"there is no folder {shown!r}", remedy="check the path, or give https://… or ssh://…")
    return f"file://{quote(str(path.resolve()))}"


def _with_scheme(written: str, scheme: str, shown: str) -> str:
    if " " in written:
        raise UsageError(f"{shown!r} is no address", remedy="write a space as %20")
    if scheme not in PROTOCOLS:
        raise UsageError(f"{scheme}:// is not allowed", remedy=f"use one of {', '.join(PROTOCOLS)}")
    try:
        parts = urlsplit(written)
        host, secret = parts.hostname or "", parts.password or (parts.username if scheme == "https" else "")
    except ValueError:
        raise UsageError(f"{shown!r} is no address", remedy="give https://HOST/PATH") from None
    if secret:
        raise UsageError(
            "the address holds a password or a token, which would be kept in the lock file",
            remedy="leave it out: git's credential helper or ssh keys give it",
        )
    if (scheme == "file") == bool(host) or host.startswith("-") or (parts.username or "").startswith("-"):
        raise UsageError(f"{shown!r} is no address", remedy="give https://HOST/PATH, ssh://HOST/PATH or file:///PATH")
    return written


def local_folder(url: str) -> Path | None:
    """The folder that a file address names; None for the others."""
    return Path(unquote(urlsplit(url).path)) if url.startswith("file://") else None


def is_repository(folder: Path) -> bool:
    """Whether git would take a folder for a repository."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def checked_ref(ref: str) -> str:
    """A branch, a tag or a whole commit id. Nothing else, in particular no option and no range."""
    if not _REF.fullmatch(ref) or ".." in ref or ref.endswith(("/", ".lock", ".")) or "//" in ref:
        raise UsageError(
            f"{one_line(ref, 60)!r} is no branch, tag or commit", remedy="give a name or all 40 characters"
        )
    return ref


def is_commit(text: str) -> bool:
    """Whether this is a whole commit id."""
    return bool(_OBJECT.fullmatch(text))
