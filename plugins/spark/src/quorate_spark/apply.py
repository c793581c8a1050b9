"""The handlers: pure functions of a transaction and a command, run once, on the leader."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys

from quorate_spark.loads import LOADS, PARTITIONS, load_key, partition_key
from quorate_spark.v1 import commands_pb2 as pb
from quorate_spark.v1.rows_pb2 import Load, LoadPartition

ABORTED: Final = "LOAD_ABORTED"
OTHER: Final = "OTHER_LOAD"


def begin_load(txn: Txn, command: pb.BeginLoadCommand) -> Load:
    """Begin a load, or continue one of the same table and kind."""
    load = _find(txn, command.load_id)
    if load is None:
        load = Load(
            load_id=command.load_id,
            table=command.table,
            insert_only=command.insert_only,
            by_files=command.by_files,
            atomic=command.atomic,
            began_at_ms=txn.proposed_at_ms,
        )
    _refuse_aborted(load)
    if _kind_of(load) != _kind_of(command):
        raise Rejected(
            OTHER,
            f"load {load.load_id} is one of {_kind_of(load)}, and not of {_kind_of(command)}:"
            " choose another load id",
        )
    load.state = Load.LOADING
    load.ended_at_ms, load.reason = 0, ""
    _put(txn, load)
    return load


def report_partition(txn: Txn, command: pb.ReportPartitionCommand) -> None:
    """Record the progress of a part; it never goes back."""
    load = _demand(txn, command.load_id)
    _refuse_aborted(load)
    key = partition_key(command.load_id, command.partition)
    stored = txn.get(PARTITIONS, key)
    known = LoadPartition() if stored is None else LoadPartition.FromString(stored)
    if stored is not None and (known.finished or known.rows > command.rows):
        return
    part = LoadPartition(
        partition=command.partition,
        rows=command.rows,
        bad_rows=command.bad_rows,
        batches=command.batches,
        finished=command.finished,
        row_bytes=command.row_bytes,
    )
    txn.put(PARTITIONS, key, part.SerializeToString(deterministic=True))


def end_load(txn: Txn, command: pb.EndLoadCommand) -> Load:
    """Record the end of a load."""
    load = _demand(txn, command.load_id)
    _refuse_aborted(load)
    if command.staged:
        load.state = Load.STAGED
    elif not command.failure:
        load.state = Load.FINISHED
    elif load.state != Load.STAGED:
        # A staged load stays so whatever the outcome of its publication.
        load.state = Load.FAILED
    load.reason, load.ended_at_ms = command.failure, txn.proposed_at_ms
    _put(txn, load)
    return load


def begin_abort(txn: Txn, command: pb.BeginAbortCommand) -> Load:
    """Stop a load for good."""
    load = _demand(txn, command.load_id)
    if not load.insert_only and not load.by_files:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"load {load.load_id} overwrote existing rows, which cannot be restored: only a"
            " load with conflict = insert_only can be aborted",
        )
    if load.state != Load.ABORTED:
        load.state, load.ended_at_ms = Load.ABORTING, txn.proposed_at_ms
        _put(txn, load)
    return load


def end_abort(txn: Txn, command: pb.EndAbortCommand) -> Load:
    """Record that all rows of a load were removed."""
    load = _demand(txn, command.load_id)
    if load.state not in (Load.ABORTING, Load.ABORTED):
        raise Rejected(
            "FAILED_PRECONDITION", f"load {load.load_id} is not being aborted: begin with the abort"
        )
    load.state, load.ended_at_ms = Load.ABORTED, txn.proposed_at_ms
    load.removed = max(load.removed, command.removed)
    _put(txn, load)
    return load


def forget_load(txn: Txn, command: pb.ForgetLoadCommand) -> None:
    """Forget a load and its parts."""
    for row in txn.scan(PARTITIONS, *keys.prefix(command.load_id)):
        txn.delete(PARTITIONS, row.key)
    txn.delete(LOADS, load_key(command.load_id))


def _find(txn: Txn, load_id: str) -> Load | None:
    stored = txn.get(LOADS, load_key(load_id))
    return None if stored is None else Load.FromString(stored)


def _demand(txn: Txn, load_id: str) -> Load:
    load = _find(txn, load_id)
    if load is None:
        raise Rejected("NOT_FOUND", f"there is no load {load_id}; see `quorate spark load list`")
    return load


def _refuse_aborted(load: Load) -> None:
    if load.state in (Load.ABORTING, Load.ABORTED):
        raise Rejected(
            ABORTED, f"load {load.load_id} was aborted: load the rows under another load id"
        )


def _put(txn: Txn, load: Load) -> None:
    txn.put(LOADS, load_key(load.load_id), load.SerializeToString(deterministic=True))


def _kind_of(load: Load | pb.BeginLoadCommand) -> str:
    kind = f"{load.table}, {'insert_only' if load.insert_only else 'upsert'}"
    if load.by_files:
        kind += ", by files"
    return f"{kind} and atomic" if load.atomic else kind
