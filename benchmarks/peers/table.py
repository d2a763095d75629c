"""The results as a plain text table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.peers.results import Cost, Incumbent, Peer, PeerResults


def render(results: PeerResults) -> str:
    sizes = sorted({loop.iterations for peer in results.peers for loop in peer.loops})
    header = ["peer", "version", "one-shot CPU s", "wall s", "RSS MB", *(f"ms at {n}" for n in sizes), "last ms"]
    parts = [
        f"Python {results.python}, {results.cores} cores, {max((peer.taken_at for peer in results.peers), default='')}",
        "ms: CPU per tool iteration, mean of the whole conversation; last: since the next smaller size",
        "",
    ]
    parts += _columns([header, *(_row(peer, sizes) for peer in results.peers)])
    for peer in results.peers:
        if peer.incumbent is not None:
            parts += [
                "",
                f"{peer.name}, its own command and eight sessions of three calls",
                *_incumbent(peer.incumbent),
            ]
    failures = [f"{peer.name}: {failure}" for peer in results.peers for failure in peer.failures]
    if failures:
        parts += ["", "failed", *failures]
    return "\n".join(parts)


def _row(peer: Peer, sizes: Sequence[int]) -> list[str]:
    found = {loop.iterations: f"{loop.cpu_ms_per_iteration:.1f}" for loop in peer.loops}
    means = [found.get(size, "failed") for size in sizes]
    last = f"{peer.loops[-1].last_cpu_ms_per_iteration:.1f}" if peer.loops else "failed"
    return [peer.name, peer.version or "-", *_cost(peer.one_shot), *means, last]


def _cost(cost: Cost | None) -> list[str]:
    if cost is None:
        return ["failed"] * 3
    return [f"{cost.cpu_s:.2f}", f"{cost.wall_s:.2f}", f"{cost.peak_rss_mb:.0f}"]


def _incumbent(figures: Incumbent) -> list[str]:
    size = "failed" if figures.first_request_bytes is None else f"{figures.first_request_bytes} bytes"
    rows = [
        ["", "CPU s", "wall s", "RSS MB"],
        ["one-shot command", *_cost(figures.one_shot_command)],
        ["--version", *_cost(figures.version_command)],
        ["eight sessions, one process", *_cost(figures.eight_sessions_in_one_process)],
        ["eight sessions, eight commands", *_cost(figures.eight_sessions_in_eight_commands)],
    ]
    return [*_columns(rows), f"first request of the one-shot command: {size}"]


def _columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()
