"""The head of a GGUF file: what it is and how much memory it will want, before anything is loaded.

llama.cpp says only that loading failed; a person needs to know why, and a machine must not be driven out of memory.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

from ...types.base import Value
from ...types.errors import ConfigError

_MAGIC = b"GGUF"
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 1 << 20
_LONGEST_ARRAY = 1 << 12
_WORKING_MEMORY = 96 << 20
_KEY_AND_VALUE_BYTES = 4


class GgufFacts(Value, frozen=True, kw_only=True):
    """What the head of a file says. `token_bytes` is what one token of context costs in memory."""

    kind: str
    architecture: str
    trained_window: int
    token_bytes: int
    size: int


class _Unreadable(Exception):
    """The bytes are not what the format says."""


def read_facts(path: Path) -> GgufFacts:
    """The facts of a file; ConfigError in one line where it is missing or something else."""
    try:
        with path.open("rb") as file:
            values = _values(file)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ConfigError(
            f"cannot read the model file {str(path)!r}: {error.strerror}", remedy="write local:/path/to/model.gguf"
        ) from error
    except (_Unreadable, struct.error, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{str(path)!r} is not a GGUF file", remedy="models for llama.cpp have the ending .gguf"
        ) from error
    architecture = str(values.get("general.architecture", ""))
    return GgufFacts(
        kind=str(values.get("general.type", "model")),
        architecture=architecture,
        trained_window=_number(values, f"{architecture}.context_length"),
        token_bytes=_token_bytes(values, architecture),
        size=size,
    )


def check_pair(weights: Path, adapter: Path | None) -> GgufFacts:
    """The facts of the weights, once it is sure that they are weights and that the adapter belongs to their kind."""
    facts = read_facts(weights)
    if facts.kind != "model":
        raise ConfigError(
            f"{str(weights)!r} holds no model but: {facts.kind}",
            remedy="an adapter goes behind a plus: local:MODEL+FILE",
        )
    if adapter is not None:
        other = read_facts(adapter)
        if other.kind != "adapter":
            raise ConfigError(f"{str(adapter)!r} is no LoRA adapter but: {other.kind}", remedy="write local:MODEL+none")
        if other.architecture != facts.architecture:
            raise ConfigError(
                f"the adapter {str(adapter)!r} is for {other.architecture!r}, the model is {facts.architecture!r}",
                remedy="write local:MODEL+none",
            )
    return facts


def check_memory(facts: GgufFacts, window: int) -> None:
    """ConfigError when the model would not fit into the memory that is free now."""
    needed = facts.size + window * facts.token_bytes + _WORKING_MEMORY
    free = free_memory()
    if free is not None and needed > free:
        raise ConfigError(
            f"the model needs about {needed >> 20} MB of memory and {free >> 20} MB are free",
            remedy="close something or choose a smaller model, such as local:smollm2",
        )


def free_memory() -> int | None:
    """Bytes that can be used without swapping, also inside a container; None where the system does not say."""
    limits = [_meminfo(), _control_group()]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) << 10 if found else None


def _control_group() -> int | None:
    """What a container's limit leaves; its file cache counts as free."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    if limit == "max":
        return None
    cache = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return max(0, int(limit) - used + cache)


def _values(file: BinaryIO) -> dict[str, Any]:
    """The keys before the vocabulary, which is long and says nothing we need."""
    if file.read(4) != _MAGIC:
        raise _Unreadable
    _, _, count = struct.unpack("<IQQ", file.read(20))
    values: dict[str, Any] = {}
    for _ in range(count):
        key = _string(file)
        if key.startswith("tokenizer."):
            break
        values[key] = _value(file, _unpacked(file, "<I"))
    return values


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        kind, length = _unpacked(file, "<I"), _unpacked(file, "<Q")
        if length > _LONGEST_ARRAY:
            raise _Unreadable
        return [_value(file, kind) for _ in range(length)]
    if kind not in _NUMBERS:
        raise _Unreadable
    return _unpacked(file, _NUMBERS[kind])


def _unpacked(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    length = _unpacked(file, "<Q")
    if length > _LONGEST_STRING:
        raise _Unreadable
    data = file.read(length)
    if len(data) < length:
        raise _Unreadable
    return data.decode()


def _number(values: dict[str, Any], key: str) -> int:
    """A number, or the largest of a list that has one for each layer."""
    found = values.get(key, 0)
    numbers = found if isinstance(found, list) else [found]
    return max((int(number) for number in numbers if isinstance(number, int | float)), default=0)


def _token_bytes(values: dict[str, Any], architecture: str) -> int:
    heads = _number(values, f"{architecture}.attention.head_count") or 1
    key_heads = _number(values, f"{architecture}.attention.head_count_kv") or heads
    width = _number(values, f"{architecture}.attention.key_length")
    width = width or _number(values, f"{architecture}.embedding_length") // heads
    return _number(values, f"{architecture}.block_count") * key_heads * width * _KEY_AND_VALUE_BYTES
