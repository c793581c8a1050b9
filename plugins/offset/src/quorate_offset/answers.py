"""How the replies to batches become answers of services."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Rejected
from quorate.v1.batch_pb2 import BatchReply

M = TypeVar("M", bound=Message)

PAGE_SIZE: Final = 100


def each_reply(reply: BatchReply, kind: type[M]) -> Iterator[M]:
    """Yield the reply to each item; an empty one for an item that was refused or has none."""
    if not reply.replies:
        yield from (kind() for _ in range(reply.items))
    for encoded in reply.replies:
        yield kind.FromString(encoded)


def raise_refusal(reply: BatchReply) -> None:
    """Refuse a call that is a batch of one, as its item was refused."""
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)


def oldest(ages_ms: Iterable[int]) -> int:
    """Return the age of what several shards have answered; -1: that of one is not known."""
    ages = list(ages_ms)
    return -1 if -1 in ages else max(ages, default=0)


def consistency(*, stale: bool) -> Consistency:
    """Return how a request wants to read."""
    return "stale" if stale else "linearizable"
