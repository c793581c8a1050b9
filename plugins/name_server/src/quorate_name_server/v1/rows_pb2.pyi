from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Broker(_message.Message):
    __slots__ = ("name", "cluster", "zone", "enable_acting_master", "members", "write_wiped", "topics")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    ENABLE_ACTING_MASTER_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    WRITE_WIPED_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster: str
    zone: str
    enable_acting_master: bool
    members: _containers.RepeatedCompositeFieldContainer[Member]
    write_wiped: bool
    topics: int
    def __init__(self, name: _Optional[str] = ..., cluster: _Optional[str] = ..., zone: _Optional[str] = ..., enable_acting_master: bool = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., write_wiped: bool = ..., topics: _Optional[int] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("id", "address", "ha_address", "data_version", "heartbeat_timeout_ms", "filter_servers", "registration", "registered_at_ms", "doors", "cluster", "unconfirmed")
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HA_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    FILTER_SERVERS_FIELD_NUMBER: _ClassVar[int]
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DOORS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    UNCONFIRMED_FIELD_NUMBER: _ClassVar[int]
    id: int
    address: str
    ha_address: str
    data_version: DataVersion
    heartbeat_timeout_ms: int
    filter_servers: _containers.RepeatedScalarFieldContainer[str]
    registration: int
    registered_at_ms: int
    doors: _containers.RepeatedScalarFieldContainer[str]
    cluster: str
    unconfirmed: bool
    def __init__(self, id: _Optional[int] = ..., address: _Optional[str] = ..., ha_address: _Optional[str] = ..., data_version: _Optional[_Union[DataVersion, _Mapping]] = ..., heartbeat_timeout_ms: _Optional[int] = ..., filter_servers: _Optional[_Iterable[str]] = ..., registration: _Optional[int] = ..., registered_at_ms: _Optional[int] = ..., doors: _Optional[_Iterable[str]] = ..., cluster: _Optional[str] = ..., unconfirmed: bool = ...) -> None: ...

class DataVersion(_message.Message):
    __slots__ = ("state_version", "timestamp", "counter")
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    state_version: int
    timestamp: int
    counter: int
    def __init__(self, state_version: _Optional[int] = ..., timestamp: _Optional[int] = ..., counter: _Optional[int] = ...) -> None: ...

class Queues(_message.Message):
    __slots__ = ("read_queues", "write_queues", "perm", "topic_sys_flag")
    READ_QUEUES_FIELD_NUMBER: _ClassVar[int]
    WRITE_QUEUES_FIELD_NUMBER: _ClassVar[int]
    PERM_FIELD_NUMBER: _ClassVar[int]
    TOPIC_SYS_FLAG_FIELD_NUMBER: _ClassVar[int]
    read_queues: int
    write_queues: int
    perm: int
    topic_sys_flag: int
    def __init__(self, read_queues: _Optional[int] = ..., write_queues: _Optional[int] = ..., perm: _Optional[int] = ..., topic_sys_flag: _Optional[int] = ...) -> None: ...

class QueueMapping(_message.Message):
    __slots__ = ("total_queues", "epoch", "scope", "dirty", "queues")
    TOTAL_QUEUES_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DIRTY_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    total_queues: int
    epoch: int
    scope: str
    dirty: bool
    queues: _containers.RepeatedCompositeFieldContainer[MappedQueue]
    def __init__(self, total_queues: _Optional[int] = ..., epoch: _Optional[int] = ..., scope: _Optional[str] = ..., dirty: bool = ..., queues: _Optional[_Iterable[_Union[MappedQueue, _Mapping]]] = ...) -> None: ...

class MappedQueue(_message.Message):
    __slots__ = ("logical", "physical")
    LOGICAL_FIELD_NUMBER: _ClassVar[int]
    PHYSICAL_FIELD_NUMBER: _ClassVar[int]
    logical: int
    physical: int
    def __init__(self, logical: _Optional[int] = ..., physical: _Optional[int] = ...) -> None: ...

class KvConfig(_message.Message):
    __slots__ = ("namespace", "key", "value", "created_at_ms", "updated_at_ms")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    value: str
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...
