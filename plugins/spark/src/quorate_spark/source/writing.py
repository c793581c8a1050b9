"""The writer: Spark makes it on the driver, sends it to executors, and asks it at the end."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from quorate.client import QuorateError

from quorate_spark.source import columns, placing
from quorate_spark.source.connecting import client_of
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.reporting import Sent
from quorate_spark.source.sending import send, source_error, source_errors
from quorate_spark.source.tables import find
from quorate_spark.source.whole_input import connections, whole
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

if TYPE_CHECKING:
    from quorate_spark.source.filing import Filed


#: Objects of ten Arrow batches.
_TRACKED: Final = 100_000


@dataclass(frozen=True)
class PartitionSent(WriterCommitMessage):
    """The report of a partition to the driver."""

    sent: Sent
    #: The files that it has sent.
    filed: Filed | None = None


class TableWriter(DataSourceArrowWriter):
    """Loads rows; an attempt that is repeated changes nothing twice."""

    def __init__(self, options: WriteOptions, opened: Mapping[int, bytes] | None = None) -> None:
        self.options: Final = options
        #: The responses to opening a file set, by shard; None: the load is by commands.
        self.opened: Final = opened

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionSent:
        """Load a partition, on an executor."""
        context = TaskContext.get()
        if context is None:
            raise RuntimeError("a partition is written by a task of Spark")
        return self.write_rows(context.partitionId(), whole(iterator, connections()))

    def write_rows(self, partition: int, rows: Iterator[pa.RecordBatch]) -> PartitionSent:
        """Load the rows of a partition."""
        with rare_collections():
            if self.opened is None:
                return PartitionSent(asyncio.run(send(self.options, partition, rows)))
            from quorate_spark.source.filing import send_files

            filed = asyncio.run(send_files(self.options, partition, self.opened, rows))
            return PartitionSent(filed.sent, filed)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record that all partitions are there."""
        sent = [each.sent for each in messages if isinstance(each, PartitionSent)]
        filed = [each.filed for each in messages if isinstance(each, PartitionSent) and each.filed]
        bad = sum(each.bad_rows for each in sent)
        if bad > self.options.max_bad_rows:
            failure = f"{bad} bad rows in all, and max_bad_rows is {self.options.max_bad_rows}"
            self._end(failure)
            others = "no row is" if self.opened is not None else "all other rows are"
            raise SourceError(f"load {self.options.load_id} has failed: {failure}; {others} loaded")
        if self.opened is not None:
            self._put_in_place(filed)
        if self.options.publish == "shards":
            self._end("")
        else:
            self._publish()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record that the load has failed; the same load id goes on with it."""
        try:
            self._end("a task has failed; the error of the Spark job says why")
        except SourceError:
            # It was aborted, or the cluster is unreachable: the error of the task says more.
            return

    def _put_in_place(self, filed: Sequence[Filed]) -> None:
        options = self.options
        try:
            with client_of(options) as client:
                placing.put_in_place(client, options, find(options.table), filed)
        except QuorateError as error:
            raise source_error(error, options.load_id) from error
        except SourceError as error:
            self._end(str(error))
            raise

    def _publish(self) -> None:
        """Record that all is staged, and publish it unless an operator does that."""
        options = self.options
        _ask(options, EndLoadCommand(load_id=options.load_id, staged=True))
        if options.publish == "later":
            return
        with source_errors(options.load_id), client_of(options) as client:
            placing.publish(client, options.load_id, options.timeout_s)

    def _end(self, failure: str) -> None:
        _ask(self.options, EndLoadCommand(load_id=self.options.load_id, failure=failure))


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cyclic garbage rarely: rows are tracked, make none, and come by the thousand."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_TRACKED)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def begun(options: WriteOptions, schema: StructType, *, overwrite: bool) -> TableWriter:
    """Check the options and the columns, and begin or continue the load; raises `SourceError`."""
    if overwrite:
        raise SourceError(
            "the source quorate does not overwrite tables, since no load deletes rows that it does"
            ' not bring: use mode("append") or INSERT INTO, which replace rows of the same key, and'
            " delete others with a client, or by a stream with the option operation"
        )
    found = find(options.table)
    columns.check(options.table, found.table, schema)
    if options.conflict == "insert_only" and found.table.to_insert is None:
        raise SourceError(
            f"rows of {options.table} cannot be inserted only: leave the option conflict out"
        )
    if not options.load_id:
        options = replace(options, load_id=uuid.uuid4().hex)
    with source_errors(options.load_id), client_of(options) as client:
        opened = placing.opened(client, options, found)
        command = BeginLoadCommand(
            load_id=options.load_id,
            table=options.table,
            insert_only=options.conflict == "insert_only",
            by_files=opened is not None,
            atomic=options.publish != "shards",
        )
        client.execute(command, Load)
    return TableWriter(options, opened)


def _ask(options: WriteOptions, command: Any) -> Load:
    with source_errors(options.load_id), client_of(options) as client:
        return client.execute(command, Load)
