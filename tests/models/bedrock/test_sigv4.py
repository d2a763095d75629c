"""Signatures: ours are those of the official client, for whatever is signed."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as OfficialCredentials
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.models.wire.sigv4 import Credentials, Signer

_SET_BY_THE_SIGNER = {
    "authorization",
    "date",
    "expect",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
    "x-amzn-trace-id",
}
_names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,15}", fullmatch=True).filter(
    lambda name: name.lower() not in _SET_BY_THE_SIGNER
)
_values = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=30)
_headers = st.dictionaries(_names, _values, max_size=6).filter(
    lambda headers: len({name.lower() for name in headers}) == len(headers)
)
_segments = st.text(max_size=12).map(lambda text: quote(text, safe="")) | st.sampled_from(
    ["", ".", "..", "a:b", "a%3Ab"]
)
_paths = st.lists(_segments, max_size=6).map(lambda segments: "/" + "/".join(segments))
_queries = st.lists(
    st.tuples(st.text(max_size=6), st.text(max_size=6)).map(lambda pair: "=".join(quote(one, safe="") for one in pair)),
    max_size=4,
).map("&".join)
_hosts = st.sampled_from(
    [
        "https://bedrock-runtime.eu-central-1.amazonaws.com",
        "http://127.0.0.1:8080",
        "https://example.com:443",
        "http://[::1]:80",
    ]
)
_keys = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@given(_hosts, _paths, _queries, _headers, st.binary(max_size=100), _keys, st.just("") | _keys)
def test_our_signature_is_the_official_one(
    host: str, path: str, query: str, headers: dict[str, str], body: bytes, secret: str, token: str
) -> None:
    """The official signer takes the time from the system's clock; ours is told the same."""
    url = f"{host}{path}?{query}" if query else f"{host}{path}"
    request = AWSRequest(method="post", url=url, headers=headers, data=body)
    SigV4Auth(OfficialCredentials("AKID", secret, token or None), "bedrock", "eu-central-1").add_auth(request)
    at = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    keys = Credentials(access_key="AKID", secret_key=secret, session_token=token)
    signer = Signer(credentials=keys, region="eu-central-1", service="bedrock")
    made = signer.headers("post", url, headers, body, at)
    expected = {"authorization": request.headers["Authorization"], "x-amz-date": request.headers["X-Amz-Date"]}
    assert made == {**expected, **({"x-amz-security-token": token} if token else {})}


def test_the_example_of_the_documentation() -> None:
    """AWS publishes this request with its signature (the test suite's get-vanilla)."""
    keys = Credentials(access_key="AKIDEXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    signer = Signer(credentials=keys, region="us-east-1", service="service")
    made = signer.headers("GET", "https://example.amazonaws.com/", {}, b"", datetime(2015, 8, 30, 12, 36, tzinfo=UTC))
    assert made == {
        "x-amz-date": "20150830T123600Z",
        "authorization": (
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        ),
    }


@pytest.mark.parametrize("change", ["method", "path", "header", "body", "time", "secret"])
def test_everything_is_signed(change: str) -> None:
    def signed(changed: str) -> str:
        keys = Credentials(access_key="A", secret_key="other" if changed == "secret" else "secret")
        return Signer(credentials=keys, region="r", service="s").headers(
            "PUT" if changed == "method" else "POST",
            "https://h/b" if changed == "path" else "https://h/a",
            {"x": "2" if changed == "header" else "1"},
            b"2" if changed == "body" else b"1",
            datetime(2024, 1, 1, 0, 0, int(changed == "time"), tzinfo=UTC),
        )["authorization"]

    assert signed(change) != signed("")
