"""The list of models, in the shape of the API that is asked: they share a path, the headers tell."""

from __future__ import annotations

from typing import Any

import msgspec

from . import anthropic_messages, gemini
from .formats import Problem
from .replies import Fault, Request
from .routes import format_of_listing
from .wire import CREATED, response


def list_models(request: Request, names: tuple[str, ...]) -> bytes:
    """`GET /v1/models[/NAME]` or `GET /v1beta/models[/NAME]`."""
    form = format_of_listing(request)
    name = request.path.partition("/models")[2].lstrip("/")
    if name and name not in names:
        problem = Problem(
            fault=Fault.BAD_REQUEST,
            status=404,
            code="model_not_found",
            message=f"The model '{name}' does not exist",
        )
        return form.failure(request, problem)
    if form is gemini:
        value = _gemini(name, names)
    elif form is anthropic_messages:
        value = _anthropic(name, names)
    else:
        value = _openai(name, names)
    return response(200, msgspec.json.encode(value))


def _openai(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    known = {model: {"id": model, "object": "model", "created": CREATED, "owned_by": "tests"} for model in names}
    return known[name] if name else {"object": "list", "data": list(known.values())}


def _anthropic(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    created = "2024-01-01T00:00:00Z"
    known = {model: {"type": "model", "id": model, "display_name": model, "created_at": created} for model in names}
    if name:
        return known[name]
    return {"data": list(known.values()), "has_more": False, "first_id": names[0], "last_id": names[-1]}


def _gemini(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    known = {
        model: {
            "name": f"models/{model}",
            "displayName": model,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent"],
        }
        for model in names
    }
    return known[name] if name else {"models": list(known.values())}
