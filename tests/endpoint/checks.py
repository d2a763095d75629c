"""Steps that the checks of several formats share; each refuses with the place in the request."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Collection
from typing import Any

import msgspec

from .formats import InvalidRequest

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def decode_object(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest("the body is not an object")
    return value


def need(value: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """The value of a field that must be there, of this kind."""
    found = value.get(key)
    if found is None:
        raise InvalidRequest(f"{_join(where, key)}: field required")
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise InvalidRequest(f"{_join(where, key)}: should be {kind.__name__}, is {type(found).__name__}")
    return found


def objects(value: Any, where: str) -> list[dict[str, Any]]:
    """A list of objects, which may be empty."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidRequest(f"{where}: should be a list of objects")
    return value


def only(value: dict[str, Any], known: Collection[str], where: str) -> None:
    for key in value:
        if key not in known:
            raise InvalidRequest(f"{_join(where, key)}: unknown field, extra inputs are not permitted")


def one_of(value: Any, known: Collection[str], where: str) -> None:
    if value not in known:
        raise InvalidRequest(f"{where}: {value!r} is none of {', '.join(sorted(known))}")


def base64_data(value: Any, where: str) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{where}: base64 data is needed")
    try:
        b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(f"{where}: invalid base64 data") from error


def tool_names(names: list[Any], where: str, pattern: re.Pattern[str] = NAME) -> None:
    for name in names:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            raise InvalidRequest(f"{where}: {name!r} is not a function name")
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{where}: a function name appears twice")


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
