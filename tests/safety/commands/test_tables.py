"""Hostile commands never pass for harmless ones, and everyday commands never raise an alarm."""

import pytest

from hermes_agent.safety.commands import RiskKind, examine, prefix
from tests.safety.commands import benign, hostile

pytestmark = pytest.mark.req("R3")

_HOSTILE = [
    (kind, command)
    for kind in (
        RiskKind.DESTRUCTIVE,
        RiskKind.NETWORK,
        RiskKind.PRIVILEGE,
        RiskKind.PERSISTENCE,
        RiskKind.SECRETS,
        RiskKind.OPAQUE,
    )
    for command in hostile.commands(getattr(hostile, kind.name))
]
_READING = hostile.commands(benign.READING)
_WORKING = hostile.commands(benign.WORKING)


def test_the_tables_are_long_enough() -> None:
    assert len({command for _, command in _HOSTILE}) >= 450
    assert len(set(_READING + _WORKING)) >= 300


@pytest.mark.parametrize(("kind", "command"), _HOSTILE)
def test_hostile(kind: RiskKind, command: str) -> None:
    report = examine(command)
    assert report.opaque or kind in report.kinds(), report
    assert kind is not RiskKind.OPAQUE or report.opaque
    assert kind is RiskKind.SECRETS or not report.readonly
    assert prefix(report) is None


@pytest.mark.parametrize("command", hostile.UNICODE, ids=ascii)
def test_characters_that_deceive(command: str) -> None:
    report = examine(command)
    assert report.opaque
    assert not report.readonly
    assert prefix(report) is None


@pytest.mark.parametrize("command", _READING)
def test_reading(command: str) -> None:
    report = examine(command)
    assert (report.readonly, report.opaque, report.risks) == (True, (), ()), report


@pytest.mark.parametrize("command", _WORKING)
def test_working(command: str) -> None:
    report = examine(command)
    assert not report.opaque, report
    assert not report.kinds() & {RiskKind.DESTRUCTIVE, RiskKind.OPAQUE, RiskKind.OBFUSCATED}, report
    assert not report.readonly or command == "X=1"
