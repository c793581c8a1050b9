"""JWTs: whose they are, by the keys of their issuer, and what is none."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from quorate.config.sections import AuthSection
from quorate.node.issuer import Issuer, IssuerError
from quorate.plugin import Rejected

jwt = pytest.importorskip("jwt")

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def jwks(**keys: ec.EllipticCurvePrivateKey) -> bytes:
    found = [
        {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": name}
        for name, key in keys.items()
    ]
    return json.dumps({"keys": found}).encode()


def section(file: Path) -> AuthSection:
    return AuthSection(issuer_keys_file=file, issuer="us", audience="quorate")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_bytes(pem(KEY))
    return path


def signed(key: Any = KEY, headers: Any = None, algorithm: str = "ES256", **claims: Any) -> str:
    said = {"iss": "us", "aud": "quorate", "sub": "ada", "exp": time.time() + 60, **claims}
    given = {name: value for name, value in said.items() if value is not None}
    token: str = jwt.encode(given, key, algorithm, headers)
    return token


def test_a_token_is_whom_it_names(file: Path) -> None:
    issuer = Issuer(section(file))
    token = signed()

    assert [issuer.owner_of(token), issuer.owner_of(token)] == ["ada", "ada"]


def test_of_several_keys_the_one_that_is_named_counts(file: Path) -> None:
    file.write_bytes(jwks(a=KEY, b=OTHER))
    issuer = Issuer(section(file))

    assert issuer.owner_of(signed(headers={"kid": "a"})) == "ada"
    assert issuer.owner_of(signed(OTHER, headers={"kid": "b"})) == "ada"
    for wrong in (signed(headers={"kid": "b"}), signed(headers={"kid": "c"}), signed()):
        with pytest.raises(Rejected, match="UNAUTHENTICATED"):
            issuer.owner_of(wrong)


def _unsigned() -> str:
    _, body, _ = signed().split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{none}.{body}."


@pytest.mark.parametrize(
    "token",
    [
        lambda: signed(exp=time.time() - 60),
        lambda: signed(exp=None),
        lambda: signed(iss="them"),
        lambda: signed(iss=None),
        lambda: signed(aud="another cluster"),
        lambda: signed(aud=None),
        lambda: signed(sub=None),
        lambda: signed(sub=""),
        lambda: signed(OTHER),
        lambda: signed(nbf=time.time() + 60),
        # Signed with what everybody knows.
        lambda: signed("x" * 64, algorithm="HS256"),
        _unsigned,
        lambda: signed()[:-4],
        lambda: "a.b.c",
        lambda: "..",
        lambda: "é.é.é",
    ],
)
def test_what_is_none_of_the_issuers_for_this_cluster_is_refused(
    file: Path, token: Callable[[], str]
) -> None:
    with pytest.raises(Rejected) as refused:
        Issuer(section(file)).owner_of(token())

    assert refused.value.code == "UNAUTHENTICATED"


def test_a_known_token_ends_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.node.issuer._LEEWAY_S", 0)
    ends = int(time.time()) + 2
    issuer, token = Issuer(section(file)), signed(exp=ends)
    assert issuer.owner_of(token) == "ada"

    while time.time() < ends:
        pass
    with pytest.raises(Rejected, match="UNAUTHENTICATED"):
        issuer.owner_of(token)


def test_a_key_that_was_replaced_counts_no_more(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer, token = Issuer(section(file)), signed()
    assert issuer.owner_of(token) == "ada"
    file.write_bytes(pem(OTHER))
    later = time.monotonic() + 10
    monkeypatch.setattr(time, "monotonic", lambda: later)

    with pytest.raises(Rejected, match="UNAUTHENTICATED"):
        issuer.owner_of(token)
    assert issuer.owner_of(signed(OTHER)) == "ada"


def test_keys_that_cannot_be_read_leave_those_of_before(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer(section(file))
    file.write_bytes(b"not a key")
    later = time.monotonic() + 10
    monkeypatch.setattr(time, "monotonic", lambda: later)

    assert issuer.owner_of(signed()) == "ada"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no key",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        b"\xff",
    ],
)
def test_a_file_without_public_keys_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with pytest.raises(IssuerError, match="public key"):
        Issuer(section(file))


@pytest.mark.filterwarnings("ignore:The RSA key is 1024 bits long")
def test_a_short_key_of_rsa_signs_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    weak = rsa.generate_private_key(65_537, 1_024)
    file.write_bytes(pem(weak))
    with pytest.raises(IssuerError, match="at least 2048 bits"):
        Issuer(section(file))

    short = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(weak.public_key())), "kid": "short"}
    both = json.loads(jwks(long=KEY))["keys"] + [short]
    file.write_text(json.dumps({"keys": both}))
    issuer = Issuer(section(file))

    assert "short are not accepted" in caplog.text
    assert issuer.owner_of(signed(headers={"kid": "long"})) == "ada"
    with pytest.raises(Rejected, match="its key is not a known key"):
        issuer.owner_of(signed(weak, {"kid": "short"}, "RS256"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IssuerError, match=r"correct auth\.issuer_keys_file"):
        Issuer(section(tmp_path / "none"))


def test_an_issuer_is_whole_or_not_at_all(file: Path) -> None:
    for part in ({"issuer": "us"}, {"audience": "a"}, {"issuer_keys_file": file}):
        with pytest.raises(ValueError, match="an issuer of JWTs has keys"):
            AuthSection.model_validate(part)
