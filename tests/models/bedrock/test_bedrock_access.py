"""How Bedrock is opened: signatures, bearer tokens, regions, and one line for whatever is missing."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.providers.bedrock import Bedrock, connect, region_of
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure
from tests.endpoint import Endpoint, sequence, text
from tests.models.bedrock.talking import KEYS, MODEL, ask, ask_client, client


def test_the_signature_is_checked_by_the_endpoint() -> None:
    script = [text("signed")] * 2
    with Endpoint(sequence(script), key="unused") as endpoint:
        options = ProviderOptions(model=MODEL, base_url=endpoint.origin, extra={**KEYS, "session_token": "t+/="})
        dated = Bedrock(options, now=lambda: datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC))
        assert ask_client(dated)[0].text == "signed"
        arn = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.x-v1:0"
        assert ask(endpoint.origin, model=arn)[0].text == "signed"
        with pytest.raises(ModelError) as caught:
            ask_client(client(endpoint.origin, secret_access_key="wrong"))
        requests = endpoint.requests
    assert (caught.value.failure, caught.value.advice) == (
        ModelFailure.AUTH,
        "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    )
    assert requests[0].headers["x-amz-date"] == "20240229T235959Z"
    assert requests[0].headers["x-amz-security-token"] == "t+/="
    assert requests[1].path == (
        "/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu.x-v1%3A0/converse-stream"
    )


def test_a_bearer_token_goes_before_keys() -> None:
    with Endpoint(sequence([text("hello")]), key="right") as endpoint:
        for key, extra in (("right", KEYS), ("wrong", KEYS)):
            options = ProviderOptions(model=MODEL, base_url=endpoint.origin, api_key=key, extra=extra)
            if key == "right":
                assert ask_client(connect(options))[0].text == "hello"
            else:
                with pytest.raises(ModelError) as caught:
                    ask_client(connect(options))
                assert caught.value.advice == "check AWS_BEARER_TOKEN_BEDROCK"
        assert [request.headers["authorization"] for request in endpoint.requests] == ["Bearer right", "Bearer wrong"]


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (ProviderOptions(model=""), "write bedrock:ID"),
        (ProviderOptions(model="m", api_key="k"), "set AWS_REGION, such as eu-central-1"),
        (
            ProviderOptions(model="m", api_key="k", extra={"region": "evil.com/#"}),
            "set AWS_REGION, such as eu-central-1",
        ),
        (
            ProviderOptions(model="m", extra={"region": "eu-central-1"}),
            "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
        (
            ProviderOptions(model="m", extra={**KEYS, "session_token": "a\nb"}),
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN)",
        ),
        (ProviderOptions(model="m", extra={**KEYS, "cache_ttl": "2h"}), "5m, 1h or off"),
    ],
)
def test_what_is_missing_is_said_at_once(options: ProviderOptions, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(options)
    assert caught.value.advice == remedy


@pytest.mark.parametrize(
    ("options", "region"),
    [
        (ProviderOptions(model="m", extra={"region": "eu-west-1"}), "eu-west-1"),
        (ProviderOptions(model="arn:aws:bedrock:us-east-2:1:inference-profile/x"), "us-east-2"),
        (ProviderOptions(model="m", base_url="https://bedrock-runtime.us-west-2.amazonaws.com"), "us-west-2"),
        (ProviderOptions(model="m", base_url="http://localhost:1", api_key="k"), ""),
    ],
)
def test_where_the_region_comes_from(options: ProviderOptions, region: str) -> None:
    assert region_of(options) == region


def test_no_sdk_is_imported() -> None:
    code = (
        "import sys, hermes_agent.models.providers.bedrock\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('botocore', 'boto3', 'urllib3', 'rich')])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
