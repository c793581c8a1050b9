from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Quota(_message.Message):
    __slots__ = ("kind", "name", "rows", "bytes", "commands_per_s", "calls_per_s", "watches", "connections", "created_at_ms", "updated_at_ms")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_PER_S_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_S_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    rows: int
    bytes: int
    commands_per_s: int
    calls_per_s: int
    watches: int
    connections: int
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., rows: _Optional[int] = ..., bytes: _Optional[int] = ..., commands_per_s: _Optional[int] = ..., calls_per_s: _Optional[int] = ..., watches: _Optional[int] = ..., connections: _Optional[int] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class CreateQuotas(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    def __init__(self, quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ...) -> None: ...

class UpdateQuotas(_message.Message):
    __slots__ = ("quotas", "update_mask")
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutQuotas(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    def __init__(self, quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ...) -> None: ...

class QuotaName(_message.Message):
    __slots__ = ("kind", "name", "missing_ok")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    missing_ok: bool
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteQuotas(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[QuotaName]
    def __init__(self, quotas: _Optional[_Iterable[_Union[QuotaName, _Mapping]]] = ...) -> None: ...

class GetQuotas(_message.Message):
    __slots__ = ("quotas",)
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[QuotaName]
    def __init__(self, quotas: _Optional[_Iterable[_Union[QuotaName, _Mapping]]] = ...) -> None: ...

class ListQuotas(_message.Message):
    __slots__ = ("kind", "page_size", "page_token")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    kind: str
    page_size: int
    page_token: bytes
    def __init__(self, kind: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class QuotaPage(_message.Message):
    __slots__ = ("quotas", "next_page_token")
    QUOTAS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    quotas: _containers.RepeatedCompositeFieldContainer[Quota]
    next_page_token: bytes
    def __init__(self, quotas: _Optional[_Iterable[_Union[Quota, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class TenantUsage(_message.Message):
    __slots__ = ("tenant", "shard", "rows", "bytes", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    shard: str
    rows: int
    bytes: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., shard: _Optional[str] = ..., rows: _Optional[int] = ..., bytes: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class ReportTenantUsages(_message.Message):
    __slots__ = ("usages",)
    USAGES_FIELD_NUMBER: _ClassVar[int]
    usages: _containers.RepeatedCompositeFieldContainer[TenantUsage]
    def __init__(self, usages: _Optional[_Iterable[_Union[TenantUsage, _Mapping]]] = ...) -> None: ...

class ListTenantUsages(_message.Message):
    __slots__ = ("tenant", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class TenantUsagePage(_message.Message):
    __slots__ = ("usages", "next_page_token")
    USAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    usages: _containers.RepeatedCompositeFieldContainer[TenantUsage]
    next_page_token: bytes
    def __init__(self, usages: _Optional[_Iterable[_Union[TenantUsage, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
