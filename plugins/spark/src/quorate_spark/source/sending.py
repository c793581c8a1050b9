"""Sends the batches of one partition to the leaders of their shards, several at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from quorate.client import (
    AsyncClient,
    NamedSession,
    QuorateError,
    RejectedError,
)
from quorate.v1.batch_pb2 import BatchReply

from quorate_spark.source.adaptive_rate import AdaptiveRate
from quorate_spark.source.bad_rows import bad_rows_of
from quorate_spark.source.batching import Batch, Batching
from quorate_spark.source.connecting import async_client_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.reporting import Reporting, Sent
from quorate_spark.source.shards import ShardPlan, plan_of, session_name
from quorate_spark.source.tables import FoundTable, find


async def send(options: WriteOptions, partition: int, rows: Iterator[pa.RecordBatch]) -> Sent:
    """Load a partition; raises `SourceError` when it cannot be loaded whole."""
    found = find(options.table)
    async with async_client_of(options) as client:
        with source_errors(options.load_id, partition):
            plan = plan_of(await client.topology(), found.group)
            return await _Sending(options, partition, found, plan, client).run(rows)


@contextmanager
def source_errors(load_id: str, partition: int | None = None) -> Iterator[None]:
    """Raise the failed calls of a block as errors that a user sees."""
    try:
        yield
    except QuorateError as error:
        raise source_error(error, load_id, partition) from error


def source_error(error: QuorateError, load_id: str, partition: int | None = None) -> SourceError:
    """Return the error that a user sees for a failed call."""
    where = f"load {load_id}" if partition is None else f"partition {partition} of load {load_id}"
    code = error.code if isinstance(error, RejectedError) else ""
    if code == "OTHER_COMMAND":
        why = (
            "was loaded before with other rows, or with the same ones in another order or under"
            " another batch_rows: give exactly the rows of the first attempt, or choose another"
            " load id"
        )
    elif code in ("SESSION_SEALED", "LOAD_ABORTED"):
        why = "was aborted: load its rows under another load id"
    elif code == "NOT_DECLARED" or "declares" in str(error):
        why = f"cannot be announced to the cluster ({error}): enable the plugin spark on every node"
    else:
        why = f"has failed, and goes on where it was when it is begun again: {error}"
    return SourceError(f"{where} {why}")


class _ShardQueue:
    """The way to one shard."""

    def __init__(self, session: NamedSession, rate: AdaptiveRate) -> None:
        self.session: Final = session
        self.rate: Final = rate
        #: By the batch that it carries.
        self.under_way: Final[dict[asyncio.Task[None], Batch]] = {}

    def lowest_unanswered(self) -> int:
        return min(batch.number for batch in self.under_way.values())

    def holds(self, keys: set[bytes]) -> bool:
        return any(not keys.isdisjoint(batch.keys) for batch in self.under_way.values())


class _Sending:
    """One attempt at a partition."""

    def __init__(
        self,
        options: WriteOptions,
        partition: int,
        found: FoundTable,
        plan: ShardPlan,
        client: AsyncClient,
    ) -> None:
        self._options: Final = options
        self._partition: Final = partition
        self._found: Final = found
        self._client: Final = client
        self._batching: Final = Batching(
            found, plan, insert_only=options.conflict == "insert_only", rows=options.batch_rows
        )
        self._group: Final = plan.group
        self._queues: Final[dict[int, _ShardQueue]] = {}
        self._bad: Final = bad_rows_of(options, partition, self._batching.bad)
        self._reporting: Final = Reporting(client, options.load_id, partition, self._bad)

    async def run(self, rows: Iterator[pa.RecordBatch]) -> Sent:
        # It is recorded before its first session, so that an abort of the load finds both.
        async with self._reporting.recorded():
            await self._send(rows)
        return self._reporting.sent

    async def _send(self, rows: Iterator[pa.RecordBatch]) -> None:
        try:
            # Spark gives the next rows while the last ones are on their way.
            while (record_batch := await asyncio.to_thread(next, rows, None)) is not None:
                for batch in self._batching.take(record_batch):
                    await self._put(batch)
                self._bad.check()
            for batch in self._batching.rest():
                await self._put(batch)
            for queue in self._queues.values():
                await self._empty(queue)
            self._bad.check()
        finally:
            under_way = [task for queue in self._queues.values() for task in queue.under_way]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            self._bad.write()

    async def _put(self, batch: Batch) -> None:
        queue = self._queues.get(batch.shard)
        if queue is None:
            name = session_name(self._options.load_id, self._partition)
            session = await self._client.sessions.open(self._group, batch.shard_key, name)
            queue = self._queues[batch.shard] = _ShardQueue(
                session, AdaptiveRate(self._options.max_in_flight)
            )
        while len(queue.under_way) >= queue.rate.at_once:
            await self._one_ended(queue)
        if (rest_s := queue.rate.rests_until_s - time.monotonic()) > 0:
            await asyncio.sleep(rest_s)
        if queue.holds(batch.keys):
            # Batches overtake each other, and the later row of a key must win.
            await self._empty(queue)
        task = asyncio.create_task(self._carry(queue, batch))
        queue.under_way[task] = batch

    async def _empty(self, queue: _ShardQueue) -> None:
        while queue.under_way:
            await self._one_ended(queue)

    async def _one_ended(self, queue: _ShardQueue) -> None:
        ended, _ = await asyncio.wait(queue.under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            del queue.under_way[task]
        for task in ended:
            task.result()

    async def _carry(self, queue: _ShardQueue, batch: Batch) -> None:
        command = self._found.command(batch.items, batch.contents)
        began_s = time.monotonic()
        answer = await queue.session.execute(
            command, batch.number, lowest_unanswered=queue.lowest_unanswered()
        )
        queue.rate.answered(began_s, time.monotonic())
        if answer.forgotten:
            # Treating this as an answer without refusals would lose the refused rows.
            raise SourceError(
                f"batch {batch.number} of partition {self._partition} of load "
                f"{self._options.load_id} was answered before, and its shard has not kept which "
                "rows it refused: abort the load, and load its rows under another load id"
            )
        reply = BatchReply.FromString(answer.payload)
        for refusal in reply.refusals:
            reason = f"{refusal.code}: {refusal.message}"
            self._bad.found.append(batch.bad_row(refusal.item, "", reason))
        self._reporting.count(len(batch.items) - len(reply.refusals), batch.size)
