"""What the model and the harness are told about the built-in tools."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from hermes_agent.safety.taint import labels_of
from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.discovery import MANIFEST, builtin_tools, names, tool_functions, write_manifest
from hermes_agent.tools.registry import Entry, Registry
from hermes_agent.tools.results import as_result, capped, error_text
from hermes_agent.tools.tool import Tool, declared_tool, tool
from hermes_agent.types.errors import NotFound, UsageError
from hermes_agent.types.tools import Capability, Effect, Label, ToolContext, ToolResult, ToolSpec

ROOT = Path(__file__).resolve().parents[2]
READ, WRITE, SHELL = Capability.FILES_READ, Capability.FILES_WRITE, Capability.SHELL
NETWORK = Capability.NETWORK


@pytest.mark.req("R3", "A13")
def test_what_each_tool_declares() -> None:
    declared = {
        spec.name: (spec.capabilities, spec.effect, spec.replaces, spec.family)
        for spec in (entry.spec for entry in builtin_tools())
    }
    assert len(declared) >= 40
    expected = {
        "read_file": ({READ}, Effect.NONE, (), "files"),
        "search_files": ({READ}, Effect.NONE, (), "search"),
        "write_file": ({WRITE}, Effect.IDEMPOTENT, ("path",), "files"),
        "patch": ({READ, WRITE}, Effect.IDEMPOTENT, ("path",), "files"),
        "terminal": ({SHELL}, Effect.ONCE, (), "shell"),
        "execute_code": ({SHELL}, Effect.ONCE, (), "code"),
        "todo": (frozenset(), Effect.IDEMPOTENT, (), "todo"),
        "web_download": ({WRITE, NETWORK}, Effect.IDEMPOTENT, ("path",), "web"),
        "web_request": ({NETWORK}, Effect.ONCE, (), "web"),
        "send_message": ({Capability.MESSAGES}, Effect.ONCE, (), "messages"),
        "tool_manage": ({Capability.SELF_MODIFY}, Effect.ONCE, (), "workshop"),
    }
    assert {name: declared[name] for name in expected} == expected


@pytest.mark.req("A4", "R3")
def test_every_tool_says_what_it_reaches_and_whose_text_it_brings() -> None:
    for spec in (entry.spec for entry in builtin_tools()):
        assert spec.capabilities is not None, spec.name
        assert 0 < spec.timeout <= 3600, spec.name
        reaching = {NETWORK, Capability.BROWSER} & spec.capabilities
        assert not reaching or spec.name == "browser_close" or Label.UNTRUSTED in labels_of(spec, {}), spec.name
        known = set(spec.parameters["properties"])
        named = {*spec.destinations, *spec.replaces, *spec.unlocks}
        assert named <= known, spec.name


@pytest.mark.req("A4")
def test_established_names_are_used() -> None:
    established = {"web_search", "web_extract", "browser_navigate", "browser_click", "execute_code", "session_search"}
    assert established | {"send_message", "vision_analyze"} <= set(names(builtin_tools()))


def test_a_schema_costs_few_bytes() -> None:
    sizes = [
        len(msgspec.json.encode((spec.name, spec.description, spec.parameters)))
        for spec in (entry.spec for entry in builtin_tools())
    ]
    assert sum(sizes) / len(sizes) <= 600


def test_the_schemas_the_model_sees() -> None:
    schemas = {entry.spec.name: entry.spec.parameters for entry in builtin_tools()}
    assert schemas["write_file"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    }
    assert schemas["terminal"] == {
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {"type": "number", "default": 60, "description": "seconds, at most 600"},
            "background": {
                "type": "boolean",
                "default": False,
                "description": "for servers and long jobs; see process",
            },
            "directory": {"type": "string", "description": "folder in the workspace"},
            "network": {"type": "boolean", "default": False, "description": "let it reach the network"},
        },
        "required": ["command"],
    }
    assert schemas["todo"]["properties"]["items"]["items"]["properties"]["status"] == {
        "enum": ["cancelled", "completed", "in_progress", "pending"],
        "type": "string",
        "default": "pending",
    }
    assert "$ref" not in json.dumps(schemas)


def test_the_manifest_tells_the_truth(tmp_path: Path) -> None:
    write_manifest(manifest=tmp_path / "manifest.json")
    assert (tmp_path / "manifest.json").read_text() == MANIFEST.read_text()
    assert builtin_tools(manifest=tmp_path / "none.json") != []
    assert [entry.spec for entry in builtin_tools()] == [
        entry.spec for entry in builtin_tools(manifest=tmp_path / "none.json")
    ]


@pytest.mark.req("A13")
def test_listing_the_tools_imports_none_of_them() -> None:
    script = (
        "import sys; from hermes_agent.tools.discovery import builtin_tools; builtin_tools(); "
        "print([name for name in sys.modules if name.startswith('hermes_agent.tools.builtin.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


@pytest.mark.req("A13")
def test_a_new_file_is_found_and_one_without_a_tool_is_not_imported(tmp_path: Path) -> None:
    folder = tmp_path / "found_tools"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('the package itself is not a tool')")
    (folder / "__init__.py").write_text("")
    (folder / "other.py").write_text("raise RuntimeError('imported without need')\n")
    (folder / "named.py").write_text(
        "from hermes_agent.tools.tool import tool\n\n"
        "@tool(capabilities=(), effect='none')\ndef shout(text: str) -> str:\n    '''Say it loudly.'''\n"
        "    return text.upper()\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        entries = builtin_tools(folder, "found_tools", tmp_path / "manifest.json")
        assert names(entries) == ["shout"]
        assert entries[0].load().function(text="a") == "A"
        write_manifest(folder, "found_tools", tmp_path / "manifest.json")
        (folder / "named.py").write_text((folder / "named.py").read_text() + "\n# changed\n")
        assert names(builtin_tools(folder, "found_tools", tmp_path / "manifest.json")) == ["shout"]
    finally:
        sys.path.remove(str(tmp_path))


def test_tools_are_seen_in_the_source_alone() -> None:
    source = (
        "@tool()\ndef a(): ...\n@tool\nasync def b(): ...\n@other\ndef c(): ...\ndef d():\n  @tool()\n  def e(): ...\n"
    )
    assert tool_functions(source) == ["a", "b"]
    with pytest.raises(UsageError):
        tool_functions("def broken(:")


def test_a_declaration_from_signature_and_docstring() -> None:
    @tool(capabilities=("network",), effect="none", needs=("first",), timeout=5)
    def fetch(
        url: Annotated[str, "where"], context: ToolContext, kind: Literal["a", "b"] = "a", tags: tuple[str, ...] = ()
    ) -> str:
        """Get a page."""
        return url

    declared = declared_tool(fetch)
    assert declared is not None
    assert declared.spec == ToolSpec(
        name="fetch",
        description="Get a page.",
        parameters={
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "where"},
                "kind": {"enum": ["a", "b"], "type": "string", "default": "a"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["url"],
        },
        capabilities=frozenset({Capability.NETWORK}),
        effect=Effect.NONE,
        needs=("first",),
        timeout=5,
        family="test_declarations",
    )
    assert Tool("bare", lambda: None).spec.capabilities is None
    for name in ("", "a b", "ü", "x" * 65):
        with pytest.raises(UsageError):
            Tool(name, lambda: None)
    with pytest.raises(UsageError):
        Tool("x", lambda: None, capabilities=["fly"])


class Tree(msgspec.Struct):
    children: list["Tree"]


def test_a_type_that_refers_to_itself_is_refused_with_a_remedy() -> None:
    def grow(tree: Tree) -> None: ...

    with pytest.raises(UsageError) as refused:
        Tool("grow", grow)
    assert "parameters" in refused.value.advice


def entry(name: str, source: str) -> Entry:
    made = Tool(name, lambda: name)
    return Entry(spec=made.spec, load=lambda: made, source=source)


def test_names_belong_to_their_source() -> None:
    registry = Registry([entry("a", "one")])
    with pytest.raises(UsageError):
        registry.add([entry("b", "two"), entry("a", "two")])
    assert [spec.name for spec in registry.specs()] == ["a"]
    registry.refresh("two", [entry("b", "two"), entry("c", "two")])
    registry.refresh("two", [entry("c", "two")])
    with pytest.raises(UsageError):
        registry.refresh("two", [entry("a", "two")])
    assert names(registry.entries()) == ["a", "c"]
    assert registry.spec("b") is None
    with pytest.raises(NotFound):
        registry.get("b")


@pytest.mark.req("A13")
def test_refreshing_from_many_threads_never_shows_half_a_table() -> None:
    registry = Registry([entry("fixed", "builtin")])
    problems: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen = [one.spec.name for one in registry.entries()]
            whole = {name.partition("-")[0] for name in seen} - {"fixed"}
            for source in whole:
                if sum(name.startswith(f"{source}-") for name in seen) != 20:
                    problems.append(f"half of {source}")
            if registry.get("fixed").spec.name != "fixed":
                problems.append("lost the fixed one")

    def refresh(source: str) -> None:
        for turn in range(10):
            registry.refresh(source, [entry(f"{source}-{turn}-{number}", source) for number in range(20)])

    readers = [threading.Thread(target=read) for _ in range(4)]
    writers = [threading.Thread(target=refresh, args=(f"s{number}",)) for number in range(8)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert len(registry.specs()) == 1 + 8 * 20


@pytest.mark.req("A13")
@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("text", ToolResult(text="text")),
        (None, ToolResult(text="done")),
        (b"\xff", ToolResult(text="\ufffd")),
        ({"error": "why"}, ToolResult(ok=False, text="why", error="tool_error")),
        ({"error": "why", "more": 1}, ToolResult(text='{"error":"why","more":1}')),
        ([1, 2.5, None], ToolResult(text="[1,2.5,null]")),
        (ToolResult(ok=False, error="x"), ToolResult(ok=False, error="x")),
    ],
)
def test_every_value_becomes_a_result(value: object, result: ToolResult) -> None:
    assert as_result(value) == result


def test_a_long_result_is_capped_and_kept(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path)
    whole = ToolResult(text="a" * 100 + "\ud800" + "z" * 100)
    cut = capped(whole, blobs, 30)
    assert cut.text == (
        f"{'a' * 20}\n[… 171 characters left out; read_file(path='blob:{cut.blob[:16]}') reads on …]\n{'z' * 10}"
    )
    assert blobs.get(cut.blob).decode() == "a" * 100 + "\ufffd" + "z" * 100
    assert capped(ToolResult(text="short"), blobs, 30) == ToolResult(text="short")
    assert error_text('"quoted"') == '{"error":"\\"quoted\\""}'
