"""Helpers of handlers, queries and controllers that work on many rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.message import Message

from quorate.plugin.batch_split import at_place
from quorate.plugin.deprecations import deprecated
from quorate.plugin.outcomes import Invalid, Rejected
from quorate.plugin.splicing import spliced
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

if TYPE_CHECKING:
    # A client splits batches without the objects of a node.
    from quorate.plugin.node import NodeApi, ShardRef
    from quorate.plugin.transaction import Reader, Row, Splice, Txn

#: Rows to read at a time: values are large at times.
AT_A_TIME: Final = 100

M = TypeVar("M", bound=Message)
I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference


def answer_each(
    txn: Txn, items: Iterable[I], apply: Callable[[Txn, I], Message | None]
) -> BatchReply:
    """Apply the items of a batch one by one, and answer each in its place.

    `apply` must look at everything that it can refuse before it writes: what it wrote before it
    raised `Rejected` would stay, because the others do. `Invalid` is INVALID_ARGUMENT of its item.
    """
    answer = BatchReply()
    for position, item in enumerate(items):
        try:
            reply = apply(txn, item)
        except (Rejected, Invalid) as refusal:
            reply = None
            answer.refusals.append(refusal_of(position, refusal))
        answer.replies.append(b"" if reply is None else reply.SerializeToString(deterministic=True))
    answer.items = len(answer.replies)
    return answer


def refusal_of(position: int, refusal: Rejected | Invalid) -> ItemRefusal:
    """Return how an answer to a batch says that an item was refused."""
    if isinstance(refusal, Rejected):
        return ItemRefusal(item=position, code=refusal.code, message=refusal.message)
    return ItemRefusal(item=position, code="INVALID_ARGUMENT", message=str(refusal))


def join_parts(replies: Iterable[BatchReply]) -> BatchReply:
    """Return the reply to a batch that was executed in parts, one after the other."""
    whole = BatchReply()
    latest: dict[int, int] = {}
    for reply in replies:
        positions = range(whole.items, whole.items + reply.items)
        whole.refusals.extend(at_place(refusal, positions) for refusal in reply.refusals)
        whole.forgotten.extend(whole.items + item for item in reply.forgotten)
        whole.replies.extend(reply.replies or [b""] * reply.items)
        whole.items += reply.items
        latest.update((each.shard, each.revision) for each in reply.revisions)
    for shard, revision in sorted(latest.items()):
        whole.revisions.add(shard=shard, revision=revision)
    return whole


def still_due(txn: Txn, timer: str, keys: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the keys with a deadline that is still due: it may have been moved since.

    The deadline of a key stays until it is moved or cancelled.
    """
    for key in keys:
        deadline = txn.deadline(timer, key)
        if deadline is not None and deadline <= txn.proposed_at_ms:
            yield key


@deprecated("since 0.2: write reader.scan(family, start, end), without a limit")
def read_range(reader: Reader, family: str, start: bytes, end: bytes) -> Iterator[Row]:
    """Yield all rows with `start <= key < end` in key order, with few of them in memory."""
    return reader.scan(family, start, end)


@deprecated("since 0.2: write reader.get_rows(family, keys)")
def read_each(reader: Reader, family: str, keys: Sequence[bytes]) -> Iterator[Row | None]:
    """Yield the rows of any number of keys in their order, with few of them in memory."""
    for part in in_parts(keys, AT_A_TIME):
        yield from reader.get_rows(family, part)


@deprecated("since 0.2: write reader.get_rows(family, keys), and build the answers of the rows")
def read_spliced(
    reader: Reader, family: str, keys: Sequence[bytes], splice: Splice
) -> Iterator[bytes | None]:
    """Yield the rows of any number of keys in their wire form, as `read_each` does the rows."""
    for part in in_parts(keys, AT_A_TIME):
        for row in reader.get_rows(family, part):
            yield None if row is None else spliced(*splice, row)


@deprecated("since 0.2: write reader.get_values(family, keys)")
def read_values(reader: Reader, family: str, keys: Sequence[bytes]) -> Iterator[bytes | None]:
    """Yield the values of any number of keys, as `read_each` does their rows."""
    for part in in_parts(keys, AT_A_TIME):
        yield from reader.get_values(family, part)


def in_parts(items: Iterable[I], most: int) -> Iterator[list[I]]:
    """Yield items in their order, at most `most` at a time."""
    rest = iter(items)
    while part := list(islice(rest, most)):
        yield part


def weighed_parts(
    items: Iterable[I], weigh: Callable[[I], tuple[int, int]], most: tuple[int, int]
) -> Iterator[list[I]]:
    """Yield items in their order, in parts that weigh at most as much, in each of two ways.

    An item that weighs more is a part of its own.
    """
    part: list[I] = []
    count = size = 0
    for item in items:
        more, larger = weigh(item)
        count, size = count + more, size + larger
        if part and (count > most[0] or size > most[1]):
            yield part
            part, count, size = [], more, larger
        part.append(item)
    if part:
        yield part


async def carry_out(node: NodeApi, shard: ShardRef, batch: Message) -> int:
    """Propose a batch as the leader of a shard; return how many of its items were carried out.

    An item is refused when its row has changed since it was read: the next round sees it anew.
    """
    reply = await node.propose(batch, BatchReply, if_leader=shard)
    return reply.items - len(reply.refusals)


async def read_pages(
    node: NodeApi, query: Callable[[M | None], Message], kind: type[M], limit: int
) -> AsyncIterator[Sequence[M]]:
    """Yield the results of a query by pages; `query` gets the last result of the page before.

    A page shorter than `limit` is the last one: the query must carry the same limit. Each shard
    returns up to that many results, so the first `limit` of all shards are complete.
    """
    last: M | None = None
    while True:
        page = [found async for found in node.query(query(last), kind)][:limit]
        if page:
            yield page
        if len(page) < limit:
            return
        last = page[-1]
