"""Ed25519 signatures for what is shared: the key of this home, and the keys of others that its user trusts.

A key file is one line, `hermes-ed25519 BASE64`, as `hermes learning export --public-key` prints it. The private key
never leaves the home and only its owner may read it.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path
from types import ModuleType

from ..types.base import Value
from ..types.errors import HermesError, MissingExtra, StoreUnwritable, UsageError
from ..types.text import one_line

PUBLIC = "hermes-ed25519"
_PRIVATE = "hermes-ed25519-private"
_KEY_FILE = "signing_key"
_TRUSTED_FOLDER = "trusted_keys"
_KEY_BYTES = 32
_LARGEST_FILE = 4096
_MOST_KEYS = 1000
_INSTALL = "pip install 'hermes-harness[sharing]'"


class PublicKey(Value, frozen=True, kw_only=True):
    """Whose signature it is."""

    raw: bytes

    @property
    def fingerprint(self) -> str:
        """Short enough to be compared by people, long enough that no other key has it."""
        digest = hashlib.sha256(self.raw).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def text(self) -> str:
        """The raw key in base 64."""
        return base64.b64encode(self.raw).decode()

    @property
    def line(self) -> str:
        """What stands in a key file."""
        return f"{PUBLIC} {self.text}"


class TrustedKeys(Value, frozen=True, kw_only=True):
    """Keys that bundles may be signed with, each with the name of its file; `broken` says which files hold no key."""

    names: dict[bytes, str]
    broken: tuple[str, ...] = ()

    def name_of(self, key: PublicKey) -> str:
        """What a key is known as here; empty when it is not."""
        return self.names.get(key.raw, "")


class SigningKey:
    """The private key of this home."""

    def __init__(self, seed: bytes) -> None:
        ed25519 = _ed25519()
        self._key = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(raw=self._key.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> bytes:
        """The signature of exactly these bytes."""
        signature: bytes = self._key.sign(data)
        return signature


def is_signed_by(key: PublicKey, signature: bytes, data: bytes) -> bool:
    """Whether `signature` was made with `key` over exactly these bytes."""
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def signing_key(home: Path) -> SigningKey:
    """The key of this home, made when there is none. Two processes that make one at once end with the same."""
    path = home / _KEY_FILE
    if not path.exists():
        _ed25519()
        _make(path)
    return SigningKey(_seed(path))


def parse_public(text: str, where: str) -> PublicKey:
    """The public key in a line. A private key given by mistake is refused by name, so that nobody sends it on."""
    words = text.split()
    if words[:1] == [_PRIVATE]:
        raise UsageError(
            f"{where} holds a private key", remedy="keep it to yourself; `hermes learning export --public-key` shares"
        )
    raw = _decoded(words[1]) if len(words) >= 2 and words[0] == PUBLIC else b""
    if len(raw) != _KEY_BYTES:
        raise UsageError(f"{where} holds no public key", remedy=f"it is one line: {PUBLIC} BASE64")
    return PublicKey(raw=raw)


def read_public(path: Path) -> PublicKey:
    """The public key in a file."""
    return parse_public(_content(path), str(path))


def trusted_keys(home: Path) -> TrustedKeys:
    """The keys in `trusted_keys/*.pub`, and this home's own."""
    names: dict[bytes, str] = {}
    broken = []
    for path in sorted((home / _TRUSTED_FOLDER).glob("*.pub"))[:_MOST_KEYS]:
        try:
            names.setdefault(read_public(path).raw, path.stem)
        except HermesError as error:
            broken.append(one_line(str(error), 200))
    if (home / _KEY_FILE).exists():
        names.setdefault(SigningKey(_seed(home / _KEY_FILE)).public.raw, "this home")
    return TrustedKeys(names=names, broken=tuple(broken))


def trusted_folder(home: Path) -> Path:
    """Where the keys of others are kept."""
    return home / _TRUSTED_FOLDER


def _make(path: Path) -> None:
    """Write a whole key file or none: it appears under its name only when it is complete."""
    line = f"{_PRIVATE} {base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}\n"
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _seed(path: Path) -> bytes:
    words = _content(path).split()
    seed = _decoded(words[1]) if len(words) == 2 and words[0] == _PRIVATE else b""
    if len(seed) != _KEY_BYTES:
        raise UsageError(
            f"{path} is no signing key", remedy="restore it from a backup, or move it away: a new one is made then"
        )
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"others may read {path}", remedy=f"chmod 600 {path}, or move it away: a new one is made then")
    return seed


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_FILE).decode("ascii", "replace")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path} cannot be read: {reason}", remedy="give a readable key file") from error


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _ed25519() -> ModuleType:
    """The library that signs. It takes 25 ms to load, so only those who sign or verify do."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise MissingExtra("signed bundles need an optional package", remedy=_INSTALL) from error
    return ed25519
