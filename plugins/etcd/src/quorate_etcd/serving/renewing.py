"""Renews the leases of a store for the clients of this node: many in one command."""

from __future__ import annotations

import asyncio
from typing import Final

from quorate.plugin.batches import in_parts

from quorate_etcd.serving.store import Store
from quorate_etcd.v1 import commands_pb2 as pb

#: How long a renewal waits for others.
_TICK_S: Final = 0.05
#: Leases of one command.
_AT_A_TIME: Final = 1_000

#: The revision of the store, and the time to live; 0: there is no such lease.
Renewal = tuple[int, int]


class Renewals:
    """Collects renewals, and proposes them together."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._asked: dict[int, asyncio.Future[Renewal]] = {}
        self._working: asyncio.Task[None] | None = None

    def renew(self, lease: int) -> asyncio.Future[Renewal]:
        """Renew a lease with others; several of its clients have one renewal."""
        asked = self._asked.get(lease)
        if asked is None:
            asked = self._asked[lease] = asyncio.get_running_loop().create_future()
            # One that nobody waits for any more may fail.
            asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return asked

    async def _work(self) -> None:
        try:
            while self._asked:
                await asyncio.sleep(_TICK_S)
                asked, self._asked = self._asked, {}
                parts = in_parts(asked, _AT_A_TIME)
                await asyncio.gather(*(self._renew(part, asked) for part in parts))
        finally:
            self._working = None

    async def _renew(self, leases: list[int], asked: dict[int, asyncio.Future[Renewal]]) -> None:
        try:
            command = pb.RenewLeases(store=self._store.name, ids=leases)
            renewed = await self._store.propose(command, pb.Renewed)
        except Exception as error:  # noqa: BLE001 - each that waits for it raises it
            for lease in leases:
                if not asked[lease].done():
                    asked[lease].set_exception(error)
            return
        for lease, ttl_s in zip(leases, renewed.ttls_s, strict=True):
            if not asked[lease].done():
                asked[lease].set_result((renewed.revision, ttl_s))
