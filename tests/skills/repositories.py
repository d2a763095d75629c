"""Real git repositories of this machine, as authors, teams and strangers make them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hermes_agent.skills.git import Git


def skill_text(name: str, body: str = "Do it step by step.", description: str = "") -> bytes:
    """A SKILL.md in the standard's plain form."""
    about = description or f"Does what {name} says. Use it when somebody asks for {name}."
    return f"---\nname: {name}\ndescription: {about}\n---\n\n{body}\n".encode()


class Account:
    """A person with a home of their own, as git sees them."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.author = f"{name} <{name}@example.org>"
        (self.folder / ".gitconfig").write_text(
            f"[user]\n\tname = {name}\n\temail = {name}@example.org\n[init]\n\tdefaultBranch = main\n"
        )
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        self.git = Git(self.environment)

    def run(self, *arguments: str, at: Path, stdin: bytes = b"") -> str:
        """Plain git, as the person runs it."""
        done = subprocess.run(
            ["git", *arguments], cwd=at, env=self.environment, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done
        return done.stdout.decode().strip()

    def bare(self, name: str) -> Path:
        """A new bare repository."""
        folder = self.folder / f"{name}.git"
        self.run("init", "--quiet", "--bare", str(folder), at=self.folder)
        return folder

    def push(self, bare: Path, files: Mapping[str, bytes | None], message: str = "change") -> str:
        """Commit files (None removes one) on top of the main branch of a bare repository; the commit."""
        tree = self.folder / f"tree-{bare.name}"
        if not tree.exists():
            self.run("clone", "--quiet", str(bare), str(tree), at=self.folder)
        else:
            self.run("pull", "--quiet", "origin", "main", at=tree)
        for path, content in files.items():
            target = tree / path
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        self.run("add", "--all", "--force", ".", at=tree)
        self.run("commit", "--quiet", "--message", message, at=tree)
        self.run("push", "--quiet", "origin", "HEAD:main", at=tree)
        return self.run("rev-parse", "HEAD", at=tree)

    def push_tree(self, bare: Path, entries: list[tuple[str, str, bytes]]) -> None:
        """Commit a tree made by hand, entry by entry (mode, name, content or, for a module, an id): git itself would
        refuse to make some of them."""
        raw = b""
        for mode, name, content in entries:
            kind = "tree" if mode == "40000" else "blob"
            made = content.decode() if mode == "160000" else self._object(bare, kind, content)
            raw += f"{mode} {name}\0".encode() + bytes.fromhex(made)
        tree = self._object(bare, "tree", raw)
        commit = self.run("commit-tree", tree, "-m", "by hand", at=bare)
        self.run("update-ref", "refs/heads/main", commit, at=bare)

    def _object(self, bare: Path, kind: str, content: bytes) -> str:
        return self.run("hash-object", "-t", kind, "-w", "--literally", "--stdin", at=bare, stdin=content)

    def subtree(self, bare: Path, entries: list[tuple[str, str, bytes]]) -> bytes:
        """The raw content of a tree, for nesting in another."""
        raw = b""
        for mode, name, content in entries:
            made = self._object(bare, "tree" if mode == "40000" else "blob", content)
            raw += f"{mode} {name}\0".encode() + bytes.fromhex(made)
        return raw
