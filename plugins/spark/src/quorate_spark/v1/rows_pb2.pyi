from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Load(_message.Message):
    __slots__ = ("load_id", "table", "insert_only", "state", "began_at_ms", "ended_at_ms", "reason", "removed", "by_files", "atomic")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Load.State]
        LOADING: _ClassVar[Load.State]
        FINISHED: _ClassVar[Load.State]
        FAILED: _ClassVar[Load.State]
        ABORTING: _ClassVar[Load.State]
        ABORTED: _ClassVar[Load.State]
        STAGED: _ClassVar[Load.State]
    STATE_UNSPECIFIED: Load.State
    LOADING: Load.State
    FINISHED: Load.State
    FAILED: Load.State
    ABORTING: Load.State
    ABORTED: Load.State
    STAGED: Load.State
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    INSERT_ONLY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    BY_FILES_FIELD_NUMBER: _ClassVar[int]
    ATOMIC_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    table: str
    insert_only: bool
    state: Load.State
    began_at_ms: int
    ended_at_ms: int
    reason: str
    removed: int
    by_files: bool
    atomic: bool
    def __init__(self, load_id: _Optional[str] = ..., table: _Optional[str] = ..., insert_only: bool = ..., state: _Optional[_Union[Load.State, str]] = ..., began_at_ms: _Optional[int] = ..., ended_at_ms: _Optional[int] = ..., reason: _Optional[str] = ..., removed: _Optional[int] = ..., by_files: bool = ..., atomic: bool = ...) -> None: ...

class LoadPartition(_message.Message):
    __slots__ = ("partition", "rows", "bad_rows", "batches", "finished", "row_bytes")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BAD_ROWS_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    ROW_BYTES_FIELD_NUMBER: _ClassVar[int]
    partition: int
    rows: int
    bad_rows: int
    batches: int
    finished: bool
    row_bytes: int
    def __init__(self, partition: _Optional[int] = ..., rows: _Optional[int] = ..., bad_rows: _Optional[int] = ..., batches: _Optional[int] = ..., finished: bool = ..., row_bytes: _Optional[int] = ...) -> None: ...
