from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SharedGroup(_message.Message):
    __slots__ = ("id", "leader", "leader_epoch", "leader_term", "created_at_ms", "parameters")
    ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEADER_TERM_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    id: int
    leader: str
    leader_epoch: int
    leader_term: int
    created_at_ms: int
    parameters: bytes
    def __init__(self, id: _Optional[int] = ..., leader: _Optional[str] = ..., leader_epoch: _Optional[int] = ..., leader_term: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., parameters: _Optional[bytes] = ...) -> None: ...

class KeyedSharedGroup(_message.Message):
    __slots__ = ("tenant", "name", "group", "revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    group: SharedGroup
    revision: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., group: _Optional[_Union[SharedGroup, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class SharedGroupMember(_message.Message):
    __slots__ = ("broker", "broker_epoch", "connection_id", "joined_at_ms", "parameters")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    JOINED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    broker: str
    broker_epoch: int
    connection_id: int
    joined_at_ms: int
    parameters: bytes
    def __init__(self, broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., connection_id: _Optional[int] = ..., joined_at_ms: _Optional[int] = ..., parameters: _Optional[bytes] = ...) -> None: ...

class KeyedSharedGroupMember(_message.Message):
    __slots__ = ("tenant", "group", "client_id", "filter", "member")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    client_id: str
    filter: str
    member: SharedGroupMember
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., member: _Optional[_Union[SharedGroupMember, _Mapping]] = ...) -> None: ...

class CreateSharedGroup(_message.Message):
    __slots__ = ("tenant", "name", "parameters")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    parameters: bytes
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., parameters: _Optional[bytes] = ...) -> None: ...

class CreateSharedGroups(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[CreateSharedGroup]
    def __init__(self, groups: _Optional[_Iterable[_Union[CreateSharedGroup, _Mapping]]] = ...) -> None: ...

class UpdateSharedGroup(_message.Message):
    __slots__ = ("tenant", "name", "parameters")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    parameters: bytes
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., parameters: _Optional[bytes] = ...) -> None: ...

class UpdateSharedGroups(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[UpdateSharedGroup]
    def __init__(self, groups: _Optional[_Iterable[_Union[UpdateSharedGroup, _Mapping]]] = ...) -> None: ...

class DeleteSharedGroup(_message.Message):
    __slots__ = ("tenant", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteSharedGroupReply(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: bool = ...) -> None: ...

class DeleteSharedGroups(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[DeleteSharedGroup]
    def __init__(self, groups: _Optional[_Iterable[_Union[DeleteSharedGroup, _Mapping]]] = ...) -> None: ...

class JoinSharedGroup(_message.Message):
    __slots__ = ("tenant", "group", "client_id", "filter", "broker", "broker_epoch", "connection_id", "parameters")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    client_id: str
    filter: str
    broker: str
    broker_epoch: int
    connection_id: int
    parameters: bytes
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., connection_id: _Optional[int] = ..., parameters: _Optional[bytes] = ...) -> None: ...

class JoinSharedGroups(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[JoinSharedGroup]
    def __init__(self, members: _Optional[_Iterable[_Union[JoinSharedGroup, _Mapping]]] = ...) -> None: ...

class LeaveSharedGroup(_message.Message):
    __slots__ = ("tenant", "group", "client_id", "filter", "broker_epoch")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    client_id: str
    filter: str
    broker_epoch: int
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., client_id: _Optional[str] = ..., filter: _Optional[str] = ..., broker_epoch: _Optional[int] = ...) -> None: ...

class LeaveSharedGroupReply(_message.Message):
    __slots__ = ("left",)
    LEFT_FIELD_NUMBER: _ClassVar[int]
    left: bool
    def __init__(self, left: bool = ...) -> None: ...

class LeaveSharedGroups(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[LeaveSharedGroup]
    def __init__(self, members: _Optional[_Iterable[_Union[LeaveSharedGroup, _Mapping]]] = ...) -> None: ...

class GetSharedGroupRequest(_message.Message):
    __slots__ = ("tenant", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetSharedGroupsRequest(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GetSharedGroupRequest]
    def __init__(self, groups: _Optional[_Iterable[_Union[GetSharedGroupRequest, _Mapping]]] = ...) -> None: ...

class SharedGroupLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[SharedGroupLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[SharedGroupLookup, _Mapping]]] = ...) -> None: ...

class SharedGroupLookup(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: KeyedSharedGroup
    def __init__(self, group: _Optional[_Union[KeyedSharedGroup, _Mapping]] = ...) -> None: ...

class ListSharedGroupsRequest(_message.Message):
    __slots__ = ("tenant", "leader", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    leader: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., leader: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListSharedGroupsResponse(_message.Message):
    __slots__ = ("groups", "next_page_token")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[KeyedSharedGroup]
    next_page_token: bytes
    def __init__(self, groups: _Optional[_Iterable[_Union[KeyedSharedGroup, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class ListSharedGroupMembersRequest(_message.Message):
    __slots__ = ("tenant", "group", "broker", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    group: str
    broker: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., group: _Optional[str] = ..., broker: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListSharedGroupMembersResponse(_message.Message):
    __slots__ = ("members", "next_page_token")
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[KeyedSharedGroupMember]
    next_page_token: bytes
    def __init__(self, members: _Optional[_Iterable[_Union[KeyedSharedGroupMember, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
