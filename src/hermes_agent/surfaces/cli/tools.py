"""`hermes tools`: which tools there are and what each may do."""

from __future__ import annotations

import difflib
from typing import Any

import click
import msgspec

from ...config.load import load_settings, read_environment
from ...safety.permissions import Policy
from ...safety.taint import labels_of
from ...tools.discovery import builtin_tools
from ...tools.registry import Registry
from ...tools.sandbox.choose import choose
from ...tools.workshop.workshop import SelfWritten
from ...types.errors import NotFound
from ...types.tools import ToolSpec
from .console import Console, print_json
from .options import json_option


@click.group(short_help="Which tools the agent has.")
def command() -> None:
    """Tools, what they reach, and whether the configuration lets them."""


@command.command("list")
@json_option
def list_tools(as_json: bool) -> None:
    """Every tool with its verdict: allow, ask or deny."""
    found = described()
    if as_json:
        print_json(found)
        return
    Console().table(
        ("name", "family", "verdict", "reaches", "effect", "needs", "time", "what it does"),
        [
            (
                one["name"],
                one["family"],
                one["verdict"],
                ", ".join(one["capabilities"]) if one["capabilities"] is not None else "undeclared",
                one["effect"],
                ", ".join(one["needs"]),
                f"{one['timeout']:g} s",
                one["description"].splitlines()[0] if one["description"] else "",
            )
            for one in found
        ],
    )


@command.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """One tool with its parameters."""
    found = {one["name"]: one for one in described()}
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        hint = f"did you mean {close[0]}?" if close else "`hermes tools list` shows what there is"
        raise NotFound(f"there is no tool {name!r}", remedy=hint)
    if as_json:
        print_json(found[name])
        return
    _print(found[name])


def described() -> list[dict[str, Any]]:
    """Every tool as JSON, with the verdict of the configuration and its reason."""
    environment = read_environment()
    settings = load_settings(environment.home)
    sandbox = choose(settings.sandbox, environment.passed_on)
    policy = Policy(settings.permissions, confined=lambda: sandbox.confines)
    registry = Registry(builtin_tools())
    written, broken = SelfWritten(environment.home / "tools", registry, lambda text: []).entries()
    for reason in broken:
        Console().note(reason, "yellow")
    return [_described(entry.spec, entry.source, policy) for entry in [*registry.entries(), *written]]


def _described(spec: ToolSpec, source: str, policy: Policy) -> dict[str, Any]:
    ruling = policy.judge(spec, "")
    capabilities = None if spec.capabilities is None else sorted(spec.capabilities)
    return {
        "name": spec.name,
        "family": spec.family,
        "description": spec.description,
        "capabilities": capabilities,
        "effect": spec.effect.value,
        "needs": list(spec.needs),
        "timeout": spec.timeout,
        "labels": sorted(labels_of(spec, {})),
        "in_prompt": not spec.rare,
        "source": source,
        "verdict": ruling.verdict.value,
        "reason": ruling.reason,
        "parameters": spec.parameters,
    }


def _print(one: dict[str, Any]) -> None:
    console = Console()
    print(console.styled(one["name"], "bold", console.out))
    print(one["description"])
    print(f"\nfamily    {one['family']} ({one['source']})")
    reaches = one["capabilities"]
    print(f"reaches   {'undeclared' if reaches is None else ', '.join(reaches) or 'nothing'}")
    print(f"effect    {one['effect']}")
    print(f"needs     {', '.join(one['needs']) or 'nothing before it'}")
    print(f"time      at most {one['timeout']:g} s")
    print(f"results   {', '.join(one['labels']) or 'without label'}")
    print(f"offered   {'in every request' if one['in_prompt'] else 'when tool_search finds it'}")
    print(f"verdict   {one['verdict']}: {one['reason']}\n")
    required = one["parameters"].get("required", ())
    for name, part in one["parameters"].get("properties", {}).items():
        kind = part.get("type") or msgspec.json.encode(part.get("anyOf", part.get("enum", "any"))).decode()
        need = "" if name in required else ", optional"
        print(f"  {name} ({kind}{need})  {part.get('description', '')}".rstrip())
