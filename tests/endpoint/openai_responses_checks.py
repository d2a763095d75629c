"""What the endpoint insists on in a responses request. It stores nothing, as with `store: false`.

Checked: unknown fields; items by type; parts by role; every call answered once and after it; reasoning items with
encrypted content this endpoint wrote, followed by what they led to, and not left out; tools and formats in their flat
shape.
"""

from __future__ import annotations

import re
from typing import Any

from .checks import NAME, base64_data, need, objects, one_of, only, tool_names, words
from .formats import InvalidRequest
from .seals import unseal

_KNOWN = words(
    "background context_management conversation include input instructions max_output_tokens max_tool_calls "
    "metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)
_INCLUDES = {
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
}
_EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max"}
_PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text", "input_image", "input_file"},
    "developer": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}
_WITH_REASONING = re.compile(r"(?:fc|msg)_([0-9a-f]+)r(?:_\d+)?")


def check(body: dict[str, Any]) -> None:
    only(body, _KNOWN, "")
    need(body, "model", str, "")
    if body.get("previous_response_id") is not None:
        raise InvalidRequest("Previous response not found.", code="previous_response_not_found")
    for name in body.get("include") or ():
        one_of(name, _INCLUDES, "include")
    limit = body.get("max_output_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < 16):
        raise InvalidRequest("max_output_tokens: expected a value >= 16", code="integer_below_min_value")
    reasoning = body.get("reasoning") or {}
    if reasoning.get("effort") is not None:
        one_of(reasoning["effort"], _EFFORTS, "reasoning.effort")
    if reasoning.get("summary") is not None:
        one_of(reasoning["summary"], {"auto", "concise", "detailed"}, "reasoning.summary")
    _check_tools(body)
    _check_text_format(body.get("text") or {})
    given = body.get("input")
    if isinstance(given, str) and given:
        return
    items = objects(given, "input")
    if not items:
        raise InvalidRequest("input: at least one item is needed")
    for position, item in enumerate(items):
        _check_item(item, f"input[{position}]")
    _check_results(items)
    _check_reasoning(items)


def _check_tools(body: dict[str, Any]) -> None:
    tools = objects(body.get("tools") or [], "tools")
    for position, tool in enumerate(tools):
        where = f"tools[{position}]"
        need(tool, "type", str, where)
        if tool["type"] == "function":
            only(tool, {"type", "name", "description", "parameters", "strict"}, where)
            need(tool, "name", str, where)
            if tool.get("strict"):
                _check_strict(need(tool, "parameters", dict, where), f"{where}.parameters")
    tool_names([tool.get("name") for tool in tools if tool["type"] == "function"], "tools")
    choice = body.get("tool_choice")
    if isinstance(choice, str):
        one_of(choice, {"none", "auto", "required"}, "tool_choice")
    elif isinstance(choice, dict) and choice.get("type") == "function":
        one_of(choice.get("name"), {tool.get("name", "") for tool in tools}, "tool_choice.name")


def _check_strict(schema: dict[str, Any], where: str) -> None:
    """A strict schema names all its properties as required and allows no others."""
    if schema.get("type") == "object" or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            raise InvalidRequest(f"{where}: 'additionalProperties' is required to be false", code="invalid_json_schema")
        if set(schema.get("required") or ()) != set(schema.get("properties") or ()):
            raise InvalidRequest(f"{where}: 'required' must name every property", code="invalid_json_schema")
    for name, inner in (schema.get("properties") or {}).items():
        _check_strict(inner, f"{where}.{name}")
    if isinstance(schema.get("items"), dict):
        _check_strict(schema["items"], f"{where}.items")


def _check_text_format(text: dict[str, Any]) -> None:
    wanted = text.get("format")
    if wanted is None:
        return
    one_of(wanted.get("type"), {"text", "json_object", "json_schema"}, "text.format.type")
    if wanted["type"] == "json_schema":
        tool_names([wanted.get("name")], "text.format.name")
        schema = need(wanted, "schema", dict, "text.format")
        if wanted.get("strict"):
            _check_strict(schema, "text.format.schema")


def _check_item(item: dict[str, Any], where: str) -> None:
    kind = item.get("type", "message")
    match kind:
        case "message":
            _check_message(item, where)
        case "function_call":
            need(item, "call_id", str, where)
            need(item, "arguments", str, where)
            if not NAME.fullmatch(need(item, "name", str, where)):
                raise InvalidRequest(f"{where}.name: {item['name']!r} is not a function name")
        case "function_call_output":
            need(item, "call_id", str, where)
            if not isinstance(item.get("output"), str):
                _check_parts(objects(item.get("output"), f"{where}.output"), _PARTS["user"], f"{where}.output")
        case "reasoning":
            objects(item.get("summary"), f"{where}.summary")
            if item.get("encrypted_content") is None:
                missing = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is false."
                raise InvalidRequest(missing, status=404)
            if unseal(item["encrypted_content"]) is None:
                raise InvalidRequest(
                    f"The encrypted content for item {item.get('id')} could not be verified.",
                    code="invalid_encrypted_content",
                )
        case "item_reference":
            raise InvalidRequest(f"Item with id '{item.get('id')}' not found.", status=404)
        case _:
            raise InvalidRequest(f"{where}.type: {kind!r} is not an item this endpoint knows")


def _check_message(item: dict[str, Any], where: str) -> None:
    role = need(item, "role", str, where)
    one_of(role, _PARTS, f"{where}.role")
    content = item.get("content")
    if isinstance(content, str):
        return
    parts = objects(content, f"{where}.content")
    _check_parts(parts, _PARTS[role], f"{where}.content")


def _check_parts(parts: list[dict[str, Any]], known: set[str], where: str) -> None:
    for position, part in enumerate(parts):
        kind = part.get("type")
        one_of(kind, known, f"{where}[{position}].type")
        if kind in ("input_text", "output_text"):
            need(part, "text", str, f"{where}[{position}]")
        if kind == "input_image" and part.get("file_id") is None:
            url = need(part, "image_url", str, f"{where}[{position}]")
            if url.startswith("data:"):
                base64_data(url.partition(";base64,")[2], f"{where}[{position}].image_url")
            elif not url.startswith(("http://", "https://")):
                raise InvalidRequest(f"{where}[{position}].image_url: not a URL", code="invalid_value")


def _check_results(items: list[dict[str, Any]]) -> None:
    """Every call has one output somewhere after it, and every output a call before it."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for item in items:
        identity = item.get("call_id", "")
        if item.get("type") == "function_call":
            if identity in seen:
                raise InvalidRequest(f"Duplicate function call with call_id {identity}.")
            waiting.add(identity)
            seen.add(identity)
        elif item.get("type") == "function_call_output":
            if identity not in waiting:
                raise InvalidRequest(f"No tool call found for function call output with call_id {identity}.")
            waiting.discard(identity)
    if waiting:
        raise InvalidRequest(f"No tool output found for function call {', '.join(sorted(waiting))}.")


def _check_reasoning(items: list[dict[str, Any]]) -> None:
    """Reasoning and what it led to come back together, if ids say that they belong together."""
    present = {str(item.get("id", "")).removeprefix("rs_") for item in items if item.get("type") == "reasoning"}
    for position, item in enumerate(items):
        identity = str(item.get("id", ""))
        if item.get("type") == "reasoning":
            following = items[position + 1] if position + 1 < len(items) else {}
            made = following.get("type") in ("reasoning", "function_call") or following.get("role") == "assistant"
            if not made:
                raise InvalidRequest(
                    f"Item '{identity}' of type 'reasoning' was provided without its required following item."
                )
        belongs = _WITH_REASONING.fullmatch(identity)
        if belongs and f"{belongs[1]}r" not in present:
            raise InvalidRequest(
                f"Item '{identity}' of type '{item.get('type', 'message')}' was provided without its required"
                f" 'reasoning' item: 'rs_{belongs[1]}r'."
            )
