"""A broker's cache of verified passwords, kept valid by watching the users."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from hashlib import blake2b
from secrets import token_bytes
from typing import Final

from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    QuorateError,
    RejectedError,
    WatchedChange,
)
from quorate.plugin import keys
from quorate.v1.batch_pb2 import ItemRefusal

from quorate_mqtt.client.shared_calls import SharedCalls
from quorate_mqtt.client.users import Users
from quorate_mqtt.users.resource import USER
from quorate_mqtt.users.validation import MOST_LOGINS
from quorate_mqtt.v1.users_pb2 import AuthenticateRequest, AuthenticateResponse

#: Time for which a right password is remembered, unless the user is changed or deleted before.
REMEMBERED_S: Final = 300.0
#: Maximum number of remembered users; beyond it the user that was asked about first is forgotten.
MOST_REMEMBERED: Final = 100_000
Clock = Callable[[], float]


class LoginCache:
    """Answers logins: locally for a recently verified password, else by asking the cluster.

    A user is forgotten when the watch reports that the user was changed or deleted, and in any
    case after `REMEMBERED_S`. Wrong passwords are never remembered. Concurrent logins of many
    coroutines share calls.
    """

    def __init__(self, users: Users, clock: Clock = time.monotonic) -> None:
        self._users: Final = users
        self._clock: Final = clock
        self._key: Final = token_bytes(32)
        #: By user, in the order of their logins: the expiry, the proof, and the answer.
        self._known: Final[dict[bytes, tuple[float, bytes, AuthenticateResponse]]] = {}
        #: Grows with each change that a watch reports: an answer from before is not remembered.
        self._changes: Final[dict[bytes, int]] = {}
        self._asked: Final[dict[bytes, int]] = {}
        self._epoch = 0
        self._shared: Final = SharedCalls(self._ask, MOST_LOGINS)
        self._following = False

    async def authenticate(
        self, tenant: str, name: str, password: bytes, address: str = ""
    ) -> AuthenticateResponse:
        """Return whether a password is that of a user; no password is right for an unknown user.

        Wrong passwords are counted by user and `address`, the address of the broker's client.
        """
        user = keys.pack(tenant, name)
        proof = blake2b(keys.pack(user, password), key=self._key, digest_size=32).digest()
        known = self._known.get(user)
        if known is not None and known[1] == proof and self._clock() < known[0]:
            return known[2]
        self._asked[user] = self._asked.get(user, 0) + 1
        before = (self._epoch, self._changes.get(user, 0))
        try:
            request = AuthenticateRequest(
                tenant=tenant, name=name, password=password, address=address
            )
            answer = await self._shared.ask(request)
            if (
                answer.authenticated
                and self._following
                and before == (self._epoch, self._changes.get(user, 0))
            ):
                self._remember(user, proof, answer)
            return answer
        finally:
            self._asked[user] -= 1
            if not self._asked[user]:
                del self._asked[user]
                self._changes.pop(user, None)

    def see(self, change: WatchedChange) -> None:
        """Apply a change of users, as a watch with marks delivers it."""
        if change.kind is ChangeKind.RESYNC:
            self.forget()
        elif change.kind is ChangeKind.LISTED:
            self._following = True
        elif change.family == USER.family:
            self._known.pop(change.key, None)
            if change.key in self._asked:
                self._changes[change.key] = self._changes.get(change.key, 0) + 1

    def forget(self) -> None:
        """Forget all users, and remember none until the users are followed again."""
        self._following = False
        self._epoch += 1
        self._known.clear()

    def _remember(self, user: bytes, proof: bytes, answer: AuthenticateResponse) -> None:
        self._known.pop(user, None)
        while len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[user] = (self._clock() + REMEMBERED_S, proof, answer)

    async def _ask(
        self, logins: Sequence[AuthenticateRequest]
    ) -> list[AuthenticateResponse | QuorateError]:
        reply = await self._users.authenticate_many(logins)
        refused = {refusal.item: _error_of(refusal) for refusal in reply.refusals}
        # If all items are refused, there are no replies.
        return [
            refused.get(position) or AuthenticateResponse.FromString(reply.replies[position])
            for position in range(len(logins))
        ]


def _error_of(refusal: ItemRefusal) -> QuorateError:
    if refusal.code == "INVALID_ARGUMENT":
        return InvalidError("login", refusal.message)
    return RejectedError(refusal.code, refusal.message)


@asynccontextmanager
async def following_logins(q: AsyncClient) -> AsyncIterator[LoginCache]:
    """Provide a cache of logins that follows the users of the cluster meanwhile."""
    cache = LoginCache(Users(q))
    following = asyncio.get_running_loop().create_task(_follow(q, cache))
    try:
        yield cache
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _follow(q: AsyncClient, cache: LoginCache) -> None:
    try:
        async with aclosing(q.watch(USER.family, marks=True)) as changes:
            async for change in changes:
                cache.see(change)
    finally:
        cache.forget()
