from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_mqtt.v1 import wills_pb2 as _wills_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConnectionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONNECTION_STATE_UNSPECIFIED: _ClassVar[ConnectionState]
    CONNECTION_STATE_CONNECTED: _ClassVar[ConnectionState]
    CONNECTION_STATE_DISCONNECTED: _ClassVar[ConnectionState]
CONNECTION_STATE_UNSPECIFIED: ConnectionState
CONNECTION_STATE_CONNECTED: ConnectionState
CONNECTION_STATE_DISCONNECTED: ConnectionState

class Session(_message.Message):
    __slots__ = ("generation", "broker_epoch", "created_at_ms", "connected_at_ms", "connection_id", "expiry_interval_s", "disconnected_at_ms", "has_will", "broker", "payload")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    DISCONNECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    HAS_WILL_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    generation: int
    broker_epoch: int
    created_at_ms: int
    connected_at_ms: int
    connection_id: int
    expiry_interval_s: int
    disconnected_at_ms: int
    has_will: bool
    broker: str
    payload: bytes
    def __init__(self, generation: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., connected_at_ms: _Optional[int] = ..., connection_id: _Optional[int] = ..., expiry_interval_s: _Optional[int] = ..., disconnected_at_ms: _Optional[int] = ..., has_will: bool = ..., broker: _Optional[str] = ..., payload: _Optional[bytes] = ...) -> None: ...

class KeyedSession(_message.Message):
    __slots__ = ("generation", "broker_epoch", "created_at_ms", "connected_at_ms", "connection_id", "expiry_interval_s", "disconnected_at_ms", "has_will", "broker", "payload", "tenant", "client_id", "revision")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    DISCONNECTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    HAS_WILL_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    generation: int
    broker_epoch: int
    created_at_ms: int
    connected_at_ms: int
    connection_id: int
    expiry_interval_s: int
    disconnected_at_ms: int
    has_will: bool
    broker: str
    payload: bytes
    tenant: str
    client_id: str
    revision: int
    def __init__(self, generation: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., connected_at_ms: _Optional[int] = ..., connection_id: _Optional[int] = ..., expiry_interval_s: _Optional[int] = ..., disconnected_at_ms: _Optional[int] = ..., has_will: bool = ..., broker: _Optional[str] = ..., payload: _Optional[bytes] = ..., tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class SessionConnect(_message.Message):
    __slots__ = ("tenant", "client_id", "connection_id", "expiry_interval_s", "clean_start", "will", "payload")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    CLEAN_START_FIELD_NUMBER: _ClassVar[int]
    WILL_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    connection_id: int
    expiry_interval_s: int
    clean_start: bool
    will: _wills_pb2.Will
    payload: bytes
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., connection_id: _Optional[int] = ..., expiry_interval_s: _Optional[int] = ..., clean_start: bool = ..., will: _Optional[_Union[_wills_pb2.Will, _Mapping]] = ..., payload: _Optional[bytes] = ...) -> None: ...

class ConnectSession(_message.Message):
    __slots__ = ("broker", "broker_epoch", "connection")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    broker: str
    broker_epoch: int
    connection: SessionConnect
    def __init__(self, broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., connection: _Optional[_Union[SessionConnect, _Mapping]] = ...) -> None: ...

class ConnectReply(_message.Message):
    __slots__ = ("generation", "session_present", "taken_over_from", "queued")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    SESSION_PRESENT_FIELD_NUMBER: _ClassVar[int]
    TAKEN_OVER_FROM_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    generation: int
    session_present: bool
    taken_over_from: str
    queued: int
    def __init__(self, generation: _Optional[int] = ..., session_present: bool = ..., taken_over_from: _Optional[str] = ..., queued: _Optional[int] = ...) -> None: ...

class ConnectSessions(_message.Message):
    __slots__ = ("broker", "broker_epoch", "connections")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    broker: str
    broker_epoch: int
    connections: _containers.RepeatedCompositeFieldContainer[SessionConnect]
    def __init__(self, broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., connections: _Optional[_Iterable[_Union[SessionConnect, _Mapping]]] = ...) -> None: ...

class UpdateSession(_message.Message):
    __slots__ = ("tenant", "client_id", "generation", "expiry_interval_s", "payload")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    generation: int
    expiry_interval_s: int
    payload: bytes
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., generation: _Optional[int] = ..., expiry_interval_s: _Optional[int] = ..., payload: _Optional[bytes] = ...) -> None: ...

class UpdateSessionReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UpdateSessions(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[UpdateSession]
    def __init__(self, sessions: _Optional[_Iterable[_Union[UpdateSession, _Mapping]]] = ...) -> None: ...

class DisconnectSession(_message.Message):
    __slots__ = ("tenant", "client_id", "generation", "expiry_interval_s", "discard_will")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    DISCARD_WILL_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    generation: int
    expiry_interval_s: int
    discard_will: bool
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., generation: _Optional[int] = ..., expiry_interval_s: _Optional[int] = ..., discard_will: bool = ...) -> None: ...

class DisconnectReply(_message.Message):
    __slots__ = ("ended", "expires_at_ms")
    ENDED_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ended: bool
    expires_at_ms: int
    def __init__(self, ended: bool = ..., expires_at_ms: _Optional[int] = ...) -> None: ...

class DisconnectSessions(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[DisconnectSession]
    def __init__(self, sessions: _Optional[_Iterable[_Union[DisconnectSession, _Mapping]]] = ...) -> None: ...

class DeleteSession(_message.Message):
    __slots__ = ("tenant", "client_id", "generation", "expected_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    generation: int
    expected_revision: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., generation: _Optional[int] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class DeleteSessionReply(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: bool = ...) -> None: ...

class DeleteSessions(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[DeleteSession]
    def __init__(self, sessions: _Optional[_Iterable[_Union[DeleteSession, _Mapping]]] = ...) -> None: ...

class ImportSession(_message.Message):
    __slots__ = ("tenant", "client_id", "expiry_interval_s", "payload", "new_only")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    NEW_ONLY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    expiry_interval_s: int
    payload: bytes
    new_only: bool
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., expiry_interval_s: _Optional[int] = ..., payload: _Optional[bytes] = ..., new_only: bool = ...) -> None: ...

class ImportSessionReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ImportSessions(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[ImportSession]
    def __init__(self, sessions: _Optional[_Iterable[_Union[ImportSession, _Mapping]]] = ...) -> None: ...

class ExpireSessions(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DisconnectOrphans(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class FindOrphans(_message.Message):
    __slots__ = ("after", "limit")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after: bytes
    limit: int
    def __init__(self, after: _Optional[bytes] = ..., limit: _Optional[int] = ...) -> None: ...

class OrphanPage(_message.Message):
    __slots__ = ("keys", "reached", "finished")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    reached: bytes
    finished: bool
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., reached: _Optional[bytes] = ..., finished: bool = ...) -> None: ...

class CountConnections(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BrokerConnections(_message.Message):
    __slots__ = ("broker_epoch", "connections")
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    broker_epoch: int
    connections: int
    def __init__(self, broker_epoch: _Optional[int] = ..., connections: _Optional[int] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("tenant", "client_id", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetSessionsRequest(_message.Message):
    __slots__ = ("sessions", "stale")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionName]
    stale: bool
    def __init__(self, sessions: _Optional[_Iterable[_Union[SessionName, _Mapping]]] = ..., stale: bool = ...) -> None: ...

class SessionName(_message.Message):
    __slots__ = ("tenant", "client_id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ...) -> None: ...

class SessionLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[SessionLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[SessionLookup, _Mapping]]] = ...) -> None: ...

class SessionLookup(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: KeyedSession
    def __init__(self, session: _Optional[_Union[KeyedSession, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "broker", "state", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    broker: str
    state: ConnectionState
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., broker: _Optional[str] = ..., state: _Optional[_Union[ConnectionState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[KeyedSession]
    next_page_token: bytes
    def __init__(self, sessions: _Optional[_Iterable[_Union[KeyedSession, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class CountConnectionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CountConnectionsResponse(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[BrokerConnections]
    def __init__(self, brokers: _Optional[_Iterable[_Union[BrokerConnections, _Mapping]]] = ...) -> None: ...
