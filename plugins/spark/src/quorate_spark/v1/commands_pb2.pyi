from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class BeginLoadCommand(_message.Message):
    __slots__ = ("load_id", "table", "insert_only", "by_files", "atomic")
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    INSERT_ONLY_FIELD_NUMBER: _ClassVar[int]
    BY_FILES_FIELD_NUMBER: _ClassVar[int]
    ATOMIC_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    table: str
    insert_only: bool
    by_files: bool
    atomic: bool
    def __init__(self, load_id: _Optional[str] = ..., table: _Optional[str] = ..., insert_only: bool = ..., by_files: bool = ..., atomic: bool = ...) -> None: ...

class ReportPartitionCommand(_message.Message):
    __slots__ = ("load_id", "partition", "rows", "bad_rows", "batches", "finished", "row_bytes")
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BAD_ROWS_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    ROW_BYTES_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    partition: int
    rows: int
    bad_rows: int
    batches: int
    finished: bool
    row_bytes: int
    def __init__(self, load_id: _Optional[str] = ..., partition: _Optional[int] = ..., rows: _Optional[int] = ..., bad_rows: _Optional[int] = ..., batches: _Optional[int] = ..., finished: bool = ..., row_bytes: _Optional[int] = ...) -> None: ...

class EndLoadCommand(_message.Message):
    __slots__ = ("load_id", "failure", "staged")
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    STAGED_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    failure: str
    staged: bool
    def __init__(self, load_id: _Optional[str] = ..., failure: _Optional[str] = ..., staged: bool = ...) -> None: ...

class BeginAbortCommand(_message.Message):
    __slots__ = ("load_id",)
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    def __init__(self, load_id: _Optional[str] = ...) -> None: ...

class EndAbortCommand(_message.Message):
    __slots__ = ("load_id", "removed")
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    removed: int
    def __init__(self, load_id: _Optional[str] = ..., removed: _Optional[int] = ...) -> None: ...

class ForgetLoadCommand(_message.Message):
    __slots__ = ("load_id",)
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    def __init__(self, load_id: _Optional[str] = ...) -> None: ...
