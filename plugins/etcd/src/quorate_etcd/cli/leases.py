"""Leases of a copy: the target has those of the source, and they last as long as there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from quorate_etcd.cli.peer import Peer

#: The interval of the looks at the source's leases where none of them is shorter.
_LONGEST_PAUSE_S: Final = 10.0


class LapsedError(Exception):
    """Leases have ended at the target alone, and their keys with them: copy again."""


class Leases:
    """Grants, renews and revokes leases of the target as they are at the source."""

    def __init__(self, source: Peer, target: Peer) -> None:
        self._source: Final = source
        self._target: Final = target
        #: The times to live of the leases that both have, in seconds.
        self._ttls: Final[dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._ttls)

    def __contains__(self, lease: int) -> bool:
        """Whether both have a lease, as far as it is known."""
        return lease in self._ttls

    async def keep(self) -> None:
        """Renew the leases of the target for ever, while the source has them."""
        while True:
            await asyncio.sleep(min([_LONGEST_PAUSE_S, *(ttl / 3 for ttl in self._ttls.values())]))
            await self.follow()

    async def follow(self) -> None:
        """Bring the leases of the target to those of the source; raises `LapsedError`."""
        # Those granted for keys in the meantime may be newer than the answer.
        known = set(self._ttls)
        found = set(await self._source.leases())
        for lease in found - known:
            await self.wanted(lease)
        for lease in known - found:
            del self._ttls[lease]
            await self._target.revoke(lease)
        lapsed = await self._target.renew(sorted(known & found))
        if lapsed:
            self.forget(lapsed)
            raise LapsedError

    def forget(self, lapsed: Iterable[int]) -> None:
        """Let leases be granted again."""
        for lease in lapsed:
            self._ttls.pop(lease, None)

    async def wanted(self, lease: int) -> int:
        """Return the lease for a key; 0: it has ended at the source, and its keys will."""
        if not lease or lease in self._ttls:
            return lease
        ttl_s = await self._source.ttl(lease)
        if not ttl_s:
            return 0
        await self._target.grant(lease, ttl_s)
        self._ttls[lease] = ttl_s
        return lease
