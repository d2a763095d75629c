"""Programs that run other programs: what they run, or that nobody can say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import code
from .inner import Inner, findings, script
from .options import WRAPPERS, Wrapper, positional_start
from .special import SPECIAL
from .words import UNKNOWN, Word, literal, names

SHELLS = names("sh bash dash zsh ksh ash fish csh tcsh mksh rbash yash pwsh powershell")
_PYTHON = re.compile(r"^(?:python|pypy|ipython)[\d.]*$")
_OTHER = re.compile(
    r"^(perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|rscript|r|julia|raku|osascript|guile)[\d.]*$"
)
_CODE_FLAGS = {
    "perl": "eE",
    "ruby": "e",
    "node": "ep",
    "nodejs": "ep",
    "php": "rBER",
    "lua": "e",
    "luajit": "e",
    "rscript": "e",
    "r": "e",
    "julia": "eE",
    "raku": "e",
    "osascript": "e",
    "guile": "c",
    "bun": "e",
    "deno": "",
}
_TAKES_REST = ("--", "-M", "-m", "-I", "-F", "-i", "-x", "-D", "-r", "-C")
_SQL = names(
    "psql mysql mariadb sqlite3 sqlite sqlcmd duckdb clickhouse-client cockroach cqlsh mongosh mongo redis-cli"
)
_AWK = frozenset(["awk", "gawk", "mawk", "nawk"])
_EDITORS = names("vi vim nvim view ex ed gvim vimdiff rvim emacs nano")


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
    elif name in SPECIAL:
        yield from SPECIAL[name](name, args)


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
            yield from script(f"{name} -c", rest[0]) if rest else iter((Inner(name, unread=text),))
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
            yield from script(f"{name} {option}", given)
            if name == "env" and rest_words:
                yield Inner(name, unread=" ".join(word.text for word in args))
    if name == "command" and args and args[0].text in ("-v", "-V", "-pv", "-pV"):
        return
    if wrapper.scattered and rest_words[:1] and rest_words[0].text in wrapper.scripts:
        return
    if wrapper.joined and rest_words:
        text = " ".join(word.text for word in rest_words)
        sure = all(word.known and not word.computed for word in rest_words)
        yield from script(name, Word(text, known=sure))
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
            yield from findings(f"{name} -c", given, code.python)
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
        yield from findings(f"{name} <<", [literal(feed.text)], read)


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
            yield from findings(
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
    yield from findings("awk", args[index : index + 1], code.awk)


def _editor(args: Sequence[Word], feed: Feed) -> Iterator[Inner]:
    for index, word in enumerate(args):
        text = word.text
        if text in ("-c", "--cmd", "-S", "-s", "--eval", "-eval", "-f", "--funcall", "-l", "--load"):
            yield from findings("editor", args[index + 1 : index + 2], code.editor)
        elif text.startswith(("+", "-c", "--cmd=", "--eval=")) and len(text) > 1:
            yield from findings("editor", [word._replace(text=text.lstrip("+"))], code.editor)
    if feed.text is not None:
        yield from findings("editor", [literal(feed.text)], code.editor)
    elif feed.given:
        yield Inner("editor", unread="the editor is given commands that are not known")
