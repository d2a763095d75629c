"""What a comparison yields, and how it is stored."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a process and its children used from start to exit; the peak is that of the largest of them."""

    cpu_s: float
    wall_s: float
    peak_rss_mb: float


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation with this many tool calls.

    `cpu_ms_per_iteration` is the mean over all iterations but the first, which pays for start-up and lazy imports;
    `last_cpu_ms_per_iteration` is the mean over those since the next smaller size, which shows growth.
    """

    iterations: int
    cost: Cost
    cpu_ms_per_iteration: float
    last_cpu_ms_per_iteration: float


class Incumbent(msgspec.Struct, frozen=True, kw_only=True):
    """What only hermes-agent is asked for: its own command, and eight sessions at once of three calls each."""

    one_shot_command: Cost | None = None
    first_request_bytes: int | None = None
    version_command: Cost | None = None
    eight_sessions_in_one_process: Cost | None = None
    eight_sessions_in_eight_commands: Cost | None = None


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A peer's figures; what did not install or did not run is named in `failures`."""

    name: str
    taken_at: str
    version: str | None = None
    one_shot: Cost | None = None
    one_call: Cost | None = None
    loops: tuple[Loop, ...] = ()
    incumbent: Incumbent | None = None
    failures: tuple[str, ...] = ()


class PeerResults(msgspec.Struct, frozen=True, kw_only=True):
    python: str
    cores: int
    peers: tuple[Peer, ...]

    def peer(self, name: str) -> Peer | None:
        return next((peer for peer in self.peers if peer.name == name), None)


def load_peers(path: Path) -> PeerResults:
    """Reads what `save_peers` wrote; raises FileNotFoundError or msgspec.ValidationError."""
    return msgspec.json.decode(path.read_bytes(), type=PeerResults)


def save_peers(path: Path, results: PeerResults) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n")
