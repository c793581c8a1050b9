from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_offset.v1 import commands_pb2 as _commands_pb2
from quorate_offset.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PutGroupsRequest(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_commands_pb2.SubscriptionGroupChange]
    def __init__(self, groups: _Optional[_Iterable[_Union[_commands_pb2.SubscriptionGroupChange, _Mapping]]] = ...) -> None: ...

class PutGroupsResponse(_message.Message):
    __slots__ = ("groups", "refusals", "revisions")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_commands_pb2.PutSubscriptionGroupReply]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, groups: _Optional[_Iterable[_Union[_commands_pb2.PutSubscriptionGroupReply, _Mapping]]] = ..., refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class DeleteGroupsRequest(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[_commands_pb2.SubscriptionGroupDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[_commands_pb2.SubscriptionGroupDeletion, _Mapping]]] = ...) -> None: ...

class DeleteGroupsResponse(_message.Message):
    __slots__ = ("refusals", "revisions")
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    revisions: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ShardRevision]
    def __init__(self, refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ..., revisions: _Optional[_Iterable[_Union[_batch_pb2.ShardRevision, _Mapping]]] = ...) -> None: ...

class GetGroupRequest(_message.Message):
    __slots__ = ("tenant", "group", "stale")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    stale: bool
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., stale: bool = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "stale")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    stale: bool
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ...) -> None: ...

class ListGroupsResponse(_message.Message):
    __slots__ = ("groups", "next_page_token", "age_ms")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_rows_pb2.SubscriptionGroup]
    next_page_token: bytes
    age_ms: int
    def __init__(self, groups: _Optional[_Iterable[_Union[_rows_pb2.SubscriptionGroup, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ..., age_ms: _Optional[int] = ...) -> None: ...
