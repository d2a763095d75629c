"""The local site that is researched, on the loopback, and what it says to strange requests."""

import http.client
import socket

import pytest

from hermes_agent.bench.catalog import world_of
from hermes_agent.bench.families.inside import researching
from hermes_agent.bench.families.site import SECTIONS, TOWNS, facts_of, page, serve
from hermes_agent.bench.families.world import FamilyWorld
from hermes_agent.types.errors import UsageError


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_says_its_own_facts(section: str) -> None:
    ways = {"gazette": "fetch_page", "registry": "fetch_signed", "almanac": "fetch_pages", "observatory": "fetch_any"}
    reads = {"gazette": "facts_list", "registry": "facts_table", "almanac": "facts_any", "observatory": "facts_table"}
    site = serve(5)
    try:
        for town in TOWNS[:4]:
            text = researching.FETCH[ways[section]](site.address, section, town)
            facts = facts_of(5, section, town)
            assert researching.taken(reads[section], text) == {
                "population": facts.population,
                "founded": facts.founded,
                "mayor": facts.mayor,
            }
    finally:
        site.close()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/gazette/ashbury", 200),
        ("/gazette/", 200),
        ("/gazette/atlantis", 404),
        ("/nowhere/ashbury", 404),
        ("/gazette/ashbury/feed", 404),
        ("/gazette/ashbury/feed/more", 404),
        ("/registry/ashbury", 403),
        ("/almanac/ashbury?part=0", 404),
        ("/almanac/ashbury?part=99999999999999999999", 404),
        ("/almanac/ashbury?part=%00", 404),
        ("/../etc/passwd", 404),
        ("/%2e%2e/%2e%2e", 404),
        ("//[", 404),
    ],
)
def test_what_the_site_answers(target: str, status: int) -> None:
    assert page(5, target, "").status == status


def test_the_site_survives_what_is_no_request() -> None:
    site = serve(5)
    try:
        host, _, port = site.address.partition(":")
        for rubbish in (b"\x00" * 99, b"GET\r\n\r\n", b"GET //[ HTTP/1.1\r\n\r\n"):
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(rubbish)
        asking = http.client.HTTPConnection(site.address, timeout=10)
        asking.request("GET", "/gazette/ashbury")
        assert asking.getresponse().status == 200
        asking.close()
    finally:
        site.close()


def test_a_way_says_what_is_in_its_way() -> None:
    with pytest.raises(researching.Refused) as caught:
        researching.fetch_page("127.0.0.1:1", "gazette", "ashbury")
    assert caught.value.error == "unreachable"
    for text in ("", "<dl>", "<dt>Population</dt> <dd>1</dd>"):
        for way in researching.FACTS:
            with pytest.raises(researching.Refused):
                researching.taken(way, text)


def test_the_site_must_be_started() -> None:
    world = world_of("research", 5)
    assert isinstance(world, FamilyWorld)
    tool = next(tool for tool in world.tools() if tool.spec.name == "fetch_page")
    assert tool.spec.parameters["required"] == ["site", "topic", "output"]
    with pytest.raises(UsageError, match="not running"):
        world.surroundings()
    world.start()
    world.start()
    world.stop()
    world.stop()
