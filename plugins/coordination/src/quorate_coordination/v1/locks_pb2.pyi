from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Lock(_message.Message):
    __slots__ = ("name", "holders", "waiters", "sharing", "token", "owner", "value", "permits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    WAITERS_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    holders: int
    waiters: int
    sharing: int
    token: int
    owner: str
    value: bytes
    permits: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., holders: _Optional[int] = ..., waiters: _Optional[int] = ..., sharing: _Optional[int] = ..., token: _Optional[int] = ..., owner: _Optional[str] = ..., value: _Optional[bytes] = ..., permits: _Optional[_Iterable[int]] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("lock", "number", "lease", "id", "owner", "sharing", "token", "permit", "value", "created_at_ms", "held_since_ms")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    PERMIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    HELD_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    lock: str
    number: int
    lease: str
    id: str
    owner: str
    sharing: int
    token: int
    permit: int
    value: bytes
    created_at_ms: int
    held_since_ms: int
    def __init__(self, lock: _Optional[str] = ..., number: _Optional[int] = ..., lease: _Optional[str] = ..., id: _Optional[str] = ..., owner: _Optional[str] = ..., sharing: _Optional[int] = ..., token: _Optional[int] = ..., permit: _Optional[int] = ..., value: _Optional[bytes] = ..., created_at_ms: _Optional[int] = ..., held_since_ms: _Optional[int] = ...) -> None: ...

class AcquireLocks(_message.Message):
    __slots__ = ("locks",)
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    locks: _containers.RepeatedCompositeFieldContainer[Acquisition]
    def __init__(self, locks: _Optional[_Iterable[_Union[Acquisition, _Mapping]]] = ...) -> None: ...

class Acquisition(_message.Message):
    __slots__ = ("lock", "lease", "id", "owner", "sharing", "value", "no_wait", "lease_ttl_ms")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    NO_WAIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_TTL_MS_FIELD_NUMBER: _ClassVar[int]
    lock: str
    lease: str
    id: str
    owner: str
    sharing: int
    value: bytes
    no_wait: bool
    lease_ttl_ms: int
    def __init__(self, lock: _Optional[str] = ..., lease: _Optional[str] = ..., id: _Optional[str] = ..., owner: _Optional[str] = ..., sharing: _Optional[int] = ..., value: _Optional[bytes] = ..., no_wait: bool = ..., lease_ttl_ms: _Optional[int] = ...) -> None: ...

class ReleaseLocks(_message.Message):
    __slots__ = ("claims",)
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[ClaimName]
    def __init__(self, claims: _Optional[_Iterable[_Union[ClaimName, _Mapping]]] = ...) -> None: ...

class ClaimName(_message.Message):
    __slots__ = ("lock", "lease", "id")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    lock: str
    lease: str
    id: str
    def __init__(self, lock: _Optional[str] = ..., lease: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ProclaimClaims(_message.Message):
    __slots__ = ("claims",)
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[Proclamation]
    def __init__(self, claims: _Optional[_Iterable[_Union[Proclamation, _Mapping]]] = ...) -> None: ...

class Proclamation(_message.Message):
    __slots__ = ("lock", "lease", "id", "value")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    lock: str
    lease: str
    id: str
    value: bytes
    def __init__(self, lock: _Optional[str] = ..., lease: _Optional[str] = ..., id: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class GetLocks(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class ListLocks(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class LockPage(_message.Message):
    __slots__ = ("locks", "next_page_token")
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    locks: _containers.RepeatedCompositeFieldContainer[Lock]
    next_page_token: bytes
    def __init__(self, locks: _Optional[_Iterable[_Union[Lock, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class GetClaims(_message.Message):
    __slots__ = ("claims",)
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[ClaimKey]
    def __init__(self, claims: _Optional[_Iterable[_Union[ClaimKey, _Mapping]]] = ...) -> None: ...

class ClaimKey(_message.Message):
    __slots__ = ("lock", "number")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    lock: str
    number: int
    def __init__(self, lock: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class ListClaims(_message.Message):
    __slots__ = ("lock", "page_size", "page_token")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lock: str
    page_size: int
    page_token: bytes
    def __init__(self, lock: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ClaimPage(_message.Message):
    __slots__ = ("claims", "next_page_token")
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    next_page_token: bytes
    def __init__(self, claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class FindFence(_message.Message):
    __slots__ = ("name", "lock")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    lock: str
    def __init__(self, name: _Optional[bytes] = ..., lock: _Optional[str] = ...) -> None: ...

class FenceFound(_message.Message):
    __slots__ = ("token", "newest")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    token: int
    newest: int
    def __init__(self, token: _Optional[int] = ..., newest: _Optional[int] = ...) -> None: ...
