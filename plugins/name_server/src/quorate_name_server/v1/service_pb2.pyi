from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_name_server.v1 import commands_pb2 as _commands_pb2
from quorate_name_server.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReadMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    READ_MODE_UNSPECIFIED: _ClassVar[ReadMode]
    READ_MODE_CONSISTENT: _ClassVar[ReadMode]
    READ_MODE_AVAILABLE: _ClassVar[ReadMode]
READ_MODE_UNSPECIFIED: ReadMode
READ_MODE_CONSISTENT: ReadMode
READ_MODE_AVAILABLE: ReadMode

class AnswerState(_message.Message):
    __slots__ = ("mode", "age_ms", "unconfirmed")
    MODE_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    UNCONFIRMED_FIELD_NUMBER: _ClassVar[int]
    mode: ReadMode
    age_ms: int
    unconfirmed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, mode: _Optional[_Union[ReadMode, str]] = ..., age_ms: _Optional[int] = ..., unconfirmed: _Optional[_Iterable[str]] = ...) -> None: ...

class GetRoutesRequest(_message.Message):
    __slots__ = ("topics", "mode")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    mode: ReadMode
    def __init__(self, topics: _Optional[_Iterable[str]] = ..., mode: _Optional[_Union[ReadMode, str]] = ...) -> None: ...

class WatchRoutesRequest(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, topics: _Optional[_Iterable[str]] = ...) -> None: ...

class Routes(_message.Message):
    __slots__ = ("routes", "state")
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    routes: _containers.RepeatedCompositeFieldContainer[Route]
    state: AnswerState
    def __init__(self, routes: _Optional[_Iterable[_Union[Route, _Mapping]]] = ..., state: _Optional[_Union[AnswerState, _Mapping]] = ...) -> None: ...

class Route(_message.Message):
    __slots__ = ("topic", "queues", "brokers", "mappings", "order_config")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    MAPPINGS_FIELD_NUMBER: _ClassVar[int]
    ORDER_CONFIG_FIELD_NUMBER: _ClassVar[int]
    topic: str
    queues: _containers.RepeatedCompositeFieldContainer[_commands_pb2.BrokerQueues]
    brokers: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Broker]
    mappings: _containers.RepeatedCompositeFieldContainer[_commands_pb2.TopicQueueMapping]
    order_config: str
    def __init__(self, topic: _Optional[str] = ..., queues: _Optional[_Iterable[_Union[_commands_pb2.BrokerQueues, _Mapping]]] = ..., brokers: _Optional[_Iterable[_Union[_rows_pb2.Broker, _Mapping]]] = ..., mappings: _Optional[_Iterable[_Union[_commands_pb2.TopicQueueMapping, _Mapping]]] = ..., order_config: _Optional[str] = ...) -> None: ...

class GetBrokersRequest(_message.Message):
    __slots__ = ("names", "cluster", "mode")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    cluster: str
    mode: ReadMode
    def __init__(self, names: _Optional[_Iterable[str]] = ..., cluster: _Optional[str] = ..., mode: _Optional[_Union[ReadMode, str]] = ...) -> None: ...

class Brokers(_message.Message):
    __slots__ = ("brokers", "state")
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    brokers: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Broker]
    state: AnswerState
    def __init__(self, brokers: _Optional[_Iterable[_Union[_rows_pb2.Broker, _Mapping]]] = ..., state: _Optional[_Union[AnswerState, _Mapping]] = ...) -> None: ...

class ListTopicsRequest(_message.Message):
    __slots__ = ("cluster", "flags", "without_flags", "page_size", "page_token", "mode")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FLAGS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    flags: int
    without_flags: int
    page_size: int
    page_token: str
    mode: ReadMode
    def __init__(self, cluster: _Optional[str] = ..., flags: _Optional[int] = ..., without_flags: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., mode: _Optional[_Union[ReadMode, str]] = ...) -> None: ...

class TopicPage(_message.Message):
    __slots__ = ("topics", "next_page_token", "state")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    next_page_token: str
    state: AnswerState
    def __init__(self, topics: _Optional[_Iterable[str]] = ..., next_page_token: _Optional[str] = ..., state: _Optional[_Union[AnswerState, _Mapping]] = ...) -> None: ...

class ListQueuesRequest(_message.Message):
    __slots__ = ("topic", "page_size", "page_token", "stale")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    page_size: int
    page_token: bytes
    stale: bool
    def __init__(self, topic: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ...) -> None: ...

class QueuesPage(_message.Message):
    __slots__ = ("queues", "next_page_token")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[_commands_pb2.BrokerQueues]
    next_page_token: bytes
    def __init__(self, queues: _Optional[_Iterable[_Union[_commands_pb2.BrokerQueues, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class GetKvConfigs(_message.Message):
    __slots__ = ("configs", "stale")
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    configs: _containers.RepeatedCompositeFieldContainer[_commands_pb2.KvConfigKey]
    stale: bool
    def __init__(self, configs: _Optional[_Iterable[_Union[_commands_pb2.KvConfigKey, _Mapping]]] = ..., stale: bool = ...) -> None: ...

class ListKvConfigs(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token", "stale")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: bytes
    stale: bool
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ...) -> None: ...

class KvConfigPage(_message.Message):
    __slots__ = ("configs", "next_page_token")
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    configs: _containers.RepeatedCompositeFieldContainer[_rows_pb2.KvConfig]
    next_page_token: bytes
    def __init__(self, configs: _Optional[_Iterable[_Union[_rows_pb2.KvConfig, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
