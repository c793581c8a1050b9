"""How controllers work off what they find: batch by batch, through one command each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message
from quorate.plugin import NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

F = TypeVar("F", bound=Message)


async def pages(
    node: NodeApi, query: Callable[[F | None], Message], kind: type[F], limit: int
) -> AsyncIterator[Sequence[F]]:
    """Yield what a query finds, page by page; `query` is given what the last page ended with."""
    last: F | None = None
    while True:
        page = [found async for found in node.query(query(last), kind)]
        if page:
            yield page
        if len(page) < limit:
            return
        last = page[-1]


async def carry_out(node: NodeApi, shard: ShardRef, command: Message) -> int:
    """Propose a batch, and return how many of its items were carried out.

    An item is refused when its row has changed since it was read: the next round sees it anew.
    """
    reply = await node.propose(command, BatchReply, if_leader=shard)
    return reply.items - len(reply.refusals)
