"""Streams the places of shards to clients: first all, then every change."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Final

from quorate.shards.timing import end, pause
from quorate.v1 import admin_pb2 as pb

#: Interval between checks for changes while a client follows.
LOOK_S: Final = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """The topology at one moment."""

    whole: pb.TopologyResponse
    shards: dict[tuple[str, int], pb.ShardPlace]

    @classmethod
    def of(cls, whole: pb.TopologyResponse) -> "_Snapshot":
        return cls(whole, {(each.group, each.number): each for each in whole.shards})

    def since(self, before: "_Snapshot") -> pb.TopologyResponse:
        """Return the changes; the whole topology if shards are gone or the cluster differs."""
        if (
            self.whole.cluster_id != before.whole.cluster_id
            or not before.shards.keys() <= self.shards.keys()
        ):
            return self.whole
        changed = [each for key, each in self.shards.items() if before.shards.get(key) != each]
        return pb.TopologyResponse(
            cluster_id=self.whole.cluster_id,
            nodes=self.whole.nodes,
            shards=changed,
            changes_only=True,
        )


class TopologyFeed:
    """Checks for changes on behalf of all followers, while there are any.

    `read` returns the topology, and `key` a value that changes whenever the topology may.
    """

    def __init__(
        self,
        read: Callable[[], pb.TopologyResponse],
        key: Callable[[], object],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._read: Final = read
        self._key: Final = key
        self._loop: Final = loop
        self._followers = 0
        self._looking: asyncio.Task[None] | None = None
        self._newest: _Snapshot | None = None
        self._changed: asyncio.Future[_Snapshot] = loop.create_future()

    async def follow(self) -> AsyncGenerator[pb.TopologyResponse, None]:
        """Yield the topology and then its changes; raises what reading it raises."""
        self._followers += 1
        try:
            if self._newest is None:
                self._newest = _Snapshot.of(self._read())
            if self._looking is None or self._looking.done():
                self._looking = self._loop.create_task(self._look(self._key()))
            known = self._newest
            yield known.whole
            while True:
                newest = await self._after(known)
                yield newest.since(known)
                known = newest
        finally:
            self._followers -= 1

    async def stop(self) -> None:
        """Stop checking."""
        await end(self._looking)

    async def _after(self, known: _Snapshot) -> _Snapshot:
        """Return the newest topology; wait for the next one if the newest is known."""
        if self._newest is None or self._newest is known:
            return await asyncio.shield(self._changed)
        return self._newest

    async def _look(self, seen: object) -> None:
        try:
            while self._followers:
                await pause(self._loop, LOOK_S)
                key = self._key()
                if key == seen:
                    continue
                seen = key
                newest, before = _Snapshot.of(self._read()), self._newest
                if before is None or newest.whole != before.whole:
                    self._newest = newest
                    self._next().set_result(newest)
        except Exception as error:  # noqa: BLE001 - followers get it
            update = self._next()
            update.set_exception(error)
            # It may have no followers.
            update.exception()
        finally:
            self._newest = None

    def _next(self) -> "asyncio.Future[_Snapshot]":
        update, self._changed = self._changed, self._loop.create_future()
        return update
