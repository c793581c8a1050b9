from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Duty(_message.Message):
    __slots__ = ("broker_epoch", "family", "key")
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    broker_epoch: int
    family: str
    key: bytes
    def __init__(self, broker_epoch: _Optional[int] = ..., family: _Optional[str] = ..., key: _Optional[bytes] = ...) -> None: ...

class HandOverDuties(_message.Message):
    __slots__ = ("duties",)
    DUTIES_FIELD_NUMBER: _ClassVar[int]
    duties: _containers.RepeatedCompositeFieldContainer[Duty]
    def __init__(self, duties: _Optional[_Iterable[_Union[Duty, _Mapping]]] = ...) -> None: ...

class FindDuties(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...
