"""Which format a request is in: its path says so."""

from __future__ import annotations

from . import anthropic_messages, bedrock, gemini, openai_chat, openai_responses
from .formats import Format
from .replies import Request

_EXACT: dict[str, Format] = {
    "/v1/chat/completions": openai_chat,
    "/v1/responses": openai_responses,
    "/v1/messages": anthropic_messages,
}
DEFAULT: Format = openai_chat
"""Errors about paths that belong to no format are said in this one."""


def format_of(path: str) -> Format | None:
    known = _EXACT.get(path)
    if known is not None:
        return known
    if path.endswith((":generateContent", ":streamGenerateContent")) and path.startswith(gemini.VERSIONS):
        return gemini
    if path.startswith("/model/") and path.endswith(("/converse", "/converse-stream")):
        return bedrock
    return None


def is_listing(path: str) -> bool:
    return f"{path}/".startswith(("/v1/models/", "/v1beta/models/")) and format_of(path) is None


def format_of_listing(request: Request) -> Format:
    if request.path.startswith("/v1beta/") or "x-goog-api-key" in request.headers:
        return gemini
    return anthropic_messages if "anthropic-version" in request.headers else openai_chat
