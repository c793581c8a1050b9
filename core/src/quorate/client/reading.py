"""Reads of rows by the methods of a service: one row, and lists that follow their pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import Message

from quorate.client.errors import RejectedError
from quorate.plugin import CONSTANT_KEY, METADATA_GROUP

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

M = TypeVar("M", bound=Message)
P = TypeVar("P", bound=Message)

#: The fields with which a request continues after a page, and those of the page that say where.
_POSITIONS = (("page_token", "next_page_token"), ("after", "next_after"))


async def read(
    q: AsyncClient, method: str, request: Message, response: type[M], timeout_s: float | None
) -> M:
    """Return what a method reads in the shard of the domains whose rows lie together."""
    return await q.call(
        method,
        request,
        response,
        group=METADATA_GROUP.name,
        shard_key=CONSTANT_KEY,
        read=True,
        timeout_s=timeout_s,
    )


async def get(
    q: AsyncClient, method: str, request: Message, row: type[M], timeout_s: float | None
) -> M | None:
    """Return the row that a method answers with; None when there is none."""
    try:
        return await read(q, method, request, row, timeout_s)
    except RejectedError as error:
        if error.code == "NOT_FOUND":
            return None
        raise


async def pages(
    q: AsyncClient, method: str, request: Message, page: type[P], timeout_s: float | None
) -> AsyncGenerator[P, None]:
    """Yield every page of a list; each is a read of its own, and has `timeout_s`."""
    [(position, following)] = [
        each for each in _POSITIONS if each[1] in page.DESCRIPTOR.fields_by_name
    ][:1]
    while True:
        found = await read(q, method, request, page, timeout_s)
        yield found
        if not getattr(found, following):
            return
        setattr(request, position, getattr(found, following))
