"""A real HTTP server on loopback that speaks five model APIs, scripted, with faults on demand.

OpenAI chat completions and responses, Anthropic messages, Gemini, Bedrock converse: a `Reply` is put into the format
that the request's path asks for, and each request is checked as the real service does.
"""

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
    Thinking,
    Usage,
    call,
    calls,
    fail,
    refusal,
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
    "Thinking",
    "Usage",
    "by_results",
    "call",
    "calls",
    "fail",
    "load_script",
    "loop",
    "refusal",
    "sequence",
    "text",
]
