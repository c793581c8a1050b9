from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FlagType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FLAG_TYPE_UNSPECIFIED: _ClassVar[FlagType]
    FLAG_TYPE_BOOLEAN: _ClassVar[FlagType]
    FLAG_TYPE_TEXT: _ClassVar[FlagType]
    FLAG_TYPE_NUMBER: _ClassVar[FlagType]
FLAG_TYPE_UNSPECIFIED: FlagType
FLAG_TYPE_BOOLEAN: FlagType
FLAG_TYPE_TEXT: FlagType
FLAG_TYPE_NUMBER: FlagType

class Project(_message.Message):
    __slots__ = ("tenant", "project", "owner", "deleting_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    owner: str
    deleting_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., owner: _Optional[str] = ..., deleting_at_ms: _Optional[int] = ...) -> None: ...

class CreateProjects(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Project]
    def __init__(self, rows: _Optional[_Iterable[_Union[Project, _Mapping]]] = ...) -> None: ...

class UpdateProjects(_message.Message):
    __slots__ = ("rows", "update_mask")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Project]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rows: _Optional[_Iterable[_Union[Project, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutProjects(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Project]
    def __init__(self, rows: _Optional[_Iterable[_Union[Project, _Mapping]]] = ...) -> None: ...

class ProjectDeletion(_message.Message):
    __slots__ = ("tenant", "project", "expected_revision", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    expected_revision: int
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., expected_revision: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteProjects(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[ProjectDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[ProjectDeletion, _Mapping]]] = ...) -> None: ...

class ProjectKey(_message.Message):
    __slots__ = ("tenant", "project")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ...) -> None: ...

class GetProjects(_message.Message):
    __slots__ = ("keys", "stale", "min_revision")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[ProjectKey]
    stale: bool
    min_revision: int
    def __init__(self, keys: _Optional[_Iterable[_Union[ProjectKey, _Mapping]]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListProjects(_message.Message):
    __slots__ = ("tenant", "prefix", "owner", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    owner: str
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., owner: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ProjectPage(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Project]
    next_page_token: bytes
    def __init__(self, rows: _Optional[_Iterable[_Union[Project, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class SweepProjects(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Environment(_message.Message):
    __slots__ = ("tenant", "project", "environment", "frozen", "deleting_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    frozen: bool
    deleting_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., frozen: bool = ..., deleting_at_ms: _Optional[int] = ...) -> None: ...

class CreateEnvironments(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Environment]
    def __init__(self, rows: _Optional[_Iterable[_Union[Environment, _Mapping]]] = ...) -> None: ...

class UpdateEnvironments(_message.Message):
    __slots__ = ("rows", "update_mask")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Environment]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rows: _Optional[_Iterable[_Union[Environment, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutEnvironments(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Environment]
    def __init__(self, rows: _Optional[_Iterable[_Union[Environment, _Mapping]]] = ...) -> None: ...

class EnvironmentDeletion(_message.Message):
    __slots__ = ("tenant", "project", "environment", "expected_revision", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    expected_revision: int
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., expected_revision: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteEnvironments(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[EnvironmentDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[EnvironmentDeletion, _Mapping]]] = ...) -> None: ...

class EnvironmentKey(_message.Message):
    __slots__ = ("tenant", "project", "environment")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ...) -> None: ...

class GetEnvironments(_message.Message):
    __slots__ = ("keys", "stale", "min_revision")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[EnvironmentKey]
    stale: bool
    min_revision: int
    def __init__(self, keys: _Optional[_Iterable[_Union[EnvironmentKey, _Mapping]]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListEnvironments(_message.Message):
    __slots__ = ("tenant", "project", "prefix", "frozen", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    prefix: str
    frozen: bool
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., prefix: _Optional[str] = ..., frozen: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class EnvironmentPage(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Environment]
    next_page_token: bytes
    def __init__(self, rows: _Optional[_Iterable[_Union[Environment, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class SweepEnvironments(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Flag(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "type", "default_value", "labels", "rules", "version", "finished_at_ms", "deleting_at_ms")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    type: FlagType
    default_value: str
    labels: _containers.ScalarMap[str, str]
    rules: _containers.RepeatedCompositeFieldContainer[Rule]
    version: int
    finished_at_ms: int
    deleting_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., type: _Optional[_Union[FlagType, str]] = ..., default_value: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., rules: _Optional[_Iterable[_Union[Rule, _Mapping]]] = ..., version: _Optional[int] = ..., finished_at_ms: _Optional[int] = ..., deleting_at_ms: _Optional[int] = ...) -> None: ...

class CreateFlags(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Flag]
    def __init__(self, rows: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ...) -> None: ...

class UpdateFlags(_message.Message):
    __slots__ = ("rows", "update_mask")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Flag]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rows: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutFlags(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Flag]
    def __init__(self, rows: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ...) -> None: ...

class FlagDeletion(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "expected_revision", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    expected_revision: int
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., expected_revision: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteFlags(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[FlagDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[FlagDeletion, _Mapping]]] = ...) -> None: ...

class FlagRollout(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "rules", "expected_version")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    rules: _containers.RepeatedCompositeFieldContainer[Rule]
    expected_version: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[Rule, _Mapping]]] = ..., expected_version: _Optional[int] = ...) -> None: ...

class RolloutFlags(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[FlagRollout]
    def __init__(self, items: _Optional[_Iterable[_Union[FlagRollout, _Mapping]]] = ...) -> None: ...

class FlagRetire(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "before_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    before_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., before_ms: _Optional[int] = ...) -> None: ...

class RetireFlags(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[FlagRetire]
    def __init__(self, items: _Optional[_Iterable[_Union[FlagRetire, _Mapping]]] = ...) -> None: ...

class FlagKey(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class GetFlags(_message.Message):
    __slots__ = ("keys", "stale", "min_revision")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[FlagKey]
    stale: bool
    min_revision: int
    def __init__(self, keys: _Optional[_Iterable[_Union[FlagKey, _Mapping]]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListFlags(_message.Message):
    __slots__ = ("tenant", "project", "environment", "prefix", "type", "labels", "ruled", "page_size", "page_token", "stale", "min_revision")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RULED_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    prefix: str
    type: FlagType
    labels: _containers.ScalarMap[str, str]
    ruled: bool
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., prefix: _Optional[str] = ..., type: _Optional[_Union[FlagType, str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., ruled: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class FlagPage(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Flag]
    next_page_token: bytes
    def __init__(self, rows: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class SweepFlags(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class FlagState(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "number", "written_at_ms", "state")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    number: int
    written_at_ms: int
    state: Flag
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., number: _Optional[int] = ..., written_at_ms: _Optional[int] = ..., state: _Optional[_Union[Flag, _Mapping]] = ...) -> None: ...

class FlagStateKey(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "number")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    number: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class GetFlagStates(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[FlagStateKey]
    def __init__(self, keys: _Optional[_Iterable[_Union[FlagStateKey, _Mapping]]] = ...) -> None: ...

class ListFlagStates(_message.Message):
    __slots__ = ("tenant", "project", "environment", "key", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    key: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class FlagStatePage(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[FlagState]
    next_page_token: bytes
    def __init__(self, rows: _Optional[_Iterable[_Union[FlagState, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("tenant", "project", "environment", "name", "users", "ttl_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    name: str
    users: _containers.RepeatedScalarFieldContainer[str]
    ttl_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., name: _Optional[str] = ..., users: _Optional[_Iterable[str]] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class CreateSegments(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Segment]
    def __init__(self, rows: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ...) -> None: ...

class UpdateSegments(_message.Message):
    __slots__ = ("rows", "update_mask")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Segment]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rows: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutSegments(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Segment]
    def __init__(self, rows: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ...) -> None: ...

class SegmentDeletion(_message.Message):
    __slots__ = ("tenant", "project", "environment", "name", "expected_revision", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    name: str
    expected_revision: int
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., name: _Optional[str] = ..., expected_revision: _Optional[int] = ..., missing_ok: bool = ...) -> None: ...

class DeleteSegments(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[SegmentDeletion]
    def __init__(self, deletions: _Optional[_Iterable[_Union[SegmentDeletion, _Mapping]]] = ...) -> None: ...

class SegmentExtend(_message.Message):
    __slots__ = ("tenant", "project", "environment", "name", "ttl_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    name: str
    ttl_ms: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., name: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class ExtendSegments(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SegmentExtend]
    def __init__(self, items: _Optional[_Iterable[_Union[SegmentExtend, _Mapping]]] = ...) -> None: ...

class SegmentKey(_message.Message):
    __slots__ = ("tenant", "project", "environment", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetSegments(_message.Message):
    __slots__ = ("keys", "stale", "min_revision")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[SegmentKey]
    stale: bool
    min_revision: int
    def __init__(self, keys: _Optional[_Iterable[_Union[SegmentKey, _Mapping]]] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListSegments(_message.Message):
    __slots__ = ("tenant", "project", "environment", "prefix", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    project: str
    environment: str
    prefix: str
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., project: _Optional[str] = ..., environment: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class SegmentPage(_message.Message):
    __slots__ = ("rows", "next_page_token")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Segment]
    next_page_token: bytes
    def __init__(self, rows: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class ExpireSegments(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class SegmentExpired(_message.Message):
    __slots__ = ("row",)
    ROW_FIELD_NUMBER: _ClassVar[int]
    row: Segment
    def __init__(self, row: _Optional[_Union[Segment, _Mapping]] = ...) -> None: ...

class Rule(_message.Message):
    __slots__ = ("value", "segment", "percent")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    value: str
    segment: str
    percent: int
    def __init__(self, value: _Optional[str] = ..., segment: _Optional[str] = ..., percent: _Optional[int] = ...) -> None: ...
