"""Tokens replace passwords in calls: every node checks them, and no node stores them."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple

#: Clocks of nodes may differ by as much.
_SKEW_S: Final = 300
_MOST_BYTES: Final = 4_096


class Claim(NamedTuple):
    """The content of a token; it is valid while the user keeps the password."""

    user: str
    password_revision: int
    issued_s: int


def issue(claim: Claim, secret: bytes) -> str:
    """Return a token."""
    user = urlsafe_b64encode(claim.user.encode()).decode()
    said = f"{user}.{claim.password_revision}.{claim.issued_s}"
    return f"{said}.{_signature(said, secret)}"


def read(token: str, secret: bytes, now_s: float, life_s: float) -> Claim | None:
    """Return the content of a token; None: it is of another store, forged, or too old."""
    said, _, signature = token.rpartition(".")
    if len(token) > _MOST_BYTES or not secret or not token.isascii():
        return None
    if not hmac.compare_digest(signature, _signature(said, secret)):
        return None
    user, password_revision, issued_s = said.split(".")
    claim = Claim(urlsafe_b64decode(user).decode(), int(password_revision), int(issued_s))
    return claim if -_SKEW_S <= now_s - claim.issued_s <= life_s else None


def _signature(said: str, secret: bytes) -> str:
    return hmac.new(secret, said.encode(), hashlib.sha256).hexdigest()
