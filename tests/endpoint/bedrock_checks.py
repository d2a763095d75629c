"""What the endpoint insists on in a converse request.

Checked: unknown fields; roles that alternate, the user's first; blocks with one member, by role; no blank text; tool
results in the very next message, for every tool use and nothing else; `toolConfig` wherever tools appear; reasoning
with signatures this endpoint wrote, unchanged, and first in a tool-using answer when thinking is enabled; at most four
cache points.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .checks import NAME, base64_data, need, objects, one_of, only, tool_names, words
from .formats import InvalidRequest
from .seals import unseal

_KNOWN = words(
    "messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables "
    "additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig"
)
_USER = {"text", "image", "document", "video", "audio", "toolResult", "guardContent", "cachePoint", "searchResult"}
_ASSISTANT = {"text", "toolUse", "reasoningContent", "cachePoint", "citationsContent"}

Block = dict[str, Any]


def check(body: dict[str, Any]) -> None:
    only(body, _KNOWN, "")
    messages = objects(body.get("messages"), "messages")
    if not messages:
        raise InvalidRequest("A conversation must start with a user message. Try again with a conversation.")
    system = objects(body.get("system") or [], "system")
    for position, block in enumerate(system):
        _check_member(block, {"text", "guardContent", "cachePoint"}, f"system.{position}")
        _check_text(block, f"system.{position}")
    only(body.get("inferenceConfig") or {}, {"maxTokens", "temperature", "topP", "stopSequences"}, "inferenceConfig")
    tools = _check_tools(body)
    _check_output(body.get("outputConfig") or {})
    _check_turns(messages)
    blocks = [block for message in messages for block in message["content"]]
    if not tools and any("toolUse" in block or "toolResult" in block for block in blocks):
        raise InvalidRequest("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
    points = [block for block in (*tools, *system, *blocks) if "cachePoint" in block]
    for point in points:
        one_of(point["cachePoint"].get("type"), {"default"}, "cachePoint.type")
        one_of(point["cachePoint"].get("ttl", "5m"), {"5m", "1h"}, "cachePoint.ttl")
    if len(points) > 4:
        raise InvalidRequest(f"A maximum of 4 cache points may be provided. Found {len(points)}.")
    _check_results(messages)
    _check_thinking(messages, thinking_of(body))


def thinking_of(body: dict[str, Any]) -> str:
    """The kind of thinking asked for in the fields that go to the model as they are."""
    extra = body.get("additionalModelRequestFields") or {}
    thinking = extra.get("thinking") or extra.get("reasoning_config") or {}
    return str(thinking.get("type", "disabled"))


def _check_tools(body: dict[str, Any]) -> list[Block]:
    config = body.get("toolConfig")
    if config is None:
        return []
    tools = objects(need(config, "tools", list, "toolConfig"), "toolConfig.tools")
    if not tools:
        raise InvalidRequest("toolConfig.tools: at least one tool is needed")
    named = [tool["toolSpec"] for tool in tools if "toolSpec" in tool]
    for position, spec in enumerate(named):
        where = f"toolConfig.tools.{position}.toolSpec"
        only(spec, {"name", "description", "inputSchema", "strict"}, where)
        schema = need(need(spec, "inputSchema", dict, where), "json", dict, f"{where}.inputSchema")
        if schema.get("type") != "object":
            raise InvalidRequest(f"{where}.inputSchema.json.type must be one of the following: object.")
        if "description" in spec and not spec["description"]:
            raise InvalidRequest(f"{where}.description: length must be at least 1")
    tool_names([spec.get("name") for spec in named], "toolConfig.tools")
    choice = config.get("toolChoice")
    if choice is not None:
        _check_member(choice, {"auto", "any", "tool"}, "toolConfig.toolChoice")
        if "tool" in choice:
            one_of(choice["tool"].get("name"), {spec["name"] for spec in named}, "toolConfig.toolChoice.tool.name")
    return tools


def _check_output(config: dict[str, Any]) -> None:
    wanted = config.get("textFormat")
    if wanted is None:
        return
    one_of(wanted.get("type"), {"json_schema"}, "outputConfig.textFormat.type")
    structure = need(wanted, "structure", dict, "outputConfig.textFormat")
    schema = need(need(structure, "jsonSchema", dict, "structure"), "schema", str, "structure.jsonSchema")
    try:
        msgspec.json.decode(schema, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InvalidRequest("outputConfig: the schema is not the text of a JSON object") from error


def _check_turns(messages: list[dict[str, Any]]) -> None:
    previous = "assistant"
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        only(message, {"role", "content"}, where)
        role = need(message, "role", str, where)
        one_of(role, {"user", "assistant"}, f"{where}.role")
        if number == 0 and role != "user":
            raise InvalidRequest("A conversation must start with a user message.")
        if role == previous:
            raise InvalidRequest(f"{where}: A conversation must alternate between user and assistant roles.")
        previous = role
        content = objects(message.get("content"), f"{where}.content")
        if not content:
            raise InvalidRequest(f"The content field in the Message object at {where} is empty.")
        for place, block in enumerate(content):
            _check_member(block, _USER if role == "user" else _ASSISTANT, f"{where}.content.{place}")
            _check_block(block, f"{where}.content.{place}")


def _check_member(block: Block, known: set[str], where: str) -> None:
    if len(block) != 1:
        raise InvalidRequest(f"{where}: a union must have exactly one member, has {sorted(block)}")
    one_of(next(iter(block)), known, where)


def _check_block(block: Block, where: str) -> None:
    _check_text(block, where)
    if "image" in block:
        one_of(block["image"].get("format"), {"png", "jpeg", "gif", "webp"}, f"{where}.image.format")
        source = need(block["image"], "source", dict, f"{where}.image")
        if "s3Location" not in source:
            base64_data(source.get("bytes"), f"{where}.image.source.bytes")
    if "toolUse" in block:
        used = block["toolUse"]
        for name in ("toolUseId", "name"):
            if not NAME.fullmatch(need(used, name, str, f"{where}.toolUse")):
                raise InvalidRequest(f"{where}.toolUse.{name}: must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
        need(used, "input", dict, f"{where}.toolUse")
    if "toolResult" in block:
        result = block["toolResult"]
        only(result, {"toolUseId", "content", "status", "type"}, f"{where}.toolResult")
        one_of(result.get("status", "success"), {"success", "error"}, f"{where}.toolResult.status")
        for place, part in enumerate(objects(result.get("content"), f"{where}.toolResult.content")):
            _check_member(part, {"text", "json", "image", "document", "video", "searchResult"}, f"{where}.{place}")
    if "reasoningContent" in block:
        _check_reasoning(block["reasoningContent"], where)


def _check_text(block: Block, where: str) -> None:
    if "text" in block and not (isinstance(block["text"], str) and block["text"].strip()):
        raise InvalidRequest(f"The text field in the ContentBlock object at {where} is blank. Add text to the field.")


def _check_reasoning(content: Block, where: str) -> None:
    _check_member(content, {"reasoningText", "redactedContent"}, where)
    if "redactedContent" in content:
        written, shown = unseal(content["redactedContent"]), None
    else:
        written, shown = unseal(content["reasoningText"].get("signature")), content["reasoningText"].get("text")
    if written is None or shown not in (None, "", written):
        raise InvalidRequest(f"{where}: Invalid `signature` in `thinking` block")


def _check_results(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for number, message in enumerate(messages):
        answered = [block["toolResult"].get("toolUseId") for block in message["content"] if "toolResult" in block]
        missing = [identity for identity in waiting if identity not in answered]
        if missing:
            raise InvalidRequest(
                f"Expected toolResult blocks at messages.{number}.content for the following Ids: {', '.join(missing)}"
            )
        if len(answered) > len(waiting) or set(answered) != set(waiting):
            raise InvalidRequest(
                f"The number of toolResult blocks at messages.{number}.content exceeds the number of toolUse blocks of"
                " previous turn."
            )
        waiting = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        if len(set(waiting)) != len(waiting):
            raise InvalidRequest(f"messages.{number}.content contains duplicate toolUse Ids.")
    if waiting:
        raise InvalidRequest(f"Expected toolResult blocks for the following Ids: {', '.join(waiting)}")


def _check_thinking(messages: list[dict[str, Any]], thinking: str) -> None:
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    if thinking != "enabled" or not answers:
        return
    if any("toolUse" in block for block in answers[-1]) and "reasoningContent" not in answers[-1][0]:
        raise InvalidRequest(
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final"
            " `assistant` message must start with a thinking block."
        )
