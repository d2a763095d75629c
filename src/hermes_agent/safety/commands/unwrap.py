"""Programs that run other programs: what they run, or that nobody can say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import code
from .options import WRAPPERS, Wrapper, positional_start
from .report import RiskKind
from .words import ANYTHING, FOUND, UNKNOWN, Word, literal

SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "mksh", "rbash", "yash", "pwsh", "powershell"])
_PYTHON = re.compile(r"^(?:python|pypy|ipython)[\d.]*$")
_OTHER = re.compile(
    r"^(perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|rscript|r|julia|raku|osascript|guile)[\d.]*$"
)
_CODE_FLAGS = {
    "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "php": "rBER", "lua": "e", "luajit": "e", "rscript": "e",
    "r": "e", "julia": "eE", "raku": "e", "osascript": "e", "guile": "c", "bun": "e", "deno": "",
}  # fmt: skip
_TAKES_REST = ("--", "-M", "-m", "-I", "-F", "-i", "-x", "-D", "-r", "-C")
_SQL = frozenset(
    ["psql", "mysql", "mariadb", "sqlite3", "sqlite", "sqlcmd", "duckdb", "clickhouse-client", "cockroach", "cqlsh", "mongosh", "mongo", "redis-cli"]
)
_AWK = frozenset(["awk", "gawk", "mawk", "nawk"])
_EDITORS = frozenset(["vi", "vim", "nvim", "view", "ex", "ed", "gvim", "vimdiff", "rvim", "emacs", "nano"])


class Inner(NamedTuple):
    """One thing that a program runs in turn: words, a script for a shell, or a part nobody can vouch for."""

    label: str
    argv: tuple[Word, ...] = ()
    script: str = ""
    unread: str = ""
    finding: code.Finding | None = None


class Feed(NamedTuple):
    """What comes in through standard input: a literal text, or None when it cannot be known."""

    given: bool = False
    text: str | None = None


def unwrap(name: str, argv: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    """What this command makes others do. `name` is lower case, without folder."""
    args = argv[1:]
    if name in SHELLS:
        yield from _shell(name, args, feed)
    elif name in WRAPPERS:
        yield from _wrapped(name, WRAPPERS[name], args)
    elif (at := _two_words(name, args)) is not None:
        both = f"{name} {args[at].text}"
        yield from _wrapped(both, WRAPPERS[both], args[at + 1 :])
    elif _PYTHON.match(name):
        yield from _python(name, args, feed)
    elif (match := _OTHER.match(name)) is not None:
        yield from _language(match[1], args, feed)
    elif name in _SQL:
        yield from _sql(args, feed)
    elif name in _AWK:
        yield from _awk(args)
    elif name in _EDITORS:
        yield from _editor(args, feed)
    elif name in _SPECIAL:
        yield from _SPECIAL[name](name, args)


def _script(label: str, word: Word) -> Iterator[Inner]:
    """A word that a shell will read as a script."""
    if not word.known or word.computed or word.glob:
        yield Inner(label, unread=word.text)
    if word.known:
        yield Inner(label, script=word.text)


def _shell(name: str, args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    index = 0
    while index < len(args):
        text = args[index].text
        if not args[index].known and args[index].dashable:
            yield Inner(name, unread=text)
            return
        if text in ("--version", "--help"):
            return
        if text.startswith("--"):
            if text.partition("=")[0] in ("--rcfile", "--init-file"):
                yield Inner(f"{name} {text}", unread=text)
                index += 1
            index += 1
            continue
        if text[:1] not in "-+" or text in ("-", ""):
            break
        if "c" in text[1:] and text[0] == "-":
            rest = args[index + 1 :]
            while rest and rest[0].text[:1] in ("-", "+") and rest[0].text != "--":
                rest = rest[1:]
            rest = rest[1:] if rest and rest[0].text == "--" else rest
            yield from _script(f"{name} -c", rest[0]) if rest else iter((Inner(name, unread=text),))
            return
        if "s" in text[1:]:
            yield from _standard_input(name, feed)
            return
        index += 2 if text[1:] in ("o", "O") else 1
    if index >= len(args) or args[index].text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        yield from _standard_input(name, feed)
    elif not args[index].known or args[index].substituted:
        yield Inner(name, unread=args[index].text)


def _standard_input(name: str, feed: Feed) -> Iterator[Inner]:
    if feed.text is None or feed.given:
        yield Inner(name, unread=f"{name} runs whatever it is given")
    if feed.text is not None:
        yield Inner(f"{name} <<", script=feed.text)


def _wrapped(name: str, wrapper: Wrapper, args: Sequence[Word]) -> Iterator[Inner]:
    start = positional_start(wrapper, args)
    if start is None:
        yield Inner(name, unread=" ".join([name, *(word.text for word in args[:6])]))
        rest = [
            index for index, word in enumerate(args) if word.known and word.text[:1] not in "-" and "=" not in word.text
        ]
        for index in rest[:3]:
            yield Inner(name, argv=tuple(args[index:]))
        return
    rest_words = tuple(args[start + wrapper.skip :])
    for option in wrapper.scripts:
        for given in _values(args if wrapper.scattered else args[:start], option, wrapper.flags):
            yield from _script(f"{name} {option}", given)
            if name == "env" and rest_words:
                yield Inner(name, unread=" ".join(word.text for word in args))
    if name == "command" and args and args[0].text in ("-v", "-V", "-pv", "-pV"):
        return
    if wrapper.scattered and rest_words[:1] and rest_words[0].text in wrapper.scripts:
        return
    if wrapper.joined and rest_words:
        text = " ".join(word.text for word in rest_words)
        sure = all(word.known and not word.computed for word in rest_words)
        yield from _script(name, Word(text, known=sure))
    elif rest_words:
        yield Inner(name, argv=(*rest_words, *((UNKNOWN,) if wrapper.appends else ())))
    elif wrapper.opens_shell and not any(word.text in wrapper.ends for word in args):
        yield Inner(name, unread=f"{name} opens a shell")


def _values(args: Sequence[Word], option: str, flags: str) -> Iterator[Word]:
    """What an option is given, also at the end of a cluster and without a space."""
    short = re.compile(rf"-[{re.escape(flags)}]*{option[1]}(.*)", re.DOTALL) if len(option) == 2 else None
    for index, word in enumerate(args):
        match = short.fullmatch(word.text) if short and not word.text.startswith("--") else None
        if match or word.text == option:
            attached = match[1] if match else ""
            if attached:
                yield word._replace(text=attached)
            else:
                yield from args[index + 1 : index + 2]
        elif word.text.startswith(f"{option}=") and len(option) > 2:
            yield word._replace(text=word.text.partition("=")[2])


def _two_words(name: str, args: Sequence[Word]) -> int | None:
    """Where the subcommand stands with which a program runs others, such as `uv run`."""
    if name not in _RUNNERS:
        return None
    return next((at for at, word in enumerate(args[:5]) if f"{name} {word.text}" in WRAPPERS), None)


_RUNNERS = frozenset(both.partition(" ")[0] for both in WRAPPERS if " " in both)


def _python(name: str, args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    for index, word in enumerate(args):
        text = word.text
        if not word.known and word.dashable:
            yield Inner(name, unread=text)
            return
        if (
            text.startswith("-")
            and not text.startswith("--")
            and "c" in text[1:]
            and "m" not in text[1 : text.index("c")]
        ):
            attached = text[text.index("c") + 1 :]
            given = [literal(attached)] if attached else list(args[index + 1 : index + 2])
            yield from _findings(f"{name} -c", given, code.python)
            return
        if text in ("-m", "-V", "--version", "-h", "--help") or text[:1] != "-":
            if word.substituted or text in ("/dev/stdin", "/dev/fd/0"):
                yield Inner(name, unread=text)
            return
        if text == "-":
            break
    yield from _code_from_input(name, feed, code.python)


def _code_from_input(name: str, feed: Feed, read: Callable[[str], Iterator[code.Finding]]) -> Iterator[Inner]:
    if feed.text is None or feed.given:
        yield Inner(name, unread=f"{name} runs whatever it is given")
    if feed.text is not None:
        yield from _findings(f"{name} <<", [literal(feed.text)], read)


def _findings(label: str, given: Sequence[Word], read: Callable[[str], Iterator[code.Finding]]) -> Iterator[Inner]:
    for word in given:
        if not word.known or word.computed:
            yield Inner(label, unread=word.text)
        for finding in read(word.text):
            yield Inner(label, finding=finding)


def _language(name: str, args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    flags = _CODE_FLAGS.get(name, "")
    shown = False
    for index, word in enumerate(args):
        text = word.text
        if not word.known and word.dashable and index == 0:
            yield Inner(name, unread=text)
            return
        long = text.partition("=")[0] in ("--eval", "--print", "--expression") or (text == "eval" and name == "deno")
        cluster = re.match(rf"-[acnlpsStTuUvwWXf0-9]*[{flags}]", text) if flags else None
        if cluster is None and flags and not text.startswith(_TAKES_REST):
            cluster = re.match(rf"-[^-].*?[{flags}]", text)
        if long or cluster:
            attached = text.partition("=")[2] if long else text[cluster.end() if cluster else 0 :]
            given = [word._replace(text=attached)] if attached else []
            yield from _findings(
                f"{name} {text[:2]}", [*given, *args[index + 1 : index + 2]], lambda s: code.other(name, s)
            )
            return
        shown = shown or text[:1] != "-" or text in ("--version", "-v", "--help", "-h")
        if word.substituted:
            yield Inner(name, unread=text)
    if not shown:
        yield from _code_from_input(name, feed, lambda source: code.other(name, source))


def _sql(args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    for word in args:
        if word.known or word.text.strip("$\"'{}").isidentifier():
            for finding in code.sql(word.text):
                yield Inner("sql", finding=finding)
        elif word.substituted:
            yield Inner("sql", unread=word.text)
    if len(args) > 1 and all(word.known for word in args):
        for finding in code.sql(" ".join(word.text for word in args)):
            yield Inner("sql", finding=finding)
    if feed.text is not None:
        for finding in code.sql(feed.text):
            yield Inner("sql", finding=finding)


def _awk(args: Sequence[Word]) -> Iterator[Inner]:
    index = 0
    while index < len(args) and args[index].text.startswith("-") and len(args[index].text) > 1:
        text = args[index].text
        if text in ("-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"):
            return
        index += 2 if text in ("-F", "-v", "--assign", "--field-separator", "-e", "--source") else 1
        if text in ("-e", "--source"):
            index -= 1
            break
    yield from _findings("awk", args[index : index + 1], code.awk)


def _editor(args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    for index, word in enumerate(args):
        text = word.text
        if text in ("-c", "--cmd", "-S", "-s", "--eval", "-eval", "-f", "--funcall", "-l", "--load"):
            yield from _findings("editor", args[index + 1 : index + 2], code.editor)
        elif text.startswith(("+", "-c", "--cmd=", "--eval=")) and len(text) > 1:
            yield from _findings("editor", [word._replace(text=text.lstrip("+"))], code.editor)
    if feed.text is not None:
        yield from _findings("editor", [literal(feed.text)], code.editor)
    elif feed.given:
        yield Inner("editor", unread="the editor is given commands that are not known")


def _eval(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    yield from (
        _script(
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
            yield Inner(f"{name} -x", argv=(*(_placed(w, index > 0) if "{" in w.text else w for w in args[index + 1 :]), FOUND if index else ANYTHING))
            return


def _xargs(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    wrapper = Wrapper(
        flags="0oprtx", valued="adEIiJLlnPRsS", long_flags="null open-tty interactive no-run-if-empty verbose exit help version",
        long_valued="arg-file delimiter max-lines max-args max-procs max-chars process-slot-var eof replace",
    )  # fmt: skip
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
            yield from _script(f"git {text[:14]}", word._replace(text=text.partition("=")[2] or text[2:]))
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
            yield from _script(f"git {text}", following)
        elif text.startswith(("--exec-path=", "ext::")):
            yield Inner("git", unread=text)
        elif text in ("run", "foreach") and index and args[index - 1].text in ("bisect", "submodule", "--recursive"):
            given = tuple(word for word in args[index + 1 :] if word.text not in ("--recursive", "--quiet"))
            yield Inner(f"git {text}", argv=given)
            if text == "foreach":
                yield from _eval("git foreach", given)
            return
        elif text.startswith("alias.") and following is not None and following.text.startswith("!"):
            yield from _script("git alias", following._replace(text=following.text[1:]))
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
        yield from _script("git -c", word._replace(text=value.lstrip("!")))
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
                    yield from _script(f"{name} {option}", args[index + 1])
                elif text.startswith(f"{option}="):
                    yield from _script(f"{name} {option}", word._replace(text=text[len(option) + 1 :]))
                elif len(option) == 2 and text.startswith(option) and len(text) > 2:
                    yield from _script(f"{name} {option}", word._replace(text=text[2:]))

    return read


def _tar(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for index, word in enumerate(args):
        option, _, value = word.text.partition("=")
        following = args[index + 1] if index + 1 < len(args) else literal("")
        chosen = next((full for full in _TAR if len(option) > 4 and full.startswith(option)), "")
        if chosen:
            given = word._replace(text=value) if value else following
            yield from _script(f"{name} {chosen}", given._replace(text=given.text.removeprefix("exec=")))
        elif option in ("-I", "-F") and option == word.text:
            yield from _script(f"{name} {option}", following)


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
            yield from _findings(name, args[index + 1 : index + 2], code.editor)


def _trap(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    words = [word for word in args if word.text not in ("-", "--")]
    if len(words) > 1 and not words[0].text.startswith("-"):
        yield from _script(name, words[0])


def _alias(name: str, args: Sequence[Word]) -> Iterator[Inner]:
    for word in args:
        if "=" in word.text:
            yield Inner(name, unread=word.text)
            yield from _script(name, word._replace(text=word.text.partition("=")[2]))


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


_SPECIAL: dict[str, Callable[[str, Sequence[Word]], Iterator[Inner]]] = {
    "eval": _eval, "find": _find, "gfind": _find, "fd": _fd, "fdfind": _fd, "xargs": _xargs, "gxargs": _xargs,
    "git": _git, "tar": _tar, "gtar": _tar, "bsdtar": _tar, "trap": _trap, "alias": _alias, "sed": _sed, "gsed": _sed,
    "source": _sourced, ".": _sourced, "hash": _unknown, "enable": _unknown, "bind": _unknown, "complete": _unknown,
    "rsync": _named_scripts("-e", "--rsh", "--rsync-path"), "scp": _named_scripts("-S", "-o"), "sftp": _named_scripts("-S", "-o"),
    "man": _named_scripts("-P", "--pager", "-H"), "zip": _named_scripts("-TT", "--unzip-command"),
    "gdb": _debugger, "expect": _named_scripts("-c"), "lldb": _debugger,
    "mapfile": _named_scripts("-C"), "readarray": _named_scripts("-C"), "sort": _named_scripts("--compress-program"),
    "rg": _named_scripts("--pre", "--hostname-bin"), "split": _named_scripts("--filter"), "ansible": _named_scripts("-a"),
    "tcpdump": _named_scripts("-z"), "logrotate": _named_scripts("-s"), "wget": _named_scripts("--use-askpass"),
    "crontab": lambda name, args: iter(()), "at": lambda name, args: iter(()),
    "less": lambda name, args: (Inner(name, unread=word.text) for word in args if word.text.startswith("+!")),
    "make": lambda name, args: (
        Inner(name, unread=word.text) for word in args if word.text.startswith(("SHELL=", "--eval")) or word.text in ("-f-", "-")
    ),
}  # fmt: skip
