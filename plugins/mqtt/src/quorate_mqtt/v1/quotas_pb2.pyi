from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ShardPlace(_message.Message):
    __slots__ = ("shard", "slots", "shards", "probe", "term")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    shard: int
    slots: int
    shards: int
    probe: bytes
    term: int
    def __init__(self, shard: _Optional[int] = ..., slots: _Optional[int] = ..., shards: _Optional[int] = ..., probe: _Optional[bytes] = ..., term: _Optional[int] = ...) -> None: ...

class SessionQuota(_message.Message):
    __slots__ = ("limit", "quota")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    limit: int
    quota: int
    def __init__(self, limit: _Optional[int] = ..., quota: _Optional[int] = ...) -> None: ...

class PlaceShards(_message.Message):
    __slots__ = ("term", "shards", "probes")
    TERM_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    PROBES_FIELD_NUMBER: _ClassVar[int]
    term: int
    shards: int
    probes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, term: _Optional[int] = ..., shards: _Optional[int] = ..., probes: _Optional[_Iterable[bytes]] = ...) -> None: ...

class MoveQuotas(_message.Message):
    __slots__ = ("term", "moves")
    TERM_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    term: int
    moves: _containers.RepeatedCompositeFieldContainer[QuotaMove]
    def __init__(self, term: _Optional[int] = ..., moves: _Optional[_Iterable[_Union[QuotaMove, _Mapping]]] = ...) -> None: ...

class QuotaMove(_message.Message):
    __slots__ = ("probe", "tenant", "limit", "quota")
    PROBE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    probe: bytes
    tenant: str
    limit: int
    quota: int
    def __init__(self, probe: _Optional[bytes] = ..., tenant: _Optional[str] = ..., limit: _Optional[int] = ..., quota: _Optional[int] = ...) -> None: ...

class QuotaMoved(_message.Message):
    __slots__ = ("quota",)
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    quota: int
    def __init__(self, quota: _Optional[int] = ...) -> None: ...

class ListShardPlaces(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSessionCounts(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SessionCount(_message.Message):
    __slots__ = ("tenant", "shard", "probe", "sessions", "limit", "quota")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    shard: int
    probe: bytes
    sessions: int
    limit: int
    quota: int
    def __init__(self, tenant: _Optional[str] = ..., shard: _Optional[int] = ..., probe: _Optional[bytes] = ..., sessions: _Optional[int] = ..., limit: _Optional[int] = ..., quota: _Optional[int] = ...) -> None: ...
