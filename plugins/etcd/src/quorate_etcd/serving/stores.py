"""The service StoreService: the stores of a node, for those who run it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from quorate.plugin import Access, GrpcService, Invalid, NodeApi
from quorate.plugin.advanced import CallContext
from quorate.plugin.checking import check_range

from quorate_etcd.families import GROUP, store_key
from quorate_etcd.serving.identity import Identity
from quorate_etcd.serving.store import Store
from quorate_etcd.serving.watching import Watches
from quorate_etcd.v1 import commands_pb2 as pb, stores_pb2 as stores


class Open(NamedTuple):
    """A store that a node serves."""

    store: Store
    identity: Identity
    watches: Watches
    port: int


#: Revisions are 63 bits: a leap leaves half of them.
_LATEST: Final = 1 << 62
#: What each node of this process serves: its services are made before its ports are opened.
_SERVED: Final[WeakKeyDictionary[NodeApi, list[Open]]] = WeakKeyDictionary()


@contextmanager
def listed(opened: Open) -> Iterator[None]:
    """List a store within a block."""
    served = _SERVED.setdefault(opened.store.node, [])
    served.append(opened)
    try:
        yield
    finally:
        served.remove(opened)


class Stores:
    """Shows the stores of a node, and raises their revisions."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def ListStores(  # noqa: D102 - named as in its service
        self, request: stores.ListStoresRequest, context: CallContext
    ) -> stores.ListStoresResponse:
        served = _SERVED.get(self._node, ())
        return stores.ListStoresResponse(stores=[await self._status(each) for each in served])

    async def LeapStore(self, request: pb.Leap, context: CallContext) -> pb.Stood:  # noqa: D102
        names = [each.store.name for each in _SERVED.get(self._node, ())]
        if request.store not in names:
            said = ", ".join(repr(name) for name in names) or "none"
            raise Invalid("store", f"this node serves no such store; it serves {said}")
        check_range("revision", request.revision, _LATEST)
        return await self._node.propose(request, pb.Stood)

    async def _status(self, served: Open) -> stores.StoreStatus:
        store = served.store
        stood = await store.stand()
        return stores.StoreStatus(
            store=store.name,
            node=self._node.cluster().node,
            port=served.port,
            leader=served.identity.leader,
            revision=stood.revision,
            compacted=stood.compacted,
            compacting=stood.unclean,
            leases=stood.leases,
            bytes=self._node.shard_bytes(GROUP, store_key(store.name)),
            watches=len(served.watches),
        )


SERVICE: Final = GrpcService(
    service=stores.DESCRIPTOR.services_by_name["StoreService"],
    servicer=Stores,
    access={"ListStores": Access(right="read"), "LeapStore": Access(right="admin")},
)
