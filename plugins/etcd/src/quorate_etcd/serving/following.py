"""Follows the transactions of a store on this node, in the order of their revisions."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from quorate.plugin import RowEvent
from quorate.plugin.advanced import Complaints

from quorate_etcd.families import TRANSACTIONS, store_key
from quorate_etcd.serving.store import Store
from quorate_etcd.v1 import commands_pb2 as pb, rows_pb2 as rows

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2
#: Changes that are passed on together: what watches need of them is read at a time.
_AT_A_TIME: Final = 50
#: Changes that wait to be passed on, and their size; beyond them it starts over.
_MOST_WAITING: Final = 100_000
_MOST_WAITING_BYTES: Final = 32 << 20


class Transaction(NamedTuple):
    """A transaction of a store."""

    revision: int
    changes: Sequence[rows.Change]
    #: Those of its changes that are sweeps.
    sweeps: Sequence[rows.Sweep]
    #: Bytes of its events.
    size: int


class Follower:
    """Passes transactions to `happened` in their order, each once while it is live.

    When some may have been missed it calls `lost` with the last revision that was passed on, and
    starts over with the newest.
    """

    def __init__(
        self,
        store: Store,
        happened: Callable[[Sequence[Transaction]], Awaitable[None]],
        lost: Callable[[], None],
    ) -> None:
        self._store: Final = store
        self._happened: Final = happened
        self._lost: Final = lost
        #: The revision of the last transaction passed on.
        self.revision = 0
        #: The revision of the shard that a replica has with it.
        self.applied = 0
        #: Whether every later transaction will be passed on.
        self.live = False
        self._complaints: Final = Complaints(
            _log,
            f"cannot follow store {store.name!r} of etcd's clients, no events until it can",
        )
        self._waiting: Final[deque[Transaction]] = deque()
        self._count = self._bytes = 0
        self._arrived: Final = asyncio.Event()
        self._advanced = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                async with asyncio.TaskGroup() as tasks:
                    passing = tasks.create_task(self._pass_on())
                    await self._follow()
                    passing.cancel()
            except* Exception as group:  # noqa: BLE001 - a later attempt may succeed
                self._complaints.complain(group.exceptions[0], worked=self.live)
            self._waiting.clear()
            self._count = self._bytes = 0
            if self.live:
                self.live = False
                self._lost()
            await asyncio.sleep(_RETRY_S)

    async def reached(self, revision: int) -> None:
        """Wait until a transaction was passed on, and this node follows the store."""
        while not self.live or self.revision < revision:
            await asyncio.shield(self._advanced)

    async def _follow(self) -> None:
        store = self._store
        await store.node.propose(pb.Open(store=store.name), pb.Stood)
        changes: list[rows.Change] = []
        newest = size = 0
        async for seen in store.node.watch(TRANSACTIONS, prefix=store_key(store.name)):
            event = seen.event
            self.applied = max(self.applied, seen.revision)
            if seen.resync or self._count > _MOST_WAITING or self._bytes > _MOST_WAITING_BYTES:
                return
            if event is None:
                if not self.live and newest:
                    self.revision, self.live = newest, True
                    self._advance()
            elif isinstance(event, RowEvent) and event.value is not None:
                row = rows.Transaction.FromString(event.value)
                if not self.live:
                    newest = row.revision
                    continue
                changes += row.changes
                size += len(event.value)
                # A compaction changes nothing, and a leap the revision alone.
                if not row.more and row.revision > newest:
                    newest = row.revision
                    sweeps = [each for each in row.sweeps if each.place.revision == newest]
                    self._waiting.append(Transaction(newest, changes, sweeps, size))
                    self._count += len(changes)
                    self._bytes += size
                    self._arrived.set()
                    changes, size = [], 0

    async def _pass_on(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._waiting:
                passed = [self._waiting.popleft()]
                count = len(passed[0].changes)
                while self._waiting and count < _AT_A_TIME:
                    passed.append(self._waiting.popleft())
                    count += len(passed[-1].changes)
                self._count -= count
                self._bytes -= sum(each.size for each in passed)
                await self._happened(passed)
                self.revision = passed[-1].revision
                self._advance()

    def _advance(self) -> None:
        advanced, self._advanced = self._advanced, asyncio.get_running_loop().create_future()
        advanced.set_result(None)
