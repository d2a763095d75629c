"""Keys and signatures: made once, kept private, and exact to the byte."""

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_agent.learning.signing import (
    PublicKey,
    TrustedKeys,
    is_signed_by,
    parse_public,
    read_public,
    signing_key,
    trusted_keys,
)
from hermes_agent.types.errors import UsageError

pytestmark = pytest.mark.req("B7")


def test_a_key_is_made_once_and_only_its_owner_may_read_it(home: Path) -> None:
    key = signing_key(home)
    assert signing_key(home).public == key.public
    assert (home / "signing_key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["signing_key"]


def test_processes_that_make_a_key_at_once_end_with_the_same(home: Path) -> None:
    code = "import sys,pathlib;from hermes_agent.learning.signing import signing_key;"
    code += "print(signing_key(pathlib.Path(sys.argv[1])).public.line)"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


def test_a_signature_fits_exactly_its_bytes_and_its_key(home: Path) -> None:
    key, other = signing_key(home), signing_key(home / "other")
    signature = key.sign(b"what was said")
    assert is_signed_by(key.public, signature, b"what was said")
    assert not is_signed_by(key.public, signature, b"what was Said")
    assert not is_signed_by(other.public, signature, b"what was said")
    assert not is_signed_by(key.public, signature[:-1], b"what was said")
    assert not is_signed_by(key.public, b"", b"what was said")
    assert not is_signed_by(PublicKey(raw=b"\xff" * 32), signature, b"what was said")


def test_a_public_key_survives_its_file(home: Path) -> None:
    key = signing_key(home).public
    file = home / "x.pub"
    file.write_text(key.line + " somebody\n")
    assert read_public(file) == key
    assert parse_public(key.line, "here") == key
    assert key.fingerprint.startswith("SHA256:") and len(key.fingerprint) == 50


@pytest.mark.parametrize(
    "text", ["", "hermes-ed25519", "hermes-ed25519 AAAA", "ssh-ed25519 " + "A" * 44, "hermes-ed25519 " + "!" * 44]
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="holds no public key"):
        parse_public(text, "the file")


def test_a_private_key_is_never_taken_for_a_public_one(home: Path) -> None:
    signing_key(home)
    with pytest.raises(UsageError, match="holds a private key"):
        read_public(home / "signing_key")


def test_a_key_that_others_may_read_or_that_is_damaged_is_refused(home: Path) -> None:
    signing_key(home)
    file = home / "signing_key"
    file.chmod(0o644)
    with pytest.raises(UsageError, match="others may read"):
        signing_key(home)
    file.chmod(0o600)
    file.write_text("hermes-ed25519-private AAAA")
    with pytest.raises(UsageError, match="is no signing key"):
        signing_key(home)


def test_trusted_keys_are_named_and_broken_files_are_said(home: Path) -> None:
    own, friend = signing_key(home).public, signing_key(home / "friend").public
    folder = home / "trusted_keys"
    folder.mkdir()
    (folder / "ada.pub").write_text(friend.line)
    (folder / "bad.pub").write_bytes(b"\x00\xff" * 5000)
    (folder / "readme.txt").write_text("not a key")
    assert trusted_keys(home) == TrustedKeys(
        names={friend.raw: "ada", own.raw: "this home"}, broken=(f"{folder}/bad.pub holds no public key",)
    )
    assert trusted_keys(home / "empty") == TrustedKeys(names={})


def test_without_the_library_one_line_says_how_to_install_it(home: Path) -> None:
    code = "import sys,pathlib;sys.modules['cryptography']=None;from hermes_agent.learning.signing import signing_key\n"
    code += "from hermes_agent.types.errors import MissingExtra\n"
    code += "try: signing_key(pathlib.Path(sys.argv[1]))\nexcept MissingExtra as error: print(error.explain())"
    done = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    assert done.stdout == "signed bundles need an optional package (pip install 'hermes-harness[sharing]')\n"
    assert list(home.iterdir()) == []
