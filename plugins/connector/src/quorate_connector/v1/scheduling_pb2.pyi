from quorate_connector.v1 import tasks_pb2 as _tasks_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SurveyQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Survey(_message.Message):
    __slots__ = ("candidates", "holdings", "waiting", "states")
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    HOLDINGS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    holdings: _containers.RepeatedCompositeFieldContainer[Holding]
    waiting: _containers.RepeatedCompositeFieldContainer[KindCount]
    states: _containers.RepeatedCompositeFieldContainer[StateCount]
    def __init__(self, candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., holdings: _Optional[_Iterable[_Union[Holding, _Mapping]]] = ..., waiting: _Optional[_Iterable[_Union[KindCount, _Mapping]]] = ..., states: _Optional[_Iterable[_Union[StateCount, _Mapping]]] = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("worker", "worker_epoch", "labels", "available")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    worker: str
    worker_epoch: int
    labels: _containers.RepeatedScalarFieldContainer[bytes]
    available: bool
    def __init__(self, worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., labels: _Optional[_Iterable[bytes]] = ..., available: bool = ...) -> None: ...

class Holding(_message.Message):
    __slots__ = ("worker", "worker_epoch", "tasks", "leaving", "lost", "draining", "release_timeout_ms")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    RELEASE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    worker: str
    worker_epoch: int
    tasks: _containers.RepeatedCompositeFieldContainer[KindCount]
    leaving: int
    lost: bool
    draining: bool
    release_timeout_ms: int
    def __init__(self, worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., tasks: _Optional[_Iterable[_Union[KindCount, _Mapping]]] = ..., leaving: _Optional[int] = ..., lost: bool = ..., draining: bool = ..., release_timeout_ms: _Optional[int] = ...) -> None: ...

class KindCount(_message.Message):
    __slots__ = ("kind", "tasks")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    kind: bytes
    tasks: int
    def __init__(self, kind: _Optional[bytes] = ..., tasks: _Optional[int] = ...) -> None: ...

class StateCount(_message.Message):
    __slots__ = ("state", "tasks")
    STATE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    state: _tasks_pb2.TaskState
    tasks: int
    def __init__(self, state: _Optional[_Union[_tasks_pb2.TaskState, str]] = ..., tasks: _Optional[int] = ...) -> None: ...

class FindWaitingQuery(_message.Message):
    __slots__ = ("kind", "after", "limit")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    kind: bytes
    after: bytes
    limit: int
    def __init__(self, kind: _Optional[bytes] = ..., after: _Optional[bytes] = ..., limit: _Optional[int] = ...) -> None: ...

class FindHeldQuery(_message.Message):
    __slots__ = ("worker", "worker_epoch", "after", "limit")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    worker: str
    worker_epoch: int
    after: bytes
    limit: int
    def __init__(self, worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., after: _Optional[bytes] = ..., limit: _Optional[int] = ...) -> None: ...

class Placeable(_message.Message):
    __slots__ = ("task", "key", "epoch", "preferred_worker", "kind", "leaving")
    TASK_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_WORKER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    task: _tasks_pb2.TaskId
    key: bytes
    epoch: int
    preferred_worker: str
    kind: bytes
    leaving: bool
    def __init__(self, task: _Optional[_Union[_tasks_pb2.TaskId, _Mapping]] = ..., key: _Optional[bytes] = ..., epoch: _Optional[int] = ..., preferred_worker: _Optional[str] = ..., kind: _Optional[bytes] = ..., leaving: bool = ...) -> None: ...
