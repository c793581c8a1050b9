"""A broker's cache of the access rules for its clients, kept up to date by watching."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final

from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    UnavailableError,
    WatchedChange,
)
from quorate.plugin import Invalid, keys

from quorate_mqtt.authorisation import Access, Decision, Policy
from quorate_mqtt.authorisation.policy import FAMILIES


class AccessCache:
    """Decides locally, over the users, ACL rules and blacklist of all tenants.

    A change in the cluster takes effect here as soon as the watch has delivered it. While the
    cluster cannot be reached, the last known rows decide.
    """

    def __init__(self, *, allow_unmatched: bool = True) -> None:
        #: The decision where no rule matches.
        self._allow_unmatched: Final = allow_unmatched
        self._policies: dict[str, Policy] = {}
        #: The policies that are being listed, while the former ones decide.
        self._next: dict[str, Policy] | None = {}
        self._why_not = "the rules of the cluster have not been read yet; wait for them"

    def decide(self, tenant: str, access: Access) -> Decision:
        """Decide on an access; raises `InvalidError` for an invalid access.

        Raises `UnavailableError` before all rules are known, and once the watch has ended.
        """
        if self._why_not:
            raise UnavailableError(self._why_not)
        policy = self._policies.get(tenant, _NOTHING)
        try:
            return policy.decide(access, allow_unmatched=self._allow_unmatched)
        except Invalid as invalid:
            raise InvalidError(invalid.field, invalid.reason) from None

    def see(self, change: WatchedChange) -> None:
        """Apply a change of `FAMILIES`, as a watch with marks delivers it."""
        if change.kind is ChangeKind.RESYNC:
            self._next = {}
        elif change.kind is ChangeKind.LISTED:
            if self._next is not None:
                self._policies, self._next = self._next, None
            self._why_not = ""
        elif change.family in FAMILIES:
            policies = self._policies if self._next is None else self._next
            tenant, name = map(str, keys.unpack(change.key))
            row = None if change.kind is ChangeKind.DELETED else change.value
            policies.setdefault(tenant, Policy()).see(change.family, name, row)

    def end(self, why: str) -> None:
        """Stop deciding."""
        self._why_not = why


@asynccontextmanager
async def following(q: AsyncClient, *, allow_unmatched: bool = True) -> AsyncIterator[AccessCache]:
    """Provide a cache that has read all rules, and follows them meanwhile.

    `allow_unmatched` decides where no rule matches.
    """
    cache = AccessCache(allow_unmatched=allow_unmatched)
    loop = asyncio.get_running_loop()
    listed: asyncio.Future[None] = loop.create_future()

    def ended(watching: asyncio.Task[None]) -> None:
        error = None if watching.cancelled() else watching.exception()
        cache.end(f"the rules of the cluster are not followed any more: {error or 'it was ended'}")
        if error is not None and not listed.done():
            listed.set_exception(error)

    watching = loop.create_task(_follow(q, cache, listed))
    watching.add_done_callback(ended)
    try:
        await listed
        yield cache
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _follow(q: AsyncClient, cache: AccessCache, listed: asyncio.Future[None]) -> None:
    async with aclosing(q.watch(FAMILIES, marks=True)) as changes:
        async for change in changes:
            cache.see(change)
            if change.kind is ChangeKind.LISTED and not listed.done():
                listed.set_result(None)


_NOTHING: Final = Policy()
