from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccessAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_ACTION_UNSPECIFIED: _ClassVar[AccessAction]
    ACCESS_ACTION_CONNECT: _ClassVar[AccessAction]
    ACCESS_ACTION_PUBLISH: _ClassVar[AccessAction]
    ACCESS_ACTION_SUBSCRIBE: _ClassVar[AccessAction]

class AccessReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_REASON_UNSPECIFIED: _ClassVar[AccessReason]
    ACCESS_REASON_BLACKLISTED: _ClassVar[AccessReason]
    ACCESS_REASON_NOT_BLACKLISTED: _ClassVar[AccessReason]
    ACCESS_REASON_SUPERUSER: _ClassVar[AccessReason]
    ACCESS_REASON_DENIED_BY_RULE: _ClassVar[AccessReason]
    ACCESS_REASON_ALLOWED_BY_RULE: _ClassVar[AccessReason]
    ACCESS_REASON_NO_RULE: _ClassVar[AccessReason]
ACCESS_ACTION_UNSPECIFIED: AccessAction
ACCESS_ACTION_CONNECT: AccessAction
ACCESS_ACTION_PUBLISH: AccessAction
ACCESS_ACTION_SUBSCRIBE: AccessAction
ACCESS_REASON_UNSPECIFIED: AccessReason
ACCESS_REASON_BLACKLISTED: AccessReason
ACCESS_REASON_NOT_BLACKLISTED: AccessReason
ACCESS_REASON_SUPERUSER: AccessReason
ACCESS_REASON_DENIED_BY_RULE: AccessReason
ACCESS_REASON_ALLOWED_BY_RULE: AccessReason
ACCESS_REASON_NO_RULE: AccessReason

class CheckAccessRequest(_message.Message):
    __slots__ = ("tenant", "client_id", "username", "address", "action", "topic", "qos", "retain", "deny_unmatched")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FIELD_NUMBER: _ClassVar[int]
    DENY_UNMATCHED_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    username: str
    address: str
    action: AccessAction
    topic: str
    qos: int
    retain: bool
    deny_unmatched: bool
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., username: _Optional[str] = ..., address: _Optional[str] = ..., action: _Optional[_Union[AccessAction, str]] = ..., topic: _Optional[str] = ..., qos: _Optional[int] = ..., retain: bool = ..., deny_unmatched: bool = ...) -> None: ...

class AccessDecision(_message.Message):
    __slots__ = ("allowed", "reason", "decided_by")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    allowed: bool
    reason: AccessReason
    decided_by: str
    def __init__(self, allowed: bool = ..., reason: _Optional[_Union[AccessReason, str]] = ..., decided_by: _Optional[str] = ...) -> None: ...

class CheckAccessQuery(_message.Message):
    __slots__ = ("access",)
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    access: CheckAccessRequest
    def __init__(self, access: _Optional[_Union[CheckAccessRequest, _Mapping]] = ...) -> None: ...
