"""Bearer tokens: random text, of which the cluster stores only a salted hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final, NamedTuple

from quorate.v1 import auth_pb2 as pb

_PREFIX: Final = "quorate"
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_SALT_BYTES: Final = 16


class TokenText(NamedTuple):
    """The parts of a token."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"{_PREFIX}_{self.id}_{self.secret}"


def new_token() -> TokenText:
    """Return a new token, too random to guess."""
    return TokenText(secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))


def parsed(text: str) -> TokenText | None:
    """Return the parts of a token; None for text that is not one of ours."""
    parts = text.split("_")
    return TokenText(*parts[1:]) if len(parts) == 3 and parts[0] == _PREFIX else None


def kept(token: TokenText) -> pb.TokenSecret:
    """Return the salted hash to store, which `proves` compares a token with."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return pb.TokenSecret(salt=salt, hash=_hash(salt, token.secret))


def proves(token: TokenText, secret: pb.TokenSecret) -> bool:
    """Return whether a token matches a stored hash."""
    return hmac.compare_digest(_hash(secret.salt, token.secret), secret.hash)


def _hash(salt: bytes, secret: str) -> bytes:
    # The secret is random and long: a slow hash would make it no safer.
    return hashlib.sha256(salt + secret.encode(errors="surrogatepass")).digest()
