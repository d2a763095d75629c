"""Options and arguments of particular programs that make them run others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from . import code
from .inner import Inner, findings, script
from .options import Wrapper, positional_start
from .report import RiskKind
from .words import ANYTHING, FOUND, UNKNOWN, Word, literal


def _eval(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    yield from (
        script(
            name,
            Word(" ".join(word.text for word in args), known=all(word.known and not word.computed for word in args)),
        )
        if args
        else iter(())
    )


def _find(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    index, named = 0, False
    while index < len(args):
        text = args[index].text
        index += 1
        named = named or text in ("-name", "-iname", "-path", "-ipath", "-regex", "-wholename")
        if text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        stop = next((at for at in range(index, len(args)) if args[at].text in (";", "+")), len(args))
        words = [word if "{}" not in word.text else _placed(word, named) for word in args[index:stop]]
        yield Inner(f"{name} {text}", argv=tuple(words))
        index = stop + 1


def _placed(word: Word, named: bool) -> Word:
    """A word in which the found path is put. It is one path that does not begin with a dash, but it may be any."""
    return (FOUND if named else ANYTHING) if word.text == "{}" else word._replace(known=False)


def _fd(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for index, word in enumerate(args):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            yield Inner(
                f"{name} -x",
                argv=(
                    *(_placed(w, index > 0) if "{" in w.text else w for w in args[index + 1 :]),
                    FOUND if index else ANYTHING,
                ),
            )
            return


def _xargs(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    wrapper = Wrapper(
        flags="0oprtx",
        valued="adEIiJLlnPRsS",
        long_flags="null open-tty interactive no-run-if-empty verbose exit help version",
        long_valued="arg-file delimiter max-lines max-args max-procs max-chars process-slot-var eof replace",
    )
    start = positional_start(wrapper, args)
    if start is None:
        yield Inner(name, unread=" ".join(word.text for word in args))
        return
    marks = [args[at].text[2:] or args[at + 1].text for at in range(start - 1) if args[at].text[:2] in ("-I", "-J")]
    marks += [args[at].text[2:] or "{}" for at in range(start) if args[at].text[:2] in ("-I", "-i")]
    rest = list(args[start:])
    for mark in filter(None, marks):
        rest = [
            UNKNOWN if word.text == mark else word._replace(known=False) if mark in word.text else word for word in rest
        ]
    if rest:
        yield Inner(name, argv=(*rest, UNKNOWN) if not marks else tuple(rest))


def _git(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for index, word in enumerate(args):
        text = word.text
        following = args[index + 1] if index + 1 < len(args) else None
        if text in ("-c", "--config-env") and following is not None and index < _subcommand(args):
            yield from _git_setting(following)
        elif text.startswith(
            ("--upload-pack=", "--receive-pack=", "--exec=", "--extcmd=", "--open-files-in-pager=", "-O")
        ) and ((len(text) > 2 and text.partition("=")[2]) or text[2:]):
            if text.startswith("-O") and "grep" not in [w.text for w in args]:
                continue
            yield from script(f"git {text[:14]}", word._replace(text=text.partition("=")[2] or text[2:]))
        elif (
            text
            in (
                "--upload-pack",
                "--receive-pack",
                "--exec",
                "-x",
                "--extcmd",
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--env-filter",
                "--commit-filter",
                "--parent-filter",
            )
            and following is not None
        ):
            if text == "-x" and not any(w.text in ("rebase", "difftool") for w in args):
                continue
            yield from script(f"git {text}", following)
        elif text.startswith(("--exec-path=", "ext::")):
            yield Inner("git", unread=text)
        elif text in ("run", "foreach") and index and args[index - 1].text in ("bisect", "submodule", "--recursive"):
            given = tuple(word for word in args[index + 1 :] if word.text not in ("--recursive", "--quiet"))
            yield Inner(f"git {text}", argv=given)
            if text == "foreach":
                yield from _eval("git foreach", given)
            return
        elif text.startswith("alias.") and following is not None and following.text.startswith("!"):
            yield from script("git alias", following._replace(text=following.text[1:]))
        elif _RUNNING_SETTING.match(text) and following is not None and "config" in [w.text for w in args[:index]]:
            yield from _git_setting(word._replace(text=f"{text}={following.text}", known=following.known))


_RUNNING_SETTING = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand)|alias\.|pager\.|"
    r"sequence\.editor|diff\.(?:external|.*\.(?:command|textconv))|difftool\.|mergetool\.|merge\..*\.driver|filter\.|"
    r"credential\.|gpg\.|ssh\.|uploadpack\.|include|protocol\.|remote\..*\.(?:uploadpack|receivepack|vcs)|"
    r"interactive\.difffilter|web\.|browser\.|man\.|trailer\.|sendemail\.|init\.templatedir|submodule\..*\.update)",
    re.IGNORECASE,
)


def _git_setting(word: Word) -> Iterator[Inner]:
    key, _, value = word.text.partition("=")
    if not word.known:
        yield Inner("git -c", unread=word.text)
    if not _RUNNING_SETTING.match(key) or value in ("", "cat", "less", "false", "true", ":"):
        return
    if value.startswith("!") or not key.lower().startswith(
        ("alias.", "include", "protocol.", "core.hookspath", "init.")
    ):
        yield from script("git -c", word._replace(text=value.lstrip("!")))
    yield Inner("git -c", unread=word.text)


def _subcommand(args: Sequence[Word]) -> int:
    """Where git's subcommand stands."""
    index = 0
    while index < len(args) and args[index].text.startswith("-"):
        index += 2 if args[index].text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    return index


def _named_scripts(*options: str) -> Callable[[str, Sequence[Word]], Iterator[Inner]]:
    """For programs with options whose value a shell runs."""

    def read(name: str, args: Sequence[Word]) -> Iterator[Inner]:
        for index, word in enumerate(args):
            for option in options:
                text = word.text
                if text == option and index + 1 < len(args):
                    yield from script(f"{name} {option}", args[index + 1])
                elif text.startswith(f"{option}="):
                    yield from script(f"{name} {option}", word._replace(text=text[len(option) + 1 :]))
                elif len(option) == 2 and text.startswith(option) and len(text) > 2:
                    yield from script(f"{name} {option}", word._replace(text=text[2:]))

    return read


def _tar(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for index, word in enumerate(args):
        option, _, value = word.text.partition("=")
        following = args[index + 1] if index + 1 < len(args) else literal("")
        chosen = next((full for full in _TAR if len(option) > 4 and full.startswith(option)), "")
        if chosen:
            given = word._replace(text=value) if value else following
            yield from script(f"{name} {chosen}", given._replace(text=given.text.removeprefix("exec=")))
        elif option in ("-I", "-F") and option == word.text:
            yield from script(f"{name} {option}", following)


_TAR = (
    "--checkpoint-action",
    "--to-command",
    "--use-compress-program",
    "--rsh-command",
    "--info-script",
    "--new-volume-script",
)


def _debugger(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for index, word in enumerate(args):
        if word.text in ("-ex", "--ex", "--eval-command", "-iex", "-o", "-O", "-x", "--command"):
            yield from findings(name, args[index + 1 : index + 2], code.editor)


def _trap(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    words = [word for word in args if word.text not in ("-", "--")]
    if len(words) > 1 and not words[0].text.startswith("-"):
        yield from script(name, words[0])


def _alias(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for word in args:
        if "=" in word.text:
            yield Inner(name, unread=word.text)
            yield from script(name, word._replace(text=word.text.partition("=")[2]))


def _sed(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for word in sed_scripts(args):
        use = code.sed(word.text) if word.known else code.SedUse(True)
        if use.runs or not use.understood:
            yield Inner(name, finding=code.Finding(RiskKind.OPAQUE, "the sed script may run commands"))


def sed_scripts(args: Sequence[Word]) -> list[Word]:
    """The scripts on sed's command line."""
    found: list[Word] = []
    free: list[Word] = []
    index = 0
    while index < len(args):
        text = args[index].text
        if text in ("-e", "--expression"):
            found.extend(args[index + 1 : index + 2])
            index += 1
        elif text.startswith("--expression=") or (text.startswith("-e") and len(text) > 2):
            found.append(args[index]._replace(text=text.removeprefix("--expression=").removeprefix("-e")))
        elif re.fullmatch(r"-[nrEszu]+e", text):
            found.extend(args[index + 1 : index + 2])
            index += 1
        elif text in ("-f", "--file", "-l"):
            index += 1
        elif not text.startswith("-") or text == "-":
            free.append(args[index])
        index += 1
    return found or free[:1]


def _unknown(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    if args:
        yield Inner(name, unread=" ".join([name, *(word.text for word in args[:4])]))


def _sourced(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for word in args[:1]:
        if not word.known or word.computed or word.glob or word.text.startswith(("/dev/", "/proc/")):
            yield Inner(name, unread=word.text)


SPECIAL: dict[str, Callable[[str, Sequence[Word]], Iterator[Inner]]] = {
    "eval": _eval,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "xargs": _xargs,
    "gxargs": _xargs,
    "git": _git,
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "trap": _trap,
    "alias": _alias,
    "sed": _sed,
    "gsed": _sed,
    "source": _sourced,
    ".": _sourced,
    "hash": _unknown,
    "enable": _unknown,
    "bind": _unknown,
    "complete": _unknown,
    "rsync": _named_scripts("-e", "--rsh", "--rsync-path"),
    "scp": _named_scripts("-S", "-o"),
    "sftp": _named_scripts("-S", "-o"),
    "man": _named_scripts("-P", "--pager", "-H"),
    "zip": _named_scripts("-TT", "--unzip-command"),
    "gdb": _debugger,
    "expect": _named_scripts("-c"),
    "lldb": _debugger,
    "mapfile": _named_scripts("-C"),
    "readarray": _named_scripts("-C"),
    "sort": _named_scripts("--compress-program"),
    "rg": _named_scripts("--pre", "--hostname-bin"),
    "split": _named_scripts("--filter"),
    "ansible": _named_scripts("-a"),
    "tcpdump": _named_scripts("-z"),
    "logrotate": _named_scripts("-s"),
    "wget": _named_scripts("--use-askpass"),
    "crontab": lambda name, args: iter(()),
    "at": lambda name, args: iter(()),
    "less": lambda name, args: (Inner(name, unread=word.text) for word in args if word.text.startswith("+!")),
    "make": lambda name, args: (
        Inner(name, unread=word.text)
        for word in args
        if word.text.startswith(("SHELL=", "--eval")) or word.text in ("-f-", "-")
    ),
}
