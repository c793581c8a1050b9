"""The life cycle of a node, and the wait until it can serve its shards."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import ReadTimeoutError, UnknownShardError, UnreadableError
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Pause, pause
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards

STOPPING: Final = "this node is stopping; ask another node"


class Lifecycle:
    """The life cycle of a node: starting, ready, stopping; an error may end it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        #: Returns why clients' calls are refused, or None.
        self.refusal: Callable[[], str | None] = lambda: None
        self._ended: Final[asyncio.Future[None]] = loop.create_future()
        self._getting_ready: asyncio.Task[None] | None = None
        self._unready: Callable[[], Sequence[str]] = list
        self._lacking: Callable[[], Sequence[str]] = list
        self._stopping = False

    def make_ready(
        self,
        getting_ready: Coroutine[Any, Any, None],
        missing: Callable[[], Sequence[str]],
        lacking: Callable[[], Sequence[str]] = list,
    ) -> None:
        """Become ready when a coroutine has ended; `missing` returns what it waits for.

        From then on `lacking` returns the reasons why the node is no longer ready.
        """
        self._unready, self._lacking = missing, lacking
        self._getting_ready = self._loop.create_task(getting_ready)
        self._getting_ready.add_done_callback(self._came_ready)

    async def ready(self) -> None:
        """Wait until the node is ready; raises the error that ended it before."""
        if self._getting_ready is None:
            raise RuntimeError("start the node first")
        await asyncio.wait([self._getting_ready, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if self._ended.done():
            self._ended.result()
        await self._getting_ready

    def end(self, error: Exception) -> None:
        """Record the error that ends the node; only the first one counts."""
        if not self._ended.done():
            self._ended.set_exception(error)
            # Waiters get the exception; without waiters, the node is already stopping.
            self._ended.exception()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises the error that ended it."""
        await asyncio.shield(self._ended)

    def stop(self) -> None:
        """Record that the node is stopping."""
        self._stopping = True

    async def stop_getting_ready(self) -> None:
        """Stop becoming ready."""
        if self._getting_ready is not None:
            self._getting_ready.cancel()
            await asyncio.wait([self._getting_ready])

    def missing(self) -> Sequence[str]:
        """Return the reasons why the node is not ready; empty if it is."""
        if self._stopping:
            return [STOPPING]
        if self._ended.done():
            return [f"this node cannot go on: {self._ended.exception()}"]
        refusal = self.refusal()
        if self._getting_ready is None:
            return [refusal or "this node is starting: it has no cluster yet, or its plugins begin"]
        missing = self._lacking() if self._getting_ready.done() else self._unready()
        return missing if refusal is None else [refusal, *missing]

    def _came_ready(self, getting_ready: asyncio.Task[None]) -> None:
        if not getting_ready.cancelled() and (error := getting_ready.exception()) is not None:
            self.end(error if isinstance(error, Exception) else RuntimeError(str(error)))


_log = logging.getLogger(__name__)

#: Interval between log lines about missing shards.
_TELL_S: Final = 10.0
#: Shards whose leaders announce nothing for this time are read.
_UNTOLD_S: Final = 2.0
#: Time for other nodes to report the shards that they lead; later ones are down.
_SAID_S: Final = 10.0
#: Interval between checks of these reports.
_LOOK_S: Final = 0.1


def ended(shards: NodeShards) -> list[tuple[ShardId, str]]:
    """Return the shards whose replica on this node has stopped or is broken, with the reasons."""
    stopped = {
        shard.id: f"has stopped on {shards.me.node}: {shard.stopped}"
        for shard in shards.all()
        if shard.stopped is not None
    }
    unopened = {
        shard: f"cannot be opened on {shards.me.node}: {error}"
        for shard, error in shards.broken.items()
    }
    return sorted({**stopped, **unopened}.items())


class Readiness:
    """Waits for the shards of a node, and logs periodically what is missing."""

    def __init__(self, shards: NodeShards, loop: asyncio.AbstractEventLoop) -> None:
        self._shards: Final = shards
        self._loop: Final = loop
        self._caught_up: Final = set[ShardId]()

    async def hosted(self) -> list[Shard]:
        """Return the replicas on this node, once all shards are founded, and opened or broken."""
        changed = asyncio.Event()
        metadata = self._shards.replica(METADATA)
        cancel = metadata.subscribe(lambda _: changed.set()) if metadata is not None else None
        self._shards.on_open(lambda _: changed.set())
        try:
            while True:
                missing = self._missing()
                if not missing:
                    return list(self._shards.all())
                changed.clear()
                try:
                    async with asyncio.timeout(_TELL_S):
                        await changed.wait()
                except TimeoutError:
                    _log.warning("not ready: there is no %s yet", ", ".join(missing))
        finally:
            if cancel is not None:
                cancel()

    async def wanted(self, census: Census) -> list[Shard]:
        """Open the replicas of all shards that have a leader, and return those that are open.

        The other nodes report the shards that they lead. Shards without a leader are opened on
        first use, or in their turn: most nodes have just started.
        """
        metadata, unopened = self._shards.replica(METADATA), self._shards.unopened
        if metadata is None:
            return list(self._shards.all())
        if unopened:
            # After that, it is in contact with a majority of nodes.
            await self.tried([metadata])
        patience, led = self._loop.time() + _SAID_S, dict[ShardId, None]()
        while unopened:
            members = () if metadata.configuration is None else metadata.configuration.peers
            all_said = all(peer == self._shards.me or census.answers(peer) for peer in members)
            led |= dict.fromkeys(each for each in unopened if census.leader(each) is not None)
            for shard in led:
                unopened.ask(shard)
            if all_said or self._loop.time() >= patience:
                break
            await pause(self._loop, _LOOK_S)
        # Shards that get a leader later have just been opened there, one after the other.
        while any(shard in unopened for shard in led):
            await pause(self._loop, _LOOK_S)
        return list(self._shards.all())

    async def announced(self, hosted: Iterable[Shard]) -> None:
        """Wait for the shards whose leaders announce their commit index by themselves.

        A read would wake a shard. Return once all have, or none has for some time.
        """
        left, waiting = list(hosted), Pause(self._loop)
        until = self._loop.time() + _UNTOLD_S
        while left and await waiting.until(until):
            untold = [shard for shard in left if shard.staleness().age_ms < 0]
            if len(untold) < len(left):
                self._caught_up.update({shard.id for shard in left} - {each.id for each in untold})
                left, until = untold, self._loop.time() + _UNTOLD_S

    async def caught_up(self, hosted: Sequence[Shard]) -> None:
        """Return once shards have caught up with their leaders' commits, or have ended here."""
        while hosted:
            hosted = await self.tried(hosted)

    async def tried(self, hosted: Sequence[Shard]) -> Sequence[Shard]:
        """Give shards some time to catch up; return the late ones that may still do so."""
        caught_up = await asyncio.gather(*map(self._tried, hosted))
        late = [shard for shard, is_good in zip(hosted, caught_up, strict=True) if not is_good]
        if late:
            _log.warning(
                "not ready: %d shards have not caught up with their leaders: %s",
                len(late),
                ", ".join(str(shard.id) for shard in late),
            )
        return late

    async def _tried(self, shard: Shard) -> bool:
        if shard.id in self._caught_up:
            return True
        try:
            await shard.read_barrier(_TELL_S)
        except ReadTimeoutError:
            return False
        except UnreadableError:
            # The reason is reported where replicas stop; the node goes on without it.
            return True
        self._caught_up.add(shard.id)
        return True

    def missing(self) -> list[str]:
        """Return the reasons why the node is not ready yet, a sentence each."""
        lagging = [
            shard.id
            for shard in self._shards.all()
            if shard.stopped is None and shard.id not in self._caught_up
        ]
        return self.lacking() + [
            f"{shard} has not caught up with its leader yet" for shard in lagging
        ]

    def lacking(self) -> list[str]:
        """Return a sentence for each shard without a running replica here, with the reason."""
        absent = [f"there is no {each} yet" for each in self._missing()]
        return absent + [f"shard {shard} {why}" for shard, why in ended(self._shards)]

    def _missing(self) -> list[str]:
        """Return the groups without shards, and the shards of this node that are not open."""
        here = {*(shard.id for shard in self._shards.all()), *self._shards.unopened}
        here |= self._shards.broken.keys()
        missing: list[str] = []
        for group, declared in self._shards.declared.items():
            try:
                shards = self._shards.slot_map.shards(group)
            except UnknownShardError:
                missing.append(f"shard of group {group}")
                continue
            if len(shards) < declared and not any(map(self._shards.slot_map.members, shards)):
                # metadata/0 is known before its own group is founded.
                missing.append(f"shard of group {group} beside {shards[0]}")
                continue
            missing += [
                f"replica of {shard}"
                for shard in shards
                if shard not in here
                and self._shards.me in self._shards.slot_map.members(shard)
                # Others serve a shard until its new replica here votes.
                and not self._shards.is_moving(shard)
            ]
        return missing
