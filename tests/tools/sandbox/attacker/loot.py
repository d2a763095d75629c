"""What every attempt uses: a place for what it got, and a way to say that something worked that should not."""

import ctypes
import os
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
SEEN: list[bytes] = []
SECONDS = 6
X86 = os.uname().machine == "x86_64"


def loot(data: bytes) -> None:
    SEEN.append(data)


def claim(what: str) -> None:
    SEEN.append(b"CLAIMED " + what.encode())


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(1 << 16)


def output(*argv: str, text: str = "") -> bytes:
    done = subprocess.run(argv, capture_output=True, input=text.encode(), timeout=SECONDS, check=False)
    return done.stdout + done.stderr


def syscall(number: int, *arguments: object) -> int:
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)
