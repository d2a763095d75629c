"""A name server on loopback, a resolver that asks it, and a road from public numbers to a local server."""

import asyncio
import socket
import struct
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpcore

PUBLIC = "93.184.215.14"


class NameServer:
    """Answers each question for an IPv4 number with the next of its answers, and the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.questions: list[str] = []
        self._answers = list(answers)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._socket.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "NameServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as poke:
            poke.sendto(b"", self.address)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(512)
            if not question:
                return
            self.questions.append(_name(question))
            numbers = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            records = b"".join(
                b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(number) for number in numbers
            )
            head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, len(numbers), 0, 0)
            self._socket.sendto(head + question[12:] + records, sender)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Ask over the network, as a stub resolver does."""
        return await asyncio.to_thread(self._ask, host)

    def _ask(self, host: str) -> list[str]:
        labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
        question = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(5)
            asking.sendto(question, self.address)
            answer = asking.recv(512)
        (count,) = struct.unpack(">H", answer[6:8])
        records = answer[len(question) :]
        return [socket.inet_ntoa(records[16 * place + 12 : 16 * place + 16]) for place in range(count)]


def _name(question: bytes) -> str:
    labels, place = [], 12
    while length := question[place]:
        labels.append(question[place + 1 : place + 1 + length].decode())
        place += length + 1
    return ".".join(labels)


class Road:
    """Connects every number to one local port, and remembers the numbers: the internet in small."""

    def __init__(self, port: int) -> None:
        self.dialled: list[str] = []
        self._port = port

    async def __call__(self, number: str, port: int, seconds: float) -> "httpcore.AsyncNetworkStream":
        import httpcore

        self.dialled.append(number)
        return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", self._port, timeout=seconds)
