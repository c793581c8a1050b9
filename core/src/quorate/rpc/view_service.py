"""Views of a family in one shard, held on the asked node and read in parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Final

from quorate.plugin import Access, Invalid
from quorate.plugin.access import denied, needed
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import needs_of_core
from quorate.plugin.shard_id import ShardId
from quorate.plugin.splicing import encoded
from quorate.rpc import callers, deadline
from quorate.rpc.limits import caller_in
from quorate.rpc.methods import Context
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import UnreadableError
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.views import LONGEST_TTL_S, TTL_S, HeldViews
from quorate.v1 import view_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["ViewService"]
#: A view has all rows of a family: its opener must have read access, checked again at each page.
ACCESS: Final = dict.fromkeys(SERVICE.methods_by_name, Access(right="identity"))
#: Time to open a view for a caller without a deadline.
_OPEN_S: Final = 10.0


@dataclass(eq=False)
class ViewService:
    """Yields rows as fast as they are read, and holds at most a page of them."""

    _views: HeldViews
    _replica: Callable[[ShardId], Shard | None]
    _catalog: Catalog
    #: Returns whether the caller may read a row of a family; None: all of them.
    _readable: Callable[[str], object | None]

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, ""))

    async def Open(self, request: pb.OpenViewRequest, context: Context) -> pb.OpenViewResponse:
        """Take a view after a read barrier."""
        shard = ShardId(self._group(request.family), request.shard)
        self._demand(request.family)
        ttl_s = request.ttl_ms / 1_000 if request.ttl_ms else TTL_S
        if ttl_s > LONGEST_TTL_S:
            raise Invalid("ttl_ms", f"must be at most {LONGEST_TTL_S * 1_000:.0f}")
        replica = self._replica(shard)
        if replica is None:
            raise UnreadableError(f"this node has no replica of shard {shard}")
        view = await self._views.open(
            replica,
            request.family,
            ttl_s,
            deadline.within_s(_OPEN_S),
            caller_in(context),
            callers.caller().name,
        )
        opened = pb.OpenViewResponse(
            view=view.name,
            revision=view.revision,
            estimated_rows=view.estimated_rows,
            published=view.published,
        )
        if (ends := view.ends()) is not None:
            opened.first, opened.last = ends
        return opened

    async def Read(self, request: pb.ReadViewRequest, context: Context) -> None:
        """Give the rows of a range, page by page."""
        start, end = request.start, request.end or None
        left = request.limit or None
        while (page := self._page(request, start, end, left)) is not None:
            response, count, last_key = page
            await context.write(response)
            start = last_key + b"\0"
            if left is not None:
                left -= count
                if left <= 0:
                    return

    def _page(
        self, request: pb.ReadViewRequest, start: bytes, end: bytes | None, left: int | None
    ) -> tuple[bytes, int, bytes] | None:
        """Return an encoded page, how many rows it has, and its last key; None at the end."""
        view = self._views.get(request.view, callers.caller().name)
        self._demand(view.family)
        response = pb.ReadViewResponse()
        if request.packed:
            packed = view.packed(start, end, left, keys_only=request.keys_only)
            if packed is None:
                return None
            into = response.packed
            into.keys, into.key_ends = packed.keys, _packed(packed.key_ends)
            into.rows, into.row_ends = packed.rows, _packed(packed.row_ends)
            return encoded(response), len(packed.key_ends), packed.last_key
        page = view.page(start, end, left)
        if not page:
            return None
        add = response.rows.add
        for key, value, revision in page:
            add(key=key, value=value, revision=revision)
        return encoded(response), len(page), page[-1].key

    async def Close(self, request: pb.CloseViewRequest, context: object) -> pb.CloseViewResponse:
        """End a view; a view that is not held is ignored."""
        self._views.close(request.view, callers.caller().name)
        return pb.CloseViewResponse()

    def _demand(self, family: str) -> None:
        if self._readable(family) is not None:
            raise denied(callers.caller().name, needed("read", family))

    def _group(self, family: str) -> str:
        declared = self._catalog.families.get(family)
        if declared is None:
            raise Invalid("family", f"{family!r} is no column family of this cluster")
        if declared.row is None:
            raise Invalid("family", f"column family {family} is private: its rows are not read")
        return declared.group


def _packed(numbers: Sequence[int]) -> bytes:
    return pack(f"<{len(numbers)}I", *numbers)
