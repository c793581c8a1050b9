from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Resource(_message.Message):
    __slots__ = ("path", "value", "updated_at_ms")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: bytes
    updated_at_ms: int
    def __init__(self, path: _Optional[str] = ..., value: _Optional[bytes] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class StoredResource(_message.Message):
    __slots__ = ("resource", "revision")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    revision: int
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class PutResource(_message.Message):
    __slots__ = ("path", "value", "expected_revision")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: bytes
    expected_revision: int
    def __init__(self, path: _Optional[str] = ..., value: _Optional[bytes] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class PutResources(_message.Message):
    __slots__ = ("puts",)
    PUTS_FIELD_NUMBER: _ClassVar[int]
    puts: _containers.RepeatedCompositeFieldContainer[PutResource]
    def __init__(self, puts: _Optional[_Iterable[_Union[PutResource, _Mapping]]] = ...) -> None: ...

class DeleteResource(_message.Message):
    __slots__ = ("path", "expected_revision", "missing_ok")
    PATH_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    path: str
    expected_revision: int
    missing_ok: bool
    def __init__(self, path: _Optional[str] = ..., expected_revision: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteResources(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[DeleteResource]
    def __init__(self, deletions: _Optional[_Iterable[_Union[DeleteResource, _Mapping]]] = ...) -> None: ...

class GetResource(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: str
    def __init__(self, path: _Optional[str] = ...) -> None: ...

class GetResources(_message.Message):
    __slots__ = ("paths",)
    PATHS_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, paths: _Optional[_Iterable[str]] = ...) -> None: ...

class FoundResources(_message.Message):
    __slots__ = ("resources",)
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[StoredResource]
    def __init__(self, resources: _Optional[_Iterable[_Union[StoredResource, _Mapping]]] = ...) -> None: ...

class ListResources(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ResourcePage(_message.Message):
    __slots__ = ("resources", "next_page_token")
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[StoredResource]
    next_page_token: bytes
    def __init__(self, resources: _Optional[_Iterable[_Union[StoredResource, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
