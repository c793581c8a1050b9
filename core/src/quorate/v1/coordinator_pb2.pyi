from google.protobuf import empty_pb2 as _empty_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Coordinator(_message.Message):
    __slots__ = ("role", "key", "broker", "broker_epoch", "epoch", "assigned_at_ms", "cluster_name", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ROLE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    role: str
    key: str
    broker: str
    broker_epoch: int
    epoch: int
    assigned_at_ms: int
    cluster_name: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, role: _Optional[str] = ..., key: _Optional[str] = ..., broker: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., epoch: _Optional[int] = ..., assigned_at_ms: _Optional[int] = ..., cluster_name: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AssignCoordinator(_message.Message):
    __slots__ = ("role", "key", "cluster_name", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ROLE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    role: str
    key: str
    cluster_name: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, role: _Optional[str] = ..., key: _Optional[str] = ..., cluster_name: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AssignCoordinators(_message.Message):
    __slots__ = ("coordinators",)
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    coordinators: _containers.RepeatedCompositeFieldContainer[AssignCoordinator]
    def __init__(self, coordinators: _Optional[_Iterable[_Union[AssignCoordinator, _Mapping]]] = ...) -> None: ...

class ReleaseCoordinator(_message.Message):
    __slots__ = ("role", "key", "epoch")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    role: str
    key: str
    epoch: int
    def __init__(self, role: _Optional[str] = ..., key: _Optional[str] = ..., epoch: _Optional[int] = ...) -> None: ...

class ReleaseCoordinators(_message.Message):
    __slots__ = ("coordinators",)
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    coordinators: _containers.RepeatedCompositeFieldContainer[ReleaseCoordinator]
    def __init__(self, coordinators: _Optional[_Iterable[_Union[ReleaseCoordinator, _Mapping]]] = ...) -> None: ...

class MoveCoordinators(_message.Message):
    __slots__ = ("assignments",)
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    assignments: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, assignments: _Optional[_Iterable[bytes]] = ...) -> None: ...

class FindCoordinators(_message.Message):
    __slots__ = ("coordinators",)
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    coordinators: _containers.RepeatedCompositeFieldContainer[AssignCoordinator]
    def __init__(self, coordinators: _Optional[_Iterable[_Union[AssignCoordinator, _Mapping]]] = ...) -> None: ...

class FindCoordinatorMoves(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class CoordinatorMove(_message.Message):
    __slots__ = ("assignment",)
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    assignment: bytes
    def __init__(self, assignment: _Optional[bytes] = ...) -> None: ...

class ListCoordinatorsRequest(_message.Message):
    __slots__ = ("role", "broker", "page_size", "page_token")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    role: str
    broker: str
    page_size: int
    page_token: bytes
    def __init__(self, role: _Optional[str] = ..., broker: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListCoordinatorsResponse(_message.Message):
    __slots__ = ("coordinators", "next_page_token")
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    coordinators: _containers.RepeatedCompositeFieldContainer[Coordinator]
    next_page_token: bytes
    def __init__(self, coordinators: _Optional[_Iterable[_Union[Coordinator, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
