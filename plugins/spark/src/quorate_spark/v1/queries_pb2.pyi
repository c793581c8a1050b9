from quorate_spark.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetLoadQuery(_message.Message):
    __slots__ = ("load_id",)
    LOAD_ID_FIELD_NUMBER: _ClassVar[int]
    load_id: str
    def __init__(self, load_id: _Optional[str] = ...) -> None: ...

class ListLoadsQuery(_message.Message):
    __slots__ = ("after", "limit")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after: str
    limit: int
    def __init__(self, after: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class LoadView(_message.Message):
    __slots__ = ("load", "rows", "bad_rows", "batches", "partitions", "partitions_finished", "parts", "row_bytes")
    LOAD_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BAD_ROWS_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FINISHED_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    ROW_BYTES_FIELD_NUMBER: _ClassVar[int]
    load: _rows_pb2.Load
    rows: int
    bad_rows: int
    batches: int
    partitions: int
    partitions_finished: int
    parts: _containers.RepeatedCompositeFieldContainer[_rows_pb2.LoadPartition]
    row_bytes: int
    def __init__(self, load: _Optional[_Union[_rows_pb2.Load, _Mapping]] = ..., rows: _Optional[int] = ..., bad_rows: _Optional[int] = ..., batches: _Optional[int] = ..., partitions: _Optional[int] = ..., partitions_finished: _Optional[int] = ..., parts: _Optional[_Iterable[_Union[_rows_pb2.LoadPartition, _Mapping]]] = ..., row_bytes: _Optional[int] = ...) -> None: ...
