"""Sessions: the broker of each connected client, and the state stored for the client."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import (
    Access,
    Checks,
    Invalid,
    Item,
    NodeApi,
    Query,
    Reader,
    Resource,
    Serving,
    Storage,
    Verb,
    View,
    keys,
)

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.names import check_identity
from quorate_mqtt.sessions import apply, ledger, validation
from quorate_mqtt.sessions.connecting import Connects
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.ledger import departs
from quorate_mqtt.sessions.tables import TABLE
from quorate_mqtt.sessions.updating import Updates
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.v1 import sessions_pb2 as pb
from quorate_mqtt.v1.wills_pb2 import Will

#: Maximum number of rows scanned for one page: few enough not to delay other commands.
MOST: Final = 2_000


def find_orphans(reader: Reader, query: pb.FindOrphans) -> Iterator[pb.OrphanPage]:
    """Yield a page of sessions connected to brokers that are gone, and the end of the scan.

    While no broker with clients is gone, no session is read.
    """
    live_brokers = LiveBrokers(reader)
    gone = {epoch for epoch, _ in ledger.connections(reader) if not live_brokers.lives(epoch)}
    if not gone:
        return
    limit = min(query.limit or MOST, MOST)
    _, end = keys.prefix()
    rows = list(reader.scan(SESSIONS, keys.successor(query.after), end, limit=limit))
    page = pb.OrphanPage(finished=len(rows) < limit)
    for row in rows:
        session = pb.Session.FromString(row.value)
        if not session.disconnected_at_ms and session.broker_epoch in gone:
            page.keys.append(row.key)
    if rows:
        page.reached = rows[-1].key
    yield page


def count_connections(reader: Reader, _: pb.CountConnections) -> Iterator[pb.BrokerConnections]:
    """Yield the number of clients of each broker in this shard."""
    for epoch, count in ledger.connections(reader):
        yield pb.BrokerConnections(broker_epoch=epoch, connections=count)


class ConnectionCounts:
    """Counts the connections of brokers over all shards; the other methods are derived."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def CountConnections(
        self, request: pb.CountConnectionsRequest, context: object
    ) -> pb.CountConnectionsResponse:
        """Count the connected sessions of each broker."""
        counted: Counter[int] = Counter()
        async for count in self._node.query(pb.CountConnections(), pb.BrokerConnections):
            counted[count.broker_epoch] += count.connections
        return pb.CountConnectionsResponse(
            brokers=[
                pb.BrokerConnections(broker_epoch=epoch, connections=counted[epoch])
                for epoch in sorted(counted)
            ]
        )


def keep(request: pb.ListSessionsRequest) -> Callable[[pb.Session], bool] | None:
    """Return the filter of a list request by state, None for all; reject an invalid condition."""
    if request.broker:
        check_identity("broker", request.broker)
    if request.state not in pb.ConnectionState.values():
        raise Invalid("state", f"{request.state} is none that is known")
    if request.state == pb.CONNECTION_STATE_UNSPECIFIED:
        return None
    connected = request.state == pb.CONNECTION_STATE_CONNECTED
    return lambda session: (not session.disconnected_at_ms) == connected


def _client(item: Any) -> bytes:
    return client_shard(item.tenant, item.client_id)


_ADA: Final[dict[str, Any]] = {"tenant": "acme", "client_id": "ada"}
_BEN: Final[dict[str, Any]] = {"tenant": "acme", "client_id": "ben"}
_CONNECTS: Final = pb.ConnectSessions(
    broker="broker-1",
    broker_epoch=1,
    connections=[
        pb.SessionConnect(**_BEN, clean_start=True),
        pb.SessionConnect(
            **_ADA,
            connection_id=7,
            expiry_interval_s=3_600,
            will=Will(topic="devices/ada", payload=b"gone", qos=1, delay_interval_s=30),
            payload=b"inflight=0",
        ),
    ],
)
_CONNECTS_AGAIN: Final = pb.ConnectSessions(
    broker="broker-1",
    broker_epoch=1,
    connections=[
        pb.SessionConnect(**_BEN, connection_id=8, expiry_interval_s=60, payload=b"inflight=0"),
        pb.SessionConnect(**_ADA, connection_id=9, expiry_interval_s=3_600),
    ],
)

SESSION: Final[Resource[pb.Session]] = Resource(
    family=SESSIONS,
    group=GROUP,
    row=pb.Session,
    serving=Serving(
        answer=pb.KeyedSession,
        servicer=ConnectionCounts,
        access={"CountConnections": Access(right="read", domain=SESSIONS)},
        keep=keep,
    ),
    service=pb.DESCRIPTOR.services_by_name["SessionService"],
    key=("tenant", "client_id"),
    check_key={"client_id": check_identity},
    shard_by=("tenant", "client_id"),
    tenant="tenant",
    storage=Storage(departs=departs),
    verbs={
        "Connect": Verb(
            apply_all=apply.connect_sessions,
            check=Checks(command=validation.check_connects, item=validation.check_arrival),
            item=Item(key=_client, read=Connects.usual, reply=pb.ConnectReply),
            reads=(BROKERS,),
            examples=(_CONNECTS, _CONNECTS_AGAIN),
        ),
        "Update": Verb(
            apply_all=apply.update_sessions,
            check=Checks(command=validation.check_updates, item=validation.check_update),
            item=Item(key=_client, read=Updates.usual, reply=pb.UpdateSessionReply),
            examples=(
                pb.UpdateSession(**_ADA, generation=1, payload=b"inflight=1", expiry_interval_s=60),
            ),
        ),
        "Disconnect": Verb(
            apply_all=apply.disconnect_sessions,
            check=validation.check_disconnect,
            item=Item(key=_client, reply=pb.DisconnectReply),
            reads=(BROKERS,),
            examples=(pb.DisconnectSession(**_ADA, generation=1),),
        ),
        "Import": Verb(
            apply_all=apply.import_sessions,
            check=Checks(command=validation.check_imports, item=validation.check_import),
            item=Item(key=_client, reply=pb.ImportSessionReply),
            examples=(
                pb.ImportSession(
                    tenant="acme", client_id="cyd", expiry_interval_s=86_400, payload=b"inflight=2"
                ),
                pb.ImportSession(
                    tenant="acme",
                    client_id="dora",
                    expiry_interval_s=validation.NEVER,
                    new_only=True,
                ),
            ),
        ),
        "Expire": Verb(
            apply_all=apply.expire_sessions,
            message=pb.ExpireSessions,
            reads=(BROKERS,),
            examples=(client_shard("acme", "ada"),),
        ),
        "DisconnectOrphans": Verb(
            apply_all=apply.disconnect_orphans,
            message=pb.DisconnectOrphans,
            reads=(BROKERS,),
            examples=(client_shard("acme", "ada"),),
        ),
        "Delete": Verb(
            apply_all=apply.delete_sessions,
            check=validation.check_delete,
            item=Item(key=_client, reply=pb.DeleteSessionReply),
            examples=(pb.DeleteSession(**_BEN),),
        ),
    },
    view=View(table=TABLE),
)

QUERIES: Final = (
    Query(
        message=pb.FindOrphans,
        group=GROUP,
        run=find_orphans,
        order=lambda page: page.reached,
        reads=(BROKERS,),
    ),
    Query(
        message=pb.CountConnections,
        group=GROUP,
        run=count_connections,
        order=lambda count: keys.pack(count.broker_epoch),
    ),
)
