"""What services read with: rows of a family, whichever shards they are in."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, Self, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi, keys
from quorate.plugin.checking import check_each, check_name, check_text

from quorate_mqtt.rows.queries import LARGEST_PAGE
from quorate_mqtt.shards import tenant_shard
from quorate_mqtt.v1.rows_pb2 import (
    GetRowQuery,
    GetRowsQuery,
    ListAllRowsQuery,
    ListRowsQuery,
    StoredRow,
)

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference
R = TypeVar("R", bound=Message)

PAGE: Final = 100
#: No more rows than these are looked at for one page, whether they are wanted or not.
MOST_LOOKED_AT: Final = 10_000
#: In bytes: no key of a row is longer.
_LONGEST_KEY: Final = 4_096
_ALL: Final = (b"", b"\xff" * (_LONGEST_KEY + 1))


class PageRequest(Protocol):
    """What every request for a page has."""

    @property
    def page_size(self) -> int:
        """Return how many rows are wanted; 0: a hundred."""

    @property
    def page_token(self) -> bytes:
        """Return what the page before gave."""


class ListRequest(PageRequest, Protocol):
    """The same of rows that are listed by tenant, and by the beginning of their names."""

    @property
    def tenant(self) -> str:
        """Return whose rows are wanted; empty: everybody's."""

    @property
    def prefix(self) -> str:
        """Return what their names begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A page of the rows whose keys begin with these names, and then with that text.

    Raises `Invalid` for a page that is too large, and for a token that is none.
    """

    names: tuple[str, ...] = ()
    opening: str = ""
    page_size: int = 0
    page_token: bytes = b""

    def __post_init__(self) -> None:
        if self.page_size > LARGEST_PAGE:
            raise Invalid("page_size", f"must be at most {LARGEST_PAGE}, not {self.page_size}")
        if len(self.page_token) > _LONGEST_KEY:
            raise Invalid("page_token", "is none that a page was answered with")

    @classmethod
    def of(cls, request: ListRequest) -> Self:
        """Return what is asked for; refuse a tenant that is none, and a prefix without one."""
        if request.tenant:
            check_name("tenant", request.tenant)
        elif request.prefix:
            raise Invalid("prefix", "must be empty when no tenant is given")
        if request.prefix:
            check_text("prefix", request.prefix, _LONGEST_KEY)
        return cls.below(request, request.tenant, opening=request.prefix)

    @classmethod
    def below(cls, request: PageRequest, *names: str, opening: str = "") -> Self:
        """Return a page of what is below names that were checked; empty ones name nothing."""
        return cls(
            names=tuple(filter(None, names)),
            opening=opening,
            page_size=request.page_size,
            page_token=request.page_token,
        )

    def bounds(self) -> tuple[bytes, bytes]:
        """Return where the rows begin and end that were not given yet."""
        if self.opening:
            start, end = keys.opening(*self.names, self.opening)
        else:
            start, end = keys.prefix(*self.names) if self.names else _ALL
        if self.page_token:
            start = max(start, keys.behind(self.page_token))
        return start, end


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How new the answer to a read must be."""

    stale: bool = False
    min_revision: int = 0

    @property
    def consistency(self) -> Consistency:
        """Return what the node is asked for."""
        return "stale" if self.stale else "linearizable"


_FRESH: Final = Freshness()


def value_as(row: type[R]) -> Callable[[StoredRow], R]:
    """Return what shows rows as what they hold."""
    return lambda stored: row.FromString(stored.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf(Generic[R]):
    """Rows of one kind, in one family."""

    family: str
    #: The shard key of a row's key.
    shard_of: Callable[[bytes], bytes]
    #: What a reader gets of a row.
    show: Callable[[StoredRow], R]
    #: The rows of a tenant lie in one shard: that of the tenant.
    with_tenant: bool = True

    async def get(self, node: NodeApi, key: bytes, freshness: Freshness = _FRESH) -> R | None:
        """Return the row of a key, if there is one."""
        query = GetRowQuery(family=self.family, key=key, shard_key=self.shard_of(key))
        for row in await _read(node, query, freshness):
            return self.show(row)
        return None

    async def get_each(
        self, node: NodeApi, wanted: Sequence[bytes], freshness: Freshness = _FRESH
    ) -> list[R | None]:
        """Return the rows of keys, in their order."""
        found = await _read(node, GetRowsQuery(family=self.family, keys=wanted), freshness)
        shown = {row.key: self.show(row) for row in found}
        return [shown.get(key) for key in wanted]

    async def page(
        self,
        node: NodeApi,
        wanted: Range,
        keep: Callable[[R], bool] | None = None,
        freshness: Freshness = _FRESH,
    ) -> tuple[list[R], bytes]:
        """Return the rows of a page that are to be kept, and the token of the next page.

        A page may be short, and even empty, before the last one.
        """
        size = wanted.page_size or PAGE
        limit = size if keep is None else LARGEST_PAGE
        start, end = wanted.bounds()
        page: list[R] = []
        looked_at, more = 0, True
        while more and start < end:
            query = self._listing(wanted, start, end, limit)
            rows, more = _complete(await _read(node, query, freshness))
            for row in rows:
                looked_at += 1
                shown = self.show(row)
                if keep is None or keep(shown):
                    page.append(shown)
                if len(page) == size or looked_at == MOST_LOOKED_AT:
                    return page, row.key if more or row is not rows[-1] else b""
                start = keys.behind(row.key)
        return page, b""

    async def pages(
        self,
        node: NodeApi,
        wanted: Range,
        keep: Callable[[R], bool] | None = None,
        freshness: Freshness = _FRESH,
    ) -> AsyncIterator[tuple[list[R], bytes]]:
        """Yield page after page, to the end."""
        while True:
            page, token = await self.page(node, wanted, keep, freshness)
            yield page, token
            if not token:
                return
            wanted = replace(wanted, page_token=token)

    def _listing(
        self, wanted: Range, start: bytes, end: bytes, limit: int
    ) -> ListRowsQuery | ListAllRowsQuery:
        if not (wanted.names and self.with_tenant):
            return ListAllRowsQuery(family=self.family, start=start, end=end, limit=limit)
        shard_key = tenant_shard(wanted.names[0])
        return ListRowsQuery(
            family=self.family, start=start, end=end, limit=limit, shard_key=shard_key
        )


async def keys_of(node: NodeApi, family: str, tenant: str) -> AsyncIterator[list[bytes]]:
    """Yield the keys of a tenant's rows in all shards, page by page."""
    start, end = keys.prefix(tenant)
    more = True
    while more:
        query = ListAllRowsQuery(family=family, start=start, end=end, keys_only=True)
        found, more = _complete(await _read(node, query, _FRESH))
        if found:
            yield [row.key for row in found]
            start = keys.behind(found[-1].key)


def check_lookups(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> None:
    """Refuse to look for nothing, for more than a page, or for what cannot be there."""
    if len(items) > LARGEST_PAGE:
        raise Invalid(field, f"must be at most {LARGEST_PAGE}, not {len(items)}")
    check_each(field, items, check)


async def _read(node: NodeApi, query: Message, freshness: Freshness) -> list[StoredRow]:
    found = node.query(
        query,
        StoredRow,
        consistency=freshness.consistency,
        min_revision=freshness.min_revision,
    )
    return [row async for row in found]


def _complete(found: Sequence[StoredRow]) -> tuple[Sequence[StoredRow], bool]:
    """Return rows of all shards up to where one has more to give, and whether there are more."""
    for position, row in enumerate(found):
        if row.more:
            return found[: position + 1], True
    return found, False
