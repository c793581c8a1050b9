"""The pairs that a load writes: under a prefix that nobody else has, and removed at its end."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message

from quorate.client.errors import OutcomeUnknownError, UnansweredError
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import (
    PutPair,
    PutPairReply,
    PutPairs,
)

if TYPE_CHECKING:
    from quorate.client import AsyncClient, WatchedChange

_CHUNK: Final = 1_000


class BenchPairs:
    """Pairs with numbered keys and values of one size."""

    def __init__(self, client: AsyncClient, prefix: str, size: int) -> None:
        self._client: Final = client
        self.prefix: Final = f"{prefix}{secrets.token_hex(8)}/".encode()
        self._value: Final = secrets.token_bytes(size)

    def key(self, number: int) -> bytes:
        """Return the key of a number; keys sort as their numbers do."""
        return self.prefix + b"%012d" % number

    async def put(self, number: int) -> int:
        """Write one pair; calls that wait at the same time share what is sent."""
        pair = PutPair(key=self.key(number), value=self._value)
        await self._written(pair, PutPairReply)
        return 1

    async def put_many(self, number: int, items: int) -> int:
        """Write as many pairs in one command; `number` is that of the command."""
        return await self._put_range(number * items, items)

    async def get_many(self, number: int, items: int, of: int) -> int:
        """Read as many of the first `of` pairs in one call, linearizably."""
        numbers = ((number * items + each) % of for each in range(items))
        keys = list(dict.fromkeys(self.key(each) for each in numbers))
        return len(await self._client.kv.get_many(keys))

    async def fill(self, count: int) -> None:
        """Write the first pairs, for others to read."""
        for first in range(0, count, _CHUNK):
            await self._put_range(first, min(_CHUNK, count - first))

    def changes(self) -> AsyncIterator[WatchedChange]:
        """Watch the pairs; a mark says when all that were there before have been given."""
        return self._client.watch("kv", prefix=self.prefix, marks=True)

    async def remove(self) -> None:
        """Delete every pair below the prefix."""
        async for page in self._client.kv.scan(self.prefix, keys_only=True):
            await self._client.kv.delete_many(pair.key for pair in page.pairs)

    async def _put_range(self, first: int, items: int) -> int:
        numbers = range(first, first + items)
        pairs = [PutPair(key=self.key(number), value=self._value) for number in numbers]
        await self._written(PutPairs(pairs=pairs), BatchReply)
        return items

    async def _written(self, command: Message, reply: type[Message]) -> None:
        """Write until it is known to be written: nobody else has these keys, so twice is as once.

        The time that a new leader takes is part of what is measured.
        """
        while True:
            try:
                await self._client.execute(command, reply)
            except UnansweredError:
                raise
            except OutcomeUnknownError:
                continue
            return
