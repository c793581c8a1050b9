from quorate_etcd.v1 import commands_pb2 as _commands_pb2
from quorate_etcd.v1 import rows_pb2 as _rows_pb2
from quorate_etcd.wire import mvcc_pb2 as _mvcc_pb2
from quorate_etcd.wire import rpc_pb2 as _rpc_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Find(_message.Message):
    __slots__ = ("store", "user", "request", "wanted")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    request: _rpc_pb2.RangeRequest
    wanted: int
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., request: _Optional[_Union[_rpc_pb2.RangeRequest, _Mapping]] = ..., wanted: _Optional[int] = ..., **kwargs) -> None: ...

class Page(_message.Message):
    __slots__ = ("revision", "kvs", "count", "matched", "next", "applied")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    KVS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    kvs: _containers.RepeatedCompositeFieldContainer[_mvcc_pb2.KeyValue]
    count: int
    matched: int
    next: bytes
    applied: int
    def __init__(self, revision: _Optional[int] = ..., kvs: _Optional[_Iterable[_Union[_mvcc_pb2.KeyValue, _Mapping]]] = ..., count: _Optional[int] = ..., matched: _Optional[int] = ..., next: _Optional[bytes] = ..., applied: _Optional[int] = ...) -> None: ...

class GetAll(_message.Message):
    __slots__ = ("store", "keys")
    STORE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    store: str
    keys: _containers.RepeatedCompositeFieldContainer[Get]
    def __init__(self, store: _Optional[str] = ..., keys: _Optional[_Iterable[_Union[Get, _Mapping]]] = ...) -> None: ...

class Get(_message.Message):
    __slots__ = ("key", "user")
    KEY_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    user: str
    def __init__(self, key: _Optional[bytes] = ..., user: _Optional[str] = ...) -> None: ...

class Got(_message.Message):
    __slots__ = ("response", "refused")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    response: _rpc_pb2.RangeResponse
    refused: _commands_pb2.Refusal
    def __init__(self, response: _Optional[_Union[_rpc_pb2.RangeResponse, _Mapping]] = ..., refused: _Optional[_Union[_commands_pb2.Refusal, _Mapping]] = ...) -> None: ...

class Evaluate(_message.Message):
    __slots__ = ("store", "user", "request")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    request: _rpc_pb2.TxnRequest
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., request: _Optional[_Union[_rpc_pb2.TxnRequest, _Mapping]] = ...) -> None: ...

class History(_message.Message):
    __slots__ = ("store", "ranges", "previous", "at")
    STORE_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    store: str
    ranges: _containers.RepeatedCompositeFieldContainer[KeyRange]
    previous: bool
    at: bytes
    def __init__(self, store: _Optional[str] = ..., ranges: _Optional[_Iterable[_Union[KeyRange, _Mapping]]] = ..., previous: bool = ..., at: _Optional[bytes] = ..., **kwargs) -> None: ...

class KeyRange(_message.Message):
    __slots__ = ("key", "range_end")
    KEY_FIELD_NUMBER: _ClassVar[int]
    RANGE_END_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    range_end: bytes
    def __init__(self, key: _Optional[bytes] = ..., range_end: _Optional[bytes] = ...) -> None: ...

class Changes(_message.Message):
    __slots__ = ("revision", "compacted", "events", "until", "applied", "next")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    compacted: int
    events: _containers.RepeatedCompositeFieldContainer[_mvcc_pb2.Event]
    until: int
    applied: int
    next: bytes
    def __init__(self, revision: _Optional[int] = ..., compacted: _Optional[int] = ..., events: _Optional[_Iterable[_Union[_mvcc_pb2.Event, _Mapping]]] = ..., until: _Optional[int] = ..., applied: _Optional[int] = ..., next: _Optional[bytes] = ...) -> None: ...

class FindVersions(_message.Message):
    __slots__ = ("store", "places")
    STORE_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    store: str
    places: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Place]
    def __init__(self, store: _Optional[str] = ..., places: _Optional[_Iterable[_Union[_rows_pb2.Place, _Mapping]]] = ...) -> None: ...

class Versions(_message.Message):
    __slots__ = ("kvs",)
    KVS_FIELD_NUMBER: _ClassVar[int]
    kvs: _containers.RepeatedCompositeFieldContainer[_mvcc_pb2.KeyValue]
    def __init__(self, kvs: _Optional[_Iterable[_Union[_mvcc_pb2.KeyValue, _Mapping]]] = ...) -> None: ...

class Stand(_message.Message):
    __slots__ = ("store",)
    STORE_FIELD_NUMBER: _ClassVar[int]
    store: str
    def __init__(self, store: _Optional[str] = ...) -> None: ...

class Standing(_message.Message):
    __slots__ = ("revision", "compacted", "applied", "unclean", "leases", "sweeping")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    UNCLEAN_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    SWEEPING_FIELD_NUMBER: _ClassVar[int]
    revision: int
    compacted: int
    applied: int
    unclean: bool
    leases: int
    sweeping: bool
    def __init__(self, revision: _Optional[int] = ..., compacted: _Optional[int] = ..., applied: _Optional[int] = ..., unclean: bool = ..., leases: _Optional[int] = ..., sweeping: bool = ...) -> None: ...

class FindLeases(_message.Message):
    __slots__ = ("store", "user")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., **kwargs) -> None: ...

class LeasePage(_message.Message):
    __slots__ = ("revision", "ids", "deadlines_ms", "next")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    DEADLINES_MS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    ids: _containers.RepeatedScalarFieldContainer[int]
    deadlines_ms: _containers.RepeatedScalarFieldContainer[int]
    next: bytes
    def __init__(self, revision: _Optional[int] = ..., ids: _Optional[_Iterable[int]] = ..., deadlines_ms: _Optional[_Iterable[int]] = ..., next: _Optional[bytes] = ...) -> None: ...
