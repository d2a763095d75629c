"""Which external memory there is: at most one, and everything wrong about it is said before anything is sent."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import hermes_agent
from hermes_agent.config.settings import MemorySettings
from hermes_agent.memory.external import PROVIDERS, MemoryFailed, chosen, connect, provider_names
from hermes_agent.types.errors import ConfigError
from tests.memory.external.asking import PLAIN, QUESTION, ask
from tests.memory.external.server import KEY, MemoryServer

SHIPPED = [
    "byterover",
    "hindsight",
    "holographic",
    "honcho",
    "http",
    "mem0",
    "openviking",
    "retaindb",
    "supermemory",
]


FAR = """
class Far:
    name = "far"

    def __init__(self, options):
        self.options = options


connect = Far
"""


def test_the_shipped_providers_are_the_files() -> None:
    assert set(SHIPPED) <= set(provider_names())
    assert sorted(path.stem for path in PROVIDERS.glob("[a-z]*.py")) == SHIPPED


@pytest.mark.parametrize("none", ["", "none", " None ", (), ("",)])
def test_without_a_provider_there_is_none(none: str | tuple[str, ...], home: Path) -> None:
    assert connect(MemorySettings(provider=none), {}, home) is None


@pytest.mark.req("A6")
@pytest.mark.parametrize("two", [("honcho", "mem0"), "honcho,mem0", "honcho mem0", ("honcho, mem0",)])
def test_a_second_external_memory_is_refused(two: str | tuple[str, ...], home: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        connect(MemorySettings(provider=two), {"HONCHO_API_KEY": KEY, "MEM0_API_KEY": KEY}, home)
    assert refused.value.explain() == (
        "memory.provider names 2 external memories (honcho, mem0); only one may stand beside the built-in one "
        "(keep one: `hermes config set memory.provider honcho`)"
    )


def test_a_list_in_the_configuration_file_is_understood_and_refused() -> None:
    settings = msgspec.convert({"provider": ["holographic", "mem0"]}, MemorySettings)
    with pytest.raises(ConfigError, match="only one may stand beside"):
        chosen(settings)
    assert chosen(msgspec.convert({"provider": ["holographic"]}, MemorySettings)) == "holographic"


@pytest.mark.parametrize("name", ["mem1", "../mem0", "__init__", "mem0.py", "os", "é"])
def test_an_unknown_name_lists_the_known(name: str, home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no external memory") as refused:
        connect(MemorySettings(provider=name), {}, home)
    assert all(known in refused.value.advice for known in SHIPPED)


@pytest.mark.parametrize("name", ["honcho", "mem0", "supermemory", "retaindb", "byterover"])
@pytest.mark.parametrize("usual", [True, False])
def test_a_hosted_service_wants_a_key(name: str, usual: bool, home: Path) -> None:
    hosted = {
        "honcho": "https://api.honcho.dev/",
        "mem0": "https://api.mem0.ai",
        "supermemory": "https://api.supermemory.ai",
        "retaindb": "https://api.retaindb.com",
        "byterover": "https://api.byterover.dev/api/v1",
    }[name]
    with pytest.raises(ConfigError, match=f"{name} needs a key") as refused:
        connect(MemorySettings(provider=name, address="" if usual else hosted), {}, home)
    assert f"set {name.upper()}_API_KEY" in refused.value.advice


def test_a_server_of_ones_own_does_without_a_key_and_is_named_by_the_environment(home: Path) -> None:
    with MemoryServer(lambda asked, kept: {"results": []}) as server:
        memory = connect(MemorySettings(provider="mem0"), {"MEM0_BASE_URL": server.url + "/"}, home)
        assert memory is not None
        assert ask(memory.recall(QUESTION, "s", 3)) == []
        assert server.asked[0].path == "/v3/memories/search/"
        assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "ftp://example.org",
        "example.org",
        "https://",
        "https://me:secret@example.org",
        "https://example.org/?a=b",
        "https://exa mple.org",
        "http://example.org\r\nEvil: yes",
        "http://0x7f000001/",
        "javascript:alert(1)",
    ],
)
@pytest.mark.parametrize("name", ["mem0", "http"])
def test_only_a_plain_web_address_is_taken(name: str, address: str, home: Path) -> None:
    options = PLAIN if name == "http" else {}
    with pytest.raises(ConfigError, match=r"memory\.address"):
        connect(MemorySettings(provider=name, address=address, options=options), {f"{name.upper()}_API_KEY": KEY}, home)


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "tab\tkey"])
def test_a_key_that_cannot_be_one_is_refused(key: str, home: Path) -> None:
    with pytest.raises(ConfigError, match="characters that no key has") as refused:
        connect(MemorySettings(provider="mem0"), {"MEM0_API_KEY": key}, home)
    assert key not in refused.value.explain()


def test_an_option_that_would_do_nothing_is_refused(home: Path) -> None:
    settings = MemorySettings(provider="mem0", options={"usr": "me"})
    with pytest.raises(ConfigError) as refused:
        connect(settings, {"MEM0_API_KEY": KEY}, home)
    assert refused.value.explain() == "memory.options: mem0 has no 'usr' (it knows: user)"


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("hindsight", {"budget": "lots"}, "'lots' is no budget"),
        ("openviking", {"commit": "maybe"}, "commit is 'maybe'"),
        ("openviking", {"user": "a\r\nX-Evil: 1"}, "the header 'X-OpenViking-User' cannot be sent"),
        ("openviking", {"account": "ü"}, "the header 'X-OpenViking-Account' cannot be sent"),
        ("holographic", {"memories": "-1"}, "memories is '-1'"),
        ("holographic", {"memories": "٣٣٣٣٣٣٣٣"}, "memories is"),
        ("http", {}, "neither where to recall nor where to remember"),
        ("http", {"recall_url": "https://elsewhere.example/x"}, "recall_url must begin with a slash"),
        ("http", {"recall_url": "/x", "recall_body": '{"q": {query}}'}, "recall_body is no JSON"),
        ("http", {"recall_url": "/x", "recall_body": '{"q": "{text}"}'}, "recall has no {text}"),
        ("http", {"recall_url": "/x/{key}"}, "recall has no {key}"),
        ("http", {"remember_url": "/x", "remember_method": "DELETE"}, "remember_method is 'DELETE'"),
        ("http", {"recall_url": "/x", "headers": "no header"}, "'no header' is no header"),
        ("http", {"recall_url": "/x", "headers": "Bad Name: x"}, "the header 'Bad Name' cannot be sent"),
    ],
)
def test_options_are_checked_before_anything_is_sent(
    name: str, options: dict[str, str], reason: str, home: Path
) -> None:
    settings = MemorySettings(provider=name, address="http://127.0.0.1:9", options=options)
    with pytest.raises(ConfigError) as refused:
        connect(settings, {}, home)
    assert reason in str(refused.value)
    assert refused.value.advice


def test_http_needs_an_address(home: Path) -> None:
    with pytest.raises(ConfigError, match="http needs an address"):
        connect(MemorySettings(provider="http", options=PLAIN), {}, home)


def test_another_package_adds_a_provider(home: Path, tmp_path: Path) -> None:
    """Found by its entry point: installed as pip would leave it, in a process of its own."""
    packages = tmp_path / "packages"
    about = packages / "far_memory-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far-memory\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[hermes_agent.memory]\nfar = far_memory:connect\nbroken = far_memory:missing\n"
    )
    (packages / "far_memory.py").write_text(FAR)
    script = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(packages)!r})
from hermes_agent.config.settings import MemorySettings
from hermes_agent.memory.external import connect, provider_names
from hermes_agent.types.errors import ConfigError
memory = connect(MemorySettings(provider="far", options={{"any": "x"}}), {{"FAR_API_KEY": "k"}}, Path({str(home)!r}))
print(memory.name, memory.options.key, memory.options.options, "far" in provider_names(), "broken" in provider_names())
try:
    connect(MemorySettings(provider="broken"), {{}}, Path({str(home)!r}))
except ConfigError as error:
    print("cannot be loaded" in str(error))
print([name for name in sys.modules if name.startswith("hermes_agent.memory.providers")])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["far k {'any': 'x'} True True", "True", "[]"]


def test_one_new_file_is_one_new_provider(home: Path, tmp_path: Path) -> None:
    """In a copy of the package: nothing but the file is needed."""
    package = Path(hermes_agent.__file__).parent
    shutil.copytree(package, tmp_path / "hermes_agent", ignore=shutil.ignore_patterns("*.gguf", "__pycache__"))
    (tmp_path / "hermes_agent" / "memory" / "providers" / "near.py").write_text(FAR)
    script = f"""
from pathlib import Path
from hermes_agent.config.settings import MemorySettings
from hermes_agent.memory.external import connect, provider_names
memory = connect(MemorySettings(provider="near"), {{}}, Path({str(home)!r}))
print(memory.name, memory.options.name, "near" in provider_names())
"""
    environment = {"PYTHONPATH": str(tmp_path), "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    assert done.stdout.split() == ["far", "near", "True"]


def test_a_failure_says_how_to_go_on() -> None:
    assert "memory.provider none" in MemoryFailed("x").explain()
