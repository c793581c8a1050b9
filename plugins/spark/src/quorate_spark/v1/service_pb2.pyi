from quorate_spark.v1 import queries_pb2 as _queries_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetLoadRequest(_message.Message):
    __slots__ = ("load_id",)
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    def __init__(self, load_id: _Optional[str] = ...) -> None: ...

class GetLoadResponse(_message.Message):
    __slots__ = ("load",)
    LOAD_FIELD_NUMBER: _ClassVar[int]
    load: _queries_pb2.LoadView
    def __init__(self, load: _Optional[_Union[_queries_pb2.LoadView, _Mapping]] = ...) -> None: ...

class ListLoadsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListLoadsResponse(_message.Message):
    __slots__ = ("loads", "next_page_token")
    LOADS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    loads: _containers.RepeatedCompositeFieldContainer[_queries_pb2.LoadView]
    next_page_token: str
    def __init__(self, loads: _Optional[_Iterable[_Union[_queries_pb2.LoadView, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
