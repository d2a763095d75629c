"""Checks AWS signatures (version 4) over the request as it arrived, for one known pair of keys.

The age of the signature is not checked, so that a client can sign with a fixed clock.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import parse_qsl, quote

import msgspec

from .replies import Request

ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
"""The pair of keys in the documentation's examples."""
_ALGORITHM = "AWS4-HMAC-SHA256"
_SPACES = re.compile(r" +")


class Signature(msgspec.Struct, frozen=True):
    access_key: str
    scope: tuple[str, ...]
    signed_headers: tuple[str, ...]
    value: str


def parse(authorization: str) -> Signature | None:
    """What an Authorization header claims; None when it is not a complete signature of this kind."""
    algorithm, _, rest = authorization.partition(" ")
    fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    access_key, *scope = fields.get("Credential", "").split("/")
    signed = tuple(fields.get("SignedHeaders", "").split(";"))
    value = fields.get("Signature", "")
    if algorithm != _ALGORITHM or len(scope) != 4 or scope[-1] != "aws4_request" or not value or not access_key:
        return None
    return Signature(access_key, tuple(scope), signed, value)


def is_right(request: Request, signature: Signature, *, service: str) -> bool:
    """Whether the known secret signed exactly this request, with its host, its date and its body."""
    date = request.headers.get("x-amz-date", "")
    day, region, named, end = signature.scope
    needed = {"host", "x-amz-date"} | {name for name in request.headers if name == "x-amz-security-token"}
    if named != service or not date.startswith(day) or not needed <= set(signature.signed_headers):
        return False
    scope = "/".join(signature.scope)
    digest = hashlib.sha256(_canonical(request, signature.signed_headers).encode()).hexdigest()
    key = b"AWS4" + SECRET_KEY.encode()
    for part in (day, region, named, end):
        key = _sign(key, part)
    expected = _sign(key, "\n".join((_ALGORITHM, date, scope, digest))).hex()
    return hmac.compare_digest(expected, signature.value)


def _canonical(request: Request, signed: tuple[str, ...]) -> str:
    """The path is encoded once more than it was sent, as for every service but S3."""
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(request.query))
    lines = [f"{name}:{_SPACES.sub(' ', request.headers.get(name, '').strip())}" for name in signed]
    return "\n".join(
        (
            request.method,
            quote(request.path, safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            *lines,
            "",
            ";".join(signed),
            hashlib.sha256(request.body).hexdigest(),
        )
    )


def _sign(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
