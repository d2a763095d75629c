"""Programs that only read, and the options with which they do not."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from . import code
from .special import sed_scripts
from .words import Word, names

_FOLDERS = frozenset(("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"))

_ALWAYS = names(
    "cat head tail wc ls pwd echo whoami id uname which type stat du df grep egrep fgrep cut tr cmp comm paste nl "
    "fold expand unexpand rev tac basename dirname realpath readlink seq true false test [ [[ : cd sleep md5sum "
    "sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum hexdump od strings nproc free uptime groups "
    "tty arch printf cal factor numfmt tsort zcat zgrep bzcat xzcat column diff shift break continue return exit "
    "pushd popd dirs jobs wait local lsblk lscpu locale getconf nm size readelf ldd pgrep pidof ag ack getopts"
)
_VERSIONED = names(
    "python python3 node npm pip pip3 uv cargo rustc go gcc g++ clang make cmake java javac ruby perl php docker "
    "git bash sh pytest ruff mypy tsc deno bun yarn pnpm kubectl terraform poetry gh sqlite3 psql curl wget ssh "
    "tar zip gzip sed awk find grep vim jq rg fd rustup dotnet swift kotlin lua R julia black eslint prettier "
    "pre-commit"
)
_SUBCOMMANDS = {
    "pip": {"list", "show", "freeze", "check"},
    "pip3": {"list", "show", "freeze", "check"},
    "npm": {"ls", "list"},
    "docker": {"ps", "images", "version"},
    "go": {"version"},
    "rustup": {"show"},
    "conda": {"list"},
    "uv": {"version"},
    "systemctl": {"status", "is-active", "is-enabled", "list-units"},
    "brew": {"list"},
    "dpkg": {"-l", "-L", "-s", "-S", "--list"},
}
_GIT = names(
    "status log diff show blame annotate rev-parse describe ls-files ls-tree cat-file shortlog merge-base "
    "rev-list name-rev for-each-ref count-objects check-ignore check-attr whatchanged cherry range-diff diff-tree "
    "diff-index diff-files show-ref show-branch var version grep help verify-commit"
)
_GIT_LISTS = {
    "branch": {
        "",
        "-a",
        "-r",
        "-v",
        "-vv",
        "-av",
        "-avv",
        "-rv",
        "--list",
        "--show-current",
        "--all",
        "--remotes",
        "--verbose",
    },
    "tag": {"", "-l", "--list", "-n"},
    "remote": {"", "-v", "--verbose", "get-url"},
    "stash": {"list", "show"},
    "reflog": {"", "show"},
    "worktree": {"list"},
    "submodule": {"status"},
    "bisect": {"log"},
    "notes": {"list", "show"},
    "config": {"--get", "--list", "-l", "--get-all", "--get-regexp"},
    "symbolic-ref": {"HEAD", "--short"},
}


def only_reads(name: str, argv: Sequence[Word]) -> bool:
    """Whether this call can do nothing but read and print."""
    if not argv or not argv[0].known or argv[0].computed or argv[0].text != argv[0].text.strip():
        return False
    folder = posixpath.normpath(posixpath.dirname(argv[0].text)) if "/" in argv[0].text else ""
    if folder not in _FOLDERS or posixpath.basename(argv[0].text) != name:
        return False
    args = argv[1:]
    texts = [word.text for word in args]
    if name in _ALWAYS:
        return not (name == "printf" and texts[:1] == ["-v"]) and not (
            name in ("wait", "test", "[") and _evaluates(args)
        )
    if name in _VERSIONED and texts in (["--version"], ["-V"], ["--help"], ["version"], ["-v"]):
        return not (name in ("vim", "ssh", "sed", "bash", "sh") and texts == ["-v"])
    if name in _SUBCOMMANDS:
        return bool(texts) and texts[0] in _SUBCOMMANDS[name] and all(word.known for word in args)
    check = _CHECKED.get(name)
    return check is not None and not any(_unsure(word) for word in args) and check(texts, args)


def _unsure(word: Word) -> bool:
    return word.dashable or (word.splits and not word.known)


def _evaluates(args: Sequence[Word]) -> bool:
    return any("[" in word.text and word.scripted for word in args)


def _without(letters: str, *names: str) -> Callable[[Sequence[str], Sequence[Word]], bool]:
    def check(texts: Sequence[str], _args: Sequence[Word]) -> bool:
        for text in texts:
            if text.startswith("--"):
                given = text[2:].partition("=")[0]
                if given and any(name.startswith(given) for name in names):
                    return False
            elif text.startswith("-") and any(letter in text[1:] for letter in letters):
                return False
        return True

    return check


def _find(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return not any(text in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls") for text in texts) and not any(
        text.startswith(("-exec", "-ok")) for text in texts
    )


def _fd(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return not any(text.startswith(("-x", "-X", "--exec")) for text in texts)


def _sed(texts: Sequence[str], args: Sequence[Word]) -> bool:
    for text in texts:
        if text.startswith("--"):
            if text.partition("=")[0] not in (
                "--expression",
                "--quiet",
                "--silent",
                "--regexp-extended",
                "--null-data",
                "--debug",
            ):
                return False
        elif (
            text.startswith("-")
            and len(text) > 1
            and not text.startswith("-e")
            and not re.fullmatch(r"-[nrEszu]+e?", text)
        ):
            return False
    for script in sed_scripts(args):
        use = code.sed(script.text) if script.known else code.SedUse(False)
        if not use.understood or use.writes or use.runs:
            return False
    return bool(args)


def _awk(texts: Sequence[str], args: Sequence[Word]) -> bool:
    if any(text.startswith("-") and not text.startswith(("-F", "-v")) for text in texts):
        return False
    return not any(code.awk_writes(text) or list(code.awk(text)) for text in texts) and all(word.known for word in args)


def _git(texts: Sequence[str], args: Sequence[Word]) -> bool:
    index = 0
    while index < len(texts) and texts[index].startswith("-"):
        if texts[index] in ("-C",):
            index += 2
        elif texts[index] in ("--no-pager", "-P", "--no-optional-locks", "--version"):
            index += 1
        else:
            return False
    if index >= len(texts):
        return "--version" in texts
    sub, rest = texts[index], texts[index + 1 :]
    if any(_git_writes(text, sub) for text in rest):
        return False
    if sub in _GIT:
        return True
    listing = _GIT_LISTS.get(sub)
    if listing is None or (rest[0] if rest else "") not in listing:
        return False
    if (
        sub in ("branch", "tag", "remote", "reflog", "symbolic-ref")
        and rest
        and rest[0] not in ("-l", "--list", "get-url", "show", "-n")
    ):
        return all(
            text in listing or text.startswith(("--sort", "--format", "--contains", "--merged", "--no-merged"))
            for text in rest
        )
    return True


def _git_writes(text: str, sub: str) -> bool:
    if text.startswith(("--output", "--ext-diff", "--textconv", "--exec", "--open-files", "--upload-pack", "--help")):
        return True
    if text.startswith("--o") and "--output".startswith(text.partition("=")[0]):
        return True
    return sub == "grep" and text.startswith("-O")


def _at_most_one_file(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    skip = 0
    files = 0
    for text in texts:
        if skip:
            skip = 0
        elif text in ("-f", "-s", "-w", "-l", "-c", "-o", "-g"):
            skip = 1
        elif not text.startswith("-"):
            files += 1
    return files <= 1 and not any(text.startswith("-r") for text in texts)


def _set(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return bool(texts) and all(re.fullmatch(r"[-+][euxo]+|pipefail|errexit|nounset|xtrace", text) for text in texts)


def _date(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return not any(text.startswith(("-s", "--s")) or re.fullmatch(r"\d{8,}(?:\.\d\d)?", text) for text in texts)


def _none(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return all(text.startswith("-") and "F" not in text and "b" not in text for text in texts)


def _command(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return texts[:1] in (["-v"], ["-V"])


def _any(texts: Sequence[str], _args: Sequence[Word]) -> bool:
    return True


def _read(texts: Sequence[str], args: Sequence[Word]) -> bool:
    return not _evaluates(args) and not set(texts) & {"PATH", "IFS", "PAGER", "EDITOR", "BASH_ENV", "ENV"}


_CHECKED: dict[str, Callable[[Sequence[str], Sequence[Word]], bool]] = {
    "sort": _without("oT", "output", "compress-program", "temporary-directory", "files0-from"),
    "uniq": lambda texts, args: sum(not text.startswith("-") for text in texts) <= 1,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "git": _git,
    "rg": _without("", "pre", "hostname-bin"),
    "tree": _without("oR"),
    "date": _date,
    "hostname": _none,
    "file": _without("C", "compile"),
    "jq": _without("", "run-tests"),
    "yq": _without("i", "inplace", "in-place", "split-exp", "split"),
    "xxd": _at_most_one_file,
    "set": _set,
    "command": _command,
    "read": _read,
    "ps": _any,
    "bat": _without("", "pager"),
    "lsof": _any,
    "tar": lambda texts, args: (
        bool(texts) and re.fullmatch(r"-?t[vzjJf]+|--list", texts[0]) is not None and len(texts) <= 2
    ),
    "unzip": lambda texts, args: texts[:1] in (["-l"], ["-v"], ["-Z"]) and len(texts) <= 2,
    "zipinfo": _any,
    "man": lambda texts, args: False,
    "gzip": lambda texts, args: texts[:1] == ["-l"],
    "crontab": lambda texts, args: False,
    "nl": _any,
    "top": lambda texts, args: texts[:1] == ["-bn1"],
}
