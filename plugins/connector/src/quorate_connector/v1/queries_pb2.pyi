from quorate_connector.v1 import tasks_pb2 as _tasks_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListVersionsQuery(_message.Message):
    __slots__ = ("tenant", "name", "version")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    name: str
    version: int
    def __init__(self, tenant: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

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
