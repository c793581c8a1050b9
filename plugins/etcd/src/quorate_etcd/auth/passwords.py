"""Passwords are kept as hashes that are dear to compute."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import Final

from quorate_etcd import errors

_SALT_BYTES: Final = 16
#: 16 MiB and some 50 ms for each.
_N, _R, _P = 1 << 14, 8, 1
#: Hashes that are computed at a time, and those that wait.
_AT_A_TIME: Final = 2
_WAITING: Final = 64
#: The longest password.
MOST_BYTES: Final = 1_024


class Passwords:
    """Computes hashes beside the loop, a bounded number at a time."""

    def __init__(self) -> None:
        self._turns: Final = asyncio.Semaphore(_AT_A_TIME)
        self._asked = 0

    async def hashed(self, password: str) -> tuple[bytes, bytes]:
        """Return a salt, and the hash of a password with it."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return salt, await self._hash(password, salt)

    async def matches(self, password: str, salt: bytes, known: bytes) -> bool:
        """Whether a password is the one with a hash."""
        return hmac.compare_digest(await self._hash(password, salt), known)

    async def _hash(self, password: str, salt: bytes) -> bytes:
        content = password.encode()
        if len(content) > MOST_BYTES or self._asked >= _WAITING:
            errors.TOO_MANY_REQUESTS.refuse()
        self._asked += 1
        try:
            async with self._turns:
                return await asyncio.to_thread(
                    hashlib.scrypt, content, salt=salt, n=_N, r=_R, p=_P, dklen=32
                )
        finally:
            self._asked -= 1
