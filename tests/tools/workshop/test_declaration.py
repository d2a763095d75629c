"""What a source may be, found out without running it."""

from typing import Any

import pytest

from hermes_agent.tools.workshop.declaration import Refused, read
from hermes_agent.tools.workshop.imports import problems
from hermes_agent.types.tools import Capability, Effect, ToolSpec
from tests.tools.workshop.bench import ADD, source

pytestmark = pytest.mark.req("R5")

WIDE = '''
from __future__ import annotations
import typing
from typing import Annotated, Literal, Optional
from hermes_agent import tool

EXAMPLE = {"path": "a", "mode": "fast"}

@tool(capabilities={"files.read", "network"}, effect="idempotent", timeout=7.5, needs=["other"], rare=False,
      destinations=("path",))
async def wide(
    path: Annotated[str, "a file"],
    mode: Literal["fast", "slow"],
    context,
    limits: list[int] | None = None,
    names: tuple[str, ...] = (),
    table: dict[str, float] = {},
    *,
    flag: Optional[bool] = None,
    anything: typing.Optional[dict] = None,
) -> str:
    """Do much."""
    return path
'''


def test_the_declaration_is_read_from_the_syntax_tree() -> None:
    assert read("add", ADD).spec == ToolSpec(
        name="add",
        description="Add two numbers.",
        parameters={
            "type": "object",
            "properties": {"left": {"type": "integer"}, "right": {"type": "integer", "default": 5}},
            "required": ["left"],
        },
        capabilities=frozenset(),
        effect=Effect.NONE,
        timeout=75.0,
        family="self-written",
        rare=True,
    )
    assert read("wide", WIDE).spec == ToolSpec(
        name="wide",
        description="Do much.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "a file"},
                "mode": {"enum": ["fast", "slow"], "type": "string"},
                "limits": {"type": "array", "items": {"type": "integer"}},
                "names": {"type": "array", "items": {"type": "string"}},
                "table": {"type": "object", "additionalProperties": {"type": "number"}},
                "flag": {"type": "boolean"},
                "anything": {"type": "object"},
            },
            "required": ["path", "mode"],
        },
        capabilities=frozenset({Capability.FILES_READ, Capability.NETWORK}),
        effect=Effect.IDEMPOTENT,
        needs=("other",),
        timeout=22.5,
        family="self-written",
        destinations=("path",),
    )


def changed(old: str, new: str) -> str:
    assert old in ADD
    return ADD.replace(old, new)


REFUSED = {
    "not Python": ("def add(:", "line 1: "),
    "empty": ("", "exactly one @tool(…) function"),
    "too long": ("#" * 70_000, "more than 65536 bytes"),
    "not text": ("x = '\ud800'", "not valid text"),
    "a NUL": ("x = 1\0", "NUL"),
    "deep": ("x = " + "-" * 60_000 + "1", "nested too deeply"),
    "deep again": ("x = a" + ".a" * 30_000, "nested too deeply"),
    "deep parameters": (changed("left: int", "left: " + "list[" * 150 + "int" + "]" * 150), "EXAMPLE does not fit"),
    "two tools": (ADD + ADD.replace("def add", "def more"), "not 2"),
    "another name": (changed("def add", "def plus"), "use one name"),
    "no docstring": (changed('"""Add two numbers."""', "pass"), "needs a docstring"),
    "long docstring": (changed("Add two numbers.", "x" * 700), "longer than 600"),
    "hidden docstring": (changed("Add two numbers.", "Add\u202e two"), "invisible"),
    "no type": (changed("left: int", "left"), "left needs a type"),
    "strange type": (changed("left: int", "left: print('x')"), "must be made of"),
    "unknown type": (changed("left: int", "left: object"), "must be made of"),
    "default that runs": (changed("= 5", "= print(5)"), "must be a literal"),
    "rest arguments": (changed("right: int = 5", "**right: int"), "no *args"),
    "no capabilities": (changed("capabilities=(), ", ""), "declare the capabilities"),
    "capabilities that are computed": (changed("capabilities=()", "capabilities=tuple()"), "written out as a literal"),
    "unknown capability": (changed("capabilities=()", "capabilities=('root',)"), "capabilities is a tuple of"),
    "capabilities as a word": (changed("capabilities=()", "capabilities='shell'"), "capabilities is a tuple of"),
    "unknown effect": (changed('"none"', '"much"'), "effect is one of"),
    "effect of a writer": (changed("capabilities=()", "capabilities=('files.write',)"), "a tool that writes"),
    "timeout": (changed("timeout=60", "timeout=1e9"), "timeout is a number"),
    "timeout of nothing": (changed("timeout=60", "timeout=float('nan')"), "written out"),
    "own labels": (changed("timeout=60", "labels=()"), "not labels"),
    "own name": (changed("timeout=60", "name='read_file'"), "not name"),
    "declaration by stars": (changed("timeout=60", "**{'name': 'x'}"), "not None"),
    "another decorator": (changed("@tool", "@print\n@tool"), "no other decorators"),
    "code outside": (ADD + "\nprint('hello')\n", "only imports, definitions and constants"),
    "loop outside": (ADD + "\nwhile True: pass\n", "only imports, definitions and constants"),
    "no example": (changed("EXAMPLE =", "SAMPLE ="), "EXAMPLE = {…} is missing"),
    "example that runs": (changed('{"left": 1, "right": 2}', "dict(left=1)"), "literal dict"),
    "example beyond JSON": (changed('{"left": 1, "right": 2}', '{"left": {1}}'), "literal dict"),
    "default beyond JSON": (changed("= 5", "= b'5'"), "must be a literal"),
    "the same parameter twice": (changed("right: int = 5", "left: int"), "duplicate argument"),
    "types without a schema": (changed("left: int", "left: list[int] | list[str]"), "no place in a schema"),
    "return outside": (ADD + "return 1\n", "outside function"),
    "example that does not fit": (changed('"left": 1', '"wrong": 1'), "EXAMPLE does not fit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_source_that_is_no_tool(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(Refused) as refused:
        read("add", text)
    assert reason in str(refused.value)


def found(body: str, capabilities: tuple[str, ...] = ()) -> list[str]:
    text = source("probe", body)
    return list(problems(read("probe", text).tree, [Capability(name) for name in capabilities]))


ALLOWED: list[tuple[str, tuple[str, ...]]] = [
    ("import re, math, datetime\nreturn re.compile('a').findall(text)", ()),
    ("from collections.abc import Mapping\nfrom urllib.parse import quote\nreturn quote(text)", ()),
    ("from urllib import parse\nreturn parse.quote(text)", ()),
    ("from pathlib import Path\nreturn Path(text).read_text()", ("files.read",)),
    ("import os.path\nfrom os import path\nreturn open(text).read()", ("files.write",)),
    ("import urllib.request, socket", ("network",)),
    ("import subprocess, os\nos.system('ls')", ("shell", "files.read")),
    ("class A:\n    def __init__(self): super().__init__()\nreturn getattr(text, 'upper')()", ()),
]


@pytest.mark.parametrize(("body", "capabilities"), ALLOWED)
def test_what_may_be_named(body: str, capabilities: tuple[str, ...]) -> None:
    assert found(body, capabilities) == []


NOT_ALLOWED: list[tuple[str, tuple[str, ...], str]] = [
    ("import ctypes", ("shell", "network", "files.write"), "'ctypes' may not be imported"),
    ("import requests", ("network",), "'requests' may not be imported"),
    ("import maths", (), "did you mean math?"),
    ("import os", (), "importing os needs the capability 'files.read' or 'files.write'"),
    ("import subprocess", ("files.read",), "importing subprocess needs the capability 'shell'"),
    ("import socket", (), "importing socket needs the capability 'network'"),
    ("import urllib.request", (), "importing urllib.request needs the capability 'network'"),
    ("from urllib import request", (), "importing urllib.request needs the capability 'network'"),
    ("import sys", (), "'sys' may not be imported"),
    ("import importlib", (), "'importlib' may not be imported"),
    ("import hermes", (), "'hermes' may not be imported"),
    ("from hermes_agent import Agent", (), "offers only `tool`"),
    ("import hermes_agent.config", (), "'hermes_agent.config' may not be imported"),
    ("from . import other", (), "nothing beside"),
    ("import os\nos.system('ls')", ("files.read",), "os.system needs the capability 'shell'"),
    ("import os\nos.execv('a', [])", ("files.read",), "os.execv needs the capability 'shell'"),
    ("from os import popen", ("files.read",), "os.popen needs the capability 'shell'"),
    ("eval(text)", (), "eval is not for"),
    ("run = exec", (), "exec is not for"),
    ("__import__('os')", (), "__import__ is not for"),
    ("__builtins__['eval']", (), "__builtins__ is not for"),
    ("().__class__.__bases__[0].__subclasses__()", (), "__subclasses__ is not for"),
    ("getattr(text, '__class__')", (), "getattr() only with a plain name"),
    ("getattr(text, 'up' + 'per')", (), "getattr() only with a plain name"),
    ("getattr(*text)", (), "getattr() only with a plain name"),
    ("open(text)", (), "open() needs the capability"),
    ("globals()['x']", (), "globals is not for"),
]


@pytest.mark.parametrize(("body", "capabilities", "reason"), NOT_ALLOWED)
def test_what_may_not_be_named(body: str, capabilities: tuple[str, ...], reason: str) -> None:
    assert reason in "; ".join(found(body, capabilities))


def test_every_reason_is_given_at_once() -> None:
    text = ADD.replace("left: int", "left").replace("capabilities=(), ", "").replace("EXAMPLE", "SAMPLE")
    with pytest.raises(Refused) as refused:
        read("plus", text)
    reasons: list[Any] = str(refused.value).split("; ")
    assert len(reasons) == 4
