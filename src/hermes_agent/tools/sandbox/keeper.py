"""Keeps one background command: runs as a process of its own and outlives the agent that started it.

It copies what the command prints into a log that never grows beyond its limit (the older half moves to `LOG.1`, and
is dropped when the next half is full; `LOG.at` says at which byte of the output LOG begins), holds the command's input
open, and writes down how it ended. It is started as a bare script without site packages, so it imports only what the
interpreter has at hand.

    keeper.py LOG INPUT EXIT LIMIT ARGV...
"""

import os
import select
import signal
import sys


class Log:
    """The command's output on disk, in two halves."""

    def __init__(self, path: str, limit: int) -> None:
        self._path = path
        self._half = max(limit // 2, 1)
        self._begins = 0
        self._open()

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._size = os.fstat(self._file).st_size

    def write(self, data: bytes) -> None:
        """Append; what a full disk refuses is dropped, because the command must not stop for it."""
        try:
            while data:
                written = os.write(self._file, data[: self._half - self._size])
                self._size += written
                data = data[written:]
                if self._size >= self._half:
                    self._turn_over()
        except OSError:
            return

    def _turn_over(self) -> None:
        """There is no LOG while `LOG.at` changes, so that a reader never takes one half for the other."""
        os.close(self._file)
        self._begins += self._size
        os.replace(self._path, self._path + ".1")
        _put(self._path + ".at", str(self._begins))
        self._open()


def _put(path: str, text: str) -> None:
    """Write a small file whole or not at all."""
    temporary = path + ".tmp"
    with open(temporary, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def _start(argv: list[str], stdin: str) -> tuple[int, int]:
    """The command's number and the pipe it prints to."""
    read_end, write_end = os.pipe()
    source = os.open(stdin, os.O_RDWR)
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.dup2(source, 0)
    os.dup2(write_end, 1)
    os.dup2(write_end, 2)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _copy(pipe: int, log: Log) -> bool:
    """What is there now, at most a few full pipes of it; False at the end of the output."""
    for _ in range(64):
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return True
        if not data:
            return False
        log.write(data)
    return True


def _empty(pipe: int) -> None:
    try:
        os.read(pipe, 512)
    except BlockingIOError:
        return


def main(log_path: str, stdin: str, exit_path: str, limit: str, *argv: str) -> None:
    """Run the command until it and everybody who prints for it has ended."""
    asked: list[int] = []
    wake_read, wake_write = os.pipe()
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: asked.append(number))
    log = Log(log_path, int(limit))
    child, pipe = _start(list(argv), stdin)
    os.set_blocking(pipe, False)
    running, printing = True, True
    while running or (printing and not asked):
        select.select([wake_read, *([pipe] if printing else [])], [], [])
        _empty(wake_read)
        ended, status = os.waitpid(child, os.WNOHANG) if running else (0, 0)
        printing = printing and _copy(pipe, log)
        if ended:
            running = False
            _put(exit_path, str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main(*sys.argv[1:])
