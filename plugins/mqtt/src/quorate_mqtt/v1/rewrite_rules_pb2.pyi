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

class RewriteAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REWRITE_ACTION_UNSPECIFIED: _ClassVar[RewriteAction]
    REWRITE_ACTION_ALL: _ClassVar[RewriteAction]
    REWRITE_ACTION_PUBLISH: _ClassVar[RewriteAction]
    REWRITE_ACTION_SUBSCRIBE: _ClassVar[RewriteAction]
REWRITE_ACTION_UNSPECIFIED: RewriteAction
REWRITE_ACTION_ALL: RewriteAction
REWRITE_ACTION_PUBLISH: RewriteAction
REWRITE_ACTION_SUBSCRIBE: RewriteAction

class RewriteRule(_message.Message):
    __slots__ = ("tenant", "name", "description", "action", "source_topic", "target_topic", "expression", "created_at_ms", "updated_at_ms")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_TOPIC_FIELD_NUMBER: _ClassVar[int]
    TARGET_TOPIC_FIELD_NUMBER: _ClassVar[int]
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    description: str
    action: RewriteAction
    source_topic: str
    target_topic: str
    expression: str
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., action: _Optional[_Union[RewriteAction, str]] = ..., source_topic: _Optional[str] = ..., target_topic: _Optional[str] = ..., expression: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class RewriteRuleRequest(_message.Message):
    __slots__ = ("definition", "update_mask")
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    definition: RewriteRule
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, definition: _Optional[_Union[RewriteRule, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class CreateRewriteRules(_message.Message):
    __slots__ = ("rules",)
    RULES_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RewriteRule]
    def __init__(self, rules: _Optional[_Iterable[_Union[RewriteRule, _Mapping]]] = ...) -> None: ...

class UpdateRewriteRules(_message.Message):
    __slots__ = ("rules", "update_mask")
    RULES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RewriteRule]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, rules: _Optional[_Iterable[_Union[RewriteRule, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PutRewriteRules(_message.Message):
    __slots__ = ("rules",)
    RULES_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RewriteRule]
    def __init__(self, rules: _Optional[_Iterable[_Union[RewriteRule, _Mapping]]] = ...) -> None: ...

class DeleteRewriteRules(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedCompositeFieldContainer[_definitions_pb2.DefinitionName]
    def __init__(self, names: _Optional[_Iterable[_Union[_definitions_pb2.DefinitionName, _Mapping]]] = ...) -> None: ...

class ListRewriteRulesRequest(_message.Message):
    __slots__ = ("tenant", "prefix", "page_size", "page_token", "action")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    prefix: str
    page_size: int
    page_token: bytes
    action: RewriteAction
    def __init__(self, tenant: _Optional[str] = ..., prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., action: _Optional[_Union[RewriteAction, str]] = ...) -> None: ...

class RewriteRulePage(_message.Message):
    __slots__ = ("rules", "next_page_token")
    RULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RewriteRule]
    next_page_token: bytes
    def __init__(self, rules: _Optional[_Iterable[_Union[RewriteRule, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class RewriteRuleLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[RewriteRuleLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[RewriteRuleLookup, _Mapping]]] = ...) -> None: ...

class RewriteRuleLookup(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: RewriteRule
    def __init__(self, definition: _Optional[_Union[RewriteRule, _Mapping]] = ...) -> None: ...
