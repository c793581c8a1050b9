from quorate_etcd.wire import auth_pb2 as _auth_pb2
from quorate_etcd.wire import rpc_pb2 as _rpc_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Guard(_message.Message):
    __slots__ = ("auth_enabled", "auth_revision", "alarms")
    AUTH_ENABLED_FIELD_NUMBER: _ClassVar[int]
    AUTH_REVISION_FIELD_NUMBER: _ClassVar[int]
    ALARMS_FIELD_NUMBER: _ClassVar[int]
    auth_enabled: bool
    auth_revision: int
    alarms: _containers.RepeatedCompositeFieldContainer[_rpc_pb2.AlarmMember]
    def __init__(self, auth_enabled: bool = ..., auth_revision: _Optional[int] = ..., alarms: _Optional[_Iterable[_Union[_rpc_pb2.AlarmMember, _Mapping]]] = ...) -> None: ...

class Secret(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: bytes
    def __init__(self, key: _Optional[bytes] = ...) -> None: ...

class User(_message.Message):
    __slots__ = ("name", "roles", "salt", "hash", "password_revision")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    salt: bytes
    hash: bytes
    password_revision: int
    def __init__(self, name: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., salt: _Optional[bytes] = ..., hash: _Optional[bytes] = ..., password_revision: _Optional[int] = ...) -> None: ...

class Role(_message.Message):
    __slots__ = ("name", "permissions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    permissions: _containers.RepeatedCompositeFieldContainer[_auth_pb2.Permission]
    def __init__(self, name: _Optional[str] = ..., permissions: _Optional[_Iterable[_Union[_auth_pb2.Permission, _Mapping]]] = ...) -> None: ...

class Administer(_message.Message):
    __slots__ = ("store", "user", "enable", "user_add", "user_delete", "password", "user_grant", "user_revoke", "role_add", "role_delete", "role_grant", "role_revoke", "secret")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    ENABLE_FIELD_NUMBER: _ClassVar[int]
    USER_ADD_FIELD_NUMBER: _ClassVar[int]
    USER_DELETE_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    USER_GRANT_FIELD_NUMBER: _ClassVar[int]
    USER_REVOKE_FIELD_NUMBER: _ClassVar[int]
    ROLE_ADD_FIELD_NUMBER: _ClassVar[int]
    ROLE_DELETE_FIELD_NUMBER: _ClassVar[int]
    ROLE_GRANT_FIELD_NUMBER: _ClassVar[int]
    ROLE_REVOKE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    store: str
    user: str
    enable: bool
    user_add: User
    user_delete: str
    password: User
    user_grant: Grant
    user_revoke: Grant
    role_add: str
    role_delete: str
    role_grant: RoleGrant
    role_revoke: RoleGrant
    secret: bytes
    def __init__(self, store: _Optional[str] = ..., user: _Optional[str] = ..., enable: bool = ..., user_add: _Optional[_Union[User, _Mapping]] = ..., user_delete: _Optional[str] = ..., password: _Optional[_Union[User, _Mapping]] = ..., user_grant: _Optional[_Union[Grant, _Mapping]] = ..., user_revoke: _Optional[_Union[Grant, _Mapping]] = ..., role_add: _Optional[str] = ..., role_delete: _Optional[str] = ..., role_grant: _Optional[_Union[RoleGrant, _Mapping]] = ..., role_revoke: _Optional[_Union[RoleGrant, _Mapping]] = ..., secret: _Optional[bytes] = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ("user", "role")
    USER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    user: str
    role: str
    def __init__(self, user: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class RoleGrant(_message.Message):
    __slots__ = ("role", "permission")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    role: str
    permission: _auth_pb2.Permission
    def __init__(self, role: _Optional[str] = ..., permission: _Optional[_Union[_auth_pb2.Permission, _Mapping]] = ...) -> None: ...

class Administered(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class SetAlarm(_message.Message):
    __slots__ = ("store", "alarm", "active", "user")
    STORE_FIELD_NUMBER: _ClassVar[int]
    ALARM_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    store: str
    alarm: _rpc_pb2.AlarmMember
    active: bool
    user: str
    def __init__(self, store: _Optional[str] = ..., alarm: _Optional[_Union[_rpc_pb2.AlarmMember, _Mapping]] = ..., active: bool = ..., user: _Optional[str] = ...) -> None: ...

class Alarmed(_message.Message):
    __slots__ = ("alarms", "revision")
    ALARMS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    alarms: _containers.RepeatedCompositeFieldContainer[_rpc_pb2.AlarmMember]
    revision: int
    def __init__(self, alarms: _Optional[_Iterable[_Union[_rpc_pb2.AlarmMember, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class FindGuard(_message.Message):
    __slots__ = ("store", "users", "roles", "names")
    STORE_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    store: str
    users: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[str]
    names: bool
    def __init__(self, store: _Optional[str] = ..., users: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[str]] = ..., names: bool = ...) -> None: ...

class Guarded(_message.Message):
    __slots__ = ("guard", "secret", "users", "roles", "user_names", "role_names", "revision")
    GUARD_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    USER_NAMES_FIELD_NUMBER: _ClassVar[int]
    ROLE_NAMES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    guard: Guard
    secret: bytes
    users: _containers.RepeatedCompositeFieldContainer[User]
    roles: _containers.RepeatedCompositeFieldContainer[Role]
    user_names: _containers.RepeatedScalarFieldContainer[str]
    role_names: _containers.RepeatedScalarFieldContainer[str]
    revision: int
    def __init__(self, guard: _Optional[_Union[Guard, _Mapping]] = ..., secret: _Optional[bytes] = ..., users: _Optional[_Iterable[_Union[User, _Mapping]]] = ..., roles: _Optional[_Iterable[_Union[Role, _Mapping]]] = ..., user_names: _Optional[_Iterable[str]] = ..., role_names: _Optional[_Iterable[str]] = ..., revision: _Optional[int] = ...) -> None: ...
