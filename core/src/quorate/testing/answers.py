"""The answers of a node in memory, in the types that the caller asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.plugin import Query, Rejected, batch_split
from quorate.plugin.catalog import Catalog
from quorate.shards.routing import queries
from quorate.testing.shard import MemoryShard, Outcome
from quorate.v1.batch_pb2 import BatchReply

M = TypeVar("M", bound=Message)
A = TypeVar("A", bound=Message | bytes)


def copy_of(message: M) -> M:
    """Return a copy of a message."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def reply_of(command: Message, outcome: Outcome, kind: type[M]) -> M:
    """Return the reply of a command; raises its failure."""
    if outcome.failure is not None:
        raise outcome.failure
    if outcome.answered is None or kind is Empty:
        return kind()
    _check_type(command, outcome.answered, kind)
    return cast("M", outcome.answered.FromString(outcome.reply))


def shard_reply(command: batch_split.ShardCommand, outcome: Outcome) -> batch_split.ShardReply:
    """Return the reply of a shard to its part of a batch."""
    if isinstance(outcome.failure, Rejected):
        reply = batch_split.refused(command, outcome.failure.code, outcome.failure.message)
    else:
        reply = reply_of(command.message, outcome, BatchReply)
    return batch_split.ShardReply(command=command, revision=outcome.revision, reply=reply)


def typed(asked: Message, answer: Message, kind: type[M]) -> M:
    """Return a copy of an answer, after checking its type."""
    _check_type(asked, type(answer), kind)
    return copy_of(cast("M", answer))


def shown(query: Query[Any], found: Sequence[Any], kind: type[A]) -> Sequence[A]:
    """Return answers in the type that the caller asks for; callers never share a message."""
    expected: Any = kind
    if query.row is None:
        return [typed(query.message(), each, expected) for each in found]
    if expected is not bytes:
        _check_type(query.message(), query.row, expected)
    return queries.shown(query, found, kind)


def _check_type(asked: Message, answered: type[Message], kind: type[Message]) -> None:
    if not issubclass(answered, kind):
        raise TypeError(
            f"{asked.DESCRIPTOR.full_name} is answered with {answered.DESCRIPTOR.full_name}; "
            f"{kind.DESCRIPTOR.full_name} was asked for"
        )


def run_query(
    catalog: Catalog,
    message: Message,
    asked: Sequence[tuple[MemoryShard, queries.QueryPart]],
    min_revision: int,
) -> Sequence[Any]:
    """Run each shard's part of a query, and return the joined answers.

    Raises `TimeoutError` when no shard has reached `min_revision`: in memory no write is in flight.
    """
    name = message.DESCRIPTOR.full_name
    query: Query[Any] = catalog.queries[name]
    if max((shard.revision for shard, _ in asked), default=min_revision) < min_revision:
        raise TimeoutError(f"query {name} waits for revision {min_revision}, not yet reached")
    reads = queries.reads_of(catalog, query)
    answers = [
        queries.bounded(
            name, query.run(shard.reader(reads), part.message), encoded=query.row is not None
        )
        for shard, part in asked
    ]
    return queries.joined(query, [part for _, part in asked], answers)
