"""Dates and times."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Annotated

from ...types.text import one_line
from ...types.tools import ToolResult
from ..failures import failed
from ..tool import tool

_DURATION = re.compile(r"([+-]?\d{1,9})\s*(mo|[ywdhms])")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@tool(capabilities=(), effect="idempotent", timeout=5, rare=True)
def clock(
    zone: Annotated[str, "such as Europe/Berlin"] = "UTC",
    at: Annotated[str, "ISO date or time; now if left out"] = "",
    add: Annotated[str, "such as '3d 4h' or '-1mo'; units y mo w d h m s"] = "",
    until: Annotated[str, "ISO date or time: how long from `at` to it"] = "",
) -> ToolResult:
    """Tell the date and time, add to it, or take the difference of two."""
    try:
        chosen = _zone(zone)
        start = _moment(at, chosen) if at else datetime.now(chosen)
        moved = _added(start, add)
        end = _moment(until, chosen) if until else None
    except (ValueError, OverflowError) as error:
        return failed("bad_argument", one_line(str(error), 200))
    lines = [moved.isoformat(timespec="seconds"), moved.strftime("%A, week %V, day %j of the year")]
    if end is not None:
        gap = end.astimezone(UTC) - moved.astimezone(UTC)
        lines.append(f"until {end.isoformat(timespec='seconds')}: {_shown(gap)}, {gap.total_seconds():.0f} seconds")
    return ToolResult(text="\n".join(lines))


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {one_line(name)!r}; use a name such as Europe/Berlin") from error


def _moment(text: str, zone: tzinfo) -> datetime:
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"{one_line(text)!r} is no ISO date or time, such as 2024-02-29 or 2024-02-29T12:00"
        ) from error
    return given.astimezone(zone) if given.tzinfo else given.replace(tzinfo=zone)


def _added(start: datetime, text: str) -> datetime:
    """Years and months move on the calendar, days and weeks keep the time of day, the rest is elapsed time."""
    if _DURATION.sub("", text).strip():
        raise ValueError(f"{one_line(text)!r} is no duration; write it like '1mo 3d -2h'")
    moved, elapsed = start, timedelta()
    for number, unit in _DURATION.findall(text):
        amount = int(number)
        if unit in ("y", "mo"):
            moved = _months(moved, amount * (12 if unit == "y" else 1))
        elif unit in ("d", "w"):
            moved += timedelta(**{_UNITS[unit]: amount})
        else:
            elapsed += timedelta(**{_UNITS[unit]: amount})
    return (moved.astimezone(UTC) + elapsed).astimezone(moved.tzinfo) if elapsed else moved


def _months(start: datetime, months: int) -> datetime:
    """The same day some months on, or the last day of that month where it has no such day."""
    years, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    following = date(years + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return start.replace(year=years, month=month + 1, day=min(start.day, last))


def _shown(gap: timedelta) -> str:
    sign, gap = ("-", -gap) if gap < timedelta() else ("", gap)
    hours, rest = divmod(gap.seconds, 3600)
    return f"{sign}{gap.days} days {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
