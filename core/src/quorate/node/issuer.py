"""Verifies JWTs with the public keys of their issuer from a file."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from quorate.config.sections import AuthSection
from quorate.node.certified import SHORTEST_RSA, is_weak
from quorate.plugin import Rejected

_log = logging.getLogger(__name__)

#: Signatures by a private key, which only the issuer has.
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "EdDSA",
)
#: Maximum number of verified tokens to cache.
_KNOWN: Final = 1_024
#: Minimum interval between reads of the file.
_READ_S: Final = 1.0
#: Tolerated difference between clocks.
_LEEWAY_S: Final = 5.0


class IssuerError(Exception):
    """The keys of `[auth]` cannot be used; the text says what to do."""


class Issuer:
    """Verifies JWTs; reloads the keys when their file is replaced.

    The constructor raises `IssuerError`.
    """

    def __init__(self, auth: AuthSection) -> None:
        assert auth.issuer_keys_file is not None
        self._auth: Final = auth
        self._file: Final[Path] = auth.issuer_keys_file
        #: By key id; "" for the only key of a PEM file.
        self._keys: Mapping[str, Any] = {}
        self._content: bytes | None = None
        self._read_at = float("-inf")
        #: The user and the expiry of each verified token.
        self._known: Final[dict[str, tuple[str, float]]] = {}
        self._read()

    def owner_of(self, token: str) -> str:
        """Return the name in a token; raises `Rejected` (UNAUTHENTICATED)."""
        if time.monotonic() - self._read_at >= _READ_S:
            self._read_again()
        known = self._known.get(token)
        if known is not None and time.time() < known[1]:
            return known[0]
        claims = self._verified(token)
        name = claims.get(self._auth.name_claim)
        if not isinstance(name, str) or not name:
            raise _refused(f"it has no claim {self._auth.name_claim}")
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[token] = (name, claims["exp"] + _LEEWAY_S)
        return name

    def _verified(self, token: str) -> Mapping[str, Any]:
        import jwt

        try:
            key_id = jwt.get_unverified_header(token).get("kid", "")
            key = self._keys.get(key_id) or (
                next(iter(self._keys.values())) if len(self._keys) == 1 and not key_id else None
            )
            if key is None:
                raise _refused("its key is not a known key of the issuer")
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._auth.audience,
                issuer=self._auth.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise _refused("it has expired: ask for a new one") from None
        except jwt.PyJWTError as error:
            raise _refused(f"it is not valid for this issuer and cluster ({error})") from None
        return claims

    def _read_again(self) -> None:
        try:
            self._read()
        except IssuerError as error:
            if self._read_at != float("inf"):
                _log.warning("the issuer's previous keys are still used: %s", error)
        self._read_at = time.monotonic()

    def _read(self) -> None:
        try:
            content = self._file.read_bytes()
        except OSError as error:
            raise IssuerError(
                f"{self._file} cannot be read: {error.strerror}; correct auth.issuer_keys_file"
            ) from error
        if content != self._content:
            self._keys = _keys_in(self._file, content)
            self._known.clear()
            self._content = content
        self._read_at = time.monotonic()


def _keys_in(file: Path, content: bytes) -> Mapping[str, Any]:
    try:
        import jwt
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as error:
        raise IssuerError(
            f"auth.issuer_keys_file needs {error.name}: pip install 'quorate[server,auth]'"
        ) from error
    try:
        if not content.lstrip().startswith(b"{"):
            pem = load_pem_public_key(content)
            if is_weak(pem):
                raise ValueError(f"RSA keys have at least {SHORTEST_RSA} bits")
            return {"": pem}
        found = jwt.PyJWKSet.from_dict(json.loads(content)).keys
    except (ValueError, jwt.PyJWTError) as error:
        raise IssuerError(
            f"{file} holds neither a JWK set nor a public key in PEM: {error}"
        ) from error
    weak = [each for each in found if is_weak(each.key)]
    if weak:
        _log.warning(
            "%s: tokens by the keys %s are not accepted: RSA keys have at least %d bits",
            file,
            ", ".join(str(each.key_id) for each in weak),
            SHORTEST_RSA,
        )
    usable = {
        each.key_id or "": each
        for each in found
        if each.algorithm_name in ALGORITHMS and each not in weak
    }
    if not usable:
        raise IssuerError(
            f"{file} holds no public key for {', '.join(ALGORITHMS)}: keys that sign with a shared "
            "secret are not accepted"
        )
    return usable


def _refused(why: str) -> Rejected:
    return Rejected("UNAUTHENTICATED", f"the token is not accepted: {why}")
