"""A committer, which collects the latest offsets and commits them together, with retries."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Final, Self

from quorate.client import ClosedError, InvalidError, QuorateError, RejectedError

from quorate_offset.client.commits import check_names
from quorate_offset.client.pending import (
    CommitMany,
    Key,
    PendingOffset,
    PendingOffsets,
    RefusedOffset,
    key_of,
)
from quorate_offset.client.shards import Shards
from quorate_offset.v1 import commands_pb2 as pb

#: Time to collect offsets before a commit.
INTERVAL_S: Final = 0.02
#: The pause before the shards are learned again.
_PAUSE_S: Final = 0.5


class Committer:
    """Commits the last mark of each partition, shortly after it was made and on demand.

    A mark stays until the cluster has answered it: failed commits are retried. A shard that does
    not answer delays only its own groups. `mark` may be called from any thread.
    """

    def __init__(
        self,
        commit_many: CommitMany,
        shards: Shards,
        *,
        monotonic: bool,
        interval_s: float,
        timeout_s: float,
    ) -> None:
        self._commit_many: Final = commit_many
        self._where: Final = shards
        self._mode: Final = pb.COMMIT_MODE_MONOTONIC if monotonic else pb.COMMIT_MODE_UNCONDITIONAL
        self._interval_s: Final = interval_s
        self._timeout_s: Final = timeout_s
        self._loop: Final = asyncio.get_running_loop()
        #: Marks not yet assigned to a shard; `mark` runs in other threads.
        self._fresh: dict[Key, PendingOffset] = {}
        self._lock: Final = threading.Lock()
        self._marked: Final = asyncio.Event()
        self._shards: Final[dict[int, PendingOffsets]] = {}
        self._refused: dict[Key, RefusedOffset] = {}
        self._tasks: Final = [self._loop.create_task(self._sort_always())]
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, raised: type[BaseException] | None, *_: object) -> None:
        refused = await self.close()
        if raised is None:
            check(refused)

    @property
    def dirty(self) -> int:
        """The number of unanswered marks."""
        return len(self._fresh) + sum(map(len, tuple(self._shards.values())))

    def mark(
        self,
        tenant: str,
        group: str,
        topic: str,
        partition: int,
        offset: int,
        *,
        generation: int | None = None,
        metadata: str = "",
    ) -> None:
        """Mark an offset for commit, in place of an earlier mark of the partition."""
        # An invalid mark is refused at once: in the background it would block other marks.
        check_names(tenant=tenant, group=group, topic=topic)
        if offset < 0:
            raise InvalidError("offset", f"must not be negative, and is {offset}")
        try:
            commit = pb.OffsetCommit(
                topic=topic, partition=partition, offset=offset, metadata=metadata
            )
            pb.GroupCommit(tenant=tenant, group=group, generation=generation)
        except (TypeError, ValueError) as error:
            raise InvalidError("mark", f"cannot be encoded as a commit: {error}") from error
        mark = PendingOffset(tenant=tenant, group=group, generation=generation, commit=commit)
        with self._lock:
            if self._closed:
                raise ClosedError
            if not self._fresh:
                try:
                    self._loop.call_soon_threadsafe(self._marked.set)
                except RuntimeError:
                    # The client was closed, and its event loop with it.
                    raise ClosedError from None
            self._fresh[key_of(mark)] = mark

    async def flush(self) -> list[RefusedOffset]:
        """Commit now; return the offsets refused since the last flush, here or in the background.

        Raises the failure that keeps marks from being committed; they stay, and are retried.
        """
        await self._sort()
        settled = await asyncio.gather(
            *(shard.flush() for shard in self._shards.values()), return_exceptions=True
        )
        for failure in settled:
            if failure is not None:
                raise failure
        refused, self._refused = list(self._refused.values()), {}
        return refused

    async def close(self) -> list[RefusedOffset]:
        """Stop accepting marks, flush, and end.

        If the flush raises, the marks are kept: `dirty` counts them, and `flush` retries.
        """
        with self._lock:
            self._closed = True
        try:
            return await self.flush()
        finally:
            tasks = self._tasks.copy()
            self._tasks.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _sort_always(self) -> None:
        while True:
            await self._marked.wait()
            await asyncio.sleep(self._interval_s)
            self._marked.clear()
            try:
                await self._sort()
                for shard in self._shards.values():
                    shard.wake()
            except QuorateError:
                await asyncio.sleep(_PAUSE_S)
                self._marked.set()

    async def _sort(self) -> None:
        """Assign each mark to its shard."""
        await self._where.learn(timeout_s=self._timeout_s)
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        numbers: dict[tuple[str, str], int] = {}
        for key, mark in fresh.items():
            group = key[:2]
            if group not in numbers:
                numbers[group] = self._where.of(*group)
            self._shard(numbers[group]).put(key, mark)

    def _shard(self, number: int) -> PendingOffsets:
        shard = self._shards.get(number)
        if shard is None:
            shard = PendingOffsets(self._commit_many, self._mode, self._refuse)
            self._shards[number] = shard
            if not self._closed:
                self._tasks.append(self._loop.create_task(shard.flush_always(self._interval_s)))
        return shard

    def _refuse(self, refused: RefusedOffset) -> None:
        self._refused[key_of(refused.pending)] = refused


def check(refused: Iterable[RefusedOffset]) -> None:
    """Raise the first refusal, if there is any."""
    for each in refused:
        mark = each.pending
        where = f"{mark.tenant}/{mark.group}, {mark.commit.topic}/{mark.commit.partition}"
        raise RejectedError(each.code, f"offset {mark.commit.offset} of {where}: {each.message}")
