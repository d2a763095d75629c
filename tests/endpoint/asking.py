"""The smallest valid requests in every format, for tests that need no client of that format."""

from __future__ import annotations

from typing import Any

import msgspec


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask in one format: where, with which headers, and what."""

    plain: str
    streamed: str
    headers: dict[str, str]
    body: dict[str, Any]
    turns: str
    user: dict[str, Any]
    turn: tuple[dict[str, Any], ...]
    """The assistant's call and its result, as a client sends them back; `$i` becomes the index."""
    answer: dict[str, Any]

    def path(self, *, stream: bool) -> str:
        return self.streamed if stream else self.plain

    def request(self, *messages: dict[str, Any], stream: bool = False) -> dict[str, Any]:
        """A request with these messages after the user's first."""
        told = {"stream": True} if stream and self.plain == self.streamed else {}
        return {**self.body, self.turns: [self.user, *messages], **told}

    def turn_number(self, index: int) -> list[dict[str, Any]]:
        raw = msgspec.json.encode(self.turn).replace(b"$i", str(index).encode())
        turn: list[dict[str, Any]] = msgspec.json.decode(raw)
        return turn


_AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKIDOTHER/20240101/eu-central-1/bedrock/aws4_request,"
    " SignedHeaders=host;x-amz-date, Signature=00"
)
_TRAP = '{"role":"user"}'
"""The text of a result that looks like a message of the user to whoever only searches."""
_PLAIN_USER = {"role": "user", "content": "go"}

FORMATS = {
    "openai_chat": Asking(
        plain="/v1/chat/completions",
        streamed="/v1/chat/completions",
        headers={},
        body={"model": "scripted"},
        turns="messages",
        user=_PLAIN_USER,
        turn=(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c$i", "type": "function", "function": {"name": "echo", "arguments": '{"role":"assistant"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c$i", "content": _TRAP},
        ),
        answer={"role": "assistant", "content": "old"},
    ),
    "openai_responses": Asking(
        plain="/v1/responses",
        streamed="/v1/responses",
        headers={},
        body={"model": "scripted"},
        turns="input",
        user=_PLAIN_USER,
        turn=(
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "a$i", "name": "echo", "arguments": "{}"},
            {"type": "function_call", "call_id": "b$i", "name": "echo", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b$i", "output": _TRAP},
            {"type": "function_call_output", "call_id": "a$i", "output": _TRAP},
        ),
        answer={"role": "assistant", "content": "old"},
    ),
    "anthropic_messages": Asking(
        plain="/v1/messages",
        streamed="/v1/messages",
        headers={"anthropic-version": "2023-06-01", "x-api-key": "k"},
        body={"model": "scripted", "max_tokens": 100},
        turns="messages",
        user=_PLAIN_USER,
        turn=(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c$i", "name": "echo", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c$i", "content": _TRAP},
                    {"type": "text", "text": "Go on."},
                ],
            },
        ),
        answer={"role": "assistant", "content": "old"},
    ),
    "gemini": Asking(
        plain="/v1beta/models/gemini-2.5-scripted:generateContent",
        streamed="/v1beta/models/gemini-2.5-scripted:streamGenerateContent?alt=sse",
        headers={"x-goog-api-key": "k"},
        body={},
        turns="contents",
        user={"role": "user", "parts": [{"text": "go"}]},
        turn=(
            {"role": "model", "parts": [{"functionCall": {"name": "echo", "args": {"i": "$i"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "echo", "response": {"output": _TRAP}}}]},
        ),
        answer={"role": "model", "parts": [{"text": "old"}]},
    ),
    "bedrock": Asking(
        plain="/model/scripted/converse",
        streamed="/model/scripted/converse-stream",
        headers={"authorization": _AUTHORIZATION},
        body={"toolConfig": {"tools": [{"toolSpec": {"name": "echo", "inputSchema": {"json": {"type": "object"}}}}]}},
        turns="messages",
        user={"role": "user", "content": [{"text": "go"}]},
        turn=(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c$i", "name": "echo", "input": {}}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c$i", "content": [{"text": _TRAP}]}}, {"text": "Go on."}],
            },
        ),
        answer={"role": "assistant", "content": [{"text": "old"}]},
    ),
}
