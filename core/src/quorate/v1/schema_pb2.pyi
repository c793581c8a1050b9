from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SchemaKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEMA_KIND_UNSPECIFIED: _ClassVar[SchemaKind]
    SCHEMA_KIND_JSON: _ClassVar[SchemaKind]
    SCHEMA_KIND_AVRO: _ClassVar[SchemaKind]
    SCHEMA_KIND_PROTOBUF: _ClassVar[SchemaKind]

class SchemaCompatibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEMA_COMPATIBILITY_UNSPECIFIED: _ClassVar[SchemaCompatibility]
    SCHEMA_COMPATIBILITY_NONE: _ClassVar[SchemaCompatibility]
    SCHEMA_COMPATIBILITY_BACKWARD: _ClassVar[SchemaCompatibility]
    SCHEMA_COMPATIBILITY_FORWARD: _ClassVar[SchemaCompatibility]
    SCHEMA_COMPATIBILITY_FULL: _ClassVar[SchemaCompatibility]
SCHEMA_KIND_UNSPECIFIED: SchemaKind
SCHEMA_KIND_JSON: SchemaKind
SCHEMA_KIND_AVRO: SchemaKind
SCHEMA_KIND_PROTOBUF: SchemaKind
SCHEMA_COMPATIBILITY_UNSPECIFIED: SchemaCompatibility
SCHEMA_COMPATIBILITY_NONE: SchemaCompatibility
SCHEMA_COMPATIBILITY_BACKWARD: SchemaCompatibility
SCHEMA_COMPATIBILITY_FORWARD: SchemaCompatibility
SCHEMA_COMPATIBILITY_FULL: SchemaCompatibility

class SchemaVerdict(_message.Message):
    __slots__ = ("version", "mode", "refusal")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    version: int
    mode: SchemaCompatibility
    refusal: str
    def __init__(self, version: _Optional[int] = ..., mode: _Optional[_Union[SchemaCompatibility, str]] = ..., refusal: _Optional[str] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("tenant", "name", "kind", "version", "created_at_ms", "updated_at_ms", "description", "compatibility")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COMPATIBILITY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    kind: SchemaKind
    version: int
    created_at_ms: int
    updated_at_ms: int
    description: str
    compatibility: SchemaCompatibility
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[SchemaKind, str]] = ..., version: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ..., description: _Optional[str] = ..., compatibility: _Optional[_Union[SchemaCompatibility, str]] = ...) -> None: ...

class SchemaVersion(_message.Message):
    __slots__ = ("tenant", "name", "version", "kind", "definition", "created_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    version: int
    kind: SchemaKind
    definition: bytes
    created_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., kind: _Optional[_Union[SchemaKind, str]] = ..., definition: _Optional[bytes] = ..., created_at_ms: _Optional[int] = ...) -> None: ...

class SchemaBinding(_message.Message):
    __slots__ = ("tenant", "resource", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    resource: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., resource: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CreateSchema(_message.Message):
    __slots__ = ("tenant", "name", "kind", "definition", "description", "compatibility", "verdict")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COMPATIBILITY_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    kind: SchemaKind
    definition: bytes
    description: str
    compatibility: SchemaCompatibility
    verdict: SchemaVerdict
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[SchemaKind, str]] = ..., definition: _Optional[bytes] = ..., description: _Optional[str] = ..., compatibility: _Optional[_Union[SchemaCompatibility, str]] = ..., verdict: _Optional[_Union[SchemaVerdict, _Mapping]] = ...) -> None: ...

class CreateSchemas(_message.Message):
    __slots__ = ("schemas",)
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[CreateSchema]
    def __init__(self, schemas: _Optional[_Iterable[_Union[CreateSchema, _Mapping]]] = ...) -> None: ...

class UpdateSchema(_message.Message):
    __slots__ = ("tenant", "name", "definition", "expected_version", "description", "update_mask", "compatibility", "verdict")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    COMPATIBILITY_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    definition: bytes
    expected_version: int
    description: str
    update_mask: _field_mask_pb2.FieldMask
    compatibility: SchemaCompatibility
    verdict: SchemaVerdict
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., definition: _Optional[bytes] = ..., expected_version: _Optional[int] = ..., description: _Optional[str] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., compatibility: _Optional[_Union[SchemaCompatibility, str]] = ..., verdict: _Optional[_Union[SchemaVerdict, _Mapping]] = ...) -> None: ...

class UpdateSchemas(_message.Message):
    __slots__ = ("schemas",)
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[UpdateSchema]
    def __init__(self, schemas: _Optional[_Iterable[_Union[UpdateSchema, _Mapping]]] = ...) -> None: ...

class PutSchema(_message.Message):
    __slots__ = ("tenant", "name", "kind", "definition", "description", "compatibility", "verdict")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COMPATIBILITY_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    kind: SchemaKind
    definition: bytes
    description: str
    compatibility: SchemaCompatibility
    verdict: SchemaVerdict
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[SchemaKind, str]] = ..., definition: _Optional[bytes] = ..., description: _Optional[str] = ..., compatibility: _Optional[_Union[SchemaCompatibility, str]] = ..., verdict: _Optional[_Union[SchemaVerdict, _Mapping]] = ...) -> None: ...

class PutSchemas(_message.Message):
    __slots__ = ("schemas",)
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[PutSchema]
    def __init__(self, schemas: _Optional[_Iterable[_Union[PutSchema, _Mapping]]] = ...) -> None: ...

class DeleteSchema(_message.Message):
    __slots__ = ("tenant", "name", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteSchemas(_message.Message):
    __slots__ = ("schemas",)
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[DeleteSchema]
    def __init__(self, schemas: _Optional[_Iterable[_Union[DeleteSchema, _Mapping]]] = ...) -> None: ...

class BindSchema(_message.Message):
    __slots__ = ("tenant", "resource", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    resource: str
    name: str
    def __init__(self, tenant: _Optional[str] = ..., resource: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class BindSchemas(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[BindSchema]
    def __init__(self, bindings: _Optional[_Iterable[_Union[BindSchema, _Mapping]]] = ...) -> None: ...

class UnbindSchema(_message.Message):
    __slots__ = ("tenant", "resource", "name", "missing_ok")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    resource: str
    name: str
    missing_ok: bool
    def __init__(self, tenant: _Optional[str] = ..., resource: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class UnbindSchemas(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[UnbindSchema]
    def __init__(self, bindings: _Optional[_Iterable[_Union[UnbindSchema, _Mapping]]] = ...) -> None: ...

class GetSchema(_message.Message):
    __slots__ = ("tenant", "name", "version")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    version: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ListSchemas(_message.Message):
    __slots__ = ("tenant", "prefix", "after", "limit", "page_token", "definitions")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DEFINITIONS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    after: str
    limit: int
    page_token: bytes
    definitions: bool
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., after: _Optional[str] = ..., limit: _Optional[int] = ..., page_token: _Optional[bytes] = ..., definitions: bool = ...) -> None: ...

class SchemaPage(_message.Message):
    __slots__ = ("schemas", "next_after", "next_page_token", "versions")
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    schemas: _containers.RepeatedCompositeFieldContainer[Schema]
    next_after: str
    next_page_token: bytes
    versions: _containers.RepeatedCompositeFieldContainer[SchemaVersion]
    def __init__(self, schemas: _Optional[_Iterable[_Union[Schema, _Mapping]]] = ..., next_after: _Optional[str] = ..., next_page_token: _Optional[bytes] = ..., versions: _Optional[_Iterable[_Union[SchemaVersion, _Mapping]]] = ...) -> None: ...

class ListSchemaBindings(_message.Message):
    __slots__ = ("tenant", "resource", "after", "limit", "page_token", "name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    resource: str
    after: SchemaBinding
    limit: int
    page_token: bytes
    name: str
    def __init__(self, tenant: _Optional[str] = ..., resource: _Optional[str] = ..., after: _Optional[_Union[SchemaBinding, _Mapping]] = ..., limit: _Optional[int] = ..., page_token: _Optional[bytes] = ..., name: _Optional[str] = ...) -> None: ...

class SchemaBindingPage(_message.Message):
    __slots__ = ("bindings", "next_after", "next_page_token")
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[SchemaBinding]
    next_after: SchemaBinding
    next_page_token: bytes
    def __init__(self, bindings: _Optional[_Iterable[_Union[SchemaBinding, _Mapping]]] = ..., next_after: _Optional[_Union[SchemaBinding, _Mapping]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
