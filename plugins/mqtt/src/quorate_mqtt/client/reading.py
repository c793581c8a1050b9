"""Reads: one row, and lists page by page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message
from quorate.client import AsyncClient, RejectedError

from quorate_mqtt.shards import GROUP

Q = TypeVar("Q", bound=Message)
P = TypeVar("P", bound=Message)
R = TypeVar("R")
M = TypeVar("M", bound=Message)


async def get(
    q: AsyncClient, method: str, request: Message, row: type[M], *, shard_key: bytes
) -> M | None:
    """Return the row that a method answers with; None when there is none."""
    try:
        return await q.call(method, request, row, group=GROUP, shard_key=shard_key, read=True)
    except RejectedError as error:
        if error.code == "NOT_FOUND":
            return None
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[Q, P, R]):
    """A method that answers a request with a page of rows."""

    method: str
    page: type[P]
    #: What a page holds, and the token of the next one.
    rows: Callable[[P], tuple[Iterable[R], bytes]]

    async def read(
        self, q: AsyncClient, request: Q, *, shard_key: bytes | None = None
    ) -> AsyncGenerator[R, None]:
        """Yield the rows of every page, from the one that the request asks for on."""
        kind = type(request)
        wanted = kind()
        wanted.CopyFrom(request)
        while True:
            page = await q.call(
                self.method,
                wanted,
                self.page,
                group=None if shard_key is None else GROUP,
                shard_key=shard_key,
                read=True,
            )
            rows, token = self.rows(page)
            for row in rows:
                yield row
            if not token:
                return
            wanted.MergeFrom(kind(page_token=token))
