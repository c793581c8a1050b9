from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TopicStorage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPIC_STORAGE_UNSPECIFIED: _ClassVar[TopicStorage]
    TOPIC_STORAGE_ENGINE_MEMORY: _ClassVar[TopicStorage]
    TOPIC_STORAGE_ENGINE_SEGMENT: _ClassVar[TopicStorage]
    TOPIC_STORAGE_ENGINE_ROCKSDB: _ClassVar[TopicStorage]
    TOPIC_STORAGE_MYSQL: _ClassVar[TopicStorage]
    TOPIC_STORAGE_MINIO: _ClassVar[TopicStorage]
    TOPIC_STORAGE_S3: _ClassVar[TopicStorage]

class TopicSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPIC_SOURCE_UNSPECIFIED: _ClassVar[TopicSource]
    TOPIC_SOURCE_SYSTEM: _ClassVar[TopicSource]
    TOPIC_SOURCE_MQTT: _ClassVar[TopicSource]
    TOPIC_SOURCE_NATS: _ClassVar[TopicSource]
    TOPIC_SOURCE_MQ9: _ClassVar[TopicSource]
    TOPIC_SOURCE_KAFKA: _ClassVar[TopicSource]
    TOPIC_SOURCE_AMQP: _ClassVar[TopicSource]
TOPIC_STORAGE_UNSPECIFIED: TopicStorage
TOPIC_STORAGE_ENGINE_MEMORY: TopicStorage
TOPIC_STORAGE_ENGINE_SEGMENT: TopicStorage
TOPIC_STORAGE_ENGINE_ROCKSDB: TopicStorage
TOPIC_STORAGE_MYSQL: TopicStorage
TOPIC_STORAGE_MINIO: TopicStorage
TOPIC_STORAGE_S3: TopicStorage
TOPIC_SOURCE_UNSPECIFIED: TopicSource
TOPIC_SOURCE_SYSTEM: TopicSource
TOPIC_SOURCE_MQTT: TopicSource
TOPIC_SOURCE_NATS: TopicSource
TOPIC_SOURCE_MQ9: TopicSource
TOPIC_SOURCE_KAFKA: TopicSource
TOPIC_SOURCE_AMQP: TopicSource

class Topic(_message.Message):
    __slots__ = ("tenant", "name", "id", "description", "storage", "source", "partitions", "replication", "config", "created_at_ms", "updated_at_ms", "deleting_at_ms", "finalizers")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FINALIZERS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    id: int
    description: str
    storage: TopicStorage
    source: TopicSource
    partitions: int
    replication: int
    config: TopicConfig
    created_at_ms: int
    updated_at_ms: int
    deleting_at_ms: int
    finalizers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., id: _Optional[int] = ..., description: _Optional[str] = ..., storage: _Optional[_Union[TopicStorage, str]] = ..., source: _Optional[_Union[TopicSource, str]] = ..., partitions: _Optional[int] = ..., replication: _Optional[int] = ..., config: _Optional[_Union[TopicConfig, _Mapping]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ..., deleting_at_ms: _Optional[int] = ..., finalizers: _Optional[_Iterable[str]] = ...) -> None: ...

class TopicConfig(_message.Message):
    __slots__ = ("segment_bytes", "records", "retention_s")
    SEGMENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_S_FIELD_NUMBER: _ClassVar[int]
    segment_bytes: int
    records: int
    retention_s: int
    def __init__(self, segment_bytes: _Optional[int] = ..., records: _Optional[int] = ..., retention_s: _Optional[int] = ...) -> None: ...

class TopicDeletion(_message.Message):
    __slots__ = ("tenant", "name", "id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    id: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., id: _Optional[int] = ...) -> None: ...

class TopicName(_message.Message):
    __slots__ = ("tenant", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CreateTopicRequest(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: Topic
    def __init__(self, topic: _Optional[_Union[Topic, _Mapping]] = ...) -> None: ...

class CreateTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[Topic]
    def __init__(self, topics: _Optional[_Iterable[_Union[Topic, _Mapping]]] = ...) -> None: ...

class UpdateTopicRequest(_message.Message):
    __slots__ = ("tenant", "name", "description", "config", "update_mask")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    config: TopicConfig
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., config: _Optional[_Union[TopicConfig, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[UpdateTopicRequest]
    def __init__(self, topics: _Optional[_Iterable[_Union[UpdateTopicRequest, _Mapping]]] = ...) -> None: ...

class PutTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[Topic]
    def __init__(self, topics: _Optional[_Iterable[_Union[Topic, _Mapping]]] = ...) -> None: ...

class GrowTopicRequest(_message.Message):
    __slots__ = ("tenant", "name", "partitions")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    partitions: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., partitions: _Optional[int] = ...) -> None: ...

class GrowTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[GrowTopicRequest]
    def __init__(self, topics: _Optional[_Iterable[_Union[GrowTopicRequest, _Mapping]]] = ...) -> None: ...

class DeleteTopic(_message.Message):
    __slots__ = ("tenant", "name", "missing_ok", "finalizers")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    FINALIZERS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    missing_ok: bool
    finalizers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ..., finalizers: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[DeleteTopic]
    def __init__(self, topics: _Optional[_Iterable[_Union[DeleteTopic, _Mapping]]] = ...) -> None: ...

class TopicFinish(_message.Message):
    __slots__ = ("tenant", "name", "id", "finalizer")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    FINALIZER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    id: int
    finalizer: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., id: _Optional[int] = ..., finalizer: _Optional[str] = ...) -> None: ...

class FinishTopics(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[TopicFinish]
    def __init__(self, topics: _Optional[_Iterable[_Union[TopicFinish, _Mapping]]] = ...) -> None: ...

class GetTopicsRequest(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[TopicName]
    def __init__(self, names: _Optional[_Iterable[_Union[TopicName, _Mapping]]] = ...) -> None: ...

class TopicLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[TopicLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[TopicLookup, _Mapping]]] = ...) -> None: ...

class TopicLookup(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: Topic
    def __init__(self, topic: _Optional[_Union[Topic, _Mapping]] = ...) -> None: ...

class ListTopicsRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "topic_filter", "source", "deleting")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FILTER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DELETING_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    topic_filter: str
    source: TopicSource
    deleting: bool
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., topic_filter: _Optional[str] = ..., source: _Optional[_Union[TopicSource, str]] = ..., deleting: bool = ...) -> None: ...

class TopicPage(_message.Message):
    __slots__ = ("topics", "next_page_token")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[Topic]
    next_page_token: bytes
    def __init__(self, topics: _Optional[_Iterable[_Union[Topic, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class FindTopicDeletions(_message.Message):
    __slots__ = ("after", "limit")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after: bytes
    limit: int
    def __init__(self, after: _Optional[bytes] = ..., limit: _Optional[int] = ...) -> None: ...
