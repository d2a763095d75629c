"""A host to break out to: secrets, folders, listeners and a process, and a judge who looks at what became of them."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from uuid import uuid4

import psutil

from hermes_agent.tools.sandbox.base import Boundary, Sandbox

HERE = Path(__file__).parent
ROOTS = ("/var/tmp", "/dev/shm", "/tmp")
WATCHED = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward")
_VICTIM = """\
import ctypes, signal, sys, time
held = ctypes.create_string_buffer(sys.stdin.readline().strip().encode())
print(ctypes.addressof(held), flush=True)
while True: time.sleep(60)
"""


class Listener:
    """Counts what arrives at one address of the host."""

    def __init__(self, family: int, kind: int, address: tuple[str, int] | str) -> None:
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.socket.settimeout(0.05)
        self.stream = kind == socket.SOCK_STREAM
        if self.stream:
            self.socket.listen(50)
        self.address = self.socket.getsockname()
        self.arrived = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                if self.stream:
                    connection, _ = self.socket.accept()
                    self.arrived += 1
                    connection.close()
                else:
                    self.socket.recv(1000)
                    self.arrived += 1
            except OSError:
                continue

    def wait_for(self, count: int, seconds: float = 20.0) -> bool:
        """Whether so many arrived, as soon as the thread that counts has had its turn."""
        limit = time.monotonic() + seconds
        while self.arrived < count and time.monotonic() < limit:
            time.sleep(0.01)
        return self.arrived == count

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.socket.close()


class Stage:
    """Everything is made for one run of the attempts and taken away afterwards."""

    def __init__(self, folder: Path) -> None:
        self.token = f"CANARY{uuid4().hex}"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.found = self.workspace / "loot"
        self.home = folder / "home"
        self.needles = [self.token.encode(), *_real_secrets()]
        self.folders = [Path(tempfile.mkdtemp(prefix="stage-", dir=root)) for root in ROOTS if os.access(root, os.W_OK)]
        self.folders += [folder / "beside", self.home / ".ssh", self.home / ".hermes", folder / "bob"]
        for place in self.folders:
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(0o777)
            (place / "secret").write_text(self.token)
            (place / "keep").write_text("as it was")
            (place / "keep").chmod(0o666)
        self.inside = [self.workspace / ".hermes", self.workspace / ".ssh"]
        for place in self.inside:
            place.mkdir()
            (place / "secret").write_text(self.token)
        (self.workspace / "given-link").symlink_to(self.folders[0] / "secret")
        self._victim_started()
        self._listening(folder)
        self.before = {path: Path(path).read_bytes() for path in WATCHED if Path(path).exists()}

    def _victim_started(self) -> None:
        self.victim = subprocess.Popen(
            [sys.executable, "-c", _VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"CANARY": self.token},
            cwd="/",
            start_new_session=True,
        )
        assert self.victim.stdin is not None
        assert self.victim.stdout is not None
        self.victim.stdin.write(self.token.encode() + b"\n")
        self.victim.stdin.flush()
        self.address = int(self.victim.stdout.readline())

    def _listening(self, folder: Path) -> None:
        self.path_socket = str(self.folders[0] / "socket")
        self.listeners = [
            Listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            Listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            Listener(socket.AF_UNIX, socket.SOCK_STREAM, self.path_socket),
            Listener(socket.AF_UNIX, socket.SOCK_DGRAM, self.path_socket + ".dgram"),
            Listener(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.token}"),
            Listener(socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{self.token}.dgram"),
        ]
        self.tcp, self.udp = self.listeners[0].address[1], self.listeners[1].address[1]
        for path in (self.path_socket, self.path_socket + ".dgram"):
            os.chmod(path, 0o777)

    def run(self, sandbox: Sandbox, attempts: list[tuple[str, str, list[object]]]) -> str:
        """Let the attacker loose; what it printed."""
        shutil.copytree(HERE / "attacker", self.workspace / "attacker", ignore=shutil.ignore_patterns("__pycache__"))
        (self.workspace / "attempts.json").write_text(json.dumps(attempts))
        argv = sandbox.wrap(
            f"exec {sys.executable} -B -m attacker attempts.json loot",
            Boundary(workspace=self.workspace, directory=self.workspace),
        )
        done = subprocess.run(
            argv,
            env=sandbox.environment(),
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return done.stdout + done.stderr

    def loot(self, number: int) -> bytes:
        """What an attempt brought home."""
        file = self.found / str(number)
        return file.read_bytes() if file.exists() else b""

    def stolen(self, number: int) -> bool:
        """Whether it holds a secret or says that something worked."""
        found = self.loot(number)
        return b"\nCLAIMED" in found or any(needle in found for needle in self.needles)

    def left(self, folder: str, name: str) -> bool:
        """Whether something of this name was left in a folder of the host, or what was there was changed."""
        place = Path(folder)
        if os.path.lexists(place / name):
            return True
        if place in self.folders:
            keep = place / "keep"
            return not keep.exists() or keep.read_text() != "as it was" or keep.stat().st_mode & 0o777 != 0o666
        return False

    def disturbed(self) -> list[str]:
        """What changed on the host while the attempts ran."""
        found = [f"{path} changed" for path, text in self.before.items() if Path(path).read_bytes() != text]
        found += [f"{listener.address!r} was reached" for listener in self.listeners if listener.arrived]
        if self.victim.poll() is not None or psutil.Process(self.victim.pid).status() == psutil.STATUS_STOPPED:
            found.append("the victim was hit")
        lent = [file.name for file in self.workspace.rglob("*") if file.lstat().st_mode & 0o6000]
        found += [f"{name} lends rights" for name in lent]
        if self.token in Path("/proc/keys").read_text():
            found.append("a key was left in the kernel")
        return found

    def close(self) -> None:
        self.victim.kill()
        self.victim.communicate()
        for listener in self.listeners:
            listener.close()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def _real_secrets() -> list[bytes]:
    """The machine's own: whatever of them can be read here must not be found in what the attacker got."""
    found = []
    for path in ("/etc/shadow", "/etc/gshadow"):
        try:
            found.append(Path(path).read_bytes()[:200])
        except OSError:
            continue
    return [text for text in found if len(text) > 20]


def orphans(mark: str) -> list[int]:
    """Processes of the host whose command line holds `mark`."""
    found = []
    for process in psutil.process_iter():
        try:
            if mark in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def settles(mark: str) -> list[int]:
    """The same once they had a moment to end."""
    for _ in range(100):
        if not orphans(mark):
            return []
        await asyncio.sleep(0.05)
    return orphans(mark)
