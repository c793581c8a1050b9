"""Passwords and their scrypt hashes; to hash takes tens of milliseconds, and is never waited for
on the event loop.
"""

import asyncio
import hashlib
import hmac
import secrets
from typing import Final

from quorate_mqtt.v1.users_pb2 import Credential

#: What scrypt works with: 16 MiB of memory for each password, about 50 ms.
COST: Final = 1 << 14
BLOCK_SIZE: Final = 8
PARALLELISM: Final = 1
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 64
_MEMORY_BYTES: Final = 64 << 20
#: Passwords that a node hashes at a time: more of them would take every core.
AT_A_TIME: Final = 2


class Passwords:
    """Hashes passwords, and tells whether one is that of a hash."""

    def __init__(self) -> None:
        self._turns: Final = asyncio.Semaphore(AT_A_TIME)
        #: New passwords queue here first, so that a login waits for few of them, however many come.
        self._new: Final = asyncio.Semaphore(AT_A_TIME)
        #: What the password of nobody is compared with: who asks cannot tell by the time it takes.
        self._nobody: Final = Credential(
            salt=secrets.token_bytes(_SALT_BYTES),
            hash=bytes(_HASH_BYTES),
            cost=COST,
            block_size=BLOCK_SIZE,
            parallelism=PARALLELISM,
        )

    async def credential_of(self, password: bytes) -> Credential:
        """Return what is kept of a password, with a salt of its own."""
        credential = Credential(
            salt=secrets.token_bytes(_SALT_BYTES),
            cost=COST,
            block_size=BLOCK_SIZE,
            parallelism=PARALLELISM,
        )
        async with self._new:
            credential.hash = await self._hash(password, credential)
        return credential

    async def is_that_of(self, password: bytes, credential: Credential | None) -> bool:
        """Return whether it is the password of a credential; nobody's password is none."""
        compared = credential or self._nobody
        hashed = await self._hash(password, compared)
        return hmac.compare_digest(hashed, compared.hash) and credential is not None

    async def _hash(self, password: bytes, credential: Credential) -> bytes:
        async with self._turns:
            return await asyncio.to_thread(_scrypt, password, credential)


def _scrypt(password: bytes, credential: Credential) -> bytes:
    return hashlib.scrypt(
        password,
        salt=credential.salt,
        n=credential.cost,
        r=credential.block_size,
        p=credential.parallelism,
        maxmem=_MEMORY_BYTES,
        dklen=_HASH_BYTES,
    )
