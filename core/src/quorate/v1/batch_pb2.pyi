from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchReply(_message.Message):
    __slots__ = ("items", "refusals", "replies", "revisions", "forgotten")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REPLIES_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    items: int
    refusals: _containers.RepeatedCompositeFieldContainer[ItemRefusal]
    replies: _containers.RepeatedScalarFieldContainer[bytes]
    revisions: _containers.RepeatedCompositeFieldContainer[ShardRevision]
    forgotten: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, items: _Optional[int] = ..., refusals: _Optional[_Iterable[_Union[ItemRefusal, _Mapping]]] = ..., replies: _Optional[_Iterable[bytes]] = ..., revisions: _Optional[_Iterable[_Union[ShardRevision, _Mapping]]] = ..., forgotten: _Optional[_Iterable[int]] = ...) -> None: ...

class ItemRefusal(_message.Message):
    __slots__ = ("item", "code", "message")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    item: int
    code: str
    message: str
    def __init__(self, item: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ShardRevision(_message.Message):
    __slots__ = ("shard", "revision")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    shard: int
    revision: int
    def __init__(self, shard: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...
