"""Sessions: which client is connected where, and what is kept for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    CountConnectionsRequest,
    CountConnectionsResponse,
    DeleteSession,
    DeleteSessionReply,
    DeleteSessions,
    DisconnectReply,
    DisconnectSession,
    DisconnectSessions,
    GetSessionRequest,
    GetSessionsRequest,
    ImportSession,
    ImportSessionReply,
    ImportSessions,
    KeyedSession,
    ListSessionsRequest,
    ListSessionsResponse,
    SessionConnect,
    SessionLookups,
    SessionName,
    UpdateSession,
    UpdateSessionReply,
    UpdateSessions,
)

_SERVICE: Final = "/quorate_mqtt.v1.SessionService/"
_UPDATING: Final = Batch[UpdateSession](message=UpdateSessions, field="sessions")
_DISCONNECTING: Final = Batch[DisconnectSession](message=DisconnectSessions, field="sessions")
_DELETION: Final = Batch[DeleteSession](message=DeleteSessions, field="sessions")
_IMPORT: Final = Batch[ImportSession](message=ImportSessions, field="sessions")
_LISTING: Final[Listing[ListSessionsRequest, ListSessionsResponse, KeyedSession]] = Listing(
    method=f"{_SERVICE}List",
    page=ListSessionsResponse,
    rows=lambda page: (page.sessions, page.next_page_token),
)

#: Sessions that are read in one call.
_MOST_READ: Final = 1_000


class Sessions:
    """Connects, changes and reads sessions.

    Calls of many coroutines at the same time share calls to the cluster, so a broker need not
    gather them itself.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def connect(
        self, broker: str, broker_epoch: int, connection: SessionConnect
    ) -> ConnectReply:
        """Connect a client, and return the generation that its later commands must name.

        It always wins over whoever serves the client. FENCED: the registration of the broker has
        ended.
        """
        command = ConnectSession(broker=broker, broker_epoch=broker_epoch, connection=connection)
        return await self._q.execute(command, ConnectReply)

    async def connect_many(
        self, broker: str, broker_epoch: int, connections: Iterable[SessionConnect]
    ) -> BatchReply:
        """Connect many clients of a broker; each reply in the reply is a `ConnectReply`."""

        def command(part: Iterable[SessionConnect]) -> ConnectSessions:
            return ConnectSessions(broker=broker, broker_epoch=broker_epoch, connections=part)

        return await batching.execute(self._q, command, connections)

    async def update(
        self,
        tenant: str,
        client_id: str,
        generation: int,
        *,
        payload: bytes | None = None,
        expiry_interval_s: int | None = None,
    ) -> None:
        """Replace what is given; TAKEN_OVER if another connection has the session."""
        command = UpdateSession(
            tenant=tenant,
            client_id=client_id,
            generation=generation,
            payload=payload,
            expiry_interval_s=expiry_interval_s,
        )
        await self._q.execute(command, UpdateSessionReply)

    async def update_many(self, updates: Iterable[UpdateSession]) -> BatchReply:
        """Change many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _UPDATING.of, updates)

    async def disconnect(
        self,
        tenant: str,
        client_id: str,
        generation: int,
        *,
        discard_will: bool = False,
        expiry_interval_s: int | None = None,
    ) -> DisconnectReply:
        """Tell that a connection has ended; TAKEN_OVER if another one has the session."""
        command = DisconnectSession(
            tenant=tenant,
            client_id=client_id,
            generation=generation,
            discard_will=discard_will,
            expiry_interval_s=expiry_interval_s,
        )
        return await self._q.execute(command, DisconnectReply)

    async def disconnect_many(self, ended: Iterable[DisconnectSession]) -> BatchReply:
        """Tell it of many; each reply in the reply is a `DisconnectReply`."""
        return await batching.execute(self._q, _DISCONNECTING.of, ended)

    async def delete(self, tenant: str, client_id: str, *, generation: int | None = None) -> bool:
        """Delete a session with its subscriptions and its will; tell whether there was one."""
        command = DeleteSession(tenant=tenant, client_id=client_id, generation=generation)
        return (await self._q.execute(command, DeleteSessionReply)).deleted

    async def delete_many(self, deletions: Iterable[DeleteSession]) -> BatchReply:
        """Delete many; each reply in the reply is a `DeleteSessionReply`."""
        return await batching.execute(self._q, _DELETION.of, deletions)

    async def import_one(self, session: ImportSession) -> None:
        """Bring a session here from elsewhere, whose client is not connected.

        ALREADY_CONNECTED: the client has a session here, and somebody serves it.
        """
        await self._q.execute(session, ImportSessionReply)

    async def import_many(self, sessions: Iterable[ImportSession]) -> BatchReply:
        """Import many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _IMPORT.of, sessions)

    async def get(self, tenant: str, client_id: str) -> KeyedSession | None:
        """Return the session of a client; None if there is none."""
        return await reading.get(
            self._q,
            f"{_SERVICE}Get",
            GetSessionRequest(tenant=tenant, client_id=client_id),
            KeyedSession,
            shard_key=client_shard(tenant, client_id),
        )

    async def get_many(self, tenant: str, client_ids: Iterable[str]) -> dict[str, KeyedSession]:
        """Return the sessions that there are of these clients, by their ids."""
        wanted = list(client_ids)
        found: dict[str, KeyedSession] = {}
        for first in range(0, len(wanted), _MOST_READ):
            names = [
                SessionName(tenant=tenant, client_id=client_id)
                for client_id in wanted[first : first + _MOST_READ]
            ]
            request = GetSessionsRequest(sessions=names)
            read = await self._q.call(f"{_SERVICE}GetBatch", request, SessionLookups, read=True)
            for lookup in read.lookups:
                if lookup.HasField("session"):
                    found[lookup.session.client_id] = lookup.session
        return found

    async def list(self, request: ListSessionsRequest) -> AsyncGenerator[KeyedSession, None]:
        """Yield the sessions that fit, in the order of tenants and clients."""
        async for session in _LISTING.read(self._q, request):
            yield session

    async def connections(self) -> dict[int, int]:
        """Return how many clients are connected through each broker, by the broker's epoch."""
        counted = await self._q.call(
            f"{_SERVICE}CountConnections",
            CountConnectionsRequest(),
            CountConnectionsResponse,
            read=True,
        )
        return {broker.broker_epoch: broker.connections for broker in counted.brokers}


class SyncSessions(Blocking[Sessions]):
    """The same, without `await`."""

    connect = blocking(Sessions.connect)
    connect_many = blocking(Sessions.connect_many)
    update = blocking(Sessions.update)
    update_many = blocking(Sessions.update_many)
    disconnect = blocking(Sessions.disconnect)
    disconnect_many = blocking(Sessions.disconnect_many)
    delete = blocking(Sessions.delete)
    delete_many = blocking(Sessions.delete_many)
    import_one = blocking(Sessions.import_one)
    import_many = blocking(Sessions.import_many)
    get = blocking(Sessions.get)
    get_many = blocking(Sessions.get_many)
    list = iterating(Sessions.list)
    connections = blocking(Sessions.connections)
