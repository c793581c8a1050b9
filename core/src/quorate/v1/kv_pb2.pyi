from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Pair(_message.Message):
    __slots__ = ("created_revision", "ttl_ms", "value")
    CREATED_REVISION_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    created_revision: int
    ttl_ms: int
    value: bytes
    def __init__(self, created_revision: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class KeyedPair(_message.Message):
    __slots__ = ("created_revision", "ttl_ms", "value", "key", "revision")
    CREATED_REVISION_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    created_revision: int
    ttl_ms: int
    value: bytes
    key: bytes
    revision: int
    def __init__(self, created_revision: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., value: _Optional[bytes] = ..., key: _Optional[bytes] = ..., revision: _Optional[int] = ...) -> None: ...

class PutPair(_message.Message):
    __slots__ = ("key", "value", "ttl_ms", "expected_revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    value: bytes
    ttl_ms: int
    expected_revision: int
    def __init__(self, key: _Optional[bytes] = ..., value: _Optional[bytes] = ..., ttl_ms: _Optional[int] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class PutPairReply(_message.Message):
    __slots__ = ("revision", "created")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    revision: int
    created: bool
    def __init__(self, revision: _Optional[int] = ..., created: bool = ...) -> None: ...

class PutPairs(_message.Message):
    __slots__ = ("pairs",)
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[PutPair]
    def __init__(self, pairs: _Optional[_Iterable[_Union[PutPair, _Mapping]]] = ...) -> None: ...

class DeletePair(_message.Message):
    __slots__ = ("key", "expected_revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    expected_revision: int
    def __init__(self, key: _Optional[bytes] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class DeletePairReply(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: bool = ...) -> None: ...

class DeletePairs(_message.Message):
    __slots__ = ("pairs",)
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[DeletePair]
    def __init__(self, pairs: _Optional[_Iterable[_Union[DeletePair, _Mapping]]] = ...) -> None: ...

class TouchPair(_message.Message):
    __slots__ = ("key", "expected_revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    expected_revision: int
    def __init__(self, key: _Optional[bytes] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class TouchPairReply(_message.Message):
    __slots__ = ("expires_at_ms",)
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    expires_at_ms: int
    def __init__(self, expires_at_ms: _Optional[int] = ...) -> None: ...

class TouchPairs(_message.Message):
    __slots__ = ("pairs",)
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[TouchPair]
    def __init__(self, pairs: _Optional[_Iterable[_Union[TouchPair, _Mapping]]] = ...) -> None: ...

class PairComparison(_message.Message):
    __slots__ = ("key", "expected_revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    expected_revision: int
    def __init__(self, key: _Optional[bytes] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class PairOperation(_message.Message):
    __slots__ = ("put", "delete", "touch")
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    TOUCH_FIELD_NUMBER: _ClassVar[int]
    put: PutPair
    delete: DeletePair
    touch: TouchPair
    def __init__(self, put: _Optional[_Union[PutPair, _Mapping]] = ..., delete: _Optional[_Union[DeletePair, _Mapping]] = ..., touch: _Optional[_Union[TouchPair, _Mapping]] = ...) -> None: ...

class CommitPairs(_message.Message):
    __slots__ = ("comparisons", "operations")
    COMPARISONS_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    comparisons: _containers.RepeatedCompositeFieldContainer[PairComparison]
    operations: _containers.RepeatedCompositeFieldContainer[PairOperation]
    def __init__(self, comparisons: _Optional[_Iterable[_Union[PairComparison, _Mapping]]] = ..., operations: _Optional[_Iterable[_Union[PairOperation, _Mapping]]] = ...) -> None: ...

class CommitPairsReply(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class CommitPairsBatch(_message.Message):
    __slots__ = ("transactions",)
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    transactions: _containers.RepeatedCompositeFieldContainer[CommitPairs]
    def __init__(self, transactions: _Optional[_Iterable[_Union[CommitPairs, _Mapping]]] = ...) -> None: ...

class ExpirePairs(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetPair(_message.Message):
    __slots__ = ("key", "keys_only")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    keys_only: bool
    def __init__(self, key: _Optional[bytes] = ..., keys_only: bool = ...) -> None: ...

class GetPairs(_message.Message):
    __slots__ = ("keys", "keys_only")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    keys_only: bool
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., keys_only: bool = ...) -> None: ...

class ListPairs(_message.Message):
    __slots__ = ("prefix", "start", "end", "after", "limit", "keys_only")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    prefix: bytes
    start: bytes
    end: bytes
    after: bytes
    limit: int
    keys_only: bool
    def __init__(self, prefix: _Optional[bytes] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., after: _Optional[bytes] = ..., limit: _Optional[int] = ..., keys_only: bool = ...) -> None: ...

class ListedPair(_message.Message):
    __slots__ = ("pair", "more")
    PAIR_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    pair: KeyedPair
    more: bool
    def __init__(self, pair: _Optional[_Union[KeyedPair, _Mapping]] = ..., more: bool = ...) -> None: ...

class GetPairRequest(_message.Message):
    __slots__ = ("key", "stale", "min_revision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    stale: bool
    min_revision: int
    def __init__(self, key: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetPairResponse(_message.Message):
    __slots__ = ("pair", "age_ms")
    PAIR_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    pair: KeyedPair
    age_ms: int
    def __init__(self, pair: _Optional[_Union[KeyedPair, _Mapping]] = ..., age_ms: _Optional[int] = ...) -> None: ...

class GetPairsRequest(_message.Message):
    __slots__ = ("keys", "stale", "min_revision")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    stale: bool
    min_revision: int
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetPairsResponse(_message.Message):
    __slots__ = ("responses", "age_ms")
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[GetPairResponse]
    age_ms: int
    def __init__(self, responses: _Optional[_Iterable[_Union[GetPairResponse, _Mapping]]] = ..., age_ms: _Optional[int] = ...) -> None: ...

class ExistsPairResponse(_message.Message):
    __slots__ = ("exists", "age_ms")
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    exists: bool
    age_ms: int
    def __init__(self, exists: bool = ..., age_ms: _Optional[int] = ...) -> None: ...

class ExistPairsResponse(_message.Message):
    __slots__ = ("exist", "age_ms")
    EXIST_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    exist: _containers.RepeatedScalarFieldContainer[bool]
    age_ms: int
    def __init__(self, exist: _Optional[_Iterable[bool]] = ..., age_ms: _Optional[int] = ...) -> None: ...

class ListPairsRequest(_message.Message):
    __slots__ = ("prefix", "start", "end", "page_size", "page_token", "keys_only", "stale", "min_revision")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    prefix: bytes
    start: bytes
    end: bytes
    page_size: int
    page_token: bytes
    keys_only: bool
    stale: bool
    min_revision: int
    def __init__(self, prefix: _Optional[bytes] = ..., start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., keys_only: bool = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListPairsResponse(_message.Message):
    __slots__ = ("pairs", "next_page_token", "age_ms")
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[KeyedPair]
    next_page_token: bytes
    age_ms: int
    def __init__(self, pairs: _Optional[_Iterable[_Union[KeyedPair, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ..., age_ms: _Optional[int] = ...) -> None: ...
