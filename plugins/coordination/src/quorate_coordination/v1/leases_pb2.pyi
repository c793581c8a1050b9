from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import command_pb2 as _command_pb2
from quorate.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Lease(_message.Message):
    __slots__ = ("name", "ttl_ms", "owner", "created_at_ms", "token", "holds")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    ttl_ms: int
    owner: str
    created_at_ms: int
    token: int
    holds: int
    def __init__(self, name: _Optional[str] = ..., ttl_ms: _Optional[int] = ..., owner: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., token: _Optional[int] = ..., holds: _Optional[int] = ...) -> None: ...

class CreateLeases(_message.Message):
    __slots__ = ("leases",)
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ...) -> None: ...

class RenewLeases(_message.Message):
    __slots__ = ("leases",)
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[LeaseRenewal]
    def __init__(self, leases: _Optional[_Iterable[_Union[LeaseRenewal, _Mapping]]] = ...) -> None: ...

class LeaseRenewal(_message.Message):
    __slots__ = ("name", "token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    token: int
    def __init__(self, name: _Optional[str] = ..., token: _Optional[int] = ...) -> None: ...

class LeaseRenewed(_message.Message):
    __slots__ = ("expires_at_ms",)
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    expires_at_ms: int
    def __init__(self, expires_at_ms: _Optional[int] = ...) -> None: ...

class DeleteLeases(_message.Message):
    __slots__ = ("names", "missing_ok")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    missing_ok: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., missing_ok: bool = ...) -> None: ...

class ExpireLeases(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetLeases(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class ListLeases(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class LeasePage(_message.Message):
    __slots__ = ("leases", "next_page_token")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    next_page_token: bytes
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class Attachment(_message.Message):
    __slots__ = ("lease", "id", "token", "on_end", "created_at_ms", "ended")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ON_END_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    lease: str
    id: str
    token: int
    on_end: _command_pb2.Command
    created_at_ms: int
    ended: bool
    def __init__(self, lease: _Optional[str] = ..., id: _Optional[str] = ..., token: _Optional[int] = ..., on_end: _Optional[_Union[_command_pb2.Command, _Mapping]] = ..., created_at_ms: _Optional[int] = ..., ended: bool = ...) -> None: ...

class AttachToLeases(_message.Message):
    __slots__ = ("attachments",)
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    attachments: _containers.RepeatedCompositeFieldContainer[NewAttachment]
    def __init__(self, attachments: _Optional[_Iterable[_Union[NewAttachment, _Mapping]]] = ...) -> None: ...

class NewAttachment(_message.Message):
    __slots__ = ("lease", "id", "on_end")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ON_END_FIELD_NUMBER: _ClassVar[int]
    lease: str
    id: str
    on_end: _command_pb2.Command
    def __init__(self, lease: _Optional[str] = ..., id: _Optional[str] = ..., on_end: _Optional[_Union[_command_pb2.Command, _Mapping]] = ...) -> None: ...

class DetachFromLeases(_message.Message):
    __slots__ = ("attachments",)
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    attachments: _containers.RepeatedCompositeFieldContainer[AttachmentName]
    def __init__(self, attachments: _Optional[_Iterable[_Union[AttachmentName, _Mapping]]] = ...) -> None: ...

class AttachmentName(_message.Message):
    __slots__ = ("lease", "id")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    lease: str
    id: str
    def __init__(self, lease: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ForgetAttachments(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class FindEnded(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAttachments(_message.Message):
    __slots__ = ("lease", "page_size", "page_token")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lease: str
    page_size: int
    page_token: bytes
    def __init__(self, lease: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class AttachmentPage(_message.Message):
    __slots__ = ("attachments", "next_page_token")
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    attachments: _containers.RepeatedCompositeFieldContainer[Attachment]
    next_page_token: bytes
    def __init__(self, attachments: _Optional[_Iterable[_Union[Attachment, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
