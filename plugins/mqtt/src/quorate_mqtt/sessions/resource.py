"""What sessions declare."""

from typing import Final

from quorate.plugin import Command, DataRoute, Items, Query

from quorate_mqtt.batches import Batch
from quorate_mqtt.brokers import BROKERS
from quorate_mqtt.resource import Holding, Resource
from quorate_mqtt.sessions import apply, controllers, ending, queries, tables, validation
from quorate_mqtt.sessions.families import FAMILIES, SESSIONS
from quorate_mqtt.sessions.service import SERVICE
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSession,
    ConnectSessions,
    CountConnections,
    DeleteSession,
    DeleteSessions,
    DisconnectOrphans,
    DisconnectSession,
    DisconnectSessions,
    EraseSessions,
    ExpireSessions,
    FindOrphans,
    ImportSession,
    ImportSessions,
    SessionConnect,
    UpdateSession,
    UpdateSessions,
)
from quorate_mqtt.v1.wills_pb2 import Will

#: What the handlers of sessions read of other domains.
_READS: Final = (BROKERS, TENANTS)

_ADA: Final = SessionConnect(
    tenant="acme",
    client_id="ada",
    connection_id=7,
    expiry_interval_s=3_600,
    will=Will(topic="devices/ada", payload=b"gone", qos=1, delay_interval_s=30),
    payload=b"inflight=0",
)
_BEN: Final = SessionConnect(tenant="acme", client_id="ben", clean_start=True)
_ADA_KEY: Final = client_shard("acme", "ada")
_UPDATE: Final = UpdateSession(
    tenant="acme", client_id="ada", generation=1, payload=b"inflight=1", expiry_interval_s=60
)
_LEAVE: Final = DisconnectSession(tenant="acme", client_id="ada", generation=1)
_DELETE: Final = DeleteSession(tenant="acme", client_id="ben")
_CYD: Final = ImportSession(
    tenant="acme", client_id="cyd", expiry_interval_s=86_400, payload=b"inflight=2"
)
_DORA: Final = ImportSession(
    tenant="acme", client_id="dora", expiry_interval_s=ending.NEVER, new_only=True
)

_DISCONNECTION: Final = Batch[DisconnectSession](message=DisconnectSessions, field="sessions")
_DELETION: Final = Batch[DeleteSession](message=DeleteSessions, field="sessions")
_IMPORT: Final = Batch[ImportSession](message=ImportSessions, field="sessions")
_EXPIRY: Final = Batch[bytes](message=ExpireSessions, field="keys")
_ORPHANS: Final = Batch[bytes](message=DisconnectOrphans, field="keys")
_ERASURE: Final = Batch[bytes](message=EraseSessions, field="keys")


def _client(
    item: UpdateSession | DisconnectSession | DeleteSession | ImportSession | SessionConnect,
) -> bytes:
    return client_shard(item.tenant, item.client_id)


RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        Command(
            message=ConnectSession,
            group=GROUP,
            shard_key=lambda command: _client(command.connection),
            validate=validation.check_connect,
            public=True,
            examples=(ConnectSession(broker="broker-1", broker_epoch=1, connection=_ADA),),
        ),
        Command(
            message=ConnectSessions,
            group=GROUP,
            items=Items(
                get=lambda command: command.connections,
                shard_key=_client,
                make=lambda command, connections: ConnectSessions(
                    broker=command.broker,
                    broker_epoch=command.broker_epoch,
                    connections=connections,
                ),
                key=_client,
            ),
            validate=validation.check_connects,
            public=True,
            examples=(
                ConnectSessions(broker="broker-1", broker_epoch=1, connections=[_BEN, _ADA]),
            ),
        ),
        Command(
            message=UpdateSession,
            group=GROUP,
            shard_key=_client,
            validate=validation.alone(validation.check_update),
            public=True,
            examples=(_UPDATE,),
        ),
        Command(
            message=UpdateSessions,
            group=GROUP,
            items=Items(
                get=lambda command: command.sessions,
                shard_key=_client,
                make=lambda _, sessions: UpdateSessions(sessions=sessions),
                key=_client,
            ),
            validate=validation.check_updates,
            public=True,
            examples=(UpdateSessions(sessions=[_UPDATE]),),
        ),
        Command(
            message=DisconnectSession,
            group=GROUP,
            shard_key=_client,
            validate=validation.alone(validation.check_disconnect),
            public=True,
            examples=(_LEAVE,),
        ),
        _DISCONNECTION.command(
            key=_client,
            check=validation.check_disconnect,
            public=True,
            examples=([_LEAVE],),
        ),
        _EXPIRY.command(key=lambda key: key, examples=([_ADA_KEY],)),
        _ORPHANS.command(key=lambda key: key, examples=([_ADA_KEY],)),
        Command(
            message=DeleteSession,
            group=GROUP,
            shard_key=_client,
            validate=validation.alone(validation.check_delete),
            public=True,
            examples=(_DELETE,),
        ),
        _DELETION.command(
            key=_client,
            check=validation.check_delete,
            public=True,
            examples=([_DELETE],),
        ),
        Command(
            message=ImportSession,
            group=GROUP,
            shard_key=_client,
            validate=validation.alone(validation.check_import),
            public=True,
            examples=(_CYD,),
        ),
        _IMPORT.command(
            key=_client,
            check=validation.check_import,
            public=True,
            examples=([_CYD, _DORA],),
        ),
        _ERASURE.command(key=lambda key: key, examples=([_ADA_KEY],)),
    ),
    routes=(
        DataRoute(message=ConnectSession, apply=apply.connect_session, reads=_READS),
        DataRoute(message=ConnectSessions, apply=apply.connect_sessions, reads=_READS),
        DataRoute(message=UpdateSession, apply=apply.update_session),
        DataRoute(message=UpdateSessions, apply=apply.update_sessions),
        DataRoute(message=DisconnectSession, apply=apply.disconnect_session, reads=_READS),
        DataRoute(message=DisconnectSessions, apply=apply.disconnect_sessions, reads=_READS),
        DataRoute(message=ExpireSessions, apply=apply.expire_sessions, reads=_READS),
        DataRoute(message=DisconnectOrphans, apply=apply.disconnect_orphans, reads=_READS),
        DataRoute(message=DeleteSession, apply=apply.delete_session),
        DataRoute(message=DeleteSessions, apply=apply.delete_sessions),
        DataRoute(message=ImportSession, apply=apply.import_session, reads=(TENANTS,)),
        DataRoute(message=ImportSessions, apply=apply.import_sessions, reads=(TENANTS,)),
        DataRoute(message=EraseSessions, apply=apply.erase_sessions),
    ),
    queries=(
        Query(
            message=FindOrphans,
            group=GROUP,
            run=queries.find_orphans,
            order=queries.order_of_page,
            reads=(BROKERS,),
        ),
        Query(
            message=CountConnections,
            group=GROUP,
            run=queries.count_connections,
            order=queries.order_of_count,
        ),
    ),
    controllers=(controllers.EXPIRY, controllers.ORPHANS),
    services=(SERVICE,),
    extensions=(tables.EXTENSION,),
    holdings=(Holding(family=SESSIONS, erase=_ERASURE.of),),
)
