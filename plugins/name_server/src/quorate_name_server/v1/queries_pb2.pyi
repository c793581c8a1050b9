from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ReadRoutes(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, topics: _Optional[_Iterable[str]] = ...) -> None: ...

class ReadBrokers(_message.Message):
    __slots__ = ("names", "cluster")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    cluster: str
    def __init__(self, names: _Optional[_Iterable[str]] = ..., cluster: _Optional[str] = ...) -> None: ...

class ReadTopics(_message.Message):
    __slots__ = ("cluster", "flags", "without_flags", "after", "limit")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FLAGS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    flags: int
    without_flags: int
    after: str
    limit: int
    def __init__(self, cluster: _Optional[str] = ..., flags: _Optional[int] = ..., without_flags: _Optional[int] = ..., after: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class FoundTopic(_message.Message):
    __slots__ = ("topic", "more")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    more: bool
    def __init__(self, topic: _Optional[str] = ..., more: bool = ...) -> None: ...

class FindDeparted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Departed(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...
