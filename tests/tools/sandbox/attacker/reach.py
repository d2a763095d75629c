"""Ways to talk to somebody outside, and ways to get at processes of the host."""

import contextlib
import ctypes
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from .loot import claim, libc, loot, output, read


def net_stream(address: list[Any]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as out:
        out.settimeout(2)
        out.connect((address[0], address[1]))
        out.sendall(b"escaped")
        loot(out.recv(100))


def net_datagram(address: list[Any]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as out:
        out.sendto(b"escaped", (address[0], address[1]))


def net_bash(address: list[Any]) -> None:
    output(
        "/bin/bash",
        "-c",
        f"echo escaped > /dev/tcp/{address[0]}/{address[1]}; echo escaped > /dev/udp/{address[0]}/{address[1]}",
    )


def net_python(address: list[Any]) -> None:
    code = f"import urllib.request as u; print(u.urlopen('http://{address[0]}:{address[1]}/', timeout=2).read())"
    loot(output(sys.executable, "-c", code))


def net_raw(address: list[Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as out:
        out.sendto(struct.pack("!HHHH", 1, address[1], 15, 0) + b"escaped", (address[0], 0))
        claim("raw socket")


def net_unix(address: list[Any]) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.settimeout(2)
        out.connect(address[0].replace("@", "\0"))
        out.sendall(b"escaped")
        loot(out.recv(100))


def net_unix_datagram(address: list[Any]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(b"escaped", address[0].replace("@", "\0"))


def net_open(address: list[Any]) -> None:
    with socket.socket(*address):
        claim(f"socket {address}")


def net_listen(address: list[Any]) -> None:
    with socket.socket() as listener:
        listener.bind((address[0], address[1]))
        listener.listen()
        os.kill(os.getppid(), 0)
        signal.pause()


NET: dict[str, Callable[[list[Any]], None]] = {
    "stream": net_stream,
    "datagram": net_datagram,
    "bash": net_bash,
    "python": net_python,
    "raw": net_raw,
    "unix": net_unix,
    "unix-datagram": net_unix_datagram,
    "open": net_open,
    "listen": net_listen,
}


def proc_file(pid: int, what: str) -> None:
    loot(read(f"/proc/{pid}/{what}"))


def proc_all(_: int, what: str) -> None:
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
        with contextlib.suppress(OSError):
            loot(read(f"/proc/{pid}/{what}"))


def proc_mem(pid: int, what: str) -> None:
    start, size = (int(part) for part in what.split(":"))
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start)
        loot(memory.read(size))


def proc_vm_read(pid: int, what: str) -> None:
    start, size = (int(part) for part in what.split(":"))
    buffer = ctypes.create_string_buffer(size)
    local = struct.pack("PN", ctypes.addressof(buffer), size)
    libc.process_vm_readv(
        pid, local, ctypes.c_ulong(1), struct.pack("PN", start, size), ctypes.c_ulong(1), ctypes.c_ulong(0)
    )
    loot(buffer.raw)


def proc_kill(pid: int, what: str) -> None:
    for number in map(int, what.split(",")):
        os.kill(pid, number)


def proc_kill_shell(pid: int, what: str) -> None:
    output("/bin/sh", "-c", f"kill -{what} {pid}; kill -{what} -{pid}")


def proc_pidfd(pid: int, what: str) -> None:
    signal.pidfd_send_signal(os.pidfd_open(pid), int(what))


def proc_ptrace(pid: int, what: str) -> None:
    if libc.ptrace(int(what), pid, None, None) == 0:
        claim("ptrace")


def proc_setns(pid: int, what: str) -> None:
    descriptor = os.open(f"/proc/{pid}/ns/{what}", os.O_RDONLY)
    if libc.setns(descriptor, 0) == 0:
        claim(f"setns {what}")


def proc_nsenter(pid: int, what: str) -> None:
    loot(output("nsenter", "-t", str(pid), "-a", "cat", what))


def proc_oom(pid: int, what: str) -> None:
    with open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write(what)
    claim("oom_score_adj")


def proc_prlimit(pid: int, what: str) -> None:
    if libc.prlimit64(pid, int(what), struct.pack("QQ", 0, 0), None) == 0:
        claim("prlimit")


PROC: dict[str, Callable[[int, str], None]] = {
    "file": proc_file,
    "all": proc_all,
    "mem": proc_mem,
    "vm-read": proc_vm_read,
    "kill": proc_kill,
    "kill-shell": proc_kill_shell,
    "pidfd": proc_pidfd,
    "ptrace": proc_ptrace,
    "setns": proc_setns,
    "nsenter": proc_nsenter,
    "oom": proc_oom,
    "prlimit": proc_prlimit,
}
