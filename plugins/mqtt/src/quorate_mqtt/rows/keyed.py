"""Reads of rows whose names stand in their keys alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi, keys

from quorate_mqtt.rows.queries import LARGEST_PAGE
from quorate_mqtt.v1.rows_pb2 import GetRowQuery, GetRowsQuery, ListAllRowsQuery, StoredRow

K = TypeVar("K", bound=Message)

PAGE: Final = 100
#: No more rows than these are looked at for one page, whether they are wanted or not.
MOST_LOOKED_AT: Final = 10_000
#: No key is longer.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows(Generic[K]):
    """The rows of a family, each shown with what its key says."""

    family: str
    shard_of: Callable[[bytes], bytes]
    show: Callable[[StoredRow], K]

    async def get(self, node: NodeApi, key: bytes, freshness: Freshness = _FRESH) -> K | None:
        """Return the row of a key, if there is one."""
        found = node.query(
            GetRowQuery(family=self.family, key=key, shard_key=self.shard_of(key)),
            StoredRow,
            consistency=freshness.consistency,
            min_revision=freshness.min_revision,
        )
        async for row in found:
            return self.show(row)
        return None

    async def get_each(
        self, node: NodeApi, wanted: Sequence[bytes], freshness: Freshness = _FRESH
    ) -> list[K | None]:
        """Return the rows of keys, in their order."""
        query = GetRowsQuery(family=self.family, keys=wanted)
        found = node.query(query, StoredRow, consistency=freshness.consistency)
        shown = {row.key: self.show(row) async for row in found}
        return [shown.get(key) for key in wanted]

    async def page(
        self,
        node: NodeApi,
        request: PageRequest,
        bounds: tuple[bytes, bytes],
        keep: Callable[[K], bool] = lambda _: True,
        freshness: Freshness = _FRESH,
    ) -> tuple[list[K], bytes]:
        """Return the rows of a page that are to be kept, and the token of the next page.

        A page may be short, and even empty, before the last one.
        """
        size = request.page_size or PAGE
        start, end = bounds
        if request.page_token:
            start = max(start, request.page_token + b"\x00")
        page: list[K] = []
        looked_at = 0
        while start < end:
            query = ListAllRowsQuery(family=self.family, start=start, end=end, limit=size)
            found = node.query(
                query,
                StoredRow,
                consistency=freshness.consistency,
                min_revision=freshness.min_revision,
            )
            rows, more = _complete([row async for row in found])
            for row in rows:
                shown = self.show(row)
                looked_at += 1
                if keep(shown):
                    page.append(shown)
                if len(page) == size or looked_at == MOST_LOOKED_AT:
                    return page, row.key if more or row is not rows[-1] else b""
            if not more:
                break
            start = rows[-1].key + b"\x00"
        return page, b""


def bounds_of(*parts: str, opening: str = "") -> tuple[bytes, bytes]:
    """Return where the rows lie whose keys begin with these parts, and then with that text."""
    if opening:
        return keys.opening(*parts, opening)
    return keys.prefix(*parts) if parts else _ALL


def check_page(request: PageRequest) -> None:
    """Refuse a page that is too large, and a token that is none."""
    if request.page_size > LARGEST_PAGE:
        raise Invalid("page_size", f"must be at most {LARGEST_PAGE}, not {request.page_size}")
    if len(request.page_token) > _LONGEST_KEY:
        raise Invalid("page_token", "is none that a page was answered with")


def _complete(found: Sequence[StoredRow]) -> tuple[Sequence[StoredRow], bool]:
    """Return rows of all shards up to where one has more to give, and whether there are more."""
    for position, row in enumerate(found):
        if row.more:
            return found[: position + 1], True
    return found, False
