"""The words for changing and reading loads: all that a client needs to know of the plugin."""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import Command, Query, constant_key

from quorate_spark import queries
from quorate_spark.families import GROUP
from quorate_spark.v1.commands_pb2 import (
    BeginAbortCommand,
    BeginLoadCommand,
    EndAbortCommand,
    EndLoadCommand,
    ForgetLoadCommand,
    ReportPartitionCommand,
)
from quorate_spark.v1.queries_pb2 import GetLoadQuery, ListLoadsQuery
from quorate_spark.validation import check_begin, check_load_id

_ID: Final = "2026-11-20/pairs"


def _command(*examples: Message, validate: Callable[[Any], None]) -> Command[Any]:
    """Return a public command of the one shard that has all loads."""
    return Command(
        message=type(examples[0]),
        group=GROUP,
        shard_key=constant_key,
        validate=validate,
        public=True,
        examples=examples,
    )


COMMANDS: Final[tuple[Command[Any], ...]] = (
    _command(
        BeginLoadCommand(load_id=_ID, table="kv.pairs", insert_only=True), validate=check_begin
    ),
    _command(
        ReportPartitionCommand(load_id=_ID, partition=3),
        ReportPartitionCommand(load_id=_ID, partition=3, rows=9, bad_rows=1, batches=2),
        validate=check_load_id,
    ),
    _command(
        EndLoadCommand(load_id=_ID),
        EndLoadCommand(load_id=_ID, failure="a row has no key"),
        validate=check_load_id,
    ),
    _command(BeginAbortCommand(load_id=_ID), validate=check_load_id),
    _command(EndAbortCommand(load_id=_ID, removed=9), validate=check_load_id),
    _command(ForgetLoadCommand(load_id=_ID), validate=check_load_id),
)

QUERIES: Final[tuple[Query[Any], ...]] = (
    Query(message=GetLoadQuery, group=GROUP, run=queries.get_load, shard_key=constant_key),
    Query(message=ListLoadsQuery, group=GROUP, run=queries.list_loads, shard_key=constant_key),
)
