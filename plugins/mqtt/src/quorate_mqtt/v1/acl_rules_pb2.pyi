from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_mqtt.v1 import definitions_pb2 as _definitions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AclSubject(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACL_SUBJECT_UNSPECIFIED: _ClassVar[AclSubject]
    ACL_SUBJECT_CLIENT_ID: _ClassVar[AclSubject]
    ACL_SUBJECT_USER: _ClassVar[AclSubject]

class AclAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACL_ACTION_UNSPECIFIED: _ClassVar[AclAction]
    ACL_ACTION_ALL: _ClassVar[AclAction]
    ACL_ACTION_SUBSCRIBE: _ClassVar[AclAction]
    ACL_ACTION_PUBLISH: _ClassVar[AclAction]
    ACL_ACTION_PUBSUB: _ClassVar[AclAction]
    ACL_ACTION_RETAIN: _ClassVar[AclAction]
    ACL_ACTION_QOS: _ClassVar[AclAction]

class AclPermission(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACL_PERMISSION_UNSPECIFIED: _ClassVar[AclPermission]
    ACL_PERMISSION_ALLOW: _ClassVar[AclPermission]
    ACL_PERMISSION_DENY: _ClassVar[AclPermission]
ACL_SUBJECT_UNSPECIFIED: AclSubject
ACL_SUBJECT_CLIENT_ID: AclSubject
ACL_SUBJECT_USER: AclSubject
ACL_ACTION_UNSPECIFIED: AclAction
ACL_ACTION_ALL: AclAction
ACL_ACTION_SUBSCRIBE: AclAction
ACL_ACTION_PUBLISH: AclAction
ACL_ACTION_PUBSUB: AclAction
ACL_ACTION_RETAIN: AclAction
ACL_ACTION_QOS: AclAction
ACL_PERMISSION_UNSPECIFIED: AclPermission
ACL_PERMISSION_ALLOW: AclPermission
ACL_PERMISSION_DENY: AclPermission

class AclRule(_message.Message):
    __slots__ = ("tenant", "name", "description", "subject_kind", "subject", "topic", "ip", "action", "permission", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    subject_kind: AclSubject
    subject: str
    topic: str
    ip: str
    action: AclAction
    permission: AclPermission
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., subject_kind: _Optional[_Union[AclSubject, str]] = ..., subject: _Optional[str] = ..., topic: _Optional[str] = ..., ip: _Optional[str] = ..., action: _Optional[_Union[AclAction, str]] = ..., permission: _Optional[_Union[AclPermission, str]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class AclRuleRequest(_message.Message):
    __slots__ = ("definition", "update_mask")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    definition: AclRule
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, definition: _Optional[_Union[AclRule, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class CreateAclRules(_message.Message):
    __slots__ = ("rules",)
    RULES_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[AclRule]
    def __init__(self, rules: _Optional[_Iterable[_Union[AclRule, _Mapping]]] = ...) -> None: ...

class UpdateAclRules(_message.Message):
    __slots__ = ("rules", "update_mask")
    RULES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[AclRule]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rules: _Optional[_Iterable[_Union[AclRule, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutAclRules(_message.Message):
    __slots__ = ("rules",)
    RULES_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[AclRule]
    def __init__(self, rules: _Optional[_Iterable[_Union[AclRule, _Mapping]]] = ...) -> None: ...

class DeleteAclRules(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class ListAclRulesRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "subject_kind", "subject")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    subject_kind: AclSubject
    subject: str
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., subject_kind: _Optional[_Union[AclSubject, str]] = ..., subject: _Optional[str] = ...) -> None: ...

class AclRulePage(_message.Message):
    __slots__ = ("rules", "next_page_token")
    RULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[AclRule]
    next_page_token: bytes
    def __init__(self, rules: _Optional[_Iterable[_Union[AclRule, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class AclRuleLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[AclRuleLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[AclRuleLookup, _Mapping]]] = ...) -> None: ...

class AclRuleLookup(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: AclRule
    def __init__(self, definition: _Optional[_Union[AclRule, _Mapping]] = ...) -> None: ...
