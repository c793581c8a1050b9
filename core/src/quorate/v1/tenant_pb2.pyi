from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Tenant(_message.Message):
    __slots__ = ("name", "id", "description", "limits", "created_at_ms", "deleting_at_ms", "cascades")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETING_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CASCADES_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: int
    description: str
    limits: _containers.ScalarMap[str, int]
    created_at_ms: int
    deleting_at_ms: int
    cascades: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., id: _Optional[int] = ..., description: _Optional[str] = ..., limits: _Optional[_Mapping[str, int]] = ..., created_at_ms: _Optional[int] = ..., deleting_at_ms: _Optional[int] = ..., cascades: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateTenant(_message.Message):
    __slots__ = ("name", "description", "limits")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    limits: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., limits: _Optional[_Mapping[str, int]] = ...) -> None: ...

class CreateTenants(_message.Message):
    __slots__ = ("tenants",)
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[CreateTenant]
    def __init__(self, tenants: _Optional[_Iterable[_Union[CreateTenant, _Mapping]]] = ...) -> None: ...

class UpdateTenant(_message.Message):
    __slots__ = ("name", "description", "limits", "update_mask")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    limits: _containers.ScalarMap[str, int]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., limits: _Optional[_Mapping[str, int]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateTenants(_message.Message):
    __slots__ = ("tenants",)
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[UpdateTenant]
    def __init__(self, tenants: _Optional[_Iterable[_Union[UpdateTenant, _Mapping]]] = ...) -> None: ...

class PutTenant(_message.Message):
    __slots__ = ("name", "description", "limits")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    limits: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., limits: _Optional[_Mapping[str, int]] = ...) -> None: ...

class PutTenants(_message.Message):
    __slots__ = ("tenants",)
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[PutTenant]
    def __init__(self, tenants: _Optional[_Iterable[_Union[PutTenant, _Mapping]]] = ...) -> None: ...

class DeleteTenantRequest(_message.Message):
    __slots__ = ("name", "cascade", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CASCADE_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    cascade: bool
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., cascade: bool = ..., missing_ok: bool = ...) -> None: ...

class DeleteTenantsRequest(_message.Message):
    __slots__ = ("deletions",)
    DELETIONS_FIELD_NUMBER: _ClassVar[int]
    deletions: _containers.RepeatedCompositeFieldContainer[DeleteTenantRequest]
    def __init__(self, deletions: _Optional[_Iterable[_Union[DeleteTenantRequest, _Mapping]]] = ...) -> None: ...

class MarkTenant(_message.Message):
    __slots__ = ("name", "cascades", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CASCADES_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    cascades: _containers.RepeatedScalarFieldContainer[str]
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., cascades: _Optional[_Iterable[str]] = ..., missing_ok: bool = ...) -> None: ...

class MarkTenants(_message.Message):
    __slots__ = ("tenants",)
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[MarkTenant]
    def __init__(self, tenants: _Optional[_Iterable[_Union[MarkTenant, _Mapping]]] = ...) -> None: ...

class FinishTenantCascade(_message.Message):
    __slots__ = ("name", "id", "cascade")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    CASCADE_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: int
    cascade: str
    def __init__(self, name: _Optional[str] = ..., id: _Optional[int] = ..., cascade: _Optional[str] = ...) -> None: ...

class FinishTenantCascades(_message.Message):
    __slots__ = ("cascades",)
    CASCADES_FIELD_NUMBER: _ClassVar[int]
    cascades: _containers.RepeatedCompositeFieldContainer[FinishTenantCascade]
    def __init__(self, cascades: _Optional[_Iterable[_Union[FinishTenantCascade, _Mapping]]] = ...) -> None: ...

class GetTenantRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListTenants(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class TenantPage(_message.Message):
    __slots__ = ("tenants", "next_page_token")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[Tenant]
    next_page_token: bytes
    def __init__(self, tenants: _Optional[_Iterable[_Union[Tenant, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
