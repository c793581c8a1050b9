from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.plugin import Rejected, Txn
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import Entry, InternalError, MemoryShard, Outcome, command_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import OpenSession, OpenSessionReply

KEY = b"k"
#: Any message of the sample stands for the command whose handler a test gives.
NAME = "kit_sample.v1.EraseNote"


@pytest.fixture
def catalog_with(catalog: Catalog) -> Callable[..., Catalog]:
    def make(apply: Callable[[Txn, Any], Message | None]) -> Catalog:
        routes = {**catalog.routes, NAME: replace(catalog.routes[NAME], apply=apply)}
        return replace(catalog, routes=routes)

    return make


@pytest.fixture
def shard_with(catalog_with: Callable[..., Catalog]) -> Callable[..., MemoryShard]:
    def make(apply: Callable[[Txn, Any], Message | None], number: int = 0) -> MemoryShard:
        return MemoryShard(catalog_with(apply), "sample", number)

    return make


def command(stamp: Stamp | None = None) -> LoggedCommand:
    return LoggedCommand(type=NAME, payload=b"", stamp=stamp)


def run(shard: MemoryShard, *commands: LoggedCommand, at_ms: int = 0) -> list[Outcome]:
    return shard.apply([Entry(index=shard.applied + 1, commands=commands, at_ms=at_ms)])


def test_a_revision_is_index_and_position(shard_with: Callable[..., MemoryShard]) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    outcomes = shard.apply([Entry(index=5, commands=(command(), command()))])
    assert [outcome.revision for outcome in outcomes] == [5 << 20, 5 << 20 | 1]
    row = shard.row("sample.notes", KEY)
    assert row is not None
    assert row.revision == 5 << 20 | 1
    assert row.revision <= shard.revision < 6 << 20
    assert shard.applied == 5


def test_logical_time_never_runs_backwards(shard_with: Callable[..., MemoryShard]) -> None:
    seen: list[int] = []
    shard = shard_with(lambda txn, _: seen.append(txn.proposed_at_ms))
    for at_ms in (9, 4, 10):
        run(shard, command(), at_ms=at_ms)
    assert seen == [9, 9, 10]


@pytest.mark.parametrize("error", [Rejected("NO"), KeyError("bug")])
def test_what_a_handler_did_is_dropped_when_it_raises(
    shard_with: Callable[..., MemoryShard], error: Exception
) -> None:
    def apply(txn: Txn, _: Any) -> None:
        txn.put("sample.notes", KEY, b"v")
        txn.schedule("sample.expiry", KEY, 1)
        txn.next_id("s")
        raise error

    shard = shard_with(apply)
    before = shard.digest()

    [outcome] = run(shard, command())

    assert shard.digest() == before
    assert outcome.events == ()
    assert shard.applied == 1
    if isinstance(error, Rejected):
        assert isinstance(outcome.failure, Rejected)
        assert outcome.failure.code == error.code
    else:
        assert isinstance(outcome.failure, InternalError)
        assert str(outcome.failure).startswith(f"command {NAME} failed at index 1 with KeyError")


def test_an_answer_that_is_no_message_is_a_bug(shard_with: Callable[..., MemoryShard]) -> None:
    [outcome] = run(shard_with(lambda *_: "done"), command())
    assert isinstance(outcome.failure, InternalError)
    assert "returned a str" in str(outcome.failure)


def test_a_transaction_that_is_kept_cannot_be_used(
    shard_with: Callable[..., MemoryShard],
) -> None:
    kept: list[Txn] = []
    shard = shard_with(lambda txn, _: kept.append(txn))
    run(shard, command())
    with pytest.raises(RuntimeError, match="transaction has ended"):
        kept[0].put("sample.notes", KEY, b"")


def test_an_unknown_command_is_refused_alone(shard_with: Callable[..., MemoryShard]) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    known, unknown = run(shard, command(), LoggedCommand(type="no.Such", payload=b""))

    assert known.failure is None
    assert "knows command no.Such" in str(unknown.failure)


def test_an_index_is_applied_once(shard_with: Callable[..., MemoryShard]) -> None:
    shard = shard_with(lambda *_: None)
    shard.apply([Entry(index=2, commands=())])
    with pytest.raises(ValueError, match="entry 2 comes after entry 2"):
        shard.apply([Entry(index=2, commands=())])


def test_digests_differ_with_rows_deadlines_and_sequences(
    shard_with: Callable[..., MemoryShard],
) -> None:
    changes: list[Callable[[Txn, Any], object]] = [
        lambda *_: None,
        lambda txn, _: txn.put("sample.notes", KEY, b""),
        lambda txn, _: txn.put("sample.sizes", KEY, b""),
        lambda txn, _: txn.put("sample.notes", KEY, b"v"),
        lambda txn, _: txn.schedule("sample.expiry", KEY, 1),
        lambda txn, _: txn.schedule("sample.expiry", KEY, 1, ttl_ms=1),
        lambda txn, _: (txn.next_id("s"), None)[1],
    ]
    digests = []
    for change in changes:
        shard = shard_with(change)
        run(shard, command())
        digests.append(shard.digest())
    assert len(set(digests)) == len(changes)


def test_an_exported_state_goes_on_where_it_was(
    catalog_with: Callable[..., Catalog], shard_with: Callable[..., MemoryShard]
) -> None:
    def apply(txn: Txn, _: Any) -> None:
        txn.put("sample.notes", str(txn.next_id("s")).encode(), str(txn.now_ms).encode())

    shard = shard_with(apply)
    run(shard, command(), at_ms=5)
    other = MemoryShard(catalog_with(apply), "sample", state=shard.export())
    for each in (shard, other):
        run(each, command(), at_ms=1)
    assert other.replica_digest() == shard.replica_digest()
    assert other.row("sample.notes", b"2") == shard.row("sample.notes", b"2")
    assert other.export() == shard.export()


def opened(shard: MemoryShard, ttl_ms: int = 1_000) -> int:
    [outcome] = run(shard, command_of(OpenSession(ttl_ms=ttl_ms)))
    return OpenSessionReply.FromString(outcome.reply).session


def test_a_recorded_answer_is_given_again(shard_with: Callable[..., MemoryShard]) -> None:
    done: list[int] = []

    def apply(txn: Txn, _: Any) -> Message:
        done.append(1)
        txn.emit(Empty())
        return BatchReply(items=1)

    shard = shard_with(apply)
    session = opened(shard)
    stamp = Stamp(session, 1, 1)

    [first, again] = run(shard, command(stamp), command(stamp))

    assert done == [1]
    assert (again.revision, again.reply) == (first.revision, first.reply)
    assert (first.answered, again.answered) == (BatchReply, BatchReply)
    assert (len(first.events), again.events) == (1, ())


def test_a_recorded_bug_is_told_again(shard_with: Callable[..., MemoryShard]) -> None:
    shard = shard_with(lambda *_: 1 / 0)
    stamp = Stamp(opened(shard), 1, 1)
    [first, again] = run(shard, command(stamp), command(stamp))
    assert isinstance(first.failure, InternalError)
    assert again.failure is first.failure


def test_bugs_of_one_entry_are_told_apart(shard_with: Callable[..., MemoryShard]) -> None:
    left = [KeyError("a"), Rejected("INTERNAL", "no bug"), KeyError("b")]

    def apply(*_: Any) -> None:
        raise left.pop(0)

    outcomes = run(shard_with(apply), *[command()] * 3)

    said = [str(outcome.failure) for outcome in outcomes]
    assert "KeyError: 'a'" in said[0]
    assert said[1] == "INTERNAL: no bug"
    assert "KeyError: 'b'" in said[2]


@pytest.mark.parametrize(
    ("other", "sequence", "lowest", "code"),
    [
        (1, 1, 1, "SESSION_EXPIRED"),
        (0, 1, 2, "OUT_OF_RANGE"),
        (0, 1_027, 2, "OUT_OF_RANGE"),
    ],
)
def test_a_sequence_outside_its_session_is_refused(
    shard_with: Callable[..., MemoryShard], other: int, sequence: int, lowest: int, code: str
) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    session = opened(shard) + other
    [outcome] = run(shard, command(Stamp(session, sequence, lowest)))
    assert isinstance(outcome.failure, Rejected)
    assert outcome.failure.code == code
    assert shard.row("sample.notes", KEY) is None


def test_what_is_stored_outlasts_a_catalog_without_the_plugin(
    catalog: Catalog, shard_with: Callable[..., MemoryShard]
) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b"v"))
    run(shard, command())
    before = shard.digest()
    shard = shard.reopened(replace(catalog, families={}, routes={}))
    assert shard.orphans == ("sample.notes", "sample.sizes")
    assert shard.reopened(catalog).digest() == before
