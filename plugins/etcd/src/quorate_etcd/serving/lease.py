"""The service Lease: grants, renewals and ends of leases."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from quorate.plugin.advanced import CallContext

from quorate_etcd import errors
from quorate_etcd.serving.renewing import Renewal, Renewals
from quorate_etcd.serving.store import Store
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

_MOST_TTL_S: Final = 9_000_000_000
#: Renewals of one stream that are waited for.
_AT_A_TIME: Final = 1_000


class Lease:
    """Serves the leases of a store."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._renewals: Final = Renewals(store)

    async def LeaseGrant(  # noqa: D102 - named as in its service
        self, request: rpc.LeaseGrantRequest, context: CallContext
    ) -> rpc.LeaseGrantResponse:
        store = self._store
        if request.TTL > _MOST_TTL_S:
            errors.TTL_TOO_LARGE.refuse()
        ttl_s = max(request.TTL, store.config.min_lease_ttl_s)
        number = request.ID or (secrets.randbits(63) or 1)
        most = store.config.leases
        command = pb.GrantLease(store=store.name, id=number, ttl_s=ttl_s, most=most)
        granted = await store.propose(command, pb.Granted)
        return rpc.LeaseGrantResponse(header=store.header(granted.revision), ID=number, TTL=ttl_s)

    async def LeaseRevoke(  # noqa: D102
        self, request: rpc.LeaseRevokeRequest, context: CallContext
    ) -> rpc.LeaseRevokeResponse:
        store = self._store
        command = pb.RevokeLease(store=store.name, id=request.ID)
        revoked = await store.propose(command, pb.Granted)
        return rpc.LeaseRevokeResponse(header=store.header(revoked.revision))

    async def LeaseKeepAlive(  # noqa: D102
        self, requests: AsyncIterator[rpc.LeaseKeepAliveRequest], context: CallContext
    ) -> AsyncIterator[rpc.LeaseKeepAliveResponse]:
        renewals: asyncio.Queue[tuple[int, asyncio.Future[Renewal]] | None]
        renewals = asyncio.Queue(_AT_A_TIME)

        async def read() -> None:
            # A call that has failed has ended, too.
            with suppress(Exception):
                async for request in requests:
                    await renewals.put((request.ID, self._renewals.renew(request.ID)))
            await renewals.put(None)

        reading = asyncio.create_task(read())
        try:
            while (asked := await renewals.get()) is not None:
                number, renewal = asked
                revision, ttl_s = await asyncio.shield(renewal)
                header = self._store.header(revision)
                yield rpc.LeaseKeepAliveResponse(header=header, ID=number, TTL=ttl_s)
        finally:
            reading.cancel()

    async def LeaseTimeToLive(  # noqa: D102
        self, request: rpc.LeaseTimeToLiveRequest, context: CallContext
    ) -> rpc.LeaseTimeToLiveResponse:
        store = self._store
        command = pb.MeasureLease(store=store.name, id=request.ID, keys=request.keys)
        found = await store.propose(command, pb.Measured)
        return rpc.LeaseTimeToLiveResponse(
            header=store.header(found.revision),
            ID=request.ID,
            TTL=found.left_ms // 1_000 if found.ttl_s else -1,
            grantedTTL=found.ttl_s,
            keys=found.keys,
        )

    async def LeaseLeases(  # noqa: D102
        self, request: rpc.LeaseLeasesRequest, context: CallContext
    ) -> rpc.LeaseLeasesResponse:
        store = self._store
        query = asked.FindLeases(store=store.name)
        found: list[tuple[int, int]] = []
        while True:
            page = await store.read(query, asked.LeasePage)
            found += zip(page.deadlines_ms, page.ids, strict=True)
            if not page.next:
                break
            setattr(query, "from", page.next)
        leases = [rpc.LeaseStatus(ID=number) for _, number in sorted(found)]
        return rpc.LeaseLeasesResponse(header=store.header(page.revision), leases=leases)
