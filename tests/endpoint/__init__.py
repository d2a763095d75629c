"""A real HTTP server on loopback that speaks the OpenAI chat-completions format, scripted, with faults on demand."""

from .replies import (
    Answer,
    Call,
    Calls,
    Fail,
    Fault,
    Reply,
    Request,
    Responder,
    Text,
    Usage,
    call,
    calls,
    fail,
    text,
)
from .responders import by_results, load_script, loop, sequence
from .server import Endpoint

__all__ = [
    "Answer",
    "Call",
    "Calls",
    "Endpoint",
    "Fail",
    "Fault",
    "Reply",
    "Request",
    "Responder",
    "Text",
    "Usage",
    "by_results",
    "call",
    "calls",
    "fail",
    "load_script",
    "loop",
    "sequence",
    "text",
]
