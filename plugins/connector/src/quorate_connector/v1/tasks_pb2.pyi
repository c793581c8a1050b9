from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_connector.v1 import connectors_pb2 as _connectors_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATE_UNSPECIFIED: _ClassVar[TaskState]
    TASK_STATE_UNASSIGNED: _ClassVar[TaskState]
    TASK_STATE_ASSIGNED: _ClassVar[TaskState]
    TASK_STATE_RUNNING: _ClassVar[TaskState]
    TASK_STATE_PAUSED: _ClassVar[TaskState]
    TASK_STATE_FAILED: _ClassVar[TaskState]
    TASK_STATE_RESTARTING: _ClassVar[TaskState]
    TASK_STATE_STOPPED: _ClassVar[TaskState]
TASK_STATE_UNSPECIFIED: TaskState
TASK_STATE_UNASSIGNED: TaskState
TASK_STATE_ASSIGNED: TaskState
TASK_STATE_RUNNING: TaskState
TASK_STATE_PAUSED: TaskState
TASK_STATE_FAILED: TaskState
TASK_STATE_RESTARTING: TaskState
TASK_STATE_STOPPED: TaskState

class TaskId(_message.Message):
    __slots__ = ("tenant", "connector", "number")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CONNECTOR_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    connector: str
    number: int
    def __init__(self, tenant: _Optional[str] = ..., connector: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("id", "uid", "version", "target", "state", "reason", "worker", "worker_epoch", "epoch", "release_by_ms", "failures", "retry_at_ms", "running_since_ms", "changed_at_ms", "transitions", "preferred_worker", "failures_max", "backoff_ms", "labels")
    ID_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    RELEASE_BY_MS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    RETRY_AT_MS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_WORKER_FIELD_NUMBER: _ClassVar[int]
    FAILURES_MAX_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_MS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    id: TaskId
    uid: int
    version: int
    target: _connectors_pb2.Target
    state: TaskState
    reason: str
    worker: str
    worker_epoch: int
    epoch: int
    release_by_ms: int
    failures: int
    retry_at_ms: int
    running_since_ms: int
    changed_at_ms: int
    transitions: int
    preferred_worker: str
    failures_max: int
    backoff_ms: int
    labels: _containers.RepeatedCompositeFieldContainer[_connectors_pb2.Label]
    def __init__(self, id: _Optional[_Union[TaskId, _Mapping]] = ..., uid: _Optional[int] = ..., version: _Optional[int] = ..., target: _Optional[_Union[_connectors_pb2.Target, str]] = ..., state: _Optional[_Union[TaskState, str]] = ..., reason: _Optional[str] = ..., worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., epoch: _Optional[int] = ..., release_by_ms: _Optional[int] = ..., failures: _Optional[int] = ..., retry_at_ms: _Optional[int] = ..., running_since_ms: _Optional[int] = ..., changed_at_ms: _Optional[int] = ..., transitions: _Optional[int] = ..., preferred_worker: _Optional[str] = ..., failures_max: _Optional[int] = ..., backoff_ms: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[_connectors_pb2.Label, _Mapping]]] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("number", "to", "reason", "worker", "epoch", "at_ms")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    number: int
    to: TaskState
    reason: str
    worker: str
    epoch: int
    at_ms: int
    def __init__(self, number: _Optional[int] = ..., to: _Optional[_Union[TaskState, str]] = ..., reason: _Optional[str] = ..., worker: _Optional[str] = ..., epoch: _Optional[int] = ..., at_ms: _Optional[int] = ..., **kwargs) -> None: ...

class Cursor(_message.Message):
    __slots__ = ("value", "version", "epoch", "stored_at_ms")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STORED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    version: int
    epoch: int
    stored_at_ms: int
    def __init__(self, value: _Optional[bytes] = ..., version: _Optional[int] = ..., epoch: _Optional[int] = ..., stored_at_ms: _Optional[int] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("name", "epoch", "draining", "silent", "release_timeout_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    RELEASE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    epoch: int
    draining: bool
    silent: bool
    release_timeout_ms: int
    def __init__(self, name: _Optional[str] = ..., epoch: _Optional[int] = ..., draining: bool = ..., silent: bool = ..., release_timeout_ms: _Optional[int] = ...) -> None: ...

class ReportTasks(_message.Message):
    __slots__ = ("worker", "worker_epoch", "timeout_ms", "reports")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    worker: str
    worker_epoch: int
    timeout_ms: int
    reports: _containers.RepeatedCompositeFieldContainer[TaskReport]
    def __init__(self, worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., reports: _Optional[_Iterable[_Union[TaskReport, _Mapping]]] = ...) -> None: ...

class TaskReport(_message.Message):
    __slots__ = ("task", "epoch", "state", "reason")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    epoch: int
    state: TaskState
    reason: str
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ..., epoch: _Optional[int] = ..., state: _Optional[_Union[TaskState, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class ReportReply(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: Task
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ...) -> None: ...

class StoreCursor(_message.Message):
    __slots__ = ("task", "worker_epoch", "epoch", "expected_version", "value")
    TASK_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    worker_epoch: int
    epoch: int
    expected_version: int
    value: bytes
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ..., worker_epoch: _Optional[int] = ..., epoch: _Optional[int] = ..., expected_version: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class StoreCursors(_message.Message):
    __slots__ = ("cursors",)
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    cursors: _containers.RepeatedCompositeFieldContainer[StoreCursor]
    def __init__(self, cursors: _Optional[_Iterable[_Union[StoreCursor, _Mapping]]] = ...) -> None: ...

class DrainWorker(_message.Message):
    __slots__ = ("worker", "release_timeout_ms")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    RELEASE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    worker: str
    release_timeout_ms: int
    def __init__(self, worker: _Optional[str] = ..., release_timeout_ms: _Optional[int] = ...) -> None: ...

class DrainWorkers(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[DrainWorker]
    def __init__(self, workers: _Optional[_Iterable[_Union[DrainWorker, _Mapping]]] = ...) -> None: ...

class UndrainWorker(_message.Message):
    __slots__ = ("worker",)
    WORKER_FIELD_NUMBER: _ClassVar[int]
    worker: str
    def __init__(self, worker: _Optional[str] = ...) -> None: ...

class UndrainWorkers(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[UndrainWorker]
    def __init__(self, workers: _Optional[_Iterable[_Union[UndrainWorker, _Mapping]]] = ...) -> None: ...

class AssignTasks(_message.Message):
    __slots__ = ("assignments",)
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    assignments: _containers.RepeatedCompositeFieldContainer[Assignment]
    def __init__(self, assignments: _Optional[_Iterable[_Union[Assignment, _Mapping]]] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("task", "expected_epoch", "worker", "worker_epoch", "timeout_ms")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    WORKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    expected_epoch: int
    worker: str
    worker_epoch: int
    timeout_ms: int
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ..., expected_epoch: _Optional[int] = ..., worker: _Optional[str] = ..., worker_epoch: _Optional[int] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class ReleaseTasks(_message.Message):
    __slots__ = ("releases",)
    RELEASES_FIELD_NUMBER: _ClassVar[int]
    releases: _containers.RepeatedCompositeFieldContainer[Release]
    def __init__(self, releases: _Optional[_Iterable[_Union[Release, _Mapping]]] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ("task", "expected_epoch", "timeout_ms", "reason")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    expected_epoch: int
    timeout_ms: int
    reason: str
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ..., expected_epoch: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ReclaimTasks(_message.Message):
    __slots__ = ("reclaims",)
    RECLAIMS_FIELD_NUMBER: _ClassVar[int]
    reclaims: _containers.RepeatedCompositeFieldContainer[Reclaim]
    def __init__(self, reclaims: _Optional[_Iterable[_Union[Reclaim, _Mapping]]] = ...) -> None: ...

class Reclaim(_message.Message):
    __slots__ = ("task", "expected_epoch")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    expected_epoch: int
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ..., expected_epoch: _Optional[int] = ...) -> None: ...

class ExpireWorkers(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RetryTasks(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class TakeTasks(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("tenant", "connector", "worker", "state", "page_size", "page_token")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CONNECTOR_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    connector: str
    worker: str
    state: TaskState
    page_size: int
    page_token: bytes
    def __init__(self, tenant: _Optional[str] = ..., connector: _Optional[str] = ..., worker: _Optional[str] = ..., state: _Optional[_Union[TaskState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_page_token")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    next_page_token: bytes
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...

class ListHistoryRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ...) -> None: ...

class ListHistoryResponse(_message.Message):
    __slots__ = ("transitions",)
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    transitions: _containers.RepeatedCompositeFieldContainer[Transition]
    def __init__(self, transitions: _Optional[_Iterable[_Union[Transition, _Mapping]]] = ...) -> None: ...

class GetCursorRequest(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: TaskId
    def __init__(self, task: _Optional[_Union[TaskId, _Mapping]] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[WorkerLoad]
    def __init__(self, workers: _Optional[_Iterable[_Union[WorkerLoad, _Mapping]]] = ...) -> None: ...

class WorkerLoad(_message.Message):
    __slots__ = ("worker", "registered", "tasks")
    WORKER_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    worker: Worker
    registered: bool
    tasks: int
    def __init__(self, worker: _Optional[_Union[Worker, _Mapping]] = ..., registered: bool = ..., tasks: _Optional[int] = ...) -> None: ...
