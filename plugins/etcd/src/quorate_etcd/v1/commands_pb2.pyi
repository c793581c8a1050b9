from quorate_etcd.wire import rpc_pb2 as _rpc_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Transact(_message.Message):
    __slots__ = ("store", "user", "kind", "request")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Transact.Kind]
        KIND_PUT: _ClassVar[Transact.Kind]
        KIND_DELETE_RANGE: _ClassVar[Transact.Kind]
        KIND_TXN: _ClassVar[Transact.Kind]
    KIND_UNSPECIFIED: Transact.Kind
    KIND_PUT: Transact.Kind
    KIND_DELETE_RANGE: Transact.Kind
    KIND_TXN: Transact.Kind
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    kind: Transact.Kind
    request: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., kind: _Optional[_Union[Transact.Kind, str]] = ..., request: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Transacted(_message.Message):
    __slots__ = ("put", "delete_range", "txn")
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_RANGE_FIELD_NUMBER: _ClassVar[int]
    TXN_FIELD_NUMBER: _ClassVar[int]
    put: _rpc_pb2.PutResponse
    delete_range: _rpc_pb2.DeleteRangeResponse
    txn: _rpc_pb2.TxnResponse
    def __init__(self, put: _Optional[_Union[_rpc_pb2.PutResponse, _Mapping]] = ..., delete_range: _Optional[_Union[_rpc_pb2.DeleteRangeResponse, _Mapping]] = ..., txn: _Optional[_Union[_rpc_pb2.TxnResponse, _Mapping]] = ...) -> None: ...

class TransactAll(_message.Message):
    __slots__ = ("store", "writes")
    STORE_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    store: str
    writes: _containers.RepeatedCompositeFieldContainer[Transact]
    def __init__(self, store: _Optional[str] = ..., writes: _Optional[_Iterable[_Union[Transact, _Mapping]]] = ...) -> None: ...

class AllTransacted(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Result]
    def __init__(self, results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("done", "refused")
    DONE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    done: Transacted
    refused: Refusal
    def __init__(self, done: _Optional[_Union[Transacted, _Mapping]] = ..., refused: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "text")
    CODE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    code: str
    text: str
    def __init__(self, code: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Open(_message.Message):
    __slots__ = ("store",)
    STORE_FIELD_NUMBER: _ClassVar[int]
    store: str
    def __init__(self, store: _Optional[str] = ...) -> None: ...

class Leap(_message.Message):
    __slots__ = ("store", "revision")
    STORE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    store: str
    revision: int
    def __init__(self, store: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class Compact(_message.Message):
    __slots__ = ("store", "user", "revision")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    revision: int
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class Stood(_message.Message):
    __slots__ = ("revision", "compacted")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    compacted: int
    def __init__(self, revision: _Optional[int] = ..., compacted: _Optional[int] = ...) -> None: ...

class Clean(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GrantLease(_message.Message):
    __slots__ = ("store", "user", "id", "ttl_s", "most")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    id: int
    ttl_s: int
    most: int
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., id: _Optional[int] = ..., ttl_s: _Optional[int] = ..., most: _Optional[int] = ...) -> None: ...

class Granted(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class RevokeLease(_message.Message):
    __slots__ = ("store", "user", "id")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    id: int
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., id: _Optional[int] = ...) -> None: ...

class RenewLeases(_message.Message):
    __slots__ = ("store", "ids")
    STORE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    store: str
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, store: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Renewed(_message.Message):
    __slots__ = ("revision", "ttls_s")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TTLS_S_FIELD_NUMBER: _ClassVar[int]
    revision: int
    ttls_s: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, revision: _Optional[int] = ..., ttls_s: _Optional[_Iterable[int]] = ...) -> None: ...

class MeasureLease(_message.Message):
    __slots__ = ("store", "user", "id", "keys")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    id: int
    keys: bool
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., id: _Optional[int] = ..., keys: bool = ...) -> None: ...

class Measured(_message.Message):
    __slots__ = ("revision", "ttl_s", "left_ms", "keys")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    LEFT_MS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    revision: int
    ttl_s: int
    left_ms: int
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, revision: _Optional[int] = ..., ttl_s: _Optional[int] = ..., left_ms: _Optional[int] = ..., keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ExpireLeases(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...
