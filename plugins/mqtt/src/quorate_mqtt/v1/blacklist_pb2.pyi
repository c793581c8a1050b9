from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_mqtt.v1 import definitions_pb2 as _definitions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BlacklistKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BLACKLIST_KIND_UNSPECIFIED: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_CLIENT_ID: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_USER: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_IP: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_CLIENT_ID_PATTERN: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_USER_PATTERN: _ClassVar[BlacklistKind]
    BLACKLIST_KIND_CIDR: _ClassVar[BlacklistKind]
BLACKLIST_KIND_UNSPECIFIED: BlacklistKind
BLACKLIST_KIND_CLIENT_ID: BlacklistKind
BLACKLIST_KIND_USER: BlacklistKind
BLACKLIST_KIND_IP: BlacklistKind
BLACKLIST_KIND_CLIENT_ID_PATTERN: BlacklistKind
BLACKLIST_KIND_USER_PATTERN: BlacklistKind
BLACKLIST_KIND_CIDR: BlacklistKind

class BlacklistEntry(_message.Message):
    __slots__ = ("tenant", "name", "description", "kind", "subject", "ends_at_ms", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ENDS_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    kind: BlacklistKind
    subject: str
    ends_at_ms: int
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., kind: _Optional[_Union[BlacklistKind, str]] = ..., subject: _Optional[str] = ..., ends_at_ms: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class BlacklistEntryRequest(_message.Message):
    __slots__ = ("definition", "update_mask")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    definition: BlacklistEntry
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, definition: _Optional[_Union[BlacklistEntry, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class CreateBlacklistEntries(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[BlacklistEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[BlacklistEntry, _Mapping]]] = ...) -> None: ...

class UpdateBlacklistEntries(_message.Message):
    __slots__ = ("entries", "update_mask")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[BlacklistEntry]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, entries: _Optional[_Iterable[_Union[BlacklistEntry, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutBlacklistEntries(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[BlacklistEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[BlacklistEntry, _Mapping]]] = ...) -> None: ...

class DeleteBlacklistEntries(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class ListBlacklistEntriesRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "kind", "subject")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    kind: BlacklistKind
    subject: str
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., kind: _Optional[_Union[BlacklistKind, str]] = ..., subject: _Optional[str] = ...) -> None: ...

class BlacklistEntryPage(_message.Message):
    __slots__ = ("entries", "next_page_token")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[BlacklistEntry]
    next_page_token: bytes
    def __init__(self, entries: _Optional[_Iterable[_Union[BlacklistEntry, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class BlacklistEntryLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[BlacklistEntryLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[BlacklistEntryLookup, _Mapping]]] = ...) -> None: ...

class BlacklistEntryLookup(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: BlacklistEntry
    def __init__(self, definition: _Optional[_Union[BlacklistEntry, _Mapping]] = ...) -> None: ...

class EndBlacklistEntries(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...
