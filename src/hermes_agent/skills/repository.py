"""A bare repository of our own: what was fetched from an address, read object by object, and what is pushed to one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import msgspec

from ..types.base import Value
from ..types.errors import UsageError
from ..types.text import decode, one_line
from .format import MAX_FILE, MAX_FILES, MAX_TREE, SkillProblem, safe_path
from .git import Entry, Git, GitFailed, is_commit, local_folder
from .skill import MAIN, Files

_PLAIN_FILE = ("100644", "100755", "100664")
_WHAT = {"120000": "a symbolic link", "160000": "a submodule"}
_QUIET_PUSH = "git -c core.hooksPath=/dev/null receive-pack"
"""Pushing into a repository of this machine would run its hooks as us."""
_SILENT_PUSH = re.compile(r"^([ +*=!-])\t(\S*):(\S+)\t(.*)$")


class Tip(Value, frozen=True, kw_only=True):
    """The commit a ref stands for, and what it says about itself. `parent` is its first, empty where it has none."""

    commit: str
    parent: str
    at: float
    author: str
    subject: str


class Repository:
    """One bare repository under our home. Reading never checks anything out; writing makes objects only."""

    def __init__(self, git: Git, folder: Path) -> None:
        self.git = git
        self.folder = folder

    async def ensure(self) -> None:
        """Make it where it is missing."""
        if not (self.folder / "HEAD").exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            await self.git.run("init", "--quiet", "--bare", "--template=", str(self.folder))

    async def fetch(self, url: str, *refspecs: str, depth: int = 0, prune: bool = False) -> None:
        """Bring objects from an address. Nothing of it is run, and no tags or modules come along unasked."""
        await self.ensure()
        shallow = [f"--depth={depth}"] if depth else []
        quiet = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc"]
        pruned = ["--prune"] if prune else []
        words = ["fetch", *quiet, *shallow, *pruned, "--", url, *refspecs]
        await self.git.run(*words, at=self.folder, what=f"fetching {url}")

    async def commit_of(self, ref: str) -> str:
        """The commit a ref of this repository stands for; empty where there is none."""
        done = await self.git.run(
            "rev-parse", "--quiet", "--verify", "--end-of-options", f"{ref}^{{commit}}", at=self.folder, ok=(0, 1, 128)
        )
        found = done.out.decode("ascii", "replace").strip()
        return found if is_commit(found) else ""

    async def tips(self, prefix: str) -> dict[str, Tip]:
        """The refs below a prefix, by what follows it."""
        fields = ("refname", "objectname", "parent", "committerdate:unix", "authorname", "authoremail", "subject")
        form = "%00".join(f"%({field})" for field in fields)
        done = await self.git.run("for-each-ref", f"--format={form}", prefix, at=self.folder)
        found = {}
        for line in decode(done.out).splitlines():
            name, commit, parents, at, author, mail, subject = line.split("\0")
            if at.isdigit():
                who = f"{author} {mail}"
                parent = parents.partition(" ")[0]
                tip = Tip(commit=commit, parent=parent, at=float(at), author=who, subject=subject)
                found[name.removeprefix(prefix)] = tip
        return found

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit contains the other."""
        done = await self.git.run("merge-base", "--is-ancestor", older, newer, at=self.folder, ok=(0, 1, 128))
        return done.code == 0

    async def common(self, one: str, other: str) -> str:
        """The commit both come from; empty where there is none."""
        done = await self.git.run("merge-base", one, other, at=self.folder, ok=(0, 1))
        return decode(done.out).strip()

    async def entries(self, commit: str, folder: str = "") -> list[Entry]:
        """Every file of a commit, or of one folder in it."""
        tree = f"{commit}:{folder}" if folder else f"{commit}^{{tree}}"
        words = ("ls-tree", "-r", "-z", "--long", "--full-tree", tree)
        done = await self.git.run(*words, at=self.folder, ok=(0, 128))
        if done.code:
            return []
        found = []
        for line in filter(None, done.out.split(b"\0")):
            head, _, path = line.partition(b"\t")
            mode, _, name, size = head.decode("ascii").split()
            found.append(Entry(mode=mode, object=name, size=int(size) if size.isdigit() else 0, path=path))
        return found

    async def contents(self, objects: Sequence[str]) -> list[bytes]:
        """What blobs hold, in order."""
        if not objects:
            return []
        asked = "\n".join(objects).encode() + b"\n"
        done = await self.git.run("cat-file", "--batch", at=self.folder, stdin=asked)
        found, place = [], 0
        for name in objects:
            end = done.out.index(b"\n", place)
            head = done.out[place:end].split()
            if len(head) != 3 or head[0].decode() != name:
                raise GitFailed(f"object {name} is missing", remedy="fetch again: the repository there is incomplete")
            size = int(head[2])
            found.append(done.out[end + 1 : end + 1 + size])
            place = end + 2 + size
        return found

    async def files(self, commit: str, folder: str) -> Files:
        """A skill as it is in a commit; empty where the folder is not there."""
        return await self.read(skill_entries(await self.entries(commit, folder), ""))

    async def read(self, entries: Sequence[Entry]) -> Files:
        """The files of a skill by their entries. What is no plain file is refused."""
        problems = problems_of(entries)
        if problems:
            raise SkillProblem(*problems)
        paths = [entry.path.decode() for entry in entries]
        return dict(zip(paths, await self.contents([entry.object for entry in entries]), strict=True))

    async def skills(self, commit: str) -> dict[str, str]:
        """The folders of a commit that hold a skill, each with the object of its Markdown."""
        return mains(await self.entries(commit))

    async def history(self, commit: str, folder: str, limit: int) -> list[str]:
        """The commits that changed a folder, newest first."""
        words = ("rev-list", f"--max-count={limit}", "--full-history", commit, "--", f":(top,literal){folder}")
        return decode((await self.git.run(*words, at=self.folder)).out).split()

    async def commit(
        self, parents: Sequence[str], changes: Mapping[str, Files | None], message: str, *, who: str, at: int
    ) -> str:
        """A new commit: the first parent's files with these folders replaced, or removed where there is None."""
        ref = f"refs/hermes/{uuid4().hex}".encode()
        stream = [b"commit ", ref, b"\nmark :1\n", f"committer {who} {at} +0000\n".encode(), _data(message.encode())]
        for number, parent in enumerate(parents):
            stream.append(f"{'merge' if number else 'from'} {parent}\n".encode())
        for folder, files in changes.items():
            stream.append(b"D " + _quoted(folder) + b"\n" if folder else b"deleteall\n")
            for path, content in sorted((files or {}).items()):
                whole = f"{folder}/{path}" if folder else path
                stream += [b"M 100644 inline ", _quoted(whole), b"\n", _data(content)]
        stream += [b"get-mark :1\nreset ", ref, b"\nfrom ", b"0" * 40, b"\n\ndone\n"]
        words = ("fast-import", "--quiet", "--done", "--force", "--cat-blob-fd=1")
        done = await self.git.run(*words, at=self.folder, stdin=b"".join(stream))
        made = decode(done.out).strip()
        if not is_commit(made):
            raise GitFailed("git made no commit", remedy="check that the disk is not full")
        return made

    async def push(self, url: str, updates: Mapping[str, str], leases: Mapping[str, str] | None = None) -> bool:
        """Set refs there, all or none; an empty commit deletes. False when somebody else was quicker: a ref that is
        not what `leases` says, or would lose commits, is never overwritten."""
        words = ["push", "--porcelain", "--atomic", "--no-verify", "--no-recurse-submodules"]
        if local_folder(url) is not None:
            words.append(f"--receive-pack={_QUIET_PUSH}")
        words += [f"--force-with-lease={ref}:{commit}" for ref, commit in (leases or {}).items()]
        specs = [f"{commit}:{ref}" for ref, commit in updates.items()]
        done = await self.git.run(*words, "--", url, *specs, at=self.folder, ok=(0, 1), what=f"pushing to {url}")
        if done.code == 0:
            return True
        refused = [match for line in decode(done.out).splitlines() if (match := _SILENT_PUSH.match(line))]
        reasons = [match[4] for match in refused if match[1] == "!" and "atomic" not in match[4]]
        lost = ("fetch first", "non-fast-forward", "stale info", "cannot lock ref", "failed to update ref", "exists")
        if any(word in reason for reason in reasons for word in lost) or "cannot lock ref" in done.err:
            return False
        said = reasons[0] if reasons else next(iter(done.err.splitlines()), "no reason")
        raise GitFailed(f"pushing to {url} was refused: {one_line(said, 200)}", remedy="check that you may write there")


def mains(entries: Sequence[Entry]) -> dict[str, str]:
    """The folders among these files that hold a skill, each with the object of its Markdown."""
    ending = b"/" + MAIN.encode()
    found = {}
    for entry in entries:
        if entry.mode in _PLAIN_FILE and (b"/" + entry.path).endswith(ending):
            folder = entry.path[: -len(ending)] if b"/" in entry.path else b""
            if _is_plain(folder) and not _passed_over(folder):
                found[folder.decode()] = entry.object
    return found


def skill_entries(entries: Sequence[Entry], folder: str) -> list[Entry]:
    """The files of one folder, with their paths below it, without what is no part of a skill."""
    prefix = f"{folder}/".encode() if folder else b""
    below = [
        msgspec.structs.replace(entry, path=entry.path[len(prefix) :])
        for entry in entries
        if entry.path.startswith(prefix)
    ]
    return [entry for entry in below if not _passed_over(entry.path)]


def problems_of(entries: Sequence[Entry]) -> tuple[str, ...]:
    """What speaks against reading these files: links, modules, odd names, and too much of anything."""
    problems = []
    for entry in entries:
        name = one_line(decode(entry.path), 80)
        if entry.mode not in _PLAIN_FILE:
            problems.append(f"{name} is {_WHAT.get(entry.mode, 'no plain file')}")
        elif not _is_plain(entry.path):
            problems.append(f"{name!r} is no path that a skill may have")
        elif entry.size > MAX_FILE:
            problems.append(f"{name} has {entry.size} bytes; a file may have {MAX_FILE}")
    if len(entries) > MAX_FILES:
        problems.append(f"there are {len(entries)} files; a skill may have {MAX_FILES}")
    total = sum(entry.size for entry in entries)
    if total > MAX_TREE:
        problems.append(f"the files have {total} bytes together; a skill may have {MAX_TREE}")
    return tuple(problems[:20])


def _is_plain(path: bytes) -> bool:
    """Whether a path from a stranger stays where it belongs, and means the same on every machine."""
    try:
        text = path.decode()
        return text == "" or safe_path(text) == text
    except (UnicodeDecodeError, SkillProblem):
        return False


def _passed_over(path: bytes) -> bool:
    """Whether a file is no part of a skill: hidden ones and caches. What leads upwards is looked at, and refused."""
    parts = path.split(b"/")
    hidden = any(part.startswith(b".") and part not in (b".", b"..") for part in parts)
    return hidden or b"__pycache__" in parts or b"node_modules" in parts or path.endswith((b".pyc", b"Thumbs.db"))


def _data(content: bytes) -> bytes:
    return f"data {len(content)}\n".encode() + content + b"\n"


def _quoted(path: str) -> bytes:
    if not _is_plain(path.encode()):
        raise UsageError(f"{one_line(path, 80)!r} is no path that a skill may have", remedy="rename the file")
    return b'"' + path.replace("\\", "\\\\").replace('"', '\\"').encode() + b'"'
