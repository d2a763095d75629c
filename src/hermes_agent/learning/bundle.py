"""What was learned as one signed file that others can read, check, take in and take back.

A bundle holds heuristics and counts. It names no run, no session, no path and no request: whatever could carry one is
left out when it is made. Reading one trusts nothing: size, shape, names, texts and signature are checked before
anything else looks at it. The signature covers the canonical form, so spaces and line ends do not matter.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from ..safety.redact import REDACTED, Redactor
from ..safety.scan import Kind as TextKind
from ..safety.scan import Verdict, scan
from ..store.database import Connection
from ..store.heuristics import EVERY_FAMILY, Heuristic, Kind, Stage, read_cells, write_cells
from ..store.imports import MOST_PRIOR, Incoming, Prior
from ..types.base import Value
from ..types.errors import UsageError
from ..types.text import one_line, visible
from .cells import Cells
from .life import mark
from .signing import PublicKey, SigningKey, is_signed_by, parse_public

FORMAT = "hermes-learning-bundle"
VERSION = 1
LARGEST_FILE = 8_000_000
MOST_HEURISTICS = 2000
DISCOUNT = 0.5
"""What elsewhere's confidence and observations count for here."""
_NOTHING_DONE = "ask for it again; nothing was changed here"
_TOO_NEW = "upgrade hermes, or ask for a bundle made by this version"
_MOST_DETAIL = 4000
_ID = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-hjkmnp-tv-z]{16}\b")
_PATH = re.compile(r"(?<![\w.:/\\])(?:~?/|[A-Za-z]:[\\/]|\\\\)[\w.-]+|(?:^|[/\\])\.\.(?:[/\\]|$)|[\w-]/[\w./-]*\.\w")
"""Absolute paths, ways upwards, and relative paths of files."""

Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Moment = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Words = Annotated[str, msgspec.Meta(max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=2000)]
Figure = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
_DETAIL: dict[Kind, tuple[str, Any]] = {
    Kind.WORKFLOW: ("steps", Annotated[list[Text], msgspec.Meta(max_length=20)]),
    Kind.MOVE_STEP: ("before", Name),
    Kind.REPAIR: ("change", Name),
}
"""The only detail that each kind of heuristic has, and its shape."""


class Counts(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was observed: how often it worked and failed, in how many sessions."""

    worked: Count = 0
    failed: Count = 0
    sessions: Count = 0


class SharedFamily(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of task, and how many tasks of it were seen."""

    name: Name
    tasks: Count = 0


class SharedHeuristic(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something learned, with what it rests on. `family` is a name."""

    kind: Kind
    model: Name
    family: Name
    subject: Words
    text: Text
    stage: Stage
    confidence: Share
    counts: Counts
    condition: Annotated[tuple[Name, ...], msgspec.Meta(max_length=2)] = ()
    better: Words = ""
    detail: dict[str, Any] = {}
    evidence: Annotated[dict[Name, Figure], msgspec.Meta(max_length=40)] = {}

    @property
    def title(self) -> str:
        """How it is named to people."""
        return one_line(f"{self.kind.value} {self.subject} in {self.family}", 120)


class SharedTool(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a tool did in a family as a whole."""

    model: Name
    family: Name
    tool: Name
    counts: Counts


class Bundle(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is signed."""

    format: str
    version: int
    product: Words
    made_at: Moment
    models: Annotated[tuple[Name, ...], msgspec.Meta(max_length=1000)]
    families: Annotated[tuple[SharedFamily, ...], msgspec.Meta(max_length=MOST_HEURISTICS)]
    heuristics: Annotated[tuple[SharedHeuristic, ...], msgspec.Meta(max_length=MOST_HEURISTICS)]
    tools: Annotated[tuple[SharedTool, ...], msgspec.Meta(max_length=2 * MOST_HEURISTICS)] = ()


class _Signature(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    algorithm: str
    key: Words
    value: Words


class Signed(Value, frozen=True, kw_only=True):
    """A bundle whose signature is right. Whether its key is trusted is for the caller to say."""

    bundle: Bundle
    key: PublicKey
    digest: str


def written(bundle: Bundle, key: SigningKey) -> bytes:
    """The file: sorted, ASCII, one value a line, so that two versions can be compared."""
    body = msgspec.to_builtins(bundle)
    signature = {"algorithm": "ed25519", "key": key.public.line, "value": key.sign(_canonical(body)).hex()}
    return json.dumps({**body, "signature": signature}, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


def read(data: bytes) -> Signed:
    """A bundle from a file, or an error that says what is wrong with it."""
    body = _parsed(data)
    if body.get("format") != FORMAT:
        raise _refused("this is no bundle of learned things")
    version = body.get("version")
    if isinstance(version, int) and version > VERSION:
        raise UsageError(f"this bundle was made by a newer version ({_shown(body.get('product'))})", remedy=_TOO_NEW)
    claimed = body.pop("signature", None)
    canonical = _canonical(body)
    key = _verified(claimed, canonical)
    try:
        bundle = msgspec.convert(body, Bundle)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _refused(f"it does not fit the format: {one_line(str(error), 200)}") from error
    for problem in _problems(bundle):
        raise _refused(problem)
    return Signed(bundle=bundle, key=key, digest=hashlib.sha256(key.raw + canonical).hexdigest())


def incoming(signed: Signed) -> Incoming:
    """What a bundle comes to here: candidates with half the confidence, and priors of at most five observations."""
    return Incoming(
        fingerprint=signed.key.fingerprint,
        digest=signed.digest,
        heuristics=tuple(_candidate(one, signed.key.fingerprint) for one in signed.bundle.heuristics),
        priors=tuple(_prior(tool) for tool in signed.bundle.tools if tool.counts.worked + tool.counts.failed),
    )


def flagged(bundle: Bundle) -> list[str]:
    """What the scanner finds doubtful without blocking it, by name."""
    reports = ((one, scan(_said(one), TextKind.MEMORY)) for one in bundle.heuristics)
    return [
        f"{one.title}: {report.findings[0].why}"
        for one, report in reports
        if report.verdict is Verdict.FLAG and report.findings
    ]


def private(heuristic: SharedHeuristic, redactor: Redactor) -> str:
    """Why a heuristic must not leave this home; empty when it may."""
    for text in _strings(msgspec.to_builtins(heuristic, builtin_types=())):
        if REDACTED in text or redactor.redact(text) != text:
            return "it holds something that looks like a secret"
        if visible(text) != text:
            return "it holds control characters"
    for text in _strings([heuristic.subject, heuristic.condition, heuristic.better, heuristic.text, heuristic.detail]):
        if _PATH.search(text):
            return "it names a path"
        if _ID.search(text):
            return "it names a run or a session"
    if scan(_said(heuristic), TextKind.MEMORY).verdict is Verdict.BLOCK:
        return "its text gives instructions"
    return next(_bad_detail(heuristic), "")


def give_up(connection: Connection, heuristic: Heuristic) -> None:
    """An imported heuristic that acted was taken back: its evidence here starts afresh."""
    cells = Cells(lambda keys: read_cells(connection, keys))
    mark(cells, heuristic, acting=False)
    write_cells(connection, cells.changed())


def portable_model(model: str) -> str:
    """A model's name without the folder it lies in."""
    provider, colon, name = model.partition(":")
    return f"{provider}{colon}{name.rpartition('/')[2]}" if name.startswith(("/", "~", ".")) else model


class Claims:
    """What was said so far, to find what cannot be meant together with it."""

    def __init__(self) -> None:
        self._said: set[tuple[Any, ...]] = set()
        self._instead: set[tuple[Any, ...]] = set()

    def against(self, one: SharedHeuristic) -> str:
        """Why this one contradicts an earlier one, which then stands; empty when it does not."""
        place = (one.model, one.family, one.condition)
        claim = (one.kind, *place, one.subject, one.better)
        if claim in self._said:
            return f"{one.title} is in it twice"
        self._said.add(claim)
        tool = one.subject.partition(":")[0]
        if one.kind in (Kind.AVOID_TOOL, Kind.PREFER_TOOL) and one.better:
            if one.better == tool or (*place, one.better, tool) in self._instead:
                return f"{one.title} contradicts another entry: {one_line(one.better, 60)} is both better and worse"
            self._instead.add((*place, tool, one.better))
        return ""


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > LARGEST_FILE:
        raise _refused(f"it is larger than {LARGEST_FILE // 1_000_000} MB")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key is given twice")
        return found

    def finite(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"{text[:20]} is no number")
        return value

    try:
        body = json.loads(data.decode(), object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    except ValueError as error:
        raise _refused(f"it is no whole JSON document: {one_line(str(error), 120)}") from error
    if not isinstance(body, dict):
        raise _refused("this is no bundle of learned things")
    return body


def _canonical(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"{FORMAT} {VERSION}\n{text}".encode("ascii")


def _verified(claimed: object, canonical: bytes) -> PublicKey:
    try:
        signature = msgspec.convert(claimed, _Signature)
        value = bytes.fromhex(signature.value)
    except (msgspec.ValidationError, ValueError) as error:
        raise _refused("it is not signed") from error
    key = parse_public(signature.key, "the bundle")
    if signature.algorithm != "ed25519" or not is_signed_by(key, value, canonical):
        raise _refused("its signature does not fit: it was changed after it was signed, or the key was exchanged")
    return key


def _problems(bundle: Bundle) -> Iterator[str]:
    """Everything that the types do not say."""
    families = [family.name for family in bundle.families]
    folded = {name.casefold() for name in families}
    if len(folded) != len(families) or EVERY_FAMILY in folded or len(set(bundle.models)) != len(bundle.models):
        yield "a family or a model is listed twice, or has a reserved name"
    if bundle.version != VERSION:
        yield f"there is no version {bundle.version} of the format"
    for name in (bundle.product, *families, *bundle.models, *(tool.tool for tool in bundle.tools)):
        yield from _bad_name(name)
    places = [(one.model, one.family) for one in bundle.heuristics] + [(one.model, one.family) for one in bundle.tools]
    listed, models = {*families, EVERY_FAMILY}, set(bundle.models)
    for model, family in places:
        if model not in models or family not in listed:
            yield f"it speaks of {one_line(model, 60)} in {one_line(family, 60)}, which it does not list"
    tools = [(one.model, one.family, one.tool) for one in bundle.tools]
    if len(set(tools)) != len(tools):
        yield "a tool is counted twice"
    for counts in (*(one.counts for one in bundle.heuristics), *(one.counts for one in bundle.tools)):
        if counts.sessions > counts.worked + counts.failed and counts.worked + counts.failed:
            yield "it counts more sessions than observations"
    claims = Claims()
    for one in bundle.heuristics:
        if clash := claims.against(one):
            yield clash
        yield from _bad_heuristic(one)


def _bad_heuristic(one: SharedHeuristic) -> Iterator[str]:
    for name in (one.subject, one.better, *one.condition):
        yield from _bad_name(name)
    yield from _bad_detail(one)
    redactor = Redactor()
    for text in _strings([one.text, one.detail]):
        if visible(text) != text:
            yield f"{one.title} holds hidden or control characters: {one_line(text, 160)}"
        if redactor.redact(text) != text:
            yield f"{one.title} holds something that looks like a secret"
    report = scan(_said(one), TextKind.MEMORY)
    if report.verdict is Verdict.BLOCK:
        why = report.findings[0].why if report.findings else "it cannot be read"
        yield f"the text of {one.title} is blocked: {one_line(why, 160)}"


def _bad_detail(one: SharedHeuristic) -> Iterator[str]:
    """A model may come to read what stands there, so nothing else is taken than what its kind needs."""
    name, shape = _DETAIL.get(one.kind, ("", None))
    if not one.detail.keys() <= {name} - {""}:
        yield f"{one.title} has a detail that such a heuristic does not have"
    elif len(json.dumps(one.detail)) > _MOST_DETAIL:
        yield f"{one.title} has more detail than a heuristic needs"
    elif one.detail:
        try:
            msgspec.convert(one.detail[name], shape)
        except msgspec.ValidationError as error:
            yield f"{name} of {one.title} does not fit: {one_line(str(error), 160)}"


def _bad_name(name: str) -> Iterator[str]:
    """Names are one visible line and never lead anywhere in a file system."""
    if visible(name) != name or "\n" in name or "\t" in name:
        yield f"a name holds control characters: {one_line(name, 80)}"
    elif name.startswith(("/", "~", "\\")) or ".." in re.split(r"[/\\:=]", name):
        yield f"a name looks like a path: {one_line(name, 80)}"


def _said(one: SharedHeuristic) -> str:
    """Everything in a heuristic that a model might come to read."""
    return "\n".join([one.text, one.subject, one.better, *one.condition, *_strings(one.detail)])


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, part in value.items():
                yield str(key)
                yield from _strings(part)
        case list() | tuple():
            for part in value:
                yield from _strings(part)
        case _:
            return


def _candidate(one: SharedHeuristic, fingerprint: str) -> Heuristic:
    elsewhere = {
        "worked": one.counts.worked,
        "failed": one.counts.failed,
        "sessions": one.counts.sessions,
        "stage": one.stage.value,
        "confidence": one.confidence,
        "signed_by": fingerprint,
    }
    return Heuristic(
        id="",
        kind=one.kind,
        model=one.model,
        family=one.family,
        subject=one.subject,
        text=one.text,
        condition=one.condition,
        better=one.better,
        detail=one.detail,
        stage=Stage.CANDIDATE,
        confidence=round(one.confidence * DISCOUNT, 6),
        evidence={"elsewhere": elsewhere},
    )


def _prior(tool: SharedTool) -> Prior:
    seen = tool.counts.worked + tool.counts.failed
    counted = min(MOST_PRIOR, seen * DISCOUNT)
    good = counted * tool.counts.worked / seen
    return Prior(model=tool.model, family=tool.family, tool=tool.tool, good=round(good, 6), all=counted)


def _shown(value: object) -> str:
    return one_line(str(value), 40) if isinstance(value, str) and value else "unknown"


def _refused(problem: str) -> UsageError:
    return UsageError(f"the bundle is refused: {problem}", remedy=_NOTHING_DONE)
