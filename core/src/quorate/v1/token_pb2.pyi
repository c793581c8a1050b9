from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchToken(_message.Message):
    __slots__ = ("cluster_id", "generation", "positions")
    class Position(_message.Message):
        __slots__ = ("group", "shard", "revision")
        GROUP_FIELD_NUMBER: _ClassVar[int]
        SHARD_FIELD_NUMBER: _ClassVar[int]
        REVISION_FIELD_NUMBER: _ClassVar[int]
        group: str
        shard: int
        revision: int
        def __init__(self, group: _Optional[str] = ..., shard: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: bytes
    generation: int
    positions: _containers.RepeatedCompositeFieldContainer[WatchToken.Position]
    def __init__(self, cluster_id: _Optional[bytes] = ..., generation: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[WatchToken.Position, _Mapping]]] = ...) -> None: ...
