from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DefinitionName(_message.Message):
    __slots__ = ("tenant", "name", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class GetDefinitionsRequest(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[DefinitionName, _Mapping]]] = ...) -> None: ...
