"""The commands of bulk loads."""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import Access, Command, Invalid, Txn
from quorate.plugin.advanced import constant_key

from quorate_spark import apply
from quorate_spark.loads import GROUP, check_load_id
from quorate_spark.v1 import commands_pb2 as pb


def check_begin(command: pb.BeginLoadCommand) -> None:
    """Refuse a load without a table."""
    check_load_id(command)
    if not command.table:
        raise Invalid("table", "must not be empty")


def _command(
    apply: Callable[[Txn, Any], Message | None],
    *examples: Message,
    validate: Callable[[Any], None] = check_load_id,
) -> Command[Any]:
    """Return a public command of the one shard that has all loads."""
    return Command(
        message=type(examples[0]),
        group=GROUP,
        apply=apply,
        shard_key=constant_key,
        keys=lambda command: (command.load_id.encode(),),
        validate=validate,
        public=True,
        # The rights to write rows are checked by the commands of the load's table.
        access=Access(right="write", key="load_id"),
        examples=examples,
    )


_ID: Final = "2026-11-20/pairs"

COMMANDS: Final[tuple[Command[Any], ...]] = (
    _command(
        apply.begin_load,
        pb.BeginLoadCommand(load_id=_ID, table="kv.pairs", insert_only=True),
        validate=check_begin,
    ),
    _command(
        apply.report_partition,
        pb.ReportPartitionCommand(load_id=_ID, partition=3),
        pb.ReportPartitionCommand(
            load_id=_ID, partition=3, rows=9, bad_rows=1, batches=2, row_bytes=90
        ),
    ),
    _command(
        apply.end_load,
        pb.EndLoadCommand(load_id=_ID),
        pb.EndLoadCommand(load_id=_ID, failure="a row has no key"),
        pb.EndLoadCommand(load_id=_ID, staged=True),
    ),
    _command(apply.begin_abort, pb.BeginAbortCommand(load_id=_ID)),
    _command(apply.end_abort, pb.EndAbortCommand(load_id=_ID, removed=9)),
    _command(apply.forget_load, pb.ForgetLoadCommand(load_id=_ID)),
)
