from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class FeatureLevel(_message.Message):
    __slots__ = ("feature", "level")
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    feature: str
    level: int
    def __init__(self, feature: _Optional[str] = ..., level: _Optional[int] = ...) -> None: ...

class Feature(_message.Message):
    __slots__ = ("name", "level", "next", "lacking")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    LACKING_FIELD_NUMBER: _ClassVar[int]
    name: str
    level: int
    next: int
    lacking: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., level: _Optional[int] = ..., next: _Optional[int] = ..., lacking: _Optional[_Iterable[str]] = ...) -> None: ...
