"""What the endpoint insists on in a messages request.

Checked: unknown fields; `max_tokens`; roles that alternate, the user's first; blocks by type and role; every tool use
answered in the very next message, results before anything else there; thinking blocks with signatures this endpoint
wrote, unchanged, and at the start of a tool-using answer when thinking is enabled; at most four cache breakpoints, the
longer life first; what thinking excludes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .checks import base64_data, need, objects, one_of, only, tool_names, words
from .formats import InvalidRequest
from .seals import unseal

_KNOWN = words(
    "cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model "
    "output_config output_format service_tier speed stop_sequences stream system temperature thinking tool_choice "
    "tools top_k top_p"
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_IDENTITY = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_USER = {"text", "image", "document", "search_result", "tool_result"}
_ASSISTANT = {"text", "thinking", "redacted_thinking", "tool_use"}
_THOUGHTS = {"thinking", "redacted_thinking"}

Block = dict[str, Any]


def check(body: dict[str, Any]) -> None:
    only(body, _KNOWN, "")
    need(body, "model", str, "")
    if need(body, "max_tokens", int, "") < 1:
        raise InvalidRequest("max_tokens: must be greater than or equal to 1")
    messages = objects(need(body, "messages", list, ""), "messages")
    if not messages:
        raise InvalidRequest("messages: at least one message is required")
    for position, block in enumerate(_blocks(body.get("system") or [])):
        _check_text(block, f"system.{position}")
    _check_tools(body)
    _check_thinking(body)
    _check_output(body.get("output_config") or {})
    _check_cache(body)
    _check_turns(messages)
    _check_results(messages)
    _check_last_answer(messages, enabled=(body.get("thinking") or {}).get("type") == "enabled")


def _blocks(content: Any) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content, "content")


def _check_tools(body: dict[str, Any]) -> None:
    tools = objects(body.get("tools") or [], "tools")
    own = [tool for tool in tools if tool.get("type", "custom") == "custom"]
    for position, tool in enumerate(own):
        schema = need(tool, "input_schema", dict, f"tools.{position}.custom")
        if schema.get("type") != "object":
            raise InvalidRequest(f"tools.{position}.custom.input_schema.type: input should be 'object'")
    tool_names([tool.get("name") for tool in tools], "tools", _NAME)
    choice = body.get("tool_choice")
    if choice is None:
        return
    one_of(choice.get("type"), {"auto", "any", "tool", "none"}, "tool_choice.type")
    if not tools:
        raise InvalidRequest("tool_choice: may only be specified while providing tools")
    if choice["type"] == "tool":
        one_of(choice.get("name"), {tool["name"] for tool in tools}, "tool_choice.name")


def _check_thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking") or {"type": "disabled"}
    one_of(thinking.get("type"), {"enabled", "disabled", "adaptive"}, "thinking.type")
    if thinking["type"] == "disabled":
        return
    if thinking["type"] == "enabled":
        budget = need(thinking, "budget_tokens", int, "thinking.enabled")
        if budget < 1024:
            raise InvalidRequest("thinking.enabled.budget_tokens: should be greater than or equal to 1024")
        if budget >= body["max_tokens"]:
            raise InvalidRequest("`max_tokens` must be greater than `thinking.budget_tokens`")
    elif "budget_tokens" in thinking:
        raise InvalidRequest("thinking.adaptive.budget_tokens: extra inputs are not permitted")
    if body.get("temperature") not in (None, 1, 1.0):
        raise InvalidRequest("`temperature` may only be set to 1 when thinking is enabled")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise InvalidRequest("Thinking may not be enabled when tool_choice forces tool use.")


def _check_output(config: dict[str, Any]) -> None:
    only(config, {"effort", "format", "task_budget"}, "output_config")
    if config.get("effort") is not None:
        one_of(config["effort"], {"low", "medium", "high", "xhigh", "max"}, "output_config.effort")
    wanted = config.get("format")
    if wanted is not None:
        one_of(wanted.get("type"), {"json_schema"}, "output_config.format.type")
        schema = need(wanted, "schema", dict, "output_config.format")
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            raise InvalidRequest("output_config.format.schema: 'additionalProperties' must be set to false")


def _check_cache(body: dict[str, Any]) -> None:
    """In the order of the cached prefix: tools, system, messages; a mark on the request itself comes last."""
    marks = [
        (where, block["cache_control"]) for where, block in _places(body) if block.get("cache_control") is not None
    ]
    if body.get("cache_control") is not None:
        marks.append(("cache_control", body["cache_control"]))
    if len(marks) > 4:
        raise InvalidRequest(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    short = ""
    for where, mark in marks:
        one_of(mark.get("type"), {"ephemeral"}, f"{where}.cache_control.type")
        life = mark.get("ttl", "5m")
        one_of(life, {"5m", "1h"}, f"{where}.cache_control.ttl")
        if life == "1h" and short:
            raise InvalidRequest(
                f"{where}: a ttl='1h' cache_control block must not come after a ttl='5m' one ({short})"
            )
        short = where if life == "5m" else short


def _places(body: dict[str, Any]) -> Iterator[tuple[str, Block]]:
    yield from ((f"tools.{place}", tool) for place, tool in enumerate(body.get("tools") or []))
    yield from ((f"system.{place}", block) for place, block in enumerate(_blocks(body.get("system") or [])))
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(_blocks(message.get("content") or [])):
            where = f"messages.{number}.content.{place}"
            inner = block.get("content")
            if block.get("type") == "tool_result" and isinstance(inner, list):
                yield from ((f"{where}.content.{deep}", part) for deep, part in enumerate(inner))
            if block.get("type") in _THOUGHTS and block.get("cache_control") is not None:
                raise InvalidRequest(f"{where}.{block['type']}.cache_control: extra inputs are not permitted")
            yield where, block


def _check_turns(messages: list[dict[str, Any]]) -> None:
    previous = "assistant"
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        only(message, {"role", "content"}, where)
        role = need(message, "role", str, where)
        one_of(role, {"user", "assistant"}, f"{where}.role")
        if number == 0 and role != "user":
            raise InvalidRequest('messages: first message must use the "user" role')
        if role == previous:
            raise InvalidRequest(f'{where}: roles must alternate between "user" and "assistant"')
        previous = role
        blocks = _blocks(message.get("content"))
        if not blocks:
            raise InvalidRequest(f"{where}: all messages must have non-empty content")
        for place, block in enumerate(blocks):
            one_of(block.get("type"), _USER if role == "user" else _ASSISTANT, f"{where}.content.{place}.type")
            _check_block(block, f"{where}.content.{place}")


def _check_block(block: Block, where: str) -> None:
    match block["type"]:
        case "text":
            _check_text(block, where)
        case "image":
            _check_image(block, where)
        case "tool_use":
            only(block, {"type", "id", "name", "input", "cache_control", "caller"}, where)
            if not _IDENTITY.fullmatch(need(block, "id", str, where)):
                raise InvalidRequest(f"{where}.tool_use.id: string should match pattern '^[a-zA-Z0-9_-]+$'")
            tool_names([block.get("name")], f"{where}.tool_use.name", _NAME)
            need(block, "input", dict, where)
        case "tool_result":
            only(block, {"type", "tool_use_id", "content", "is_error", "cache_control"}, where)
            need(block, "tool_use_id", str, where)
            inner = block.get("content")
            for place, part in enumerate(_blocks(inner) if isinstance(inner, list) else ()):
                one_of(part.get("type"), {"text", "image", "document", "search_result"}, f"{where}.content.{place}")
                _check_block(part, f"{where}.content.{place}")
        case "thinking":
            only(block, {"type", "thinking", "signature"}, where)
            written = unseal(need(block, "signature", str, where))
            if written is None or need(block, "thinking", str, where) not in ("", written):
                raise InvalidRequest(f"{where}: Invalid `signature` in `thinking` block")
        case "redacted_thinking":
            only(block, {"type", "data"}, where)
            if unseal(block.get("data")) is None:
                raise InvalidRequest(f"{where}: Invalid `data` in `redacted_thinking` block")
        case _:
            return


def _check_text(block: Block, where: str) -> None:
    only(block, {"type", "text", "cache_control", "citations"}, where)
    if not need(block, "text", str, where).strip():
        raise InvalidRequest(f"{where}: text content blocks must contain non-whitespace text")


def _check_image(block: Block, where: str) -> None:
    source = need(block, "source", dict, where)
    one_of(source.get("type"), {"base64", "url", "file"}, f"{where}.source.type")
    if source["type"] == "base64":
        one_of(source.get("media_type"), _IMAGES, f"{where}.source.media_type")
        base64_data(source.get("data"), f"{where}.source.data")


def _check_results(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        blocks = _blocks(message["content"])
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        for identity in answered:
            if identity not in waiting:
                raise InvalidRequest(f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {identity}")
        if len(set(answered)) != len(answered):
            raise InvalidRequest(f"{where}: each tool_use must have a single result")
        unanswered = [identity for identity in waiting if identity not in answered]
        if unanswered or kinds[: len(answered)] != ["tool_result"] * len(answered):
            _missing_results(number - 1, unanswered or answered)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len({*waiting, *seen}) != len(waiting) + len(seen):
            raise InvalidRequest(f"{where}: `tool_use` ids must be unique")
        seen.update(waiting)
    if waiting:
        _missing_results(len(messages) - 1, waiting)


def _missing_results(number: int, identities: list[str]) -> None:
    raise InvalidRequest(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(identities)}. Each `tool_use` block must have a corresponding `tool_result` block at the start of"
        " the next message."
    )


def _check_last_answer(messages: list[dict[str, Any]], *, enabled: bool) -> None:
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and _blocks(message["content"])[-1]["type"] in _THOUGHTS:
            raise InvalidRequest(f"messages.{number}: the final block in an assistant message cannot be `thinking`")
    last = messages[-1]
    if last["role"] == "assistant":
        end = _blocks(last["content"])[-1]
        if end["type"] == "text" and end["text"] != end["text"].rstrip():
            raise InvalidRequest("messages: final assistant content cannot end with trailing whitespace")
    answers = [message for message in messages if message["role"] == "assistant"]
    if not enabled or not answers:
        return
    kinds = [block["type"] for block in _blocks(answers[-1]["content"])]
    if "tool_use" in kinds and kinds[0] not in _THOUGHTS:
        raise InvalidRequest(
            f"Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. When `thinking` is enabled, a final"
            " `assistant` message must start with a thinking block."
        )
