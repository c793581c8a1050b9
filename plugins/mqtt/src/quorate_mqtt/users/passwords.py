"""Passwords and their scrypt hashes; hashing takes tens of milliseconds, in worker threads."""

import asyncio
import hashlib
import hmac
import secrets
from typing import Final

from quorate_mqtt.v1.users_pb2 import Credential

#: The parameters of scrypt: 16 MiB of memory and about 50 ms for each password.
COST: Final = 1 << 14
BLOCK_SIZE: Final = 8
PARALLELISM: Final = 1
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 64
_MEMORY_BYTES: Final = 64 << 20
#: Maximum number of passwords that a node hashes at a time: more would take every core.
AT_A_TIME: Final = 2


class Passwords:
    """Hashes passwords, and compares them with stored hashes."""

    def __init__(self) -> None:
        self._turns: Final = asyncio.Semaphore(AT_A_TIME)
        #: New passwords queue here first, so that a login waits for few of them, however many come.
        self._new: Final = asyncio.Semaphore(AT_A_TIME)
        #: The credential for unknown users: a client cannot tell them from known ones by the time.
        self._nobody: Final = Credential(
            salt=secrets.token_bytes(_SALT_BYTES),
            hash=bytes(_HASH_BYTES),
            cost=COST,
            block_size=BLOCK_SIZE,
            parallelism=PARALLELISM,
        )

    async def credential_of(self, password: bytes) -> Credential:
        """Return the credential of a new password, with a random salt."""
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
        """Return whether a password matches a credential; False, in equal time, without one."""
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
