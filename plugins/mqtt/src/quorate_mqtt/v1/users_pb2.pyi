from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_mqtt.v1 import definitions_pb2 as _definitions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class User(_message.Message):
    __slots__ = ("tenant", "name", "description", "superuser", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    superuser: bool
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., superuser: bool = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class Credential(_message.Message):
    __slots__ = ("salt", "hash", "cost", "block_size", "parallelism")
    SALT_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    BLOCK_SIZE_FIELD_NUMBER: _ClassVar[int]
    PARALLELISM_FIELD_NUMBER: _ClassVar[int]
    salt: bytes
    hash: bytes
    cost: int
    block_size: int
    parallelism: int
    def __init__(self, salt: _Optional[bytes] = ..., hash: _Optional[bytes] = ..., cost: _Optional[int] = ..., block_size: _Optional[int] = ..., parallelism: _Optional[int] = ...) -> None: ...

class CreateUserRequest(_message.Message):
    __slots__ = ("tenant", "name", "description", "superuser", "password")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    superuser: bool
    password: bytes
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., superuser: bool = ..., password: _Optional[bytes] = ...) -> None: ...

class CreateUsersRequest(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[CreateUserRequest]
    def __init__(self, users: _Optional[_Iterable[_Union[CreateUserRequest, _Mapping]]] = ...) -> None: ...

class UpdateUserRequest(_message.Message):
    __slots__ = ("tenant", "name", "description", "superuser", "password")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    superuser: bool
    password: bytes
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., superuser: bool = ..., password: _Optional[bytes] = ...) -> None: ...

class UpdateUsersRequest(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[UpdateUserRequest]
    def __init__(self, users: _Optional[_Iterable[_Union[UpdateUserRequest, _Mapping]]] = ...) -> None: ...

class NewUser(_message.Message):
    __slots__ = ("user", "credential")
    USER_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    user: User
    credential: Credential
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ..., credential: _Optional[_Union[Credential, _Mapping]] = ...) -> None: ...

class CreateUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[NewUser]
    def __init__(self, users: _Optional[_Iterable[_Union[NewUser, _Mapping]]] = ...) -> None: ...

class PutUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[NewUser]
    def __init__(self, users: _Optional[_Iterable[_Union[NewUser, _Mapping]]] = ...) -> None: ...

class UserChange(_message.Message):
    __slots__ = ("tenant", "name", "description", "superuser", "credential")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    superuser: bool
    credential: Credential
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., superuser: bool = ..., credential: _Optional[_Union[Credential, _Mapping]] = ...) -> None: ...

class UpdateUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[UserChange]
    def __init__(self, users: _Optional[_Iterable[_Union[UserChange, _Mapping]]] = ...) -> None: ...

class DeleteUsers(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class ListUsersRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "superuser")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    superuser: bool
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., superuser: bool = ...) -> None: ...

class UserPage(_message.Message):
    __slots__ = ("users", "next_page_token")
    USERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[User]
    next_page_token: bytes
    def __init__(self, users: _Optional[_Iterable[_Union[User, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class UserLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[UserLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[UserLookup, _Mapping]]] = ...) -> None: ...

class UserLookup(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: User
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ...) -> None: ...

class AuthenticateRequest(_message.Message):
    __slots__ = ("tenant", "name", "password", "address")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    password: bytes
    address: str
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., password: _Optional[bytes] = ..., address: _Optional[str] = ...) -> None: ...

class AuthenticateResponse(_message.Message):
    __slots__ = ("authenticated", "superuser")
    AUTHENTICATED_FIELD_NUMBER: _ClassVar[int]
    SUPERUSER_FIELD_NUMBER: _ClassVar[int]
    authenticated: bool
    superuser: bool
    def __init__(self, authenticated: bool = ..., superuser: bool = ...) -> None: ...

class AuthenticateUsersRequest(_message.Message):
    __slots__ = ("logins",)
    LOGINS_FIELD_NUMBER: _ClassVar[int]
    logins: _containers.RepeatedCompositeFieldContainer[AuthenticateRequest]
    def __init__(self, logins: _Optional[_Iterable[_Union[AuthenticateRequest, _Mapping]]] = ...) -> None: ...

class FindLogins(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class Login(_message.Message):
    __slots__ = ("user", "credential")
    USER_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    user: User
    credential: Credential
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ..., credential: _Optional[_Union[Credential, _Mapping]] = ...) -> None: ...
