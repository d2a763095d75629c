"""Signatures that the endpoint recognises without remembering anything, also in another process.

The real services sign or encrypt reasoning and refuse what they did not write; so does this one.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import Any

import msgspec

_KEY = b"scripted endpoint"
_MAC = 24


def seal(text: str) -> str:
    """The text, signed, as base64."""
    content = text.encode()
    return b64encode(_mac(content) + content).decode()


def unseal(sealed: Any) -> str | None:
    """The text, or None when this is not what `seal` gave."""
    raw = _decoded(sealed)
    if raw is None or _mac(raw[_MAC:]) != raw[:_MAC]:
        return None
    return raw[_MAC:].decode()


def call_seal(name: str, arguments: Any) -> str:
    """A signature of a call, the same however its JSON is written."""
    return b64encode(_call_mac(name, arguments)).decode()


def is_call_seal(signature: Any, name: str, arguments: Any) -> bool:
    return _decoded(signature) == _call_mac(name, arguments)


def _call_mac(name: str, arguments: Any) -> bytes:
    return _mac(msgspec.json.encode([name, arguments], order="deterministic"))


def _mac(content: bytes) -> bytes:
    return blake2b(content, key=_KEY, digest_size=_MAC).digest()


def _decoded(sealed: Any) -> bytes | None:
    """Takes both alphabets of base64, as the real services do."""
    if not isinstance(sealed, str):
        return None
    try:
        return b64decode(sealed.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
