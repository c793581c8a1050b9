"""Batches of any length, cut into commands that a shard takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.client import AsyncClient
from quorate.v1.batch_pb2 import BatchReply

I = TypeVar("I", bound=Message)  # noqa: E741 - the item of a batch, named as in the plugin reference

#: The most that one command of a larger batch holds.
_MOST: Final = 1_000
_MOST_BYTES: Final = 1 << 20


async def execute(
    q: AsyncClient, make: Callable[[Sequence[I]], Message], items: Iterable[I]
) -> BatchReply:
    """Carry out public commands that `make` makes of parts, and answer the items in their order."""
    return await q.execute_all([make(part) for part in _parts(items)])


def _parts(items: Iterable[I]) -> Iterator[Sequence[I]]:
    part: list[I] = []
    size = 0
    for item in items:
        size += item.ByteSize()
        if part and (len(part) == _MOST or size > _MOST_BYTES):
            yield part
            part, size = [], item.ByteSize()
        part.append(item)
    if part:
        yield part
