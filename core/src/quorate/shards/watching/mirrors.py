"""Copies of small families of metadata in the shards whose commands read them.

The leader of a shard watches the source and proposes changes. A copy may lag, but never goes back:
a proposal has the source's revision, and is ignored if the copy has that already.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from quorate.apply.entries import of_shard
from quorate.apply.program import mirrored
from quorate.plugin import Invalid, RowEvent
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA
from quorate.shards.refusals import (
    FencedError,
    NotProposedError,
    OutcomeUnknownError,
    UnreadableError,
)
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Waits, end, pause
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.watch import Watch
from quorate.v1 import control_pb2

_log = logging.getLogger(__name__)

#: The pause after a failed proposal, and before a lagging source is asked again.
RETRY_S: Final = 0.2

#: The pause after a permanent failure, such as a family that is too large for a command.
FAILED_S: Final = 5.0

#: Opens a watch of a family of the source, after a token or from its rows on.
OpenWatch = Callable[[str, bytes], Watch]

#: Returns, within this many seconds, a revision of the source that covers every write which was
#: answered before; raises `UnreadableError`.
Newest = Callable[[float], Awaitable[int]]


@dataclass(eq=False)
class Mirrors:
    """Maintains the copies of a node's shards."""

    _catalog: Catalog
    _open_watch: OpenWatch
    _newest: Newest
    _loop: asyncio.AbstractEventLoop
    _keepers: dict[Shard, "MirrorKeeper"] = field(default_factory=dict, init=False)
    _dropped: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    #: The id of the cluster; None before the start.
    _cluster: bytes | None = field(default=None, init=False)

    def start(self, cluster: bytes) -> None:
        """Start."""
        self._cluster = cluster

    def keep(self, shard: Shard) -> None:
        """Add a shard."""
        if self._cluster is None:
            return
        keeper = MirrorKeeper(
            shard,
            mirrored(self._catalog, shard.id.group),
            self._open_watch,
            self._newest,
            self._cluster,
            self._loop,
        )
        self._keepers[shard] = keeper
        keeper.start()

    async def catch_up(self, shard: Shard, timeout_s: float) -> bool:
        """Return whether the copies of a shard have, in time, all writes answered before."""
        keeper = self._keepers.get(shard)
        return keeper is not None and await keeper.catch_up(timeout_s)

    def drop(self, shard: Shard) -> None:
        """Remove a shard whose replica leaves this node."""
        if (keeper := self._keepers.pop(shard, None)) is not None:
            self._dropped.add(dropping := self._loop.create_task(keeper.stop()))
            dropping.add_done_callback(self._dropped.discard)

    async def stop(self) -> None:
        """Stop."""
        self._cluster = None
        await asyncio.gather(*self._dropped)
        await asyncio.gather(*(keeper.stop() for keeper in self._keepers.values()))


@dataclass(eq=False)
class MirrorKeeper:
    """Keeps a shard's copies up to date while its replica here leads.

    `families` are those that `quorate.apply.program.mirrored` names for the shard's group.
    """

    _shard: Shard
    _families: Collection[str]
    _open_watch: OpenWatch
    _newest: Newest
    _cluster: bytes
    _loop: asyncio.AbstractEventLoop

    def __post_init__(self) -> None:
        self._term = 0
        self._tasks: Mapping[str, asyncio.Task[None]] = {}
        #: The revision of the source up to which each copy is complete, in this term.
        self._reached: dict[str, int] = {}
        self._waits = Waits(self._loop)
        self._cancel: Callable[[], None] | None = None

    def start(self) -> None:
        """Start, and follow the replica's leadership."""
        if self._families:
            self._cancel = self._shard.subscribe(lambda _: self._look())
            self._look()

    async def catch_up(self, timeout_s: float) -> bool:
        """Return whether the copies have, in time, all writes answered before this call.

        If they are up to date, this costs a read barrier of the source.
        """
        try:
            async with asyncio.timeout(timeout_s):
                revision = await self._newest(timeout_s)
                if self._least < revision:
                    await self._waits.until(revision)
        except (TimeoutError, UnreadableError):
            return False
        return True

    async def stop(self) -> None:
        """Stop."""
        if self._cancel is not None:
            self._cancel()
        ending, self._tasks = self._tasks, {}
        await end(*ending.values())

    def _look(self) -> None:
        """Follow in each term that the replica leads, once it has applied an entry of that term.

        Then the positions are those of every earlier leader.
        """
        shard = self._shard
        leads = shard.leads and shard.data.record.position.term == shard.term
        if not leads or shard.term == self._term:
            return
        self._term = shard.term
        self._reached.clear()
        for task in self._tasks.values():
            task.cancel()
        self._tasks = {
            family: self._loop.create_task(self._follow(family, shard.term))
            for family in self._families
        }

    @property
    def _least(self) -> float:
        reached = (self._reached.get(family, 0) for family in self._families)
        return min(reached, default=float("inf"))

    def _reach(self, family: str, revision: int) -> None:
        self._reached[family] = revision
        self._waits.reached(self._least)

    def _leads(self, term: int) -> bool:
        return self._shard.leads and self._shard.term == term

    async def _follow(self, family: str, term: int) -> None:
        resume, delay_s = True, RETRY_S
        while self._leads(term):
            position = self._shard.applier.mirror_position(family)
            token = b""
            if resume and position is not None:
                revisions = {METADATA: position.revision}
                token = WatchToken(self._cluster, position.generation, revisions).encode()
            watch = self._open_watch(family, token)
            watch.on_passed = partial(self._keeps_up, family, watch)
            if token and position is not None:
                self._reach(family, position.revision)
            try:
                if token or await self._copy(family, term, watch):
                    await self._keep_up(family, term, watch)
                resume, delay_s = watch.lost is None, RETRY_S
            except FencedError:
                return
            except Exception:  # noqa: BLE001 - whatever it is, the next attempt may do better
                _log.exception("shard %s: cannot update the copy of %s", self._shard.id, family)
                resume, delay_s = False, FAILED_S
            finally:
                watch.close()
            await pause(self._loop, delay_s)

    async def _copy(self, family: str, term: int, watch: Watch) -> bool:
        """Replace the copy by the source's rows; False if the list was lost.

        While the source here lags behind the copy, its changes are ignored.
        """
        rows: list[control_pb2.MirroredRow] = []
        async for seen in watch:
            event = seen.event
            if isinstance(event, RowEvent):
                rows.append(
                    control_pb2.MirroredRow(
                        key=event.key, value=event.value or b"", revision=seen.revision
                    )
                )
            elif seen.resync:
                return False
            else:
                break
        else:
            return False
        await self._propose(
            control_pb2.AdoptMirror(
                family=family,
                generation=watch.generation,
                revision=watch.revisions[METADATA],
                rows=rows,
                reset=True,
            ),
            term,
        )
        self._keeps_up(family, watch)
        return True

    async def _keep_up(self, family: str, term: int, watch: Watch) -> None:
        changed: dict[bytes, tuple[bytes | None, int]] = {}
        async for seen in watch:
            if isinstance(seen.event, RowEvent):
                changed[seen.event.key] = seen.event.value, seen.revision
            # A batch ends after a whole command: half of one is never copied.
            if changed and not watch.ready:
                adopt = control_pb2.AdoptMirror(
                    family=family,
                    generation=watch.generation,
                    revision=watch.revisions[METADATA],
                )
                for key, (value, written) in changed.items():
                    if value is None:
                        adopt.deleted.append(key)
                    else:
                        adopt.rows.add(key=key, value=value, revision=written)
                changed.clear()
                await self._propose(adopt, term)
                self._keeps_up(family, watch)

    def _keeps_up(self, family: str, watch: Watch) -> None:
        """Record that the copy has all that its watch returned."""
        self._reach(family, watch.revisions[METADATA])

    async def _propose(self, adopt: control_pb2.AdoptMirror, term: int) -> None:
        """Propose until it is applied: a repetition has no effect."""
        command = of_shard(adopt)
        while True:
            try:
                (outcome,) = await self._shard.propose([command], term=term)
            except (NotProposedError, OutcomeUnknownError):
                await pause(self._loop, RETRY_S)
                if not self._leads(term):
                    raise FencedError(self._shard.id, term=self._shard.term, made_in=term) from None
            else:
                break
        if outcome.refusal is not None:
            raise Invalid("mirror", outcome.refusal.message)
