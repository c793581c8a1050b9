"""Who follows the rows of a shard, from replica to replica, by tokens."""

import asyncio
from typing import Final

from quorate.plugin import RowEvent
from quorate.plugin.advanced import WatchedEvent
from quorate.plugin.shard_id import ShardId
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.watch import Watch

from tests.support.sim import domain, facts
from tests.support.sim.clients import Traffic
from tests.support.sim.hosted import Hosted


class Watcher:
    """Lists, follows, goes elsewhere with the token that it has, and lists again when told to."""

    def __init__(self, traffic: Traffic, shard: str, number: int) -> None:
        self._traffic: Final = traffic
        self._cluster: Final = traffic.cluster
        self._shard: Final = shard
        self._id: Final = ShardId.parse(shard)
        self._rng: Final = traffic.cluster.world.rng(f"watcher/{shard}/{number}")
        self._families: Final = self._rng.choice(
            ((domain.REGISTERS,), (domain.COUNTERS,), (domain.REGISTERS, domain.COUNTERS))
        )
        #: How fast it reads; some are slower than what comes.
        self._pause_s: Final = self._rng.choice((0.0, 0.0, 0.02))
        self._token = b""
        self._at: Hosted | None = None
        self._watch: Watch | None = None
        #: The number of the watch that is open, as facts name it.
        self._number = 0

    def start(self) -> None:
        """Begin at some moment."""
        self._cluster.world.at(self._rng.uniform(0.0, 2.0), self._look)

    def finish(self) -> None:
        """Demand that everything has come: nothing happens any more, and all had their time."""
        if self._at is None or self._at.process.has_ended():
            return
        # A slow reader may still be at it.
        if not self._token or self._pause_s:
            return
        reached = self._at.shard.revision
        self._cluster.tell(facts.WatchReached(self._shard, self._at.peer, self._number, reached))

    def _look(self) -> None:
        """Move on now and then, and whenever the replica is gone."""
        at = self._at
        gone = at is None or at.process.has_ended() or self._watch is None
        if gone or (not self._traffic.gentle and self._rng.random() < 0.15):
            self._leave()
            self._begin()
        self._cluster.world.at(self._rng.uniform(0.1, 1.0), self._look)

    def _leave(self) -> None:
        if self._at is None:
            return
        self._cluster.tell(facts.WatchEnded(self._shard, self._at.peer, self._number, False))
        if self._watch is not None and not self._at.process.has_ended():
            self._at.process.loop.post(0.0, self._watch.close)
        self._at = self._watch = None

    def _begin(self) -> None:
        replicas = self._traffic.awake(self._shard)
        if not replicas:
            return
        at = self._rng.choice(replicas)
        if at.replica.log.configuration is None or self._rng.random() < 0.05:
            self._token = b""
        at.process.loop.post(0.0, self._open, at, self._token)

    def _open(self, at: Hosted, token: bytes) -> None:
        if self._at is not None:
            return
        self._number = self._cluster.next_number()
        revision = WatchToken.decode(token).revisions[self._id] if token else None
        self._cluster.tell(
            facts.WatchBegan(self._shard, at.peer, self._number, self._families, revision)
        )
        self._cluster.counts["watches"] += 1
        self._at = at
        selection = dict.fromkeys(self._families, b"")
        self._watch = at.process.watches.open(selection, [self._id], token)
        at.process.loop.create_task(self._follow(at, self._watch, self._number))

    async def _follow(self, at: Hosted, watch: Watch, number: int) -> None:
        rows: list[tuple[str, bytes, bytes, int]] | None = None if self._token else []
        async for seen in watch:
            if self._number != number or self._watch is not watch:
                return
            if seen.resync:
                self._cluster.counts["resyncs"] += 1
                self._cluster.tell(facts.WatchEnded(self._shard, at.peer, number, True))
                self._token, self._at, self._watch = b"", None, None
                return
            rows = self._take(at, number, seen, rows)
            if self._pause_s:
                await self._pause(at)

    def _take(
        self,
        at: Hosted,
        number: int,
        seen: WatchedEvent,
        rows: list[tuple[str, bytes, bytes, int]] | None,
    ) -> list[tuple[str, bytes, bytes, int]] | None:
        tell, event = self._cluster.tell, seen.event
        if seen.token:
            self._token = seen.token
        if rows is not None and isinstance(event, RowEvent):
            rows.append((event.family, event.key, event.value or b"", seen.revision))
            return rows
        if isinstance(event, RowEvent):
            self._cluster.counts["watched events"] += 1
            tell(
                facts.WatchSaw(
                    self._shard,
                    at.peer,
                    number,
                    seen.revision,
                    event.family,
                    event.key,
                    event.value,
                )
            )
            return None
        if event is None:
            reached = WatchToken.decode(seen.token).revisions[self._id]
            if rows is not None:
                tell(facts.WatchListed(self._shard, at.peer, number, reached, tuple(rows)))
            else:
                tell(facts.WatchReached(self._shard, at.peer, number, reached))
        return None

    async def _pause(self, at: Hosted) -> None:
        over: asyncio.Future[None] = at.process.loop.create_future()
        at.process.loop.call_later(self._pause_s, over.set_result, None)
        await over
