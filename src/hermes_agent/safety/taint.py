"""Who wrote what: which texts of a conversation are strangers', which are private, and what a call is made of.

A model that reads a stranger's text may obey it. So once such a text is in the conversation, a call that acts in the
user's name or carries something out goes through without a question only if it is *accounted for*: every value in it
that could name a target or carry data is found in the user's own words. A destination may also come from the user's
own data, such as an address book, if that was read before any stranger's text: afterwards an obedient model could have
put the stranger's address there itself. Everything else needs a person.

Reading from an address on the web is different while no private data was read: there is nothing to carry out. The
address must then only be one that the user named, a search found, or that belongs to a site already read, so that
research stays possible and a page cannot send the agent elsewhere. A search goes to a party that the user configured,
not to one that a stranger chose, and is not held back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..types.base import Value
from ..types.events import AnyEvent, AssistantMessage, CallFinished, Fragment, UserMessage
from ..types.text import one_line, visible
from ..types.tools import Capability, Effect, Label, ToolSpec

ACTS = frozenset(
    (
        Capability.MESSAGES,
        Capability.ACCOUNTS,
        Capability.FILES_DELETE,
        Capability.SCHEDULE,
        Capability.SELF_MODIFY,
    )
)
WAYS_OUT = frozenset((Capability.NETWORK, Capability.BROWSER))
_STRANGERS = frozenset((Capability.NETWORK, Capability.BROWSER))
_OWN = frozenset((Capability.FILES_READ, Capability.SHELL, Capability.SECRETS, Capability.ACCOUNTS))
_WORD = re.compile(r"\w[\w@.+-]*\w|\w")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?Z?)?|\d\d:\d\d(?::\d\d)?")
_SCHEME = re.compile(r"^[a-z]+://", re.IGNORECASE)
_PATHS = frozenset(("path", "source", "target", "file", "output", "destination"))
_SHORT = 3
_SHOWN = 60


class Source(Value, frozen=True, kw_only=True):
    """A result that entered the conversation with a label."""

    call_id: str
    tool: str
    origin: str
    text: str
    labels: frozenset[Label]

    def named(self) -> str:
        """The source as a person is told of it."""
        return visible(one_line(f"{self.tool} ({self.origin})" if self.origin else self.tool, _SHOWN))


class Suspicion(Value, frozen=True, kw_only=True):
    """Why a call needs a person: the values that are not the user's, and where strangers' text came from."""

    values: tuple[str, ...]
    sources: tuple[str, ...]
    private: tuple[str, ...]

    def reason(self) -> str:
        """One sentence for a person."""
        seen = f"text from strangers was read ({', '.join(self.sources)})"
        if self.private:
            seen += f" and private data ({', '.join(self.private)})"
        if not self.values:
            return f"{seen}, and nothing in this call comes from what you asked for"
        return f"{seen}, and this call uses what you did not write: {', '.join(self.values)}"


class Provenance:
    """The labelled history of a session. `apply` takes the journal's events in order."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._own: list[str] = []
        self.untrusted: list[Source] = []
        self.private: list[Source] = []
        self._paths: dict[str, dict[str, Any]] = {}
        self.foreign_files: set[str] = set()

    def copied(self) -> Provenance:
        """The same history, to go on from elsewhere."""
        other = Provenance()
        other._said, other._own = list(self._said), list(self._own)
        other.untrusted, other.private = list(self.untrusted), list(self.private)
        other._paths, other.foreign_files = dict(self._paths), set(self.foreign_files)
        return other

    def apply(self, event: AnyEvent) -> None:
        """Take one more event into account."""
        match event:
            case UserMessage(text=text):
                self._said.append(text)
            case AssistantMessage(calls=calls):
                self._paths.update((call.id, call.arguments) for call in calls)
            case CallFinished():
                self._finished(event)
            case Fragment(labels=labels) if labels:
                self._told(event)
            case _:
                return

    def _told(self, event: Fragment) -> None:
        labels = frozenset(event.labels)
        source = Source(call_id="", tool=event.source, origin=event.origin, text=event.text, labels=labels)
        if Label.UNTRUSTED in labels:
            self.untrusted.append(source)
        if Label.PRIVATE in labels:
            self.private.append(source)

    def _finished(self, event: CallFinished) -> None:
        arguments = self._paths.pop(event.call_id, {})
        labels = frozenset(event.labels)
        source = Source(call_id=event.call_id, tool=event.tool, origin=event.origin, text=event.text, labels=labels)
        if Label.UNTRUSTED in labels:
            self.untrusted.append(source)
            self.foreign_files.update(_paths(arguments))
        if Label.PRIVATE in labels:
            self.private.append(source)
            self._own += [] if self.untrusted else [event.text]
        if Label.SPOKEN in labels:
            self._said.append(event.text)

    def suspect(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Suspicion | None:
        """Why this call needs a person, or None when it does not."""
        reached = capabilities_of(spec, arguments)
        if not self.untrusted:
            return None
        if reached & ACTS:
            strange = self._unaccounted(spec, arguments)
        elif reached & WAYS_OUT and (spec.destinations or spec.effect is not Effect.NONE):
            strange = self._unaccounted(spec, arguments) if self.private else self._strange_addresses(spec, arguments)
        else:
            return None
        if strange is None:
            return None
        return Suspicion(
            values=tuple(visible(one_line(value, _SHOWN)) for value in strange[:4]),
            sources=_distinct(self.untrusted),
            private=_distinct(self.private) if reached & WAYS_OUT else (),
        )

    def _strange_addresses(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> list[str] | None:
        """Addresses that neither the user nor a search brought, on a site that was not read before."""
        found = _Words([*self._said, *self._own, *self._directories()])
        sites = {_site(source.origin) for source in self.untrusted if source.origin}
        named = [str(arguments[name]) for name in spec.destinations if arguments.get(name)]
        strange = [value for value in named if _site(value) not in sites and not found.has_name(value)]
        return strange or None

    def _directories(self) -> Iterator[str]:
        return (source.text for source in self.untrusted if Label.DIRECTORY in source.labels)

    def _unaccounted(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> list[str] | None:
        """The values nobody but a stranger or the model can have chosen; None when the call is accounted for.

        Times, flags, words of the tool's own schema and ids of up to three digits neither carry data nor account for
        a call.
        """
        user = _Words(self._said)
        own: _Words | None = None
        fixed = _vocabulary(spec.parameters)
        strange: list[str] = []
        known = 0
        for name, value in _leaves(arguments):
            if isinstance(value, bool) or value is None or value in fixed:
                continue
            text = str(value).strip()
            if isinstance(value, int | float):
                known, strange = _count(user.has_number(float(value)), text, known, strange)
            elif _MOMENT.fullmatch(text):
                known += user.has_moment(text)
            elif (len(text) <= _SHORT and text.isdigit()) or not _telling(text):
                continue
            elif name in spec.destinations:
                own = own or _Words(self._own)
                known, strange = _count(user.has_name(text) or own.has_name(text), text, known, strange)
            else:
                known, strange = _count(user.has_words(text), text, known, strange)
        return None if known and not strange else strange

    def labels_for(self, arguments: Mapping[str, Any], origin: str = "") -> frozenset[Label]:
        """What a result carries because of the files the call read, by its arguments or by what it says itself: a
        stranger's file stays a stranger's."""
        read = _paths(arguments) | {part.strip() for part in origin.split(",")}
        return frozenset((Label.UNTRUSTED,)) if self.foreign_files & read else frozenset()


def capabilities_of(spec: ToolSpec, arguments: Mapping[str, Any]) -> frozenset[Capability]:
    """What this call reaches: the declaration, and what its arguments unlock. Undeclared reaches everything."""
    if spec.capabilities is None:
        return frozenset(Capability)
    unlocked = {capability for name, capability in spec.unlocks.items() if arguments.get(name)}
    return spec.capabilities | unlocked


def labels_of(spec: ToolSpec, arguments: Mapping[str, Any]) -> frozenset[Label]:
    """What every result of this call carries: declared, or what the capabilities suggest."""
    if spec.labels is not None:
        return spec.labels
    reached = capabilities_of(spec, arguments)
    labels = {Label.UNTRUSTED} if reached & _STRANGERS else set()
    return frozenset(labels | ({Label.PRIVATE} if reached & _OWN else set()))


class _Words:
    """Texts to look values up in. Words are cut only when something is looked up."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(texts).casefold()
        self._cut: frozenset[str] | None = None

    @property
    def _words(self) -> frozenset[str]:
        if self._cut is None:
            self._cut = frozenset(_WORD.findall(self._text))
        return self._cut

    def has_name(self, value: str) -> bool:
        """Whether a whole name or address is there: bounded by what cannot belong to one."""
        name = _address(value.casefold())
        return (
            bool(name) and re.search(rf"(?<![\w@.+/-]){re.escape(name)}(?![\w@+/=?&-]|\.\w)", self._bare()) is not None
        )

    def _bare(self) -> str:
        return self._text.replace("https://", "").replace("http://", "")

    def has_words(self, value: str) -> bool:
        """Whether every word of a text is there, apart from those too short to say anything."""
        folded = value.casefold()
        return folded in self._text or _telling(folded) <= self._words

    def has_number(self, value: float) -> bool:
        """Whether a number is there, in any notation of it."""
        return any(value in _readings(written) for written in _NUMBER.findall(self._text))

    def has_moment(self, value: str) -> bool:
        """Whether the day, or the time of a value without a day, is there."""
        return value[:10].casefold() in self._text


def _count(found: bool, text: str, known: int, strange: list[str]) -> tuple[int, list[str]]:
    return (known + 1, strange) if found else (known, [*strange, text])


def _telling(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _SHORT or word.isdigit()}


def _address(value: str) -> str:
    return _SCHEME.sub("", value).rstrip("/")


def _site(address: str) -> str:
    """The host of an address, without the name it is served under."""
    return _address(address.casefold()).partition("/")[0].removeprefix("www.")


def _readings(written: str) -> set[float]:
    """What a written number may mean: 1,200 and 1.200,50 depend on who writes."""
    found = set()
    for text in (written, written.replace(",", ""), written.replace(".", "").replace(",", ".")):
        try:
            found.add(float(text))
        except ValueError:
            continue
    return found


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value in a call, with the parameter it belongs to. Keys of objects are values too."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if name:
                yield name, str(key)
            yield from _leaves(part, name or str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for part in value:
            yield from _leaves(part, name)
    else:
        yield name, value


def _vocabulary(schema: Any) -> set[Any]:
    """The names and fixed values of a schema: using them says nothing."""
    if isinstance(schema, Mapping):
        found = set(schema.get("properties", ())) if isinstance(schema.get("properties"), Mapping) else set()
        for listed in (schema.get("enum", ()), (schema.get("const"),)):
            found.update(value for value in listed if isinstance(value, str | int | float))
        return found.union(*map(_vocabulary, schema.values()))
    if isinstance(schema, list | tuple):
        return set().union(*map(_vocabulary, schema))
    return set()


def _paths(arguments: Mapping[str, Any]) -> set[str]:
    """The files a call names."""
    named = (value for name, value in arguments.items() if name in _PATHS)
    return {value.strip().removeprefix("./") for value in named if isinstance(value, str) and value.strip()}


def _distinct(sources: Sequence[Source]) -> tuple[str, ...]:
    names = list(dict.fromkeys(source.named() for source in sources))
    return tuple(names[:3]) if len(names) <= 3 else (*names[:3], f"{len(names) - 3} more")
