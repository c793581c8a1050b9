from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_storage_engine.v1 import commands_pb2 as _commands_pb2
from quorate_storage_engine.v1 import queries_pb2 as _queries_pb2
from quorate_storage_engine.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetShardRequest(_message.Message):
    __slots__ = ("name", "stale", "min_revision")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    stale: bool
    min_revision: int
    def __init__(self, name: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListShardsRequest(_message.Message):
    __slots__ = ("name_prefix", "tenant", "topic", "page_size", "page_token", "stale", "min_revision")
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    name_prefix: str
    tenant: str
    topic: str
    page_size: int
    page_token: str
    stale: bool
    min_revision: int
    def __init__(self, name_prefix: _Optional[str] = ..., tenant: _Optional[str] = ..., topic: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListShardsResponse(_message.Message):
    __slots__ = ("shards", "next_page_token")
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    shards: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Shard]
    next_page_token: str
    def __init__(self, shards: _Optional[_Iterable[_Union[_rows_pb2.Shard, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetSegmentsRequest(_message.Message):
    __slots__ = ("segments", "stale", "min_revision")
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[_queries_pb2.SegmentId]
    stale: bool
    min_revision: int
    def __init__(self, segments: _Optional[_Iterable[_Union[_queries_pb2.SegmentId, _Mapping]]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class GetSegmentsResponse(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Segment]
    def __init__(self, segments: _Optional[_Iterable[_Union[_rows_pb2.Segment, _Mapping]]] = ...) -> None: ...

class ListSegmentsRequest(_message.Message):
    __slots__ = ("shard", "engine", "unavailable", "under_replicated", "page_size", "page_token", "stale", "min_revision")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    UNDER_REPLICATED_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    shard: str
    engine: str
    unavailable: bool
    under_replicated: bool
    page_size: int
    page_token: _queries_pb2.SegmentId
    stale: bool
    min_revision: int
    def __init__(self, shard: _Optional[str] = ..., engine: _Optional[str] = ..., unavailable: bool = ..., under_replicated: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[_Union[_queries_pb2.SegmentId, _Mapping]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListSegmentsResponse(_message.Message):
    __slots__ = ("segments", "next_page_token")
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Segment]
    next_page_token: _queries_pb2.SegmentId
    def __init__(self, segments: _Optional[_Iterable[_Union[_rows_pb2.Segment, _Mapping]]] = ..., next_page_token: _Optional[_Union[_queries_pb2.SegmentId, _Mapping]] = ...) -> None: ...

class BalanceLeadersRequest(_message.Message):
    __slots__ = ("most_moves", "dry_run")
    MOST_MOVES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    most_moves: int
    dry_run: bool
    def __init__(self, most_moves: _Optional[int] = ..., dry_run: bool = ...) -> None: ...

class BalanceLeadersResponse(_message.Message):
    __slots__ = ("moves",)
    MOVES_FIELD_NUMBER: _ClassVar[int]
    moves: _containers.RepeatedCompositeFieldContainer[_queries_pb2.LeaderMove]
    def __init__(self, moves: _Optional[_Iterable[_Union[_queries_pb2.LeaderMove, _Mapping]]] = ...) -> None: ...

class ListEnginesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "stale", "min_revision")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    stale: bool
    min_revision: int
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListEnginesResponse(_message.Message):
    __slots__ = ("engines", "next_page_token")
    ENGINES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    engines: _containers.RepeatedCompositeFieldContainer[_queries_pb2.EngineState]
    next_page_token: str
    def __init__(self, engines: _Optional[_Iterable[_Union[_queries_pb2.EngineState, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListDropsRequest(_message.Message):
    __slots__ = ("engine", "older_than_ms", "page_size", "page_token", "stale", "min_revision")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_MS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    engine: str
    older_than_ms: int
    page_size: int
    page_token: _rows_pb2.Drop
    stale: bool
    min_revision: int
    def __init__(self, engine: _Optional[str] = ..., older_than_ms: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[_Union[_rows_pb2.Drop, _Mapping]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListDropsResponse(_message.Message):
    __slots__ = ("drops", "next_page_token")
    DROPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    drops: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Drop]
    next_page_token: _rows_pb2.Drop
    def __init__(self, drops: _Optional[_Iterable[_Union[_rows_pb2.Drop, _Mapping]]] = ..., next_page_token: _Optional[_Union[_rows_pb2.Drop, _Mapping]] = ...) -> None: ...
