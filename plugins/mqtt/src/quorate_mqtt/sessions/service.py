"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Final

from quorate.plugin import GrpcService, Invalid, NodeApi, Rejected, propose_fitting
from quorate.plugin.checking import check_name
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_identity
from quorate_mqtt.rows.reading import Freshness, Range, Shelf, check_lookups
from quorate_mqtt.sessions import validation
from quorate_mqtt.sessions.families import SESSIONS, shard_of
from quorate_mqtt.sessions.shown import shown_session
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1 import sessions_pb2
from quorate_mqtt.v1.sessions_pb2 import (
    CONNECTION_STATE_CONNECTED,
    CONNECTION_STATE_UNSPECIFIED,
    BrokerConnections,
    ConnectionState,
    ConnectReply,
    ConnectSession,
    ConnectSessions,
    CountConnections,
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
    SessionLookup,
    SessionLookups,
    SessionName,
    UpdateSession,
    UpdateSessionReply,
    UpdateSessions,
)

_SHELF: Final = Shelf(family=SESSIONS, shard_of=shard_of, show=shown_session, with_tenant=False)


class SessionServicer:
    """Serves sessions on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Connect(self, request: ConnectSession, context: object) -> ConnectReply:
        """Connect one client."""
        return await self._node.propose(request, ConnectReply)

    async def ConnectBatch(self, request: ConnectSessions, context: object) -> BatchReply:
        """Connect many clients in one proposal a shard."""
        check = validation.check_arrival
        return await propose_fitting(self._node, request, "connections", check)

    async def Update(self, request: UpdateSession, context: object) -> UpdateSessionReply:
        """Replace what one session holds."""
        return await self._node.propose(request, UpdateSessionReply)

    async def UpdateBatch(self, request: UpdateSessions, context: object) -> BatchReply:
        """Replace what many sessions hold in one proposal a shard."""
        return await propose_fitting(self._node, request, "sessions", validation.check_update)

    async def Disconnect(self, request: DisconnectSession, context: object) -> DisconnectReply:
        """Disconnect one client."""
        return await self._node.propose(request, DisconnectReply)

    async def DisconnectBatch(self, request: DisconnectSessions, context: object) -> BatchReply:
        """Disconnect many clients in one proposal a shard."""
        return await propose_fitting(self._node, request, "sessions", validation.check_disconnect)

    async def Delete(self, request: DeleteSession, context: object) -> DeleteSessionReply:
        """Delete one session."""
        return await self._node.propose(request, DeleteSessionReply)

    async def DeleteBatch(self, request: DeleteSessions, context: object) -> BatchReply:
        """Delete many sessions in one proposal a shard."""
        return await propose_fitting(self._node, request, "sessions", validation.check_delete)

    async def Import(self, request: ImportSession, context: object) -> ImportSessionReply:
        """Bring one session here from elsewhere."""
        return await self._node.propose(request, ImportSessionReply)

    async def ImportBatch(self, request: ImportSessions, context: object) -> BatchReply:
        """Bring many sessions here in one proposal a shard."""
        return await propose_fitting(self._node, request, "sessions", validation.check_import)

    async def Get(self, request: GetSessionRequest, context: object) -> KeyedSession:
        """Read one session."""
        validation.check_client(request.tenant, request.client_id)
        key = client_shard(request.tenant, request.client_id)
        session = await _SHELF.get(self._node, key, _freshness(request))
        if session is None:
            raise Rejected("NOT_FOUND", f"client {request.client_id} has no session")
        return session

    async def GetBatch(self, request: GetSessionsRequest, context: object) -> SessionLookups:
        """Read many sessions, in the order of the request."""
        check_lookups("sessions", request.sessions, _check_named)
        wanted = [client_shard(each.tenant, each.client_id) for each in request.sessions]
        found = await _SHELF.get_each(self._node, wanted, Freshness(stale=request.stale))
        return SessionLookups(lookups=[SessionLookup(session=each) for each in found])

    async def List(self, request: ListSessionsRequest, context: object) -> ListSessionsResponse:
        """List a page of sessions."""
        sessions, token = await _SHELF.page(self._node, *_wanted(request), _freshness(request))
        return ListSessionsResponse(sessions=sessions, next_page_token=token)

    async def StreamList(
        self, request: ListSessionsRequest, context: object
    ) -> AsyncIterator[ListSessionsResponse]:
        """List page by page, to the end."""
        pages = _SHELF.pages(self._node, *_wanted(request), _freshness(request))
        async for sessions, token in pages:
            yield ListSessionsResponse(sessions=sessions, next_page_token=token)

    async def CountConnections(
        self, request: CountConnectionsRequest, context: object
    ) -> CountConnectionsResponse:
        """Count the connected sessions of each broker over all shards."""
        counted: Counter[int] = Counter()
        async for count in self._node.query(CountConnections(), BrokerConnections):
            counted[count.broker_epoch] += count.connections
        return CountConnectionsResponse(
            brokers=[
                BrokerConnections(broker_epoch=epoch, connections=counted[epoch])
                for epoch in sorted(counted)
            ]
        )


def _check_named(named: SessionName, path: str) -> None:
    validation.check_client(named.tenant, named.client_id, path)


def _freshness(request: GetSessionRequest | ListSessionsRequest) -> Freshness:
    return Freshness(stale=request.stale, min_revision=request.min_revision)


def _wanted(
    request: ListSessionsRequest,
) -> tuple[Range, Callable[[KeyedSession], bool] | None]:
    if request.tenant:
        check_name("tenant", request.tenant)
    elif request.client_prefix:
        raise Invalid("client_prefix", "must be empty when no tenant is given")
    if request.client_prefix:
        check_identity("client_prefix", request.client_prefix)
    if request.broker:
        check_identity("broker", request.broker)
    if request.state not in ConnectionState.values():
        raise Invalid("state", f"{request.state} is none that is known")
    wanted = Range.below(request, request.tenant, opening=request.client_prefix)
    if not request.broker and request.state == CONNECTION_STATE_UNSPECIFIED:
        return wanted, None
    return wanted, lambda session: _fits(session, request)


def _fits(session: KeyedSession, request: ListSessionsRequest) -> bool:
    if request.broker and session.broker != request.broker:
        return False
    if request.state == CONNECTION_STATE_UNSPECIFIED:
        return True
    return (not session.disconnected_at_ms) == (request.state == CONNECTION_STATE_CONNECTED)


SERVICE: Final = GrpcService(
    service=sessions_pb2.DESCRIPTOR.services_by_name["SessionService"],
    servicer=SessionServicer,
)
