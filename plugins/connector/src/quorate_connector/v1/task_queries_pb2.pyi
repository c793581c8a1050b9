from quorate_connector.v1 import tasks_pb2 as _tasks_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetTaskQuery(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: _tasks_pb2.TaskId
    def __init__(self, task: _Optional[_Union[_tasks_pb2.TaskId, _Mapping]] = ...) -> None: ...

class ListTasksQuery(_message.Message):
    __slots__ = ("start", "end", "worker", "state", "limit")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    start: bytes
    end: bytes
    worker: str
    state: _tasks_pb2.TaskState
    limit: int
    def __init__(self, start: _Optional[bytes] = ..., end: _Optional[bytes] = ..., worker: _Optional[str] = ..., state: _Optional[_Union[_tasks_pb2.TaskState, str]] = ..., limit: _Optional[int] = ...) -> None: ...

class TaskPage(_message.Message):
    __slots__ = ("tasks", "next_start")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_START_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_tasks_pb2.Task]
    next_start: bytes
    def __init__(self, tasks: _Optional[_Iterable[_Union[_tasks_pb2.Task, _Mapping]]] = ..., next_start: _Optional[bytes] = ...) -> None: ...

class ListHistoryQuery(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: _tasks_pb2.TaskId
    def __init__(self, task: _Optional[_Union[_tasks_pb2.TaskId, _Mapping]] = ...) -> None: ...

class GetCursorQuery(_message.Message):
    __slots__ = ("task",)
    TASK_FIELD_NUMBER: _ClassVar[int]
    task: _tasks_pb2.TaskId
    def __init__(self, task: _Optional[_Union[_tasks_pb2.TaskId, _Mapping]] = ...) -> None: ...

class ListWorkersQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
