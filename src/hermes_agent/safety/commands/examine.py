"""Reads a command before it runs. Whatever cannot be known is said to be so: it fails closed."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import targets
from .grants import grant
from .inner import Inner
from .options import WRAPPERS
from .parsing import LONGEST, oddities, parse
from .reading import Nested, Redirect, Simple, Unread, read
from .readonly import only_reads
from .report import CommandReport, Program, Risk, RiskKind
from .risks import risks
from .unwrap import SHELLS, Feed, unwrap
from .words import Word, names

_LEVELS = 8
_STEPS = 4_000
_HARMLESS_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))
_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_STEERING = re.compile(
    r"^(?:PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|LD_\w+|DYLD_\w+|PAGER|MANPAGER|EDITOR|"
    r"VISUAL|BROWSER|SHELL|LESSOPEN|LESSCLOSE|LESSEDIT|GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|"
    r"PROXY_COMMAND|ASKPASS|EXEC_PATH|CONFIG\w*|TEMPLATE_DIR|DIR)|PERL5\w+|PERLLIB|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|"
    r"PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONBREAKPOINT|PYTHONEXECUTABLE|TAR_OPTIONS|"
    r"RSYNC_RSH|CVS_RSH|SSH_ASKPASS|SUDO_ASKPASS|GCC_EXEC_PREFIX|"
    r"MAKEFLAGS|MAKEFILES|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|ZDOTDIR|FCEDIT|CDPATH|GLOBIGNORE|EXECIGNORE|MAIL\w*|"
    r"http_proxy|https_proxy|all_proxy|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|PIP_(?:EXTRA_)?INDEX_URL|PIP_CONFIG_FILE|RUSTC_WRAPPER|CC|CXX)$"
)
_TAME = names(" cat less true : false vi vim nano gcc g++ clang clang++ cc c++")
_TAME_NAMES = names("LC_ALL LANG LANGUAGE TZ NO_COLOR CLICOLOR TERM COLUMNS LINES LC_COLLATE LC_CTYPE FORCE_COLOR")
_BUILTINS = names(
    "test [ [[ printf read unset let declare typeset export local readonly mapfile readarray wait getopts"
)

_RESERVED = names("{ } ( ) then do done fi else elif esac in case if for while until function select ! ]] ;; ;")


class _Call(NamedTuple):
    argv: tuple[Word, ...]
    through: tuple[str, ...]
    start: int
    end: int
    feed: Feed = Feed()
    level: int = 0


class _Text(NamedTuple):
    text: str
    through: tuple[str, ...]
    start: int
    end: int
    level: int = 0


def examine(command: str) -> CommandReport:
    """Everything that can be told about a shell command without running it. Takes time linear in its length."""
    return _Examination().whole(command)


class _Examination:
    """What has been found so far, and what is still to be read."""

    def __init__(self) -> None:
        self._programs: list[Program] = []
        self._opaque: dict[str, None] = {}
        self._risks: dict[tuple[RiskKind, str], Risk] = {}
        self._writes: dict[str, None] = {}
        self._waiting: deque[_Call | _Text] = deque()
        self._changes = False
        self._elsewhere = ""
        self._removes = False
        self._steps = 0

    def whole(self, command: str) -> CommandReport:
        try:
            command.encode()
        except UnicodeEncodeError:
            self._unread(command, "it is not valid text")
            return self._report()
        self._waiting.append(_Text(command, (), 0, len(command)))
        while self._waiting:
            self._steps += 1
            if self._steps > _STEPS:
                self._unread(command, "it holds too many commands to read")
                break
            match self._waiting.popleft():
                case _Text() as text:
                    self._text(text)
                case _Call() as call:
                    self._call(call)
        return self._report()

    def _report(self) -> CommandReport:
        if self._elsewhere and self._removes:
            self._risk(RiskKind.DESTRUCTIVE, f"something is removed after going to {self._elsewhere[:80]}")
        readonly = not (self._opaque or self._changes or self._writes) and all(p.readonly for p in self._programs)
        losing = {RiskKind.DESTRUCTIVE, RiskKind.PRIVILEGE, RiskKind.PERSISTENCE, RiskKind.OBFUSCATED, RiskKind.NETWORK}
        readonly = readonly and not any(kind in losing for kind, _ in self._risks)
        return CommandReport(
            programs=tuple(sorted(self._programs, key=lambda program: (program.start, len(program.through)))),
            opaque=tuple(self._opaque),
            risks=tuple(self._risks.values()),
            writes=tuple(self._writes),
            readonly=readonly,
        )

    def _risk(self, kind: RiskKind, why: str) -> None:
        if len(self._risks) < 200:
            self._risks.setdefault((kind, why), Risk(kind=kind, why=why))

    def _unread(self, text: str, why: str) -> None:
        if len(self._opaque) < 200:
            self._opaque.setdefault(text[:200])
        self._risk(RiskKind.OPAQUE, why)

    def _text(self, job: _Text) -> None:
        if job.level > _LEVELS:
            self._unread(job.text, "commands are nested too deep to read")
            return
        if len(job.text) > LONGEST:
            self._unread(job.text, "it is too long to read")
            return
        for why in oddities(job.text):
            self._risk(RiskKind.OBFUSCATED, why)
            self._unread(job.text, why)
        data = job.text.encode()
        tree = parse(data)
        if tree is None:
            self._unread(job.text, "it is too tangled to read")
            return
        place = _places(job, data)
        for item in read(tree.root_node):
            self._steps += 1
            if self._steps > _STEPS:
                self._unread(job.text, "it holds too many commands to read")
                return
            match item:
                case Unread(text=text, why=why):
                    self._unread(text, why)
                case Nested(text=text, label=label, start=start, end=end):
                    self._waiting.append(_Text(text, (*job.through, label), place(start), place(end), job.level + 1))
                case Simple() as simple:
                    first = data[simple.start : simple.end].split(None, 1)[:1]
                    if simple.argv and first and not first[0].isascii():
                        self._risk(RiskKind.OBFUSCATED, "the name of a program is not plain letters")
                        self._unread(first[0].decode("utf-8", "replace"), "the name of a program only looks familiar")
                    self._simple(simple, job, place)

    def _simple(self, simple: Simple, job: _Text, place: Callable[[int], int]) -> None:
        through = (*job.through, *simple.through)
        start, end = place(simple.start), place(simple.end)
        for name, value in simple.assignments:
            self._assigned(name, value, _Text("", through, start, end, job.level), alone=not simple.argv)
        for redirect in simple.redirects:
            self._redirected(redirect)
        if simple.argv:
            feed = _feed(simple)
            if simple.source and simple.argv[0].text.rpartition("/")[2] in SHELLS and _decodes(simple.source):
                self._risk(RiskKind.OBFUSCATED, "something is decoded and then run")
            self._waiting.append(_Call(simple.argv, through, start, end, feed, job.level))

    def _assigned(self, name: str, value: Word, at: _Text, *, alone: bool) -> None:
        if value.known and ("$(" in value.text or "`" in value.text):
            self._unread(value.text, f"{name} is given a command that may be run later")
        if _STEERING.match(name) and value.text not in _TAME:
            self._unread(f"{name}={value.text}", f"{name} changes what programs do")
            if value.known and not name.startswith(("PATH", "LD_", "IFS", "CDPATH")):
                self._waiting.append(at._replace(text=value.text, through=(*at.through, name), level=at.level + 1))
        elif not alone and name not in _TAME_NAMES and value.text not in _TAME:
            self._changes = True

    def _redirected(self, redirect: Redirect) -> None:
        target = redirect.target
        if target is None:
            return
        text = target.text
        if targets.normal(text).startswith(("/dev/tcp/", "/dev/udp/")):
            self._risk(RiskKind.NETWORK, f"{text[:80]} is a network connection")
        if targets.secret(text):
            self._risk(RiskKind.SECRETS, f"{text[:80]} may hold secrets")
        if redirect.operator not in _WRITING or (redirect.operator == ">&" and re.fullmatch(r"\d+|-", text)):
            return
        if target.known and targets.normal(text) in _HARMLESS_TARGETS:
            return
        if target.substituted and text.startswith(">("):
            return
        self._writes.setdefault(text[:200])
        if targets.device(text):
            self._risk(RiskKind.DESTRUCTIVE, f"{text[:80]} is a disk")
        if targets.persistent(text):
            self._risk(RiskKind.PERSISTENCE, f"{text[:80]} makes something run later")
        if target.known and text.startswith(("/etc/", "/usr/", "/boot/", "/proc/", "/sys/", "/bin/", "/sbin/", "/lib")):
            self._risk(RiskKind.PRIVILEGE, f"{text[:80]} belongs to the system")

    def _call(self, call: _Call) -> None:
        if len(call.through) > 4 * _LEVELS:
            self._unread(call.argv[0].text, "commands are nested too deep to read")
            return
        argv = self._resolved(call.argv)
        if not argv:
            return
        name = posixpath.basename(targets.normal(argv[0].text)).lower() or argv[0].text
        inners = list(unwrap(name, argv, call.feed))
        plain = (name in WRAPPERS and WRAPPERS[name].plain) or (name in ("xargs", "find") and bool(inners))
        plain = plain or (name in SHELLS and any(inner.script for inner in inners))
        reads = only_reads(name, argv) or (plain and bool(inners) and _steady(name, argv))
        self._programs.append(
            Program(
                name=name,
                argv=tuple(word.text[:2000] for word in argv),
                start=call.start,
                end=call.end,
                through=call.through,
                readonly=reads and not any(inner.unread or inner.finding for inner in inners),
                grant=grant(name, argv),
            )
        )
        if name in _BUILTINS and any(word.scripted and ("[" in word.text or name == "let") for word in argv[1:]):
            self._unread(" ".join(word.text for word in argv), f"{name} runs what stands in a subscript")
        if name in ("cd", "pushd") and (len(argv) == 1 or (argv[1].known and _far(argv[1]))):
            self._elsewhere = argv[1].text if len(argv) > 1 else "~"
        self._removes = self._removes or (name == "rm" and len(argv) > 1 and argv[1].text != "--help")
        for risk in risks(name, argv):
            self._risk(risk.kind, risk.why)
            if risk.kind is RiskKind.OPAQUE:
                self._unread(" ".join(word.text for word in argv[:6]), risk.why)
        if name in WRAPPERS and WRAPPERS[name].assigns:
            for word in argv[1:]:
                variable, given, value = word.text.partition("=")
                if given and variable.isidentifier():
                    held = word._replace(text=value)
                    self._assigned(
                        variable, held, _Text("", call.through, call.start, call.end, call.level), alone=False
                    )
        for inner in inners:
            self._inner(inner, call)

    def _inner(self, inner: Inner, call: _Call) -> None:
        through = (*call.through, inner.label)
        if inner.unread:
            self._unread(inner.unread, f"what {inner.label} runs is not known before it runs")
        if inner.finding is not None:
            if inner.finding.why:
                self._risk(inner.finding.kind, inner.finding.why)
            if inner.finding.kind is RiskKind.OPAQUE:
                self._unread(inner.label, inner.finding.why)
            if inner.finding.script:
                text = inner.finding.script
                self._waiting.append(_Text(text, through, call.start, call.end, call.level + 1))
        if inner.script:
            self._waiting.append(_Text(inner.script, through, call.start, call.end, call.level + 1))
        if inner.argv:
            self._waiting.append(call._replace(argv=inner.argv, through=through))

    def _resolved(self, argv: Sequence[Word]) -> tuple[Word, ...]:
        """The words with the name in its place; says what is wrong with the name."""
        first = argv[0]
        text = first.text
        if not first.known or first.computed or (first.glob and text not in ("[", "[[")):
            self._unread(text, f"the program {text[:60]!r} is computed when it runs")
        if first.escaped or (first.glob and text not in ("[", "[[")):
            self._risk(RiskKind.OBFUSCATED, f"the name of the program {text[:60]!r} is hidden")
        if not text.isascii():
            self._risk(RiskKind.OBFUSCATED, f"the name of the program {text[:60]!r} is not plain letters")
            self._unread(text, "the name of a program only looks familiar")
        if first.escaped and not first.computed and first.known:
            self._unread(text, "the name of a program is written in escapes")
        if text in _RESERVED:
            self._unread(" ".join(word.text for word in argv[:6]), f"{text!r} stands where a program should")
            self._changes = True
        if text in ("", "{}", "…"):
            self._changes = True
            return ()
        if first.computed and first.known and " " in text:
            return (*(Word(part, computed=True) for part in text.split()), *argv[1:])
        return tuple(argv)


def _far(folder: Word) -> bool:
    """Whether a folder is the root, a home or one of the system: relative names mean something else there."""
    return folder.text.startswith(("/", "~")) and bool(targets.broad(folder))


def _places(job: _Text, data: bytes) -> Callable[[int], int]:
    """From bytes of this text to characters of the whole command. Inside a nested script: where that stands."""
    if job.level or job.through:
        return lambda byte: job.start if byte == 0 else job.end
    if len(data) == len(job.text):
        return lambda byte: byte
    offsets: list[int] = []
    for index, char in enumerate(job.text):
        offsets.extend([index] * len(char.encode()))
    offsets.append(len(job.text))
    return lambda byte: offsets[min(byte, len(offsets) - 1)]


def _feed(simple: Simple) -> Feed:
    """What a command reads from its standard input, as far as that can be known."""
    for redirect in simple.redirects:
        if redirect.body is not None:
            return Feed(given=not redirect.fixed, text=redirect.body)
        if redirect.operator in ("<", "<&", "<>"):
            return Feed(given=True)
    if simple.source is None:
        return Feed()
    names = simple.source[:1]
    if names and names[0].text in ("echo", "printf") and all(word.known for word in simple.source):
        words = [word.text for word in simple.source[1:] if not word.text.startswith("-")]
        return Feed(given=True, text=" ".join(words).replace("\\n", "\n"))
    return Feed(given=True)


def _decodes(source: Sequence[Word]) -> bool:
    name = source[0].text.rpartition("/")[2]
    return name in ("base64", "base32", "xxd", "openssl", "uudecode", "gunzip", "zcat", "rev", "tr", "gpg", "basenc")


def _steady(name: str, argv: Sequence[Word]) -> bool:
    """Whether a program that runs others changes nothing itself."""
    texts = [word.text for word in argv[1:]]
    if name == "find":
        return not any(text in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls") for text in texts)
    return not (name == "time" and any(text.startswith(("-o", "--output")) for text in texts))
