"""Calls of the connector services, all of which go to the one shard that has the rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Final, Generic, TypeVar

from google.protobuf.message import Message
from quorate.client import AsyncClient, RejectedError

from quorate_connector.shard import GROUP, SHARD_KEY

M = TypeVar("M", bound=Message)
P = TypeVar("P", bound=Message)
Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

_MISSING: Final = frozenset({"NOT_FOUND", "CONNECTOR_NOT_FOUND"})


async def call(
    q: AsyncClient, method: str, request: Message, response: type[M], *, read: bool = False
) -> M:
    """Call a method of a connector service."""
    return await q.call(method, request, response, group=GROUP, shard_key=SHARD_KEY, read=read)


async def get(q: AsyncClient, method: str, request: Message, row: type[M]) -> M | None:
    """Return the row that a method answers with; None when there is none."""
    try:
        return await call(q, method, request, row, read=True)
    except RejectedError as error:
        if error.code in _MISSING:
            return None
        raise


class Listing(Generic[Q, P, R]):
    """A method that answers a request with a page of rows."""

    def __init__(
        self, method: str, page: type[P], rows: Callable[[P], tuple[Iterable[R], bytes]]
    ) -> None:
        self._method: Final = method
        self._page: Final = page
        #: What a page holds, and the token of the next one.
        self._rows: Final = rows

    async def read(self, q: AsyncClient, request: Q) -> AsyncGenerator[R, None]:
        """Yield the rows of every page, from the one that the request asks for on."""
        kind = type(request)
        wanted = kind()
        wanted.CopyFrom(request)
        while True:
            page = await call(q, self._method, wanted, self._page, read=True)
            rows, token = self._rows(page)
            for row in rows:
                yield row
            if not token:
                return
            wanted.MergeFrom(kind(page_token=token))
