"""Sessions: the broker of each connected client, and the state stored for the client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.client.shared_connects import SharedConnects
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.v1 import sessions_pb2 as pb

_SERVICE: Final = "/quorate_mqtt.v1.SessionService/"


class Sessions:
    """Connects, changes and reads sessions.

    Concurrent calls of many coroutines share calls to the cluster, and connects of one turn of the
    loop share commands, so a broker need not batch them itself.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[Any]] = q.records(SESSION)
        self._connects: Final = SharedConnects(q, self._records)

    async def connect(
        self, broker: str, broker_epoch: int, connection: pb.SessionConnect
    ) -> pb.ConnectReply:
        """Connect a client, and return the generation that its later commands must name.

        It always wins over the broker that serves the client. FENCED: the registration of the
        broker has ended.
        """
        like = pb.ConnectSessions(broker=broker, broker_epoch=broker_epoch)
        return await self._connects.connect(like, connection)

    async def connect_many(
        self, broker: str, broker_epoch: int, connections: Iterable[pb.SessionConnect]
    ) -> BatchReply:
        """Connect many clients of a broker; each reply in the reply is a `ConnectReply`."""
        like = pb.ConnectSessions(broker=broker, broker_epoch=broker_epoch)
        return await self._records.do("Connect", connections, like=like)

    async def update(
        self,
        tenant: str,
        client_id: str,
        generation: int,
        *,
        payload: bytes | None = None,
        expiry_interval_s: int | None = None,
    ) -> None:
        """Replace the given fields; TAKEN_OVER if another connection has the session."""
        command = pb.UpdateSession(
            tenant=tenant,
            client_id=client_id,
            generation=generation,
            payload=payload,
            expiry_interval_s=expiry_interval_s,
        )
        await self._q.execute(command, pb.UpdateSessionReply)

    async def update_many(self, updates: Iterable[pb.UpdateSession]) -> BatchReply:
        """Change many; the reply names the refused items by position."""
        return await self._records.do("Update", updates)

    async def disconnect(
        self,
        tenant: str,
        client_id: str,
        generation: int,
        *,
        discard_will: bool = False,
        expiry_interval_s: int | None = None,
    ) -> pb.DisconnectReply:
        """Report the end of a connection; TAKEN_OVER if another one has the session."""
        command = pb.DisconnectSession(
            tenant=tenant,
            client_id=client_id,
            generation=generation,
            discard_will=discard_will,
            expiry_interval_s=expiry_interval_s,
        )
        return await self._q.execute(command, pb.DisconnectReply)

    async def disconnect_many(self, ended: Iterable[pb.DisconnectSession]) -> BatchReply:
        """Report the end of many; each reply in the reply is a `DisconnectReply`."""
        return await self._records.do("Disconnect", ended)

    async def delete(self, tenant: str, client_id: str, *, generation: int | None = None) -> bool:
        """Delete a session with its subscriptions and its will; return whether it existed."""
        command = pb.DeleteSession(tenant=tenant, client_id=client_id, generation=generation)
        return (await self._q.execute(command, pb.DeleteSessionReply)).deleted

    async def delete_many(self, deletions: Iterable[pb.DeleteSession]) -> BatchReply:
        """Delete many; each reply in the reply is a `DeleteSessionReply`."""
        return await self._records.do("Delete", deletions)

    async def import_one(self, session: pb.ImportSession) -> None:
        """Import a session from another system; its client is not connected.

        ALREADY_CONNECTED: the client has a session here, and is connected to a broker.
        """
        await self._q.execute(session, pb.ImportSessionReply)

    async def import_many(self, sessions: Iterable[pb.ImportSession]) -> BatchReply:
        """Import many; the reply names the refused items by position."""
        return await self._records.do("Import", sessions)

    async def get(self, tenant: str, client_id: str) -> pb.KeyedSession | None:
        """Return the session of a client; None if the client has no session."""
        found: pb.KeyedSession | None = await self._records.get(tenant, client_id)
        return found

    async def get_many(self, tenant: str, client_ids: Iterable[str]) -> dict[str, pb.KeyedSession]:
        """Return the existing sessions of these clients, by client id."""
        found = await self._records.get([(tenant, client_id) for client_id in client_ids])
        return {each.client_id: each for each in found if each is not None}

    def list(self, /, **conditions: Any) -> AsyncGenerator[pb.KeyedSession, None]:
        """Yield sessions in the order of tenants and clients; `conditions` as in `Records.list`."""
        return self._records.list(**conditions)

    async def connections(self) -> dict[int, int]:
        """Return the number of connected clients of each broker, by the broker's epoch."""
        counted = await self._q.call(
            f"{_SERVICE}CountConnections",
            pb.CountConnectionsRequest(),
            pb.CountConnectionsResponse,
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
