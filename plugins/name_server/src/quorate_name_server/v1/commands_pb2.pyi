from quorate_name_server.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RegisterBrokers(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[Registration]
    def __init__(self, brokers: _Optional[_Iterable[_Union[Registration, _Mapping]]] = ...) -> None: ...

class Registration(_message.Message):
    __slots__ = ("cluster", "name", "id", "address", "ha_address", "zone", "heartbeat_timeout_ms", "enable_acting_master", "data_version", "topics", "mappings", "filter_servers", "drops_absent_topics", "door", "partial", "unchanged", "received_ms_ago")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HA_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ENABLE_ACTING_MASTER_FIELD_NUMBER: _ClassVar[int]
    DATA_VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    MAPPINGS_FIELD_NUMBER: _ClassVar[int]
    FILTER_SERVERS_FIELD_NUMBER: _ClassVar[int]
    DROPS_ABSENT_TOPICS_FIELD_NUMBER: _ClassVar[int]
    DOOR_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_MS_AGO_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    name: str
    id: int
    address: str
    ha_address: str
    zone: str
    heartbeat_timeout_ms: int
    enable_acting_master: bool
    data_version: _rows_pb2.DataVersion
    topics: _containers.RepeatedCompositeFieldContainer[TopicQueues]
    mappings: _containers.RepeatedCompositeFieldContainer[TopicQueueMapping]
    filter_servers: FilterServers
    drops_absent_topics: bool
    door: str
    partial: bool
    unchanged: bool
    received_ms_ago: int
    def __init__(self, cluster: _Optional[str] = ..., name: _Optional[str] = ..., id: _Optional[int] = ..., address: _Optional[str] = ..., ha_address: _Optional[str] = ..., zone: _Optional[str] = ..., heartbeat_timeout_ms: _Optional[int] = ..., enable_acting_master: bool = ..., data_version: _Optional[_Union[_rows_pb2.DataVersion, _Mapping]] = ..., topics: _Optional[_Iterable[_Union[TopicQueues, _Mapping]]] = ..., mappings: _Optional[_Iterable[_Union[TopicQueueMapping, _Mapping]]] = ..., filter_servers: _Optional[_Union[FilterServers, _Mapping]] = ..., drops_absent_topics: bool = ..., door: _Optional[str] = ..., partial: bool = ..., unchanged: bool = ..., received_ms_ago: _Optional[int] = ...) -> None: ...

class TopicQueues(_message.Message):
    __slots__ = ("topic", "queues")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    topic: str
    queues: _rows_pb2.Queues
    def __init__(self, topic: _Optional[str] = ..., queues: _Optional[_Union[_rows_pb2.Queues, _Mapping]] = ...) -> None: ...

class TopicQueueMapping(_message.Message):
    __slots__ = ("topic", "broker", "mapping")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    topic: str
    broker: str
    mapping: _rows_pb2.QueueMapping
    def __init__(self, topic: _Optional[str] = ..., broker: _Optional[str] = ..., mapping: _Optional[_Union[_rows_pb2.QueueMapping, _Mapping]] = ...) -> None: ...

class FilterServers(_message.Message):
    __slots__ = ("addresses",)
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, addresses: _Optional[_Iterable[str]] = ...) -> None: ...

class Registered(_message.Message):
    __slots__ = ("registration", "changed", "master_address", "master_ha_address", "unconfirmed")
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MASTER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    MASTER_HA_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    UNCONFIRMED_FIELD_NUMBER: _ClassVar[int]
    registration: int
    changed: bool
    master_address: str
    master_ha_address: str
    unconfirmed: bool
    def __init__(self, registration: _Optional[int] = ..., changed: bool = ..., master_address: _Optional[str] = ..., master_ha_address: _Optional[str] = ..., unconfirmed: bool = ...) -> None: ...

class SendHeartbeats(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[Heartbeat]
    def __init__(self, brokers: _Optional[_Iterable[_Union[Heartbeat, _Mapping]]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("name", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class UnregisterBrokers(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[Unregistration]
    def __init__(self, brokers: _Optional[_Iterable[_Union[Unregistration, _Mapping]]] = ...) -> None: ...

class Unregistration(_message.Message):
    __slots__ = ("name", "address", "registration", "door")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    DOOR_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    registration: int
    door: str
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., registration: _Optional[int] = ..., door: _Optional[str] = ...) -> None: ...

class Unregistered(_message.Message):
    __slots__ = ("removed",)
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    removed: bool
    def __init__(self, removed: bool = ...) -> None: ...

class ExpireMembers(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class WipeWritePermission(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class AddWritePermission(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class WritePermission(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: int
    def __init__(self, topics: _Optional[int] = ...) -> None: ...

class PutQueues(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[BrokerQueues]
    def __init__(self, queues: _Optional[_Iterable[_Union[BrokerQueues, _Mapping]]] = ...) -> None: ...

class BrokerQueues(_message.Message):
    __slots__ = ("topic", "broker", "queues")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    topic: str
    broker: str
    queues: _rows_pb2.Queues
    def __init__(self, topic: _Optional[str] = ..., broker: _Optional[str] = ..., queues: _Optional[_Union[_rows_pb2.Queues, _Mapping]] = ...) -> None: ...

class DeleteTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[TopicDeletion]
    def __init__(self, topics: _Optional[_Iterable[_Union[TopicDeletion, _Mapping]]] = ...) -> None: ...

class TopicDeletion(_message.Message):
    __slots__ = ("topic", "cluster")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    topic: str
    cluster: str
    def __init__(self, topic: _Optional[str] = ..., cluster: _Optional[str] = ...) -> None: ...

class DeletedTopic(_message.Message):
    __slots__ = ("brokers",)
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    brokers: int
    def __init__(self, brokers: _Optional[int] = ...) -> None: ...

class SweepTopics(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class PutKvConfigs(_message.Message):
    __slots__ = ("configs",)
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    configs: _containers.RepeatedCompositeFieldContainer[_rows_pb2.KvConfig]
    def __init__(self, configs: _Optional[_Iterable[_Union[_rows_pb2.KvConfig, _Mapping]]] = ...) -> None: ...

class DeleteKvConfigs(_message.Message):
    __slots__ = ("configs", "missing_ok")
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    configs: _containers.RepeatedCompositeFieldContainer[KvConfigKey]
    missing_ok: bool
    def __init__(self, configs: _Optional[_Iterable[_Union[KvConfigKey, _Mapping]]] = ..., missing_ok: bool = ...) -> None: ...

class KvConfigKey(_message.Message):
    __slots__ = ("namespace", "key")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    key: str
    def __init__(self, namespace: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...
