"""Takes in what a command prints: head and tail in memory, the rest in a file, and no more than agreed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from ...types.base import Value
from ...types.text import decode
from ...types.tools import Blobs

_CHUNK = 1 << 16


class OutputLimits(Value, frozen=True, kw_only=True):
    """`shown` bytes of an output go to the model, `kept` bytes to disk; what comes after is read and dropped."""

    shown: int = 12_000
    kept: int = 64 << 20


class Capture:
    """The output of one command. It goes to a file only once it is longer than what is shown."""

    def __init__(self, spill: Path, limits: OutputLimits) -> None:
        self._spill = spill
        self._limits = limits
        self._head_size = limits.shown * 2 // 3
        self._tail_size = limits.shown - self._head_size
        self._start = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._full = ""
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        before = self.total
        self.total += len(data)
        if self.total <= self._limits.shown:
            self._start += data
            return
        if before <= self._limits.shown:
            self._tail += self._start
            self._keep(bytes(self._start), 0)
            del self._start[self._head_size :]
            if before < self._head_size:
                self._start += data[: self._head_size - before]
        self._tail += data
        if len(self._tail) > self._tail_size + _CHUNK:
            del self._tail[: -self._tail_size]
        self._keep(data, before)

    def _keep(self, data: bytes, position: int) -> None:
        room = self._limits.kept - position
        if self._full or room <= 0:
            self._full = self._full or f"only the first {self._limits.kept} bytes were kept"
            return
        try:
            if self._file is None:
                self._file = self._spill.open("wb")
            self._file.write(data[:room])
        except OSError as error:
            self._full = f"the output could not be kept: {error.strerror}"

    def finish(self, blobs: Blobs) -> tuple[str, str]:
        """The text for the model and the digest of the whole, empty when the text is the whole."""
        if self.total <= self._limits.shown:
            return decode(bytes(self._start)), ""
        digest = self._store(blobs)
        where = f"; read_file(path='blob:{digest[:16]}') reads on" if digest else ""
        why = f"; {self._full}" if self._full else ""
        missing = self.total - self._head_size - self._tail_size
        head, tail = decode(bytes(self._start)), decode(bytes(self._tail[-self._tail_size :]))
        return f"{head}\n[… {missing} bytes left out{where}{why} …]\n{tail}", digest

    def _store(self, blobs: Blobs) -> str:
        if self._file is None:
            return ""
        try:
            self._file.close()
            return blobs.put_file(self._spill)
        except OSError as error:
            self._full = f"the output could not be kept: {error.strerror}"
            return ""

    def discard(self) -> None:
        """Leave no file behind."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._spill.unlink(missing_ok=True)


class PipeReader:
    """Feeds a capture from a pipe on the running loop. `ended` is set when the last writer has closed it."""

    def __init__(self, descriptor: int, capture: Capture) -> None:
        self._descriptor = descriptor
        self._capture = capture
        self.ended = asyncio.Event()
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._capture.feed(data)
        else:
            self.close()

    async def drain(self, seconds: float) -> bool:
        """Wait for the end of the output; False when somebody still holds the pipe after `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)
        return self.ended.is_set()

    def close(self) -> None:
        """Stop reading."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self.ended.set()
