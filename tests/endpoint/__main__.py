"""The endpoint as a process of its own, so that its cost is not the client's: `python -m tests.endpoint --script F`.

Prints one line, `{"url": ...}`, then serves until SIGTERM, SIGINT or, with `--until-stdin-closes`, the parent's end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from .replies import Reply, Request, Responder
from .responders import load_script
from .server import Server, Settings


def logged(responder: Responder, log: BinaryIO) -> Responder:
    """Writes one JSON line for each chat request before it is answered."""

    def respond(request: Request) -> Reply:
        line = {"number": request.number, "path": request.path, "bytes": len(request.body)}
        log.write(msgspec.json.encode(line) + b"\n")
        log.flush()
        return responder(request)

    return respond


def _read_until_closed(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        stop.set()


async def serve(server: Server, *, port: int, until_stdin_closes: bool) -> None:
    await server.listen(port)
    print(msgspec.json.encode({"url": server.url}).decode(), flush=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _read_until_closed, stop)
    await stop.wait()
    server.refuse()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.endpoint", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON script, see responders.load_script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", help="the key that clients must send")
    parser.add_argument("--lenient", action="store_true", help="do not check requests, which saves time")
    parser.add_argument("--log", type=Path, help="append one JSON line per chat request to this file")
    parser.add_argument("--until-stdin-closes", action="store_true")
    options = parser.parse_args()
    responder = load_script(options.script)
    if options.log is not None:
        responder = logged(responder, options.log.open("ab"))
    server = Server(responder, Settings(key=options.key, record=False, strict=not options.lenient))
    asyncio.run(serve(server, port=options.port, until_stdin_closes=options.until_stdin_closes))


if __name__ == "__main__":
    main()
