"""How often the assistant has answered since the user last spoke, read from a request in any format.

Formats other than chat completions send tool results in the role of the user; those are not the user speaking.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .replies import Request


class _Role(msgspec.Struct):
    role: str


class _Chat(msgspec.Struct):
    messages: list[_Role]


class _Block(msgspec.Struct, rename={"tool_result": "toolResult", "function_answer": "functionResponse"}):
    """A part of a message in any of three formats: a tool result has a type or a field that says so.

    Gemini reads names in camel case and in snake case.
    """

    type: str = ""
    tool_result: Any = None
    function_answer: Any = None
    function_response: Any = None

    @property
    def is_result(self) -> bool:
        fields = (self.tool_result, self.function_answer, self.function_response)
        return self.type == "tool_result" or any(field is not None for field in fields)


class _Message(msgspec.Struct):
    role: str = "user"
    content: str | list[_Block] = ""
    parts: list[_Block] = []


class _Conversation(msgspec.Struct):
    messages: list[_Message] = []
    contents: list[_Message] = []


class _Item(msgspec.Struct):
    type: str = "message"
    role: str = ""


class _Items(msgspec.Struct):
    input: str | list[_Item]


_chat = msgspec.json.Decoder(_Chat)
_conversation = msgspec.json.Decoder(_Conversation)
_items = msgspec.json.Decoder(_Items)


def answers_so_far(request: Request) -> int:
    """A pure function of the request."""
    path = request.path
    if path.endswith("/responses"):
        return _in_items(_items.decode(request.body).input)
    if not _is_chat(path):
        return _in_conversation(_conversation.decode(request.body))
    count = 0
    for message in reversed(_chat.decode(request.body).messages):
        if message.role == "user":
            break
        count += message.role == "assistant"
    return count


def answers_so_far_quickly(request: Request) -> int:
    """The same; chat completions are counted in the raw bytes, since their cost would show in benchmarks."""
    if not _is_chat(request.path):
        return answers_so_far(request)
    # Inside a JSON string the quotes would be escaped, so these bytes are never content.
    body = request.body
    start = max(body.rfind(b'"role":"user"'), body.rfind(b'"role": "user"'), 0)
    return body.count(b'"role":"assistant"', start) + body.count(b'"role": "assistant"', start)


def _is_chat(path: str) -> bool:
    return not path.endswith(("/responses", "/messages", "enerateContent", "/converse", "/converse-stream"))


def _in_conversation(conversation: _Conversation) -> int:
    count = 0
    for message in reversed(conversation.messages or conversation.contents):
        if message.role in ("assistant", "model"):
            count += 1
            continue
        blocks = [*message.parts, *(message.content if isinstance(message.content, list) else ())]
        if not any(block.is_result for block in blocks):
            break
    return count


def _in_items(items: str | list[_Item]) -> int:
    """Items that the model made, one after the other, are one answer."""
    count = 0
    inside = False
    for item in reversed(items if isinstance(items, list) else []):
        if item.type == "message" and item.role == "user":
            break
        made = item.type in ("reasoning", "function_call") or (item.type == "message" and item.role == "assistant")
        count += made and not inside
        inside = made
    return count
