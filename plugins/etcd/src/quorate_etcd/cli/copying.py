"""Copies all pairs of a server of etcd's API to another one, and follows their changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from quorate_etcd import errors
from quorate_etcd.cli.leases import LapsedError, Leases
from quorate_etcd.cli.peer import Peer, PeerError
from quorate_etcd.serving.statuses import CODES
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

#: What one transaction takes on every server.
_MOST_OPERATIONS: Final = 100
_MOST_BYTES: Final = 1 << 20
#: Responses that wait to be copied; beyond them the source waits.
_WAITING: Final = 100
_LOOK_S: Final = 0.5
_AGAIN_S: Final = 0.5


@dataclass(kw_only=True)
class Copied:
    """What was done."""

    #: Pairs of the source when it began, and those that were looked at.
    total: int = 0
    looked: int = 0
    #: Pairs that were written as they were found, and those deleted that the source lacks.
    copied: int = 0
    deleted: int = 0
    #: Keys of the target that the source lacks, and that were left.
    extra: int = 0
    #: Changes that were written after they had happened.
    followed: int = 0
    #: The revision of the source that the target has.
    revision: int = 0
    #: How many later revisions the source has had at the last look.
    lag: int = 0


class Copy:
    """A copy from a source to a target that nobody else writes."""

    def __init__(
        self, source: Peer, target: Peer, *, deletes: bool, told: Callable[[Copied], None]
    ) -> None:
        self._source: Final = source
        self._target: Final = target
        self._deletes: Final = deletes
        #: Called when more is done.
        self._told: Final = told
        self.leases: Final = Leases(source, target)
        self.done: Final = Copied()
        self._newest = 0
        self._batch = _Batch(self._write_all)

    async def run(self, *, until_equal: bool) -> None:
        """Copy everything, and follow the changes; until the source has no later ones, if asked."""
        equal = False
        while not equal:
            try:
                await self._copy()
                await self._follow(until_equal=until_equal)
                equal = True
            except* LapsedError:
                # What is left of the batch is among the differences of the next copy.
                self._batch = _Batch(self._write_all)

    async def differing(self) -> int:
        """Return how many pairs of the copied revision differ, or are only at one of both."""
        return len([key async for key, _ in self._differences(self.done.revision)])

    async def _copy(self) -> None:
        """Copy what differs from the source as it is now."""
        revision = await self._source.revision()
        done = self.done
        done.total, done.extra = await self._source.count(revision), 0
        await self.leases.follow()
        async with asyncio.TaskGroup() as tasks:
            # A long copy takes longer than leases last.
            keeping = tasks.create_task(self.leases.keep())
            async for key, pair in self._differences(revision):
                if pair is not None:
                    await self._put(pair)
                    done.copied += 1
                elif self._deletes:
                    await self._delete(key)
                    done.deleted += 1
                else:
                    done.extra += 1
                self._tell()
            await self._batch.write()
            keeping.cancel()
        done.revision = self._newest = revision

    async def _follow(self, *, until_equal: bool) -> None:
        """Copy the changes after the copied revision, until the source has no later ones."""
        async with asyncio.TaskGroup() as tasks:
            working = [tasks.create_task(each) for each in (self.leases.keep(), self._changes())]
            while True:
                self._newest = await self._source.revision()
                self._tell()
                if until_equal and self.done.revision >= self._newest:
                    break
                await asyncio.sleep(_LOOK_S)
            for each in working:
                each.cancel()

    async def _changes(self) -> None:
        while True:
            responses: asyncio.Queue[rpc.WatchResponse] = asyncio.Queue(_WAITING)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._read(responses))
                    tasks.create_task(self._write(responses))
            except* PeerError as group:
                if group.subgroup(_stays) is not None:
                    raise
            self._batch = _Batch(self._write_all)
            await asyncio.sleep(_AGAIN_S)

    async def _read(self, responses: asyncio.Queue[rpc.WatchResponse]) -> None:
        async for response in self._source.changes(self.done.revision + 1):
            await responses.put(response)

    async def _write(self, responses: asyncio.Queue[rpc.WatchResponse]) -> None:
        while True:
            response = await responses.get()
            while True:
                # A revision is never split over responses.
                for revision, events in groupby(
                    response.events, lambda event: event.kv.mod_revision
                ):
                    await self._carry_out(revision, list(events))
                if responses.empty():
                    break
                response = responses.get_nowait()
            await self._flush()

    async def _carry_out(self, revision: int, events: list[mvcc.Event]) -> None:
        """Take over a revision: in one transaction, unless it is too large for one."""
        if not self._batch.has_room(events):
            await self._flush()
        for event in events:
            if event.type == mvcc.Event.DELETE:
                await self._delete(event.kv.key)
            else:
                await self._put(event.kv)
        self._batch.revision = revision
        self._batch.changes += len(events)

    async def _flush(self) -> None:
        await self._batch.write()
        if self._batch.revision:
            self.done.revision, self._batch.revision = self._batch.revision, 0
            self.done.followed += self._batch.changes
            self._batch.changes = 0
            self._tell()

    async def _put(self, pair: mvcc.KeyValue) -> None:
        lease = await self.leases.wanted(pair.lease)
        put = rpc.PutRequest(key=pair.key, value=pair.value, lease=lease)
        await self._batch.add(pair.key, rpc.RequestOp(request_put=put))

    async def _delete(self, key: bytes) -> None:
        deletion = rpc.DeleteRangeRequest(key=key)
        await self._batch.add(key, rpc.RequestOp(request_delete_range=deletion))

    async def _write_all(self, operations: Sequence[rpc.RequestOp], *, again: bool = False) -> None:
        try:
            await self._target.write(operations)
        except PeerError as error:
            if error.text != errors.LEASE_NOT_FOUND.text:
                raise
            if again:
                self.leases.forget(each.request_put.lease for each in operations)
                raise LapsedError from None
            for put in (each.request_put for each in operations):
                if put.lease and put.lease not in self.leases:
                    # It has ended at the source: the deletion of the key is to come.
                    put.lease = 0
            await self._write_all(operations, again=True)

    def _tell(self) -> None:
        self.done.lag = max(0, self._newest - self.done.revision)
        self._told(self.done)

    async def _differences(
        self, revision: int
    ) -> AsyncIterator[tuple[bytes, mvcc.KeyValue | None]]:
        """Yield the keys of which the pairs differ, with the source's; None: it has none."""
        at, self.done.looked = await self._target.revision(), 0
        theirs, ours = self._source.pairs(revision), self._target.pairs(at)
        wanted, found = await anext(theirs, None), await anext(ours, None)
        while wanted is not None or found is not None:
            self.done.looked += 1
            if found is None or (wanted is not None and wanted.key < found.key):
                assert wanted is not None
                yield wanted.key, wanted
                wanted = await anext(theirs, None)
            elif wanted is None or found.key < wanted.key:
                yield found.key, None
                found = await anext(ours, None)
            else:
                if (wanted.value, wanted.lease) != (found.value, found.lease):
                    yield wanted.key, wanted
                wanted, found = await anext(theirs, None), await anext(ours, None)


class _Batch:
    """Operations on different keys that go together; of one key the last counts."""

    def __init__(self, write: Callable[[Sequence[rpc.RequestOp]], Awaitable[None]]) -> None:
        self._write: Final = write
        self._operations: Final[dict[bytes, rpc.RequestOp]] = {}
        self._bytes = 0
        #: The last revision that is in it as a whole; 0: none is.
        self.revision = 0
        self.changes = 0

    def has_room(self, events: list[mvcc.Event]) -> bool:
        """Whether it takes a revision, or has nothing in it."""
        size = sum(event.ByteSize() for event in events)
        return not self._operations or (
            len(self._operations) + len(events) <= _MOST_OPERATIONS
            and self._bytes + size <= _MOST_BYTES
        )

    async def add(self, key: bytes, operation: rpc.RequestOp) -> None:
        """Add an operation; a full batch is written before."""
        size = operation.ByteSize()
        full = len(self._operations) >= _MOST_OPERATIONS or self._bytes + size > _MOST_BYTES
        if full and key not in self._operations:
            await self.write()
        self._operations[key] = operation
        self._bytes += size

    async def write(self) -> None:
        """Carry them out."""
        if self._operations:
            await self._write(list(self._operations.values()))
            self._operations.clear()
            self._bytes = 0


def _stays(error: BaseException) -> bool:
    """Whether an error is there at the next attempt, too."""
    return isinstance(error, PeerError) and error.code != CODES["UNAVAILABLE"]
