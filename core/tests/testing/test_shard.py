from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.plugin import Rejected, SessionRef, Txn
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import (
    Entry,
    InternalError,
    LoggedCommand,
    MemoryShard,
    Outcome,
    UnknownCommandError,
)

KEY = b"k"
#: Any message of the sample stands for the command whose handler a test gives.
NAME = "kit_sample.v1.EraseNote"


@pytest.fixture
def shard_with(catalog: Catalog) -> Callable[..., MemoryShard]:
    def make(apply: Callable[[Txn, Any], Message | None], number: int = 0) -> MemoryShard:
        routes = {**catalog.routes, NAME: replace(catalog.routes[NAME], apply=apply)}
        return MemoryShard(replace(catalog, routes=routes), "sample", number)

    return make


def command(at_ms: int = 0, session: SessionRef | None = None) -> LoggedCommand:
    return LoggedCommand(type=NAME, payload=b"", proposed_at_ms=at_ms, session=session)


def run(shard: MemoryShard, *commands: LoggedCommand) -> list[Outcome]:
    return shard.apply([Entry(index=shard.applied + 1, commands=commands)])


def test_a_revision_is_index_and_position(shard_with: Callable[..., MemoryShard]) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    outcomes = shard.apply([Entry(index=5, commands=(command(), command()))])
    assert [outcome.revision for outcome in outcomes] == [5 << 20, 5 << 20 | 1]
    row = shard.layer.row("sample.notes", KEY)
    assert row is not None
    assert row.revision == shard.revision == 5 << 20 | 1
    assert shard.applied == 5


def test_logical_time_never_runs_backwards(shard_with: Callable[..., MemoryShard]) -> None:
    seen: list[int] = []
    shard = shard_with(lambda txn, _: seen.append(txn.proposed_at_ms))
    run(shard, command(at_ms=9), command(at_ms=4), command(at_ms=10))
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
        assert outcome.failure is error
    else:
        assert isinstance(outcome.failure, InternalError)
        assert str(outcome.failure).startswith(f"command {NAME} failed at index 1 with KeyError")


def test_an_answer_that_is_no_message_is_a_bug(shard_with: Callable[..., MemoryShard]) -> None:
    [outcome] = run(shard_with(lambda *_: "done"), command())
    assert isinstance(outcome.failure, InternalError)
    assert "answered a str" in str(outcome.failure)


def test_a_transaction_that_is_kept_cannot_be_used(
    shard_with: Callable[..., MemoryShard],
) -> None:
    kept: list[Txn] = []
    shard = shard_with(lambda txn, _: kept.append(txn))
    run(shard, command())
    with pytest.raises(RuntimeError, match="transaction has ended"):
        kept[0].put("sample.notes", KEY, b"")


def test_of_an_entry_with_an_unknown_command_nothing_is_applied(
    shard_with: Callable[..., MemoryShard],
) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    before = shard.digest()
    with pytest.raises(UnknownCommandError, match=r"command no\.Such, which no enabled plugin"):
        run(shard, command(), LoggedCommand(type="no.Such", payload=b""))
    assert (shard.digest(), shard.applied) == (before, 0)


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
    catalog: Catalog, shard_with: Callable[..., MemoryShard]
) -> None:
    def apply(txn: Txn, _: Any) -> None:
        txn.put("sample.notes", str(txn.next_id("s")).encode(), str(txn.now_ms).encode())

    shard = shard_with(apply)
    run(shard, command(at_ms=5))
    other = MemoryShard(shard._catalog, "sample", state=shard.export())
    for each in (shard, other):
        run(each, command(at_ms=1))
    assert other.digest() == shard.digest()
    assert other.layer.row("sample.notes", b"2") == shard.layer.row("sample.notes", b"2")
    assert other.export() == shard.export()


def session(sequence: int, lowest: int = 1) -> SessionRef:
    return SessionRef(session=1, sequence=sequence, lowest_unanswered=lowest)


def test_a_recorded_answer_is_given_again(shard_with: Callable[..., MemoryShard]) -> None:
    done: list[int] = []

    def apply(txn: Txn, _: Any) -> None:
        done.append(1)
        txn.emit(Empty())

    shard = shard_with(apply)
    shard.open_session(1)

    [first, again] = run(shard, command(session=session(1)), command(session=session(1)))

    assert done == [1]
    assert (again.revision, again.reply) == (first.revision, first.reply)
    assert (len(first.events), again.events) == (1, ())


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        (SessionRef(session=2, sequence=1, lowest_unanswered=1), "SESSION_EXPIRED"),
        (session(1, lowest=2), "OUT_OF_RANGE"),
        (session(1_027, lowest=2), "OUT_OF_RANGE"),
    ],
)
def test_a_sequence_outside_its_session_is_refused(
    shard_with: Callable[..., MemoryShard], ref: SessionRef, code: str
) -> None:
    shard = shard_with(lambda txn, _: txn.put("sample.notes", KEY, b""))
    shard.open_session(1)
    [outcome] = run(shard, command(session=ref))
    assert isinstance(outcome.failure, Rejected)
    assert outcome.failure.code == code
    assert shard.layer.row("sample.notes", KEY) is None


def test_answers_below_the_lowest_unanswered_are_forgotten(
    shard_with: Callable[..., MemoryShard],
) -> None:
    shard = shard_with(lambda *_: None)
    shard.open_session(1)
    run(shard, command(session=session(1)), command(session=session(2)))
    run(shard, command(session=session(3, lowest=2)))
    [(_, answers)] = shard.export().answers
    assert [sequence for sequence, _ in answers] == [2, 3]
