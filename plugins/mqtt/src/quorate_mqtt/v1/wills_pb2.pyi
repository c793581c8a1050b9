from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Will(_message.Message):
    __slots__ = ("topic", "payload", "qos", "retain", "properties", "delay_interval_s")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    QOS_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    DELAY_INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    delay_interval_s: int
    def __init__(self, topic: _Optional[str] = ..., payload: _Optional[bytes] = ..., qos: _Optional[int] = ..., retain: bool = ..., properties: _Optional[bytes] = ..., delay_interval_s: _Optional[int] = ...) -> None: ...

class WillDelivery(_message.Message):
    __slots__ = ("id", "assignee", "assignee_epoch", "due_at_ms", "assigned_at_ms", "assignments", "will")
    ID_FIELD_NUMBER: _ClassVar[int]
    ASSIGNEE_FIELD_NUMBER: _ClassVar[int]
    ASSIGNEE_EPOCH_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    WILL_FIELD_NUMBER: _ClassVar[int]
    id: int
    assignee: str
    assignee_epoch: int
    due_at_ms: int
    assigned_at_ms: int
    assignments: int
    will: Will
    def __init__(self, id: _Optional[int] = ..., assignee: _Optional[str] = ..., assignee_epoch: _Optional[int] = ..., due_at_ms: _Optional[int] = ..., assigned_at_ms: _Optional[int] = ..., assignments: _Optional[int] = ..., will: _Optional[_Union[Will, _Mapping]] = ...) -> None: ...

class KeyedWillDelivery(_message.Message):
    __slots__ = ("tenant", "client_id", "delivery")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    delivery: WillDelivery
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., delivery: _Optional[_Union[WillDelivery, _Mapping]] = ...) -> None: ...

class AcknowledgeWill(_message.Message):
    __slots__ = ("tenant", "client_id", "id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    id: int
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ..., id: _Optional[int] = ...) -> None: ...

class AcknowledgeWillReply(_message.Message):
    __slots__ = ("acknowledged",)
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    acknowledged: bool
    def __init__(self, acknowledged: bool = ...) -> None: ...

class AcknowledgeWills(_message.Message):
    __slots__ = ("wills",)
    WILLS_FIELD_NUMBER: _ClassVar[int]
    wills: _containers.RepeatedCompositeFieldContainer[AcknowledgeWill]
    def __init__(self, wills: _Optional[_Iterable[_Union[AcknowledgeWill, _Mapping]]] = ...) -> None: ...

class DeliverWills(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class EraseWillDeliveries(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetWillRequest(_message.Message):
    __slots__ = ("tenant", "client_id")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    client_id: str
    def __init__(self, tenant: _Optional[str] = ..., client_id: _Optional[str] = ...) -> None: ...

class GetWillsRequest(_message.Message):
    __slots__ = ("wills",)
    WILLS_FIELD_NUMBER: _ClassVar[int]
    wills: _containers.RepeatedCompositeFieldContainer[GetWillRequest]
    def __init__(self, wills: _Optional[_Iterable[_Union[GetWillRequest, _Mapping]]] = ...) -> None: ...

class WillLookups(_message.Message):
    __slots__ = ("lookups",)
    LOOKUPS_FIELD_NUMBER: _ClassVar[int]
    lookups: _containers.RepeatedCompositeFieldContainer[WillLookup]
    def __init__(self, lookups: _Optional[_Iterable[_Union[WillLookup, _Mapping]]] = ...) -> None: ...

class WillLookup(_message.Message):
    __slots__ = ("will",)
    WILL_FIELD_NUMBER: _ClassVar[int]
    will: Will
    def __init__(self, will: _Optional[_Union[Will, _Mapping]] = ...) -> None: ...

class ListWillDeliveriesRequest(_message.Message):
    __slots__ = ("tenant", "assignee", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ASSIGNEE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    assignee: str
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., assignee: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListWillDeliveriesResponse(_message.Message):
    __slots__ = ("deliveries", "next_page_token")
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[KeyedWillDelivery]
    next_page_token: bytes
    def __init__(self, deliveries: _Optional[_Iterable[_Union[KeyedWillDelivery, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
