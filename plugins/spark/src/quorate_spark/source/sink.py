"""The streaming sink: each batch of a query is applied once, however often Spark repeats it.

A batch is a load of its own, `stream/<query>/<batch>`. Its sessions know the commands that were
carried out; they are forgotten when the next batch is committed. A fence keeps a task of an earlier
batch, which may have been given up and still run, from writing over a later one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message import Message
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from quorate.client import AsyncClient, NamedSession
from quorate.plugin import Fence, Invalid
from quorate.v1.batch_pb2 import BatchReply

from quorate_spark.client import Loads
from quorate_spark.source import columns, undoing
from quorate_spark.source.bad_rows import BadRows
from quorate_spark.source.connecting import async_client_of, client_of
from quorate_spark.source.dead_letters import BadRow, values_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import SinkOptions
from quorate_spark.source.reporting import Reporting
from quorate_spark.source.sending import source_errors
from quorate_spark.source.shards import ShardPlan, plan_of, session_name
from quorate_spark.source.tables import FoundTable, find
from quorate_spark.source.whole_input import connections, whole
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

#: The values of an operation column, in the words of a feed and in others.
_PUTS: Final = frozenset({"row", "put", "created", "updated", "insert", "update", "upsert"})
_DELETIONS: Final = frozenset({"deleted", "delete"})
_RESYNC: Final = "resync"
#: Columns that a feed has beside those of its table.
_OWN: Final = "_"
#: The number of answers that a session keeps: its window, less room for commands under way.
_ANSWERS: Final = 1_000
_FIX: Final = (
    "Filter or correct them in the query and start it again; or set bad_rows to dead_letter, and"
    " max_bad_rows to what may be left out"
)


@dataclass(frozen=True)
class EpochSent(WriterCommitMessage):
    """The result of a partition of a batch."""

    query: str
    rows: int
    bad_rows: int


class ChangeWriter(DataSourceStreamArrowWriter):
    """Puts and deletes rows."""

    def __init__(self, options: SinkOptions) -> None:
        self.options: Final = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> EpochSent:
        """Apply a partition of a batch, on an executor."""
        context = TaskContext.get()
        if context is None:
            raise RuntimeError("a partition is written by a task of Spark")
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        epoch = Epoch(query, int(context.getLocalProperty("streaming.sql.batchId") or 0))
        rows = list(whole(iterator, connections()))
        return asyncio.run(apply(self.options, epoch, context.partitionId(), rows))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Record that the batch is there, and forget the one before it."""
        sent = [each for each in messages if isinstance(each, EpochSent)]
        for query in {each.query for each in sent}:
            self._end(Epoch(query, batchId), "")
            bad = sum(each.bad_rows for each in sent)
            if bad > self.options.max_bad_rows:
                raise SourceError(
                    f"batch {batchId} has {bad} bad rows, and max_bad_rows is"
                    f" {self.options.max_bad_rows}; they stand in {self.options.dead_letter_path},"
                    " and all other rows are there"
                )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Record that the batch has failed; Spark repeats it when the query is started again."""
        queries = {each.query for each in messages if isinstance(each, EpochSent)}
        for query in queries:
            try:
                self._end(Epoch(query, batchId), "a task has failed; Spark's error says why")
            except SourceError:
                # The error that Spark reports for the task says more.
                return

    def _end(self, epoch: Epoch, failure: str) -> None:
        options = self.options
        with source_errors(epoch.load_id), client_of(options) as client:
            client.execute(EndLoadCommand(load_id=epoch.load_id, failure=failure), Load)
            before = epoch.before
            if not failure and before is not None and Loads(client).get(before.load_id):
                # Spark has recorded it, and does not repeat it any more.
                undoing.forget(client, before.load_id)


@dataclass(frozen=True, slots=True)
class Epoch:
    """A batch of a query."""

    query: str
    batch: int

    @property
    def load_id(self) -> str:
        """The name of its load."""
        return f"stream/{self.query}/{self.batch}"

    @property
    def fence(self) -> Fence:
        """The fence that refuses a write once a later batch has written to its shard."""
        return Fence(f"spark/stream/{self.query}".encode(), self.batch + 1)

    @property
    def before(self) -> Epoch | None:
        """The batch before it, if any."""
        return Epoch(self.query, self.batch - 1) if self.batch else None


def sink(options: SinkOptions, schema: StructType, *, overwrite: bool) -> ChangeWriter:
    """Check the options and the columns of a stream; raises `SourceError`."""
    if overwrite:
        raise SourceError(
            'the sink quorate takes changes: use outputMode("append") or outputMode("update")'
        )
    found = find(options.table)
    names = schema.fieldNames()
    if options.operation and options.operation not in names:
        raise SourceError(f"the option operation names {options.operation}, which is no column")
    if options.operation and found.table.removal is None:
        raise SourceError(
            f"rows of {options.table} cannot be deleted by a stream: leave the option operation"
            " out, and filter deletions"
        )
    own = [each for each in schema.fields if not _is_own(options, each.name)]
    columns.check(options.table, found.table, StructType(own))
    return ChangeWriter(options)


async def apply(
    options: SinkOptions, epoch: Epoch, partition: int, rows: Sequence[pa.RecordBatch]
) -> EpochSent:
    """Apply a partition; changes that any earlier attempt has applied are skipped."""
    found = find(options.table)
    changes = _Changes(options, found)
    for batch in rows:
        changes.take(batch)
    # The first one is recorded always, so that each batch finds the one before it.
    if not (rows or partition == 0):
        return EpochSent(epoch.query, 0, 0)
    async with async_client_of(options) as client:
        with source_errors(epoch.load_id, partition):
            return await _Applying(options, epoch, partition, found, changes, client).run()


@dataclass(slots=True)
class _Change:
    """The last change of a key in a partition of a batch."""

    item: Message
    deletes: bool
    shard_key: bytes
    batch: pa.RecordBatch
    at: int
    row: int


class _Changes:
    """The last change of each key, in the order of the keys, whatever the order of the rows.

    A repeated task, which may be given the same rows in another order, makes the same commands.
    """

    def __init__(self, options: SinkOptions, found: FoundTable) -> None:
        self._options: Final = options
        self._found: Final = found
        self._by_key: Final[dict[bytes, _Change]] = {}
        self.bad: Final[list[BadRow]] = []
        self._taken = 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows; a later row of a key replaces the ones before it."""
        table = self._found.table
        operation = self._options.operation
        operations = batch.column(operation).to_pylist() if operation else ["put"] * batch.num_rows
        values = zip(*columns.lists(table, columns.normalized(table, batch)), strict=True)
        for at, (word, row) in enumerate(zip(operations, values, strict=True)):
            self._taken += 1
            try:
                self._add(word, row, batch, at)
            except Invalid as error:
                self._refuse(batch, at, self._taken, error.field, error.reason)
            except (ValueError, TypeError, AttributeError) as error:
                self._refuse(batch, at, self._taken, "", str(error))

    def by_shard(self, plan: ShardPlan) -> dict[int, list[_Change]]:
        """Return the changes of each shard, in the order of their keys."""
        shards: dict[int, list[_Change]] = {}
        for _, change in sorted(self._by_key.items()):
            shards.setdefault(plan.shard_of(change.shard_key), []).append(change)
        return shards

    def refuse(self, change: _Change, reason: str) -> None:
        """Record that a shard has refused a change."""
        self._refuse(change.batch, change.at, change.row, "", reason)

    def _add(self, word: str, row: tuple[Any, ...], batch: pa.RecordBatch, at: int) -> None:
        if word == _RESYNC:
            raise SourceError(
                "the feed has lost changes, and gives all rows again: rows that were deleted"
                " meanwhile would stay in the table. Delete those yourself, and filter rows whose"
                " operation is resync"
            )
        if word not in _PUTS | _DELETIONS:
            raise Invalid(self._options.operation, f"is {word!r}, which is no operation")
        found, table = self._found, self._found.table
        named = dict(zip((each.name for each in table.columns), row, strict=True))
        deletes = word in _DELETIONS
        for column in table.columns:
            needed = column.name in table.key if deletes else not column.nullable
            if needed and named[column.name] is None:
                raise Invalid(column.name, "is null")
        key = table.to_key(*(named[name] for name in table.key))
        item, shard_key = self._deletion(key) if deletes else (table.to_item(*row), None)
        if shard_key is None:
            shard_key = found.items.shard_key(item)
        self._by_key[key] = _Change(item, deletes, shard_key, batch, at, self._taken)

    def _deletion(self, key: bytes) -> tuple[Message, bytes]:
        removal, deleted = self._found.deletion()
        item: Any = removal.to_item(key, 1)
        # Whatever revision it has, and whether it is there or not.
        item.ClearField("expected_revision")
        if "missing_ok" in item.DESCRIPTOR.fields_by_name:
            item.missing_ok = True
        return item, deleted.shard_key(item)

    def _refuse(self, batch: pa.RecordBatch, at: int, row: int, column: str, reason: str) -> None:
        values = values_of(batch, at)
        self.bad.append(BadRow(row=row, column=column, reason=reason, values=values))


class _Applying:
    """One attempt at a partition of a batch."""

    def __init__(
        self,
        options: SinkOptions,
        epoch: Epoch,
        partition: int,
        found: FoundTable,
        changes: _Changes,
        client: AsyncClient,
    ) -> None:
        self._options: Final = options
        self._epoch: Final = epoch
        self._partition: Final = partition
        self._found: Final = found
        self._changes: Final = changes
        self._client: Final = client
        self._bad: Final = BadRows(options, epoch.load_id, partition, changes.bad, _FIX)
        self._reporting: Final = Reporting(client, epoch.load_id, partition, self._bad)

    async def run(self) -> EpochSent:
        """Apply the changes of every shard."""
        begin = BeginLoadCommand(load_id=self._epoch.load_id, table=self._found.name)
        await self._client.execute(begin, Load)
        async with self._reporting.recorded():
            self._bad.check()
            plan = plan_of(await self._client.topology(), self._found.group)
            try:
                async with asyncio.TaskGroup() as group:
                    for each in self._changes.by_shard(plan).values():
                        group.create_task(self._shard(each))
            except BaseExceptionGroup as errors:
                raise _first(errors) from errors
            finally:
                self._bad.write()
            self._bad.check()
        sent = self._reporting.sent
        return EpochSent(self._epoch.query, sent.rows, sent.bad_rows)

    async def _shard(self, ordered: Sequence[_Change]) -> None:
        name = session_name(self._epoch.load_id, self._partition)
        sessions = self._client.fenced(self._epoch.fence).sessions
        session = await sessions.open(self._found.group, ordered[0].shard_key, name)
        number, size = 0, self._options.batch_rows
        for deletes in (False, True):
            these = [each for each in ordered if each.deletes is deletes]
            for at in range(0, len(these), size):
                number += 1
                await self._send(session, number, these[at : at + size])

    async def _send(self, session: NamedSession, number: int, these: Sequence[_Change]) -> None:
        lowest = max(1, number - _ANSWERS)
        command = self._command(these)
        answer = await session.execute(command, number, lowest_unanswered=lowest)
        if answer.forgotten:
            raise SourceError(
                f"{self._epoch.load_id} was applied before, and its shard has not kept which rows"
                " it refused"
            )
        reply = BatchReply.FromString(answer.payload)
        for refusal in reply.refusals:
            change = these[refusal.item]
            if not (change.deletes and refusal.code == "NOT_FOUND"):
                self._changes.refuse(change, f"{refusal.code}: {refusal.message}")
        self._reporting.count(len(these) - len(reply.refusals), 0)

    def _command(self, these: Sequence[_Change]) -> Any:
        items = [each.item for each in these]
        if these[0].deletes:
            removal, deleted = self._found.deletion()
            return deleted.make(removal.delete(), items)
        return self._found.items.make(self._found.table.write(), items)


def _is_own(options: SinkOptions, name: str) -> bool:
    """Return whether a column is not the table's: the operation, or a column of a feed."""
    return name == options.operation or (bool(options.operation) and name.startswith(_OWN))


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
