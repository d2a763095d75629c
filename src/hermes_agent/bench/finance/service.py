"""The services of the world on this machine: quotes, with a limit for each client, and an analysis engine."""

from __future__ import annotations

import datetime
import json
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler
from typing import Any

from ..serving import Served
from .inside.analysing import answered, cleaned, rows_of
from .ledger import currencies
from .parameters import Parameters
from .questions import rates_table, shown_rate

_LARGEST = 1 << 20
_LONGEST_DAYS = 400
_SLOW_ONE_IN = 5


class Refusal(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Limiter:
    """How many requests a client may make within a window. Thread safe; clients of long ago are forgotten."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._lock = threading.Lock()
        self._seen: dict[str, list[float]] = {}

    def admit(self, client: str) -> bool:
        """Whether one more request of this client is within its limit."""
        now = time.monotonic()
        with self._lock:
            for name in [name for name, times in self._seen.items() if now - times[-1] > self._seconds]:
                del self._seen[name]
            times = [at for at in self._seen.get(client, []) if now - at <= self._seconds]
            admitted = len(times) < self._most
            self._seen[client] = [*times, now] if admitted else times
            return admitted


class Service:
    """Answers requests. Quotes are those of one seed."""

    def __init__(self, seed: int, given: Parameters) -> None:
        self._seed = seed
        self._given = given
        self._limiter = Limiter(given.quote_requests, given.quote_window_seconds)

    def get(self, path: str, client: str) -> str:
        """A quote, or the quotes of a period. Raises Refusal."""
        if not self._limiter.admit(client):
            raise Refusal(429, "too many requests; ask for a whole period at /archive, or come back in a minute")
        if zlib.crc32(f"{self._seed}:{path}".encode()) % _SLOW_ONE_IN == 0 and path.startswith("/archive/"):
            time.sleep(self._given.quote_slow_seconds)
        match path.strip("/").split("/"):
            case ["quote", name, day]:
                return json.dumps({"rate": shown_rate(self._seed, _currency(name), _day(day))})
            case ["archive", names, first, last]:
                found = [_currency(name) for name in names.split(",")]
                return rates_table(self._seed, found, *_period(first, last))
            case _:
                raise Refusal(404, "there is /quote/CURRENCY/DAY and /archive/CURRENCIES/FIRST/LAST")

    def analyse(self, body: bytes) -> str:
        """The answer to a question about a table. Raises Refusal; for a table that is too large after a while."""
        try:
            asked: dict[str, Any] = json.loads(body)
            rows = rows_of(asked["table"])
            if len(rows) > self._given.engine_rows:
                time.sleep(self._given.engine_seconds)
                raise Refusal(503, f"the engine is busy: {len(rows)} rows are more than it takes now")
            return json.dumps(answered(asked["question"], cleaned(rows), rows_of(asked["rates"])))
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
            raise Refusal(400, f"that is no question about a table: {error!r}") from error


def _currency(name: str) -> str:
    if name not in currencies():
        raise Refusal(404, f"there is no currency {name[:20]!r}")
    return name


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise Refusal(400, f"{text[:20]!r} is no day") from error


def _period(first: str, last: str) -> tuple[datetime.date, datetime.date]:
    begin, end = _day(first), _day(last)
    if not 0 <= (end - begin).days <= _LONGEST_DAYS:
        raise Refusal(400, f"a period has between 1 and {_LONGEST_DAYS} days")
    return begin, end


def serve(service: Service) -> Served:
    """A service on the loopback."""
    return Served(_handler(service), "finance-service")


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            self._reply(lambda: service.get(self.path, self.headers.get("X-Client", "")))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > _LARGEST:
                self.close_connection = True
                return self._reply(lambda: _refuse(413, f"a table has at most {_LARGEST} bytes"))
            body = self.rfile.read(int(length))
            if self.path != "/analyse":
                return self._reply(lambda: _refuse(404, "there is /analyse"))
            return self._reply(lambda: service.analyse(body))

        def _reply(self, answer: Any) -> None:
            try:
                status, text = 200, answer()
            except Refusal as error:
                status, text = error.status, str(error)
            data = text.encode("utf-8", "replace")
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing is logged: every request is in the journal of the run that made it."""

    return Handler


def _refuse(status: int, text: str) -> str:
    raise Refusal(status, text)
