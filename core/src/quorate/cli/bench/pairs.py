"""The pairs that a load writes: under a prefix that nobody else has, and removed at its end."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import (
    DeletePair,
    DeletePairs,
    GetPairsRequest,
    GetPairsResponse,
    ListPairsRequest,
    ListPairsResponse,
    PutPair,
    PutPairReply,
    PutPairs,
)

if TYPE_CHECKING:
    from quorate.client import AsyncClient, WatchedChange

_KV: Final = "/quorate.v1.KvService"
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
        await self._client.execute(pair, PutPairReply)
        return 1

    async def put_many(self, number: int, items: int) -> int:
        """Write as many pairs in one command; `number` is that of the command."""
        return await self._put_range(number * items, items)

    async def get_many(self, number: int, items: int, of: int) -> int:
        """Read as many of the first `of` pairs in one call, linearizably."""
        numbers = ((number * items + each) % of for each in range(items))
        request = GetPairsRequest(keys=list(dict.fromkeys(self.key(each) for each in numbers)))
        await self._client.call(f"{_KV}/GetBatch", request, GetPairsResponse)
        return len(request.keys)

    async def fill(self, count: int) -> None:
        """Write the first pairs, for others to read."""
        for first in range(0, count, _CHUNK):
            await self._put_range(first, min(_CHUNK, count - first))

    def changes(self) -> AsyncIterator[WatchedChange]:
        """Watch the pairs; a mark says when all that were there before have been given."""
        return self._client.watch("kv", prefix=self.prefix, marks=True)

    async def remove(self) -> None:
        """Delete every pair below the prefix."""
        request = ListPairsRequest(prefix=self.prefix, keys_only=True)
        while True:
            page = await self._client.call(f"{_KV}/List", request, ListPairsResponse)
            if page.pairs:
                pairs = [DeletePair(key=pair.key) for pair in page.pairs]
                await self._client.execute(DeletePairs(pairs=pairs), BatchReply)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _put_range(self, first: int, items: int) -> int:
        numbers = range(first, first + items)
        pairs = [PutPair(key=self.key(number), value=self._value) for number in numbers]
        await self._client.execute(PutPairs(pairs=pairs), BatchReply)
        return items
