"""Amazon's request signatures, version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

from ...types.base import Value

_ALGORITHM = "AWS4-HMAC-SHA256"
_PORTS = {"http": 80, "https": 443}


class Credentials(Value, frozen=True, kw_only=True):
    """A pair of keys, and the token that comes with a pair that expires."""

    access_key: str
    secret_key: str
    session_token: str = ""


class Signer(Value, frozen=True, kw_only=True):
    """Signs requests to one service in one region."""

    credentials: Credentials
    region: str
    service: str

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes, at: datetime) -> dict[str, str]:
        """What must be added to `headers`, all of which are signed, as is the host. `at` is the time of signing."""
        time = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        added = {"x-amz-date": time}
        if self.credentials.session_token:
            added["x-amz-security-token"] = self.credentials.session_token
        signed = {name.lower(): " ".join(value.split()) for name, value in {**headers, **added}.items()}
        signed.setdefault("host", _host(url))
        names = ";".join(sorted(signed))
        scope = f"{time[:8]}/{self.region}/{self.service}/aws4_request"
        canonical = _canonical_request(method, url, signed, body)
        text = "\n".join((_ALGORITHM, time, scope, sha256(canonical.encode()).hexdigest()))
        signature = _mac(self._key(time[:8]), text).hex()
        claim = f"Credential={self.credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**added, "authorization": f"{_ALGORITHM} {claim}"}

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.credentials.secret_key}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = _mac(key, part)
        return key


def _canonical_request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> str:
    parts = urlsplit(url)
    return "\n".join(
        (
            method.upper(),
            _canonical_path(parts.path),
            _canonical_query(parts.query),
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            ";".join(sorted(headers)),
            sha256(body).hexdigest(),
        )
    )


def _canonical_path(path: str) -> str:
    """The path without dot segments, encoded once more than it is sent: so it is for every service but S3."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(segment)
    whole = "/" + "/".join(kept)
    return quote(whole + "/" if kept and path.endswith("/") else whole, safe="/~")


def _canonical_query(query: str) -> str:
    pairs = sorted(pair.partition("=")[::2] for pair in query.split("&")) if query else []
    return "&".join(f"{name}={value}" for name, value in pairs)


def _host(url: str) -> str:
    """The host as it stands in the request: with its port unless that is the usual one."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    host = f"[{name}]" if ":" in name else name
    return host if parts.port in (None, _PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
