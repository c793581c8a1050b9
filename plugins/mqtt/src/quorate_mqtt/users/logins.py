"""Logins: scrypt verifies a password once, and a fast keyed hash recognises it afterwards.

An entry is bound to the credential that the password was compared with, and the credential is read
for every login: no entry has to be invalidated, because none matches a user that was changed,
deleted or created again.
"""

from __future__ import annotations

import time
from asyncio import Task, create_task, gather, shield
from collections.abc import Callable, Sequence
from hashlib import blake2b
from secrets import token_bytes
from typing import Final, NamedTuple

from quorate.plugin import Rejected, keys

from quorate_mqtt.users.passwords import Passwords
from quorate_mqtt.v1.users_pb2 import Credential

Clock = Callable[[], float]

#: Maximum number of recognised passwords, at about 200 bytes each; then the oldest is forgotten.
MOST_REMEMBERED: Final = 100_000
#: Time for which a password is recognised before scrypt verifies it again.
REMEMBERED_S: Final = 3_600.0
#: Maximum number of running and queued verifications: about two seconds of work.
MOST_WAITING: Final = 64
#: Burst of wrong passwords that are verified for a user from a peer.
WRONG_AT_ONCE: Final = 10
#: Interval after which one more is verified.
WRONG_EVERY_S: Final = 6.0
#: Maximum number of counts of wrong passwords; beyond it the oldest count is forgotten.
MOST_COUNTED: Final = 100_000
_NOBODYS: Final = Credential()


class Attempt(NamedTuple):
    """A login: a user, and the password that the client presents."""

    #: The key of the user's row, which need not exist.
    user: bytes
    password: bytes
    #: The stored credential of the user; None: there is no such user.
    credential: Credential | None
    #: The origin of the login.
    peer: str = ""


class Logins:
    """Verifies passwords: new ones with scrypt, recently verified ones by a fast hash."""

    def __init__(self, passwords: Passwords, clock: Clock = time.monotonic) -> None:
        self._passwords: Final = passwords
        self._verified: Final = VerifiedPasswords(clock)
        self._wrong: Final = WrongPasswords(clock)
        #: Equal logins share a verification: many clients may have one user.
        self._running: Final[dict[bytes, Task[bool]]] = {}

    async def are_right(self, attempts: Sequence[Attempt]) -> list[bool | Rejected]:
        """Return for each attempt whether the password is that of the user, or its refusal.

        An attempt is refused after too many wrong ones for its user from the same peer, or when too
        many new ones come at once.
        """
        proofs = [self._verified.proof_of(attempt) for attempt in attempts]
        verdicts: list[bool | Rejected] = [proof in self._verified for proof in proofs]
        new = [position for position, verdict in enumerate(verdicts) if not verdict]
        verified = gather(*(self._verify(attempts[each], proofs[each]) for each in new))
        for position, verdict in zip(new, await verified, strict=True):
            verdicts[position] = verdict
        return verdicts

    async def _verify(self, attempt: Attempt, proof: bytes) -> bool | Rejected:
        running = self._running.get(proof)
        if running is None:
            if len(self._running) >= MOST_WAITING:
                return Rejected(
                    "RESOURCE_EXHAUSTED",
                    f"{MOST_WAITING} passwords are being verified on this node; try again in a "
                    "second",
                )
            try:
                self._wrong.charge(attempt.user, attempt.peer)
            except Rejected as refusal:
                return refusal
            running = create_task(self._hash(attempt, proof))
            self._running[proof] = running
            running.add_done_callback(lambda _: self._running.pop(proof))
        # It continues when this caller is gone: others may wait for it.
        return await shield(running)

    async def _hash(self, attempt: Attempt, proof: bytes) -> bool:
        if not await self._passwords.is_that_of(attempt.password, attempt.credential):
            return False
        self._wrong.refund(attempt.user, attempt.peer)
        self._verified.add(proof)
        return True


class VerifiedPasswords:
    """Verified passwords, as keyed hashes that reveal nothing outside of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._key: Final = token_bytes(32)
        #: The expiry of each proof, in the order of insertion.
        self._until: Final[dict[bytes, float]] = {}

    def proof_of(self, attempt: Attempt) -> bytes:
        """Return the keyed hash of an attempt: of its user, credential and password."""
        credential = attempt.credential or _NOBODYS
        parts = keys.pack(attempt.user, credential.salt, credential.hash, attempt.password)
        return blake2b(parts, key=self._key, digest_size=32).digest()

    def add(self, proof: bytes) -> None:
        """Recognise a password for the next `REMEMBERED_S` seconds."""
        self._until.pop(proof, None)
        while len(self._until) >= MOST_REMEMBERED:
            del self._until[next(iter(self._until))]
        self._until[proof] = self._clock() + REMEMBERED_S

    def __contains__(self, proof: bytes) -> bool:
        until = self._until.get(proof)
        return until is not None and self._clock() < until


class WrongPasswords:
    """Counts recent wrong passwords by user and peer; right ones are refunded.

    An attacker at one address does not lock out the user, who connects from another.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        #: The time at which each count is back at zero, in the order of the last charge.
        self._settled_at: Final[dict[tuple[bytes, str], float]] = {}

    def charge(self, user: bytes, peer: str) -> None:
        """Count an attempt; reject it after too many."""
        now, counted = self._clock(), (user, peer)
        settled_at = max(self._settled_at.get(counted, now), now) + WRONG_EVERY_S
        wait_s = settled_at - now - WRONG_AT_ONCE * WRONG_EVERY_S
        if wait_s > 0:
            raise Rejected(
                "RESOURCE_EXHAUSTED",
                "too many wrong passwords for this user came from the same address; try again in "
                f"{wait_s:.0f} s",
            )
        self._settled_at.pop(counted, None)
        while len(self._settled_at) >= MOST_COUNTED:
            del self._settled_at[next(iter(self._settled_at))]
        self._settled_at[counted] = settled_at

    def refund(self, user: bytes, peer: str) -> None:
        """Stop counting an attempt: its password was right."""
        counted = user, peer
        settled_at = self._settled_at.get(counted, 0.0) - WRONG_EVERY_S
        if settled_at > self._clock():
            self._settled_at[counted] = settled_at
        else:
            self._settled_at.pop(counted, None)
