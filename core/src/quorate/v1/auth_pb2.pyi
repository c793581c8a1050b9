from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GrantedRight(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRANTED_RIGHT_UNSPECIFIED: _ClassVar[GrantedRight]
    GRANTED_RIGHT_READ: _ClassVar[GrantedRight]
    GRANTED_RIGHT_WRITE: _ClassVar[GrantedRight]
    GRANTED_RIGHT_ADMIN: _ClassVar[GrantedRight]
GRANTED_RIGHT_UNSPECIFIED: GrantedRight
GRANTED_RIGHT_READ: GrantedRight
GRANTED_RIGHT_WRITE: GrantedRight
GRANTED_RIGHT_ADMIN: GrantedRight

class EnableAuth(_message.Message):
    __slots__ = ("administrator", "ttl_ms")
    ADMINISTRATOR_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    administrator: str
    ttl_ms: int
    def __init__(self, administrator: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class DisableAuth(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AuthStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AuthStatus(_message.Message):
    __slots__ = ("enabled", "caller", "grants")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    caller: str
    grants: _containers.RepeatedCompositeFieldContainer[RoleGrant]
    def __init__(self, enabled: bool = ..., caller: _Optional[str] = ..., grants: _Optional[_Iterable[_Union[RoleGrant, _Mapping]]] = ...) -> None: ...

class User(_message.Message):
    __slots__ = ("name", "description", "disabled", "created_at_ms", "updated_at_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    disabled: bool
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., disabled: bool = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class CreateUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[User]
    def __init__(self, users: _Optional[_Iterable[_Union[User, _Mapping]]] = ...) -> None: ...

class UserChange(_message.Message):
    __slots__ = ("name", "description", "disabled")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    disabled: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., disabled: bool = ...) -> None: ...

class UpdateUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[UserChange]
    def __init__(self, users: _Optional[_Iterable[_Union[UserChange, _Mapping]]] = ...) -> None: ...

class DeleteUser(_message.Message):
    __slots__ = ("name", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteUsers(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[DeleteUser]
    def __init__(self, users: _Optional[_Iterable[_Union[DeleteUser, _Mapping]]] = ...) -> None: ...

class GetUser(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListUsers(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class UserPage(_message.Message):
    __slots__ = ("users", "next_page_token")
    USERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[User]
    next_page_token: bytes
    def __init__(self, users: _Optional[_Iterable[_Union[User, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("user", "id", "description", "ends_at_ms", "created_at_ms")
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ENDS_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    user: str
    id: str
    description: str
    ends_at_ms: int
    created_at_ms: int
    def __init__(self, user: _Optional[str] = ..., id: _Optional[str] = ..., description: _Optional[str] = ..., ends_at_ms: _Optional[int] = ..., created_at_ms: _Optional[int] = ...) -> None: ...

class TokenSecret(_message.Message):
    __slots__ = ("salt", "hash")
    SALT_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    salt: bytes
    hash: bytes
    def __init__(self, salt: _Optional[bytes] = ..., hash: _Optional[bytes] = ...) -> None: ...

class IssueToken(_message.Message):
    __slots__ = ("user", "description", "ttl_ms")
    USER_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    user: str
    description: str
    ttl_ms: int
    def __init__(self, user: _Optional[str] = ..., description: _Optional[str] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class NewToken(_message.Message):
    __slots__ = ("token", "text")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    token: Token
    text: str
    def __init__(self, token: _Optional[_Union[Token, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class DeleteToken(_message.Message):
    __slots__ = ("user", "id", "missing_ok", "force")
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    user: str
    id: str
    missing_ok: bool
    force: bool
    def __init__(self, user: _Optional[str] = ..., id: _Optional[str] = ..., missing_ok: bool = ..., force: bool = ...) -> None: ...

class DeleteTokens(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[DeleteToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[DeleteToken, _Mapping]]] = ...) -> None: ...

class GetToken(_message.Message):
    __slots__ = ("user", "id")
    USER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    user: str
    id: str
    def __init__(self, user: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class ListTokens(_message.Message):
    __slots__ = ("user", "prefix", "page_size", "page_token")
    USER_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user: str
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, user: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class TokenPage(_message.Message):
    __slots__ = ("tokens", "next_page_token")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    next_page_token: bytes
    def __init__(self, tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class RoleGrant(_message.Message):
    __slots__ = ("right", "domain", "tenant", "prefix")
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    right: GrantedRight
    domain: str
    tenant: str
    prefix: str
    def __init__(self, right: _Optional[_Union[GrantedRight, str]] = ..., domain: _Optional[str] = ..., tenant: _Optional[str] = ..., prefix: _Optional[str] = ...) -> None: ...

class Role(_message.Message):
    __slots__ = ("name", "description", "grants", "created_at_ms", "updated_at_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    grants: _containers.RepeatedCompositeFieldContainer[RoleGrant]
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., grants: _Optional[_Iterable[_Union[RoleGrant, _Mapping]]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class CreateRoles(_message.Message):
    __slots__ = ("roles",)
    ROLES_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    def __init__(self, roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ...) -> None: ...

class PutRoles(_message.Message):
    __slots__ = ("roles",)
    ROLES_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    def __init__(self, roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ...) -> None: ...

class DeleteRole(_message.Message):
    __slots__ = ("name", "missing_ok")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    name: str
    missing_ok: bool
    def __init__(self, name: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteRoles(_message.Message):
    __slots__ = ("roles",)
    ROLES_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedCompositeFieldContainer[DeleteRole]
    def __init__(self, roles: _Optional[_Iterable[_Union[DeleteRole, _Mapping]]] = ...) -> None: ...

class GetRole(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListRoles(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class RolePage(_message.Message):
    __slots__ = ("roles", "next_page_token")
    ROLES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    next_page_token: bytes
    def __init__(self, roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class Binding(_message.Message):
    __slots__ = ("user", "role", "tenants", "created_at_ms", "updated_at_ms")
    USER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    user: str
    role: str
    tenants: _containers.RepeatedScalarFieldContainer[str]
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, user: _Optional[str] = ..., role: _Optional[str] = ..., tenants: _Optional[_Iterable[str]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class PutBindings(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    def __init__(self, bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ...) -> None: ...

class DeleteBinding(_message.Message):
    __slots__ = ("user", "role", "missing_ok")
    USER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    user: str
    role: str
    missing_ok: bool
    def __init__(self, user: _Optional[str] = ..., role: _Optional[str] = ..., missing_ok: bool = ...) -> None: ...

class DeleteBindings(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[DeleteBinding]
    def __init__(self, bindings: _Optional[_Iterable[_Union[DeleteBinding, _Mapping]]] = ...) -> None: ...

class GetBinding(_message.Message):
    __slots__ = ("user", "role")
    USER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    user: str
    role: str
    def __init__(self, user: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class ListBindings(_message.Message):
    __slots__ = ("user", "prefix", "role", "page_size", "page_token")
    USER_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user: str
    prefix: str
    role: str
    page_size: int
    page_token: bytes
    def __init__(self, user: _Optional[str] = ..., prefix: _Optional[str] = ..., role: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class BindingPage(_message.Message):
    __slots__ = ("bindings", "next_page_token")
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    next_page_token: bytes
    def __init__(self, bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class KeepToken(_message.Message):
    __slots__ = ("token", "secret")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    token: Token
    secret: TokenSecret
    def __init__(self, token: _Optional[_Union[Token, _Mapping]] = ..., secret: _Optional[_Union[TokenSecret, _Mapping]] = ...) -> None: ...

class KeepTokens(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[KeepToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[KeepToken, _Mapping]]] = ...) -> None: ...

class SwitchAuth(_message.Message):
    __slots__ = ("enabled", "administrator")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    ADMINISTRATOR_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    administrator: KeepToken
    def __init__(self, enabled: bool = ..., administrator: _Optional[_Union[KeepToken, _Mapping]] = ...) -> None: ...

class AuthSwitch(_message.Message):
    __slots__ = ("enabled", "updated_at_ms")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    updated_at_ms: int
    def __init__(self, enabled: bool = ..., updated_at_ms: _Optional[int] = ...) -> None: ...
