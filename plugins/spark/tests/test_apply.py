from typing import Any

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate_spark import apply
from quorate_spark.loads import LOADS, PARTITIONS, load_key, partition_key
from quorate_spark.v1.commands_pb2 import (
    BeginAbortCommand,
    BeginLoadCommand,
    EndAbortCommand,
    EndLoadCommand,
    ForgetLoadCommand,
    ReportPartitionCommand,
)
from quorate_spark.v1.rows_pb2 import Load, LoadPartition


def begun(load_id: str = "l", *, insert_only: bool = False) -> MemoryTxn:
    txn = MemoryTxn(at_ms=1_000)
    begin = BeginLoadCommand(load_id=load_id, table="kv.pairs", insert_only=insert_only)
    apply.begin_load(txn, begin)
    return txn


def load(txn: MemoryTxn, load_id: str = "l") -> Load:
    stored = txn.get(LOADS, load_key(load_id))
    assert stored is not None
    return Load.FromString(stored)


def part(txn: MemoryTxn, partition: int) -> LoadPartition:
    stored = txn.get(PARTITIONS, partition_key("l", partition))
    assert stored is not None
    return LoadPartition.FromString(stored)


def report(txn: MemoryTxn, partition: int = 0, **told: Any) -> None:
    apply.report_partition(txn, ReportPartitionCommand(load_id="l", partition=partition, **told))


def test_a_load_begins_and_ends() -> None:
    txn = begun()
    assert (load(txn).state, load(txn).began_at_ms) == (Load.LOADING, 1_000)
    apply.end_load(txn, EndLoadCommand(load_id="l"))

    assert (load(txn).state, load(txn).reason) == (Load.FINISHED, "")


def test_a_load_that_failed_goes_on_as_the_same() -> None:
    txn = begun()
    apply.end_load(txn, EndLoadCommand(load_id="l", failure="no disk"))
    assert (load(txn).state, load(txn).reason) == (Load.FAILED, "no disk")
    apply.begin_load(txn, BeginLoadCommand(load_id="l", table="kv.pairs"))

    assert (load(txn).state, load(txn).reason) == (Load.LOADING, "")
    assert (load(txn).began_at_ms, load(txn).ended_at_ms) == (1_000, 0)


@pytest.mark.parametrize(
    "other",
    [
        BeginLoadCommand(load_id="l", table="mqtt.sessions"),
        BeginLoadCommand(load_id="l", table="kv.pairs", insert_only=True),
    ],
)
def test_a_load_id_belongs_to_one_load(other: BeginLoadCommand) -> None:
    with pytest.raises(Rejected, match=r"OTHER_LOAD: load l is one of kv\.pairs, upsert, and not"):
        apply.begin_load(begun(), other)


def test_parts_are_known_from_their_beginning_and_never_go_back() -> None:
    txn = begun()
    report(txn, 2)
    assert part(txn, 2) == LoadPartition(partition=2)
    report(txn, 2, rows=9, bad_rows=1, batches=2)
    # An attempt that runs beside it is behind.
    report(txn, 2, rows=4, batches=1)
    assert part(txn, 2).rows == 9
    report(txn, 2, rows=20, bad_rows=1, batches=3, finished=True)
    report(txn, 2, rows=30)

    assert (part(txn, 2).rows, part(txn, 2).finished) == (20, True)


def test_a_load_that_is_aborted_takes_nothing_more() -> None:
    txn = begun(insert_only=True)
    report(txn, 0)
    apply.begin_abort(txn, BeginAbortCommand(load_id="l"))
    for refused in (
        lambda: report(txn, 1),
        lambda: apply.end_load(txn, EndLoadCommand(load_id="l")),
        lambda: apply.begin_load(
            txn, BeginLoadCommand(load_id="l", table="kv.pairs", insert_only=True)
        ),
    ):
        with pytest.raises(Rejected, match="LOAD_ABORTED"):
            refused()
    apply.end_abort(txn, EndAbortCommand(load_id="l", removed=7))
    apply.begin_abort(txn, BeginAbortCommand(load_id="l"))
    apply.end_abort(txn, EndAbortCommand(load_id="l"))

    assert (load(txn).state, load(txn).removed) == (Load.ABORTED, 7)


def test_only_inserts_are_aborted() -> None:
    with pytest.raises(Rejected, match="FAILED_PRECONDITION: load l overwrote"):
        apply.begin_abort(begun(), BeginAbortCommand(load_id="l"))
    with pytest.raises(Rejected, match="FAILED_PRECONDITION: load l is not being aborted"):
        apply.end_abort(begun(insert_only=True), EndAbortCommand(load_id="l"))


def test_a_load_is_forgotten_with_its_parts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.apply.txn.AT_A_TIME", 2)
    txn = begun()
    apply.begin_load(txn, BeginLoadCommand(load_id="l2", table="kv.pairs"))
    apply.report_partition(txn, ReportPartitionCommand(load_id="l2"))
    for partition in range(5):
        report(txn, partition)
    for _ in range(2):
        apply.forget_load(txn, ForgetLoadCommand(load_id="l"))

    assert txn.get(LOADS, load_key("l")) is None
    assert all(txn.get(PARTITIONS, partition_key("l", each)) is None for each in range(5))
    assert load(txn, "l2").load_id == "l2"
    assert txn.get(PARTITIONS, partition_key("l2", 0)) is not None


def test_nothing_is_done_to_a_load_that_is_not_there() -> None:
    txn = MemoryTxn(at_ms=1_000)
    for refused in (
        lambda: report(txn),
        lambda: apply.end_load(txn, EndLoadCommand(load_id="l")),
        lambda: apply.begin_abort(txn, BeginAbortCommand(load_id="l")),
        lambda: apply.end_abort(txn, EndAbortCommand(load_id="l")),
    ):
        with pytest.raises(Rejected, match="NOT_FOUND: there is no load l"):
            refused()
