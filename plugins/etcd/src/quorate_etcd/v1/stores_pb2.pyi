from quorate_etcd.v1 import commands_pb2 as _commands_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListStoresRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListStoresResponse(_message.Message):
    __slots__ = ("stores",)
    STORES_FIELD_NUMBER: _ClassVar[int]
    stores: _containers.RepeatedCompositeFieldContainer[StoreStatus]
    def __init__(self, stores: _Optional[_Iterable[_Union[StoreStatus, _Mapping]]] = ...) -> None: ...

class StoreStatus(_message.Message):
    __slots__ = ("store", "node", "port", "leader", "revision", "compacted", "compacting", "leases", "bytes", "watches")
    STORE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    COMPACTING_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    store: str
    node: str
    port: int
    leader: str
    revision: int
    compacted: int
    compacting: bool
    leases: int
    bytes: int
    watches: int
    def __init__(self, store: _Optional[str] = ..., node: _Optional[str] = ..., port: _Optional[int] = ..., leader: _Optional[str] = ..., revision: _Optional[int] = ..., compacted: _Optional[int] = ..., compacting: bool = ..., leases: _Optional[int] = ..., bytes: _Optional[int] = ..., watches: _Optional[int] = ...) -> None: ...
