"""Lists of groups by tenant and name, page by page."""

from collections.abc import Iterator
from typing import Final, Protocol, TypeVar

from quorate.plugin import Reader, Row, keys, read_range

from quorate_offset.families import group_key
from quorate_offset.v1.queries_pb2 import GroupName

PAGE: Final = 100


class ListQuery(Protocol):
    """What the queries of lists have in common."""

    tenant: str
    prefix: str
    limit: int

    @property
    def after(self) -> GroupName:
        """The group behind which the list goes on; without names for its beginning."""


class Named(Protocol):
    """An answer that names a group."""

    tenant: str
    group: str


NamedT = TypeVar("NamedT", bound=Named)


def listed_rows(reader: Reader, family: str, query: ListQuery) -> Iterator[Row]:
    """Yield the rows of a family by group that a query names, as many as there are."""
    if query.tenant:
        start, end = keys.opening(query.tenant, query.prefix)
    else:
        start, end = keys.prefix()
    if query.after.tenant:
        behind = keys.behind(group_key(query.after.tenant, query.after.group))
        start = min(end, max(start, behind))
    return read_range(reader, family, start, end)


def group_order(answer: Named) -> bytes:
    """Return the key by which the answers of several shards are merged."""
    return group_key(answer.tenant, answer.group)


def cut(found: list[NamedT], size: int) -> tuple[list[NamedT], bytes]:
    """Return one page of what was found, and the token of the next; it is empty behind the last."""
    page = found[:size]
    if len(found) <= size:
        return page, b""
    last = page[-1]
    token = GroupName(tenant=last.tenant, group=last.group)
    return page, token.SerializeToString(deterministic=True)
