"""What the endpoint insists on in a generateContent request, and the request in one spelling: camel case.

Checked: unknown fields; role names, the user first; parts with one kind of data; function responses directly after
their calls, as many, of the same names and ids; thought signatures this endpoint wrote, and on the first call of each
step of the current turn unless the model is older than Gemini 3; schemas in the subset that `parameters` knows.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

from .checks import base64_data, need, objects, one_of, only, tool_names, words
from .formats import InvalidRequest
from .seals import is_call_seal, unseal

_KNOWN = words(
    "contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent model store serviceTier"
)
_DATA = words(
    "text inlineData functionCall functionResponse fileData executableCode codeExecutionResult toolCall toolResponse"
)
_PART = _DATA | {"thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"}
_SCHEMA = words(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties "
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
)
_GENERATION = words(
    "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount "
    "maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs "
    "thinkingConfig speechConfig imageConfig mediaResolution responseFormat"
)
_OPAQUE = words("args response parametersJsonSchema responseJsonSchema example default enum required propertyOrdering")
_SNAKE = re.compile(r"_([a-z])")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_WITHOUT_SIGNATURES = re.compile(r"gemini-[12]\b.*")
_UNSIGNED = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
"""What the documentation lets a client send for calls that another model made."""

Part = dict[str, Any]


def camel(value: Any) -> Any:
    """Names in snake case are read as well, by the service and so here; what belongs to the user keeps its names."""
    if isinstance(value, list):
        return [camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    spelled = {_SNAKE.sub(lambda found: found[1].upper(), name): inner for name, inner in value.items()}
    return {name: _inside(name, inner) for name, inner in spelled.items()}


def _inside(name: str, value: Any) -> Any:
    if name in _OPAQUE:
        return value
    if name == "properties" and isinstance(value, dict):
        return {key: camel(inner) for key, inner in value.items()}
    return camel(value)


def check(body: dict[str, Any], model: str) -> None:
    only(body, _KNOWN, "")
    contents = objects(body.get("contents"), "contents")
    if not contents:
        raise InvalidRequest("GenerateContentRequest.contents: contents is not specified")
    if "systemInstruction" in body:
        objects(need(body["systemInstruction"], "parts", list, "systemInstruction"), "systemInstruction.parts")
    _check_tools(body)
    _check_generation(body.get("generationConfig") or {})
    for number, content in enumerate(contents):
        _check_content(content, f"contents[{number}]")
    _check_order(contents)
    if not _WITHOUT_SIGNATURES.fullmatch(model):
        _check_signed(contents)


def parts_of(content: dict[str, Any], field: str) -> list[Any]:
    return [part[field] for part in content["parts"] if field in part]


def _check_tools(body: dict[str, Any]) -> None:
    names: list[Any] = []
    for number, tool in enumerate(objects(body.get("tools") or [], "tools")):
        for place, declared in enumerate(objects(tool.get("functionDeclarations") or [], "functionDeclarations")):
            where = f"tools[{number}].functionDeclarations[{place}]"
            only(
                declared,
                {
                    "name",
                    "description",
                    "parameters",
                    "parametersJsonSchema",
                    "response",
                    "responseJsonSchema",
                    "behavior",
                },
                where,
            )
            if "parameters" in declared and "parametersJsonSchema" in declared:
                raise InvalidRequest(f"{where}: parameters and parametersJsonSchema exclude each other")
            if "parameters" in declared:
                _check_schema(need(declared, "parameters", dict, where), f"{where}.parameters")
            names.append(declared.get("name"))
    tool_names(names, "tools", _NAME)
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if "mode" in calling:
        one_of(calling["mode"], {"AUTO", "ANY", "NONE", "VALIDATED"}, "toolConfig.functionCallingConfig.mode")
    for name in calling.get("allowedFunctionNames") or ():
        one_of(name, set(names), "toolConfig.functionCallingConfig.allowedFunctionNames")


def _check_schema(schema: dict[str, Any], where: str) -> None:
    only(schema, _SCHEMA, where)
    for name, inner in (schema.get("properties") or {}).items():
        _check_schema(inner, f"{where}.properties[{name}]")
    if "items" in schema:
        _check_schema(schema["items"], f"{where}.items")
    for place, inner in enumerate(schema.get("anyOf") or ()):
        _check_schema(inner, f"{where}.anyOf[{place}]")


def _check_generation(config: dict[str, Any]) -> None:
    only(config, _GENERATION, "generationConfig")
    if ("responseSchema" in config or "responseJsonSchema" in config) and config.get(
        "responseMimeType"
    ) != "application/json":
        raise InvalidRequest("a response schema needs responseMimeType application/json")
    if "responseSchema" in config:
        _check_schema(config["responseSchema"], "generationConfig.responseSchema")
    thinking = config.get("thinkingConfig") or {}
    only(thinking, {"includeThoughts", "thinkingBudget", "thinkingLevel"}, "generationConfig.thinkingConfig")
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        raise InvalidRequest("You can only set one of thinking budget and thinking level.")
    if "thinkingLevel" in thinking:
        levels = {"MINIMAL", "LOW", "MEDIUM", "HIGH"}
        one_of(str(thinking["thinkingLevel"]).upper(), levels, "generationConfig.thinkingConfig.thinkingLevel")


def _check_content(content: dict[str, Any], where: str) -> None:
    only(content, {"role", "parts"}, where)
    if content.get("role", "user") not in ("user", "model", "function"):
        raise InvalidRequest("Please use a valid role: user, model.")
    parts = objects(content.get("parts"), f"{where}.parts")
    if not parts:
        raise InvalidRequest(f"{where}.parts: must not be empty")
    for place, part in enumerate(parts):
        _check_part(part, f"{where}.parts[{place}]", content.get("role", "user"))


def _check_part(part: Part, where: str, role: str) -> None:
    only(part, _PART, where)
    if len(_DATA & part.keys()) != 1:
        raise InvalidRequest(f"{where}.data: required oneof field 'data' must have one initialized field")
    if "inlineData" in part:
        need(part["inlineData"], "mimeType", str, f"{where}.inlineData")
        base64_data(part["inlineData"].get("data"), f"{where}.inlineData.data")
    if "functionCall" in part:
        called = part["functionCall"]
        if role != "model":
            raise InvalidRequest(f"{where}: a function call belongs to the role model")
        tool_names([called.get("name")], f"{where}.functionCall.name", _NAME)
        if not isinstance(called.get("args", {}), dict):
            raise InvalidRequest(f"{where}.functionCall.args: should be an object")
    if "functionResponse" in part:
        if role == "model":
            raise InvalidRequest(f"{where}: a function response does not belong to the role model")
        need(part["functionResponse"], "name", str, f"{where}.functionResponse")
        need(part["functionResponse"], "response", dict, f"{where}.functionResponse")
    signature = part.get("thoughtSignature")
    if signature is not None and not _is_ours(signature, part):
        raise InvalidRequest(f"{where}: Corrupted thought signature.")


def _is_ours(signature: Any, part: Part) -> bool:
    if "functionCall" in part:
        called = part["functionCall"]
        return _is_dummy(signature) or is_call_seal(signature, called["name"], called.get("args", {}))
    return _is_dummy(signature) or unseal(signature) is not None


def _is_dummy(signature: Any) -> bool:
    """As text, or as the bytes of the text in base64, which is how a client that takes bytes sends it."""
    return signature in _UNSIGNED or signature in {b64encode(text.encode()).decode() for text in _UNSIGNED}


def _check_order(contents: list[dict[str, Any]]) -> None:
    calls: list[Any] = []
    for number, content in enumerate(contents):
        role = content.get("role", "user")
        answered = parts_of(content, "functionResponse")
        if number == 0 and role == "model":
            raise InvalidRequest("Please ensure that the first content is of the role user.")
        if answered and not calls:
            raise InvalidRequest(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        if calls:
            _check_answers(calls, answered)
        calls = parts_of(content, "functionCall")
        if calls and contents[number - 1].get("role", "user") == "model":
            raise InvalidRequest(
                "Please ensure that function call turn comes immediately after a user turn or after a function"
                " response turn."
            )
    if calls:
        raise InvalidRequest("Please ensure that a function call turn is followed by a function response turn.")


def _check_answers(calls: list[Any], answered: list[Any]) -> None:
    if len(answered) != len(calls):
        raise InvalidRequest(
            "Please ensure that the number of function response parts is equal to the number of function call parts of"
            " the function call turn."
        )
    if sorted(call["name"] for call in calls) != sorted(one["name"] for one in answered):
        raise InvalidRequest("Please ensure that function responses have the names of their calls.")
    given = sorted(one["id"] for one in answered if "id" in one)
    if given and given != sorted(call["id"] for call in calls if "id" in call):
        raise InvalidRequest("Please ensure that function responses have the ids of their calls.")


def _check_signed(contents: list[dict[str, Any]]) -> None:
    """Only the current turn is checked: what came before the user's last words may have lost its signatures."""
    for number in range(len(contents) - 1, -1, -1):
        content = contents[number]
        if content.get("role", "user") != "model":
            if not parts_of(content, "functionResponse"):
                return
            continue
        made = [part for part in content["parts"] if "functionCall" in part]
        if made and "thoughtSignature" not in made[0]:
            raise InvalidRequest(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
                f" work correctly. Function call `{made[0]['functionCall']['name']}`, position {number}."
            )
