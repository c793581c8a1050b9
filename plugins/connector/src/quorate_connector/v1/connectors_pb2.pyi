from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Target(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TARGET_UNSPECIFIED: _ClassVar[Target]
    TARGET_RUNNING: _ClassVar[Target]
    TARGET_PAUSED: _ClassVar[Target]
    TARGET_STOPPED: _ClassVar[Target]
TARGET_UNSPECIFIED: Target
TARGET_RUNNING: Target
TARGET_PAUSED: Target
TARGET_STOPPED: Target

class Definition(_message.Message):
    __slots__ = ("type", "config", "tasks_max", "labels", "failures_max", "backoff_ms", "progress_of")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TASKS_MAX_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_MAX_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_OF_FIELD_NUMBER: _ClassVar[int]
    type: str
    config: bytes
    tasks_max: int
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    failures_max: int
    backoff_ms: int
    progress_of: _containers.RepeatedCompositeFieldContainer[ProgressField]
    def __init__(self, type: _Optional[str] = ..., config: _Optional[bytes] = ..., tasks_max: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., failures_max: _Optional[int] = ..., backoff_ms: _Optional[int] = ..., progress_of: _Optional[_Iterable[_Union[ProgressField, _Mapping]]] = ...) -> None: ...

class ProgressField(_message.Message):
    __slots__ = ("name", "digest")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    digest: bytes
    def __init__(self, name: _Optional[str] = ..., digest: _Optional[bytes] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Connector(_message.Message):
    __slots__ = ("tenant", "name", "uid", "definition", "version", "target", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    uid: int
    definition: Definition
    version: int
    target: Target
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[int] = ..., definition: _Optional[_Union[Definition, _Mapping]] = ..., version: _Optional[int] = ..., target: _Optional[_Union[Target, str]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class Version(_message.Message):
    __slots__ = ("version", "definition", "created_at_ms")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    version: int
    definition: Definition
    created_at_ms: int
    def __init__(self, version: _Optional[int] = ..., definition: _Optional[_Union[Definition, _Mapping]] = ..., created_at_ms: _Optional[int] = ...) -> None: ...

class CreateConnectorRequest(_message.Message):
    __slots__ = ("tenant", "name", "definition", "target")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    definition: Definition
    target: Target
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., definition: _Optional[_Union[Definition, _Mapping]] = ..., target: _Optional[_Union[Target, str]] = ...) -> None: ...

class CreateConnectorsRequest(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[CreateConnectorRequest]
    def __init__(self, connectors: _Optional[_Iterable[_Union[CreateConnectorRequest, _Mapping]]] = ...) -> None: ...

class UpdateConnectorRequest(_message.Message):
    __slots__ = ("tenant", "name", "definition", "expected_version", "discard_progress", "update_mask")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    DISCARD_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    definition: Definition
    expected_version: int
    discard_progress: bool
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., definition: _Optional[_Union[Definition, _Mapping]] = ..., expected_version: _Optional[int] = ..., discard_progress: bool = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateConnectorsRequest(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[UpdateConnectorRequest]
    def __init__(self, connectors: _Optional[_Iterable[_Union[UpdateConnectorRequest, _Mapping]]] = ...) -> None: ...

class PutConnectorRequest(_message.Message):
    __slots__ = ("tenant", "name", "definition", "target", "discard_progress")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DISCARD_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    definition: Definition
    target: Target
    discard_progress: bool
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., definition: _Optional[_Union[Definition, _Mapping]] = ..., target: _Optional[_Union[Target, str]] = ..., discard_progress: bool = ...) -> None: ...

class PutConnectorsRequest(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[PutConnectorRequest]
    def __init__(self, connectors: _Optional[_Iterable[_Union[PutConnectorRequest, _Mapping]]] = ...) -> None: ...

class RollBackConnectorRequest(_message.Message):
    __slots__ = ("tenant", "name", "version", "discard_progress")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DISCARD_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    version: int
    discard_progress: bool
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., discard_progress: bool = ...) -> None: ...

class RollBackConnectors(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[RollBackConnectorRequest]
    def __init__(self, connectors: _Optional[_Iterable[_Union[RollBackConnectorRequest, _Mapping]]] = ...) -> None: ...

class DeleteConnector(_message.Message):
    __slots__ = ("tenant", "name", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteConnectorsRequest(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[DeleteConnector]
    def __init__(self, connectors: _Optional[_Iterable[_Union[DeleteConnector, _Mapping]]] = ...) -> None: ...

class SetConnectorTarget(_message.Message):
    __slots__ = ("tenant", "name", "target")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    target: Target
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., target: _Optional[_Union[Target, str]] = ...) -> None: ...

class SetConnectorTargets(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[SetConnectorTarget]
    def __init__(self, connectors: _Optional[_Iterable[_Union[SetConnectorTarget, _Mapping]]] = ...) -> None: ...

class RestartTasks(_message.Message):
    __slots__ = ("tenant", "name", "tasks")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    tasks: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., tasks: _Optional[_Iterable[int]] = ...) -> None: ...

class RestartConnectors(_message.Message):
    __slots__ = ("connectors",)
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[RestartTasks]
    def __init__(self, connectors: _Optional[_Iterable[_Union[RestartTasks, _Mapping]]] = ...) -> None: ...

class GetConnectorRequest(_message.Message):
    __slots__ = ("tenant", "name", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListConnectorsRequest(_message.Message):
    __slots__ = ("tenant", "name_prefix", "type", "page_size", "page_token", "stale", "min_revision")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name_prefix: str
    type: str
    page_size: int
    page_token: bytes
    stale: bool
    min_revision: int
    def __init__(self, tenant: _Optional[str] = ..., name_prefix: _Optional[str] = ..., type: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ..., min_revision: _Optional[int] = ...) -> None: ...

class ListConnectorsResponse(_message.Message):
    __slots__ = ("connectors", "next_page_token")
    CONNECTORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    connectors: _containers.RepeatedCompositeFieldContainer[Connector]
    next_page_token: bytes
    def __init__(self, connectors: _Optional[_Iterable[_Union[Connector, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class ListVersionsRequest(_message.Message):
    __slots__ = ("tenant", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ListVersionsResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[Version]
    def __init__(self, versions: _Optional[_Iterable[_Union[Version, _Mapping]]] = ...) -> None: ...

class ListTypesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTypesResponse(_message.Message):
    __slots__ = ("types",)
    TYPES_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedCompositeFieldContainer[ConnectorTypeInfo]
    def __init__(self, types: _Optional[_Iterable[_Union[ConnectorTypeInfo, _Mapping]]] = ...) -> None: ...

class ConnectorTypeInfo(_message.Message):
    __slots__ = ("name", "json_schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JSON_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    json_schema: str
    def __init__(self, name: _Optional[str] = ..., json_schema: _Optional[str] = ...) -> None: ...
