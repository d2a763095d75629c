"""What a person may allow for a whole session after seeing one call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .options import WRAPPERS
from .unwrap import SHELLS
from .words import Word, names

_SUBCOMMANDS = names(
    "git docker podman npm yarn pnpm bun cargo go kubectl pip pip3 uv poetry pdm hatch systemctl apt apt-get brew "
    "gh terraform helm rustup dotnet mvn gradle bundle rails rake composer nix conda mix flutter dart deno make "
    "just task tox nox pre-commit ruff uvicorn django-admin alembic hermes cmake ninja bazel"
)
_INTERPRETER = re.compile(r"^(?:python|pypy|perl|ruby|node|nodejs|php|lua|julia|rscript|tclsh)[\d.]*$")
_NEVER = names(
    "eval source . exec trap alias awk gawk mawk nawk vi vim nvim ed ex emacs gdb expect xargs find parallel tee dd"
)


def grant(name: str, argv: Sequence[Word]) -> tuple[str, ...]:
    """The words that a grant for this call covers; empty where no grant is safe."""
    first = argv[0]
    if not first.known or first.computed or name in _NEVER or name in WRAPPERS:
        return ()
    texts = [word.text for word in argv[1:]]
    if name in SHELLS or _INTERPRETER.match(name):
        return _interpreter(first.text, argv[1:])
    if name not in _SUBCOMMANDS:
        return (first.text,)
    if texts and (not argv[1].known or argv[1].computed):
        return ()
    if not texts:
        return (first.text,)
    if texts[0].startswith("-"):
        return ()
    if name in ("npm", "yarn", "pnpm", "bun", "uv", "poetry", "hatch", "pdm") and texts[0] in (
        "run",
        "run-script",
        "exec",
        "x",
        "dlx",
    ):
        return (first.text, *texts[:2]) if len(texts) > 1 and argv[2].known and not texts[1].startswith("-") else ()
    return (first.text, texts[0])


def _interpreter(program: str, args: Sequence[Word]) -> tuple[str, ...]:
    """A script or a module by name; never code on the command line or from elsewhere."""
    if not args or not args[0].known or args[0].computed:
        return ()
    if args[0].text == "-m" and len(args) > 1 and args[1].known and not args[1].computed:
        return (program, "-m", args[1].text)
    return () if args[0].text.startswith(("-", "/dev/", "/proc/")) else (program, args[0].text)
