"""The writer: Spark makes it on the driver, sends it to executors, and asks it at the end."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType
from quorate.client import Client, QuorateError

from quorate_spark.source import columns
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.sending import Sent, send, source_error
from quorate_spark.source.tables import find
from quorate_spark.source.whole_input import connections, whole
from quorate_spark.v1.commands_pb2 import BeginLoadCommand, EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load


@dataclass(frozen=True)
class PartitionSent(WriterCommitMessage):
    """What a partition reports to the driver."""

    sent: Sent


class TableWriter(DataSourceArrowWriter):
    """Loads rows; an attempt that is repeated changes nothing twice."""

    def __init__(self, options: WriteOptions) -> None:
        self.options: Final = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionSent:
        """Load a partition, on an executor."""
        context = TaskContext.get()
        if context is None:
            raise RuntimeError("a partition is written by a task of Spark")
        rows = whole(iterator, connections())
        return PartitionSent(asyncio.run(send(self.options, context.partitionId(), rows)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record that all partitions are there."""
        sent = [each.sent for each in messages if isinstance(each, PartitionSent)]
        bad = sum(each.bad_rows for each in sent)
        if bad > self.options.max_bad_rows:
            failure = f"{bad} bad rows in all, and max_bad_rows is {self.options.max_bad_rows}"
            self._end(failure)
            raise SourceError(
                f"load {self.options.load_id} has failed: {failure}; all other rows are loaded"
            )
        self._end("")

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Record that the load has failed; the same load id goes on with it."""
        try:
            self._end("a task has failed; the error of the Spark job says why")
        except SourceError:
            # It was aborted, or the cluster is away: what Spark tells of the task says more.
            return

    def _end(self, failure: str) -> None:
        _ask(self.options, EndLoadCommand(load_id=self.options.load_id, failure=failure))


def begun(options: WriteOptions, schema: StructType, *, overwrite: bool) -> TableWriter:
    """Check what is to be written, and begin the load or go on with it; raises `SourceError`."""
    if overwrite:
        raise SourceError(
            'the source quorate does not overwrite tables: use mode("append"), which replaces '
            "rows of the same key"
        )
    found = find(options.table)
    columns.check(options.table, found.table, schema)
    if options.conflict == "insert_only" and found.table.to_insert is None:
        raise SourceError(
            f"rows of {options.table} cannot be inserted only: leave the option conflict out"
        )
    if not options.load_id:
        options = replace(options, load_id=uuid.uuid4().hex)
    _ask(
        options,
        BeginLoadCommand(
            load_id=options.load_id,
            table=options.table,
            insert_only=options.conflict == "insert_only",
        ),
    )
    return TableWriter(options)


def _ask(options: WriteOptions, command: Any) -> Load:
    try:
        with Client(options.endpoints, timeout_s=options.timeout_s) as client:
            return client.execute(command, Load)
    except QuorateError as error:
        raise source_error(error, options.load_id) from error
