"""Publishing a skill: pushed to a branch of a git repository, after everything that must not leave was looked for."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..safety.redact import Redactor
from ..types.base import Value
from ..types.errors import PermissionRefused, UsageError
from ..types.text import decode
from .format import parse_skill, version_of
from .git import Git, address, identity, is_repository, local_folder
from .repository import Repository
from .screening import refuse_blocked, screen, secret_lines
from .skill import MAIN, Files
from .sources import Sources

_ATTEMPTS = 5


class Published(Value, frozen=True, kw_only=True):
    """Where a skill was pushed to. `changed` is false when that branch had this version already."""

    name: str
    version: str
    url: str
    branch: str
    path: str
    commit: str
    changed: bool


def refuse_to_publish(name: str, files: Files, redactor: Redactor, *, unvalidated: bool = False) -> None:
    """Raise where a skill must not leave this machine: it is broken, blocked, holds a secret, or is `unvalidated`, that
    is written by an agent and never seen to work."""
    parse_skill(files.get(MAIN, b""), name)
    refuse_blocked(name, screen(files))
    secrets = [f"{path}, line {line}" for path, text in sorted(files.items()) for line in secret_lines(text, redactor)]
    if secrets:
        raise PermissionRefused(
            f"{name} holds what looks like a secret: {'; '.join(secrets[:10])}",
            remedy="remove it (and change it, if it was ever shared), then publish again",
        )
    if unvalidated:
        raise PermissionRefused(
            f"{name} was written by an agent, and this version of it was never validated",
            remedy=f"`hermes skills validate {name} --run`, or publish it all the same with --force-unvalidated",
        )


async def publish(
    name: str, files: Files, written: str, sources: Sources, git: Git, clock: Callable[[], float] = time.time
) -> Published:
    """Push a skill to the branch `skill/NAME` of a repository, on top of what is there; never by force."""
    url = address(written)
    folder = local_folder(url)
    if folder is not None and not is_repository(folder):
        raise UsageError(f"{folder} is no git repository", remedy=f"make one: `git init --bare {folder}`")
    repository, who = sources.repository(f"publish:{url}"), await identity(git)
    branch = f"skill/{name}"
    ref = f"refs/heads/{branch}"
    for _ in range(_ATTEMPTS):
        parent, on_branch = await _ground(repository, url, ref)
        path = await _path(repository, parent, name)
        version = version_of(files)
        there = await repository.files(parent, path) if parent else {}
        done = Published(name=name, version=version, url=url, branch=branch, path=path, commit=parent, changed=False)
        if on_branch and there == files:
            return done
        message = f"{'Update' if there else 'Add'} the skill {name}\n\nVersion: {version}\n"
        parents = [parent] if parent else []
        commit = await repository.commit(parents, {path: files}, message, who=who, at=int(clock()))
        if await repository.push(url, {ref: commit}, {ref: parent if on_branch else ""}):
            return Published(name=name, version=version, url=url, branch=branch, path=path, commit=commit, changed=True)
    raise UsageError(f"somebody else keeps changing {branch} of {url}", remedy="try again later")


async def _ground(repository: Repository, url: str, ref: str) -> tuple[str, bool]:
    """The commit to build on: of the branch itself where there is one, else of the default branch, else none."""
    await repository.ensure()
    done = await repository.git.run("ls-remote", "--", url, "HEAD", ref, what=f"asking {url}")
    there = {name: commit for commit, _, name in (line.partition("\t") for line in decode(done.out).splitlines())}
    wanted = ref if ref in there else "HEAD" if "HEAD" in there else ""
    if not wanted:
        return "", False
    kept = f"refs/ground/{ref}"
    await repository.fetch(url, f"+{wanted}:{kept}", depth=1)
    return await repository.commit_of(kept), wanted == ref


async def _path(repository: Repository, commit: str, name: str) -> str:
    """Where the skill lies in a repository, or would: where the others are."""
    skills = await repository.skills(commit) if commit else {}
    same = [path for path in skills if path.rpartition("/")[2] == name]
    if len(same) > 1:
        raise UsageError(f"the repository has several skills called {name}: {', '.join(same)}", remedy="keep one")
    if same:
        return same[0]
    return f"skills/{name}" if any(path.startswith("skills/") for path in skills) else name
