from quorate_zookeeper.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetZnode(_message.Message):
    __slots__ = ("path", "stale")
    PATH_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    path: str
    stale: bool
    def __init__(self, path: _Optional[str] = ..., stale: bool = ...) -> None: ...

class ListZnodes(_message.Message):
    __slots__ = ("path", "after", "page_size", "stale")
    PATH_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    path: str
    after: str
    page_size: int
    stale: bool
    def __init__(self, path: _Optional[str] = ..., after: _Optional[str] = ..., page_size: _Optional[int] = ..., stale: bool = ...) -> None: ...

class ListZnodesResponse(_message.Message):
    __slots__ = ("znodes", "next_after", "withheld")
    ZNODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    znodes: _containers.RepeatedCompositeFieldContainer[ZnodeView]
    next_after: str
    withheld: bool
    def __init__(self, znodes: _Optional[_Iterable[_Union[ZnodeView, _Mapping]]] = ..., next_after: _Optional[str] = ..., withheld: bool = ...) -> None: ...

class ZnodeView(_message.Message):
    __slots__ = ("path", "znode", "children", "data_bytes", "withheld")
    PATH_FIELD_NUMBER: _ClassVar[int]
    ZNODE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    DATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    path: str
    znode: _rows_pb2.Znode
    children: _rows_pb2.Children
    data_bytes: int
    withheld: bool
    def __init__(self, path: _Optional[str] = ..., znode: _Optional[_Union[_rows_pb2.Znode, _Mapping]] = ..., children: _Optional[_Union[_rows_pb2.Children, _Mapping]] = ..., data_bytes: _Optional[int] = ..., withheld: bool = ...) -> None: ...
