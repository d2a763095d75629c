"""One thing at a time: plain code walks a small model through a request.

A small model picks a tool and fills in arguments well, but loses the thread after a result. So it is shown a request
clause by clause, each as a request of its own, and when every clause had its call it may only answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...types.events import CallFinished, UserMessage
from ...types.text import one_line
from ...types.trace import CallStatus
from ..request import Transcript

Split = Callable[[str], list[str]]
_QUOTED = re.compile(r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`")
_THEN = re.compile(r"(?:[.;,]\s+|\s+)(?:and\s+)?(?:then|after that|afterwards|finally)\b[,:]?\s+", re.IGNORECASE)
_FIRST = re.compile(r"^\s*first\b[,:]?\s+", re.IGNORECASE)
_TRIES = 2


def whole(text: str) -> list[str]:
    """The request as it is, for models that can keep a thread."""
    return [text]


def clauses(text: str) -> list[str]:
    """What is asked for, one thing after the other. Words inside quotes divide nothing."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    found: list[str] = []
    begin = 0
    for match in _THEN.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in quoted):
            found.append(text[begin : match.start()])
            begin = match.end()
    found.append(text[begin:])
    found[0] = _FIRST.sub("", found[0])
    return [clause.strip() for clause in found if clause.strip()] or [text]


def walked(transcript: Transcript, split: Split) -> bool:
    """Whether every clause of the request under way had its call, or the one at hand failed too often."""
    wanted, done, failed = 0, 0, 0
    for message in transcript.since_last_request():
        match message:
            case UserMessage(text=text):
                wanted += len(split(text))
            case CallFinished(status=CallStatus.OK):
                done, failed = done + 1, 0
            case CallFinished():
                failed += 1
    return done >= max(wanted, 1) or failed >= _TRIES


def left_failed(transcript: Transcript) -> str:
    """A note for the answer when the last call of the request failed: a small model may claim that it worked."""
    ended = [message for message in transcript.since_last_request() if isinstance(message, CallFinished)]
    if not ended or ended[-1].status is CallStatus.OK:
        return ""
    return f"\n[the last call, {ended[-1].tool}, failed: {one_line(ended[-1].text, 200)}]"
