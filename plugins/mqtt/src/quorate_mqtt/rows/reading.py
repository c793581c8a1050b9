"""What services read with: rows of a family, whichever shards they are in."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, Self, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi, keys

from quorate_mqtt.names import check_name, check_text
from quorate_mqtt.rows.queries import LARGEST_PAGE
from quorate_mqtt.shards import tenant_shard
from quorate_mqtt.v1.rows_pb2 import (
    GetRowQuery,
    GetRowsQuery,
    ListAllRowsQuery,
    ListRowsQuery,
    StoredRow,
)

R = TypeVar("R", bound=Message)

PAGE: Final = 100
#: No more rows than these are looked at for one page, whether they are wanted or not.
MOST_LOOKED_AT: Final = 10_000
#: In bytes: no name of a row is longer.
_LONGEST_PREFIX: Final = 4_096
#: Behind every key.
_LAST: Final = b"\xff" * (_LONGEST_PREFIX + 1)


class ListRequest(Protocol):
    """What every request for a list has."""

    tenant: str
    prefix: str
    page_size: int
    page_token: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Rows whose keys begin with their tenant: of all tenants, or of one whose names begin so."""

    tenant: str
    prefix: str = ""
    page_size: int = 0
    page_token: bytes = b""

    @classmethod
    def of(cls, request: ListRequest) -> Self:
        """Return what is asked for."""
        return cls(
            tenant=request.tenant,
            prefix=request.prefix,
            page_size=request.page_size,
            page_token=request.page_token,
        )

    def check(self) -> None:
        """Refuse a tenant that is none, a prefix without a tenant, and a page that is too large."""
        if self.tenant:
            check_name("tenant", self.tenant)
        elif self.prefix:
            raise Invalid("prefix", "must be empty when no tenant is given")
        if self.prefix:
            check_text("prefix", self.prefix, _LONGEST_PREFIX)
        if self.page_size > LARGEST_PAGE:
            raise Invalid("page_size", f"must be at most {LARGEST_PAGE}, not {self.page_size}")
        if len(self.page_token) > len(_LAST):
            raise Invalid("page_token", "is none that a page was answered with")

    def bounds(self) -> tuple[bytes, bytes]:
        """Return where the rows begin and end that were not given yet."""
        if not self.tenant:
            start, end = b"", _LAST
        elif self.prefix:
            start, end = keys.opening(self.tenant, self.prefix)
        else:
            start, end = keys.prefix(self.tenant)
        if self.page_token:
            start = max(start, self.page_token + b"\x00")
        return start, end


@dataclass(frozen=True, kw_only=True)
class Shelf(Generic[R]):
    """Rows of one kind, in one family."""

    family: str
    row: type[R]
    #: The shard key of a row's key.
    shard_of: Callable[[bytes], bytes]
    #: The rows of a tenant lie in one shard: that of the tenant.
    with_tenant: bool = True

    async def get(self, node: NodeApi, key: bytes) -> R | None:
        """Return the row of a key, if there is one."""
        query = GetRowQuery(family=self.family, key=key, shard_key=self.shard_of(key))
        async for found in node.query(query, StoredRow):
            return self.row.FromString(found.value)
        return None

    async def get_each(self, node: NodeApi, wanted: Sequence[bytes]) -> list[R | None]:
        """Return the rows of keys, in their order."""
        if len(wanted) > LARGEST_PAGE:
            raise Invalid("names", f"must be at most {LARGEST_PAGE}, not {len(wanted)}")
        query = GetRowsQuery(family=self.family, keys=wanted)
        found = {row.key: row.value async for row in node.query(query, StoredRow)}
        return [self.row.FromString(found[key]) if key in found else None for key in wanted]

    async def page(
        self, node: NodeApi, wanted: Range, keep: Callable[[R], bool] | None = None
    ) -> tuple[list[R], bytes]:
        """Return the rows of a page that are to be kept, and the token of the next page."""
        wanted.check()
        size = wanted.page_size or PAGE
        start, end = wanted.bounds()
        page: list[R] = []
        looked_at = 0
        while True:
            limit = size if keep is None else LARGEST_PAGE
            found = await self._listed(node, wanted.tenant, start, end, limit)
            for row in _complete(found):
                looked_at += 1
                kept = self.row.FromString(row.value)
                if keep is None or keep(kept):
                    page.append(kept)
                if len(page) == size or looked_at == MOST_LOOKED_AT:
                    more = row.more or row.key != found[-1].key
                    return page, row.key if more else b""
                start = row.key + b"\x00"
            if not any(row.more for row in found):
                return page, b""

    async def pages(
        self, node: NodeApi, wanted: Range, keep: Callable[[R], bool] | None = None
    ) -> AsyncIterator[tuple[list[R], bytes]]:
        """Yield page after page, to the end."""
        while True:
            page, token = await self.page(node, wanted, keep)
            yield page, token
            if not token:
                return
            wanted = replace(wanted, page_token=token)

    async def _listed(
        self, node: NodeApi, tenant: str, start: bytes, end: bytes, limit: int
    ) -> list[StoredRow]:
        query: ListRowsQuery | ListAllRowsQuery
        if tenant and self.with_tenant:
            query = ListRowsQuery(
                family=self.family,
                start=start,
                end=end,
                limit=limit,
                shard_key=tenant_shard(tenant),
            )
        else:
            query = ListAllRowsQuery(family=self.family, start=start, end=end, limit=limit)
        return [row async for row in node.query(query, StoredRow)]


async def keys_of(node: NodeApi, family: str, tenant: str) -> AsyncIterator[list[bytes]]:
    """Yield the keys of a tenant's rows in all shards, page by page."""
    start, end = keys.prefix(tenant)
    more = True
    while more:
        query = ListAllRowsQuery(family=family, start=start, end=end, keys_only=True)
        found = list(_complete([row async for row in node.query(query, StoredRow)]))
        if found:
            yield [row.key for row in found]
            start = found[-1].key + b"\x00"
        more = bool(found) and found[-1].more


def _complete(found: Sequence[StoredRow]) -> Iterator[StoredRow]:
    """Yield rows of all shards up to where one has more to give: behind it, some are missing."""
    for row in found:
        yield row
        if row.more:
            return
