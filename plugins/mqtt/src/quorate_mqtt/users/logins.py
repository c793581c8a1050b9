"""Logins: scrypt verifies a password once, and a fast keyed hash recognises it afterwards.

What is kept is bound to the credential that was compared with, and that is read for every login:
no entry has to be invalidated, because none fits a user that was changed, deleted or made again.
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

#: Passwords that are recognised, in about 200 bytes each; beyond it the oldest is forgotten.
MOST_REMEMBERED: Final = 100_000
#: How long a password is recognised before scrypt verifies it again.
REMEMBERED_S: Final = 3_600.0
#: Verifications that run or wait for their turn: about two seconds of work.
MOST_WAITING: Final = 64
#: Wrong passwords that are verified at once for a user and from a peer.
WRONG_AT_ONCE: Final = 10
#: How long it takes until one more is verified.
WRONG_EVERY_S: Final = 6.0
#: Users and peers whose wrong passwords are counted; beyond it the oldest count is forgotten.
MOST_COUNTED: Final = 100_000
_NOBODYS: Final = Credential()


class Attempt(NamedTuple):
    """Somebody says that this is the password of a user."""

    #: The key of its row, whether there is one or not.
    user: bytes
    password: bytes
    #: What is stored of the user now; None: there is no such user.
    credential: Credential | None
    #: Where it comes from.
    peer: str = ""


class Logins:
    """Tells whether passwords are right, at the cost of scrypt for those that are new to it."""

    def __init__(self, passwords: Passwords, clock: Clock = time.monotonic) -> None:
        self._passwords: Final = passwords
        self._verified: Final = VerifiedPasswords(clock)
        self._wrong: Final = WrongPasswords(clock)
        #: Equal logins share a verification: a fleet of clients may have one user.
        self._running: Final[dict[bytes, Task[bool]]] = {}

    async def are_right(self, attempts: Sequence[Attempt]) -> list[bool | Rejected]:
        """Return for each password whether it is that of its user.

        An attempt is refused when too many wrong ones came for its user from the same peer, or too
        many new ones at once.
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
            try:
                self._admit(attempt)
            except Rejected as refusal:
                return refusal
            running = create_task(self._hash(attempt, proof))
            self._running[proof] = running
            running.add_done_callback(lambda _: self._running.pop(proof))
        # It goes on when this caller is gone: others may wait for it.
        return await shield(running)

    def _admit(self, attempt: Attempt) -> None:
        if len(self._running) >= MOST_WAITING:
            raise Rejected(
                "RESOURCE_EXHAUSTED",
                f"{MOST_WAITING} passwords are being verified on this node; try again in a second",
            )
        self._wrong.charge(attempt.user, attempt.peer)

    async def _hash(self, attempt: Attempt, proof: bytes) -> bool:
        if not await self._passwords.is_that_of(attempt.password, attempt.credential):
            return False
        self._wrong.refund(attempt.user, attempt.peer)
        self._verified.add(proof)
        return True


class VerifiedPasswords:
    """Passwords that were right, as keyed hashes that say nothing outside of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._key: Final = token_bytes(32)
        #: Until when each counts, in the order in which they were added.
        self._until: Final[dict[bytes, float]] = {}

    def proof_of(self, attempt: Attempt) -> bytes:
        """Return what stands for this password of this user under this credential."""
        credential = attempt.credential or _NOBODYS
        parts = keys.pack(attempt.user, credential.salt, credential.hash, attempt.password)
        return blake2b(parts, key=self._key, digest_size=32).digest()

    def add(self, proof: bytes) -> None:
        """Recognise a password from now on, for its time."""
        self._until.pop(proof, None)
        while len(self._until) >= MOST_REMEMBERED:
            del self._until[next(iter(self._until))]
        self._until[proof] = self._clock() + REMEMBERED_S

    def __contains__(self, proof: bytes) -> bool:
        until = self._until.get(proof)
        return until is not None and self._clock() < until


class WrongPasswords:
    """How many wrong passwords came for each user from each peer lately, right ones refunded.

    Who guesses from one place does not lock out the user, who comes from another.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        #: When each count is back at zero, in the order of the last charge.
        self._settled_at: Final[dict[tuple[bytes, str], float]] = {}

    def charge(self, user: bytes, peer: str) -> None:
        """Count an attempt; refuse it when there were too many."""
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
        """Take back an attempt: its password was right."""
        counted = user, peer
        settled_at = self._settled_at.get(counted, 0.0) - WRONG_EVERY_S
        if settled_at > self._clock():
            self._settled_at[counted] = settled_at
        else:
            self._settled_at.pop(counted, None)
