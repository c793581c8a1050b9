from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FetchFilesRequest(_message.Message):
    __slots__ = ("shard", "name", "files", "node")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    shard: str
    name: str
    files: _containers.RepeatedCompositeFieldContainer[SortedFile]
    node: str
    def __init__(self, shard: _Optional[str] = ..., name: _Optional[str] = ..., files: _Optional[_Iterable[_Union[SortedFile, _Mapping]]] = ..., node: _Optional[str] = ...) -> None: ...

class FetchFilesResponse(_message.Message):
    __slots__ = ("lacking",)
    LACKING_FIELD_NUMBER: _ClassVar[int]
    lacking: str
    def __init__(self, lacking: _Optional[str] = ...) -> None: ...

class ReadFileRequest(_message.Message):
    __slots__ = ("shard", "name", "family", "digest", "offset")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    shard: str
    name: str
    family: str
    digest: bytes
    offset: int
    def __init__(self, shard: _Optional[str] = ..., name: _Optional[str] = ..., family: _Optional[str] = ..., digest: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...

class ReadFileResponse(_message.Message):
    __slots__ = ("found", "content")
    FOUND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    found: bool
    content: bytes
    def __init__(self, found: bool = ..., content: _Optional[bytes] = ...) -> None: ...

class AppliedRequest(_message.Message):
    __slots__ = ("shard",)
    SHARD_FIELD_NUMBER: _ClassVar[int]
    shard: str
    def __init__(self, shard: _Optional[str] = ...) -> None: ...

class AppliedResponse(_message.Message):
    __slots__ = ("durable_index",)
    DURABLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    durable_index: int
    def __init__(self, durable_index: _Optional[int] = ...) -> None: ...

class OpenFilesRequest(_message.Message):
    __slots__ = ("group", "shard", "name", "command")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard: int
    name: str
    command: str
    def __init__(self, group: _Optional[str] = ..., shard: _Optional[int] = ..., name: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class OpenFilesResponse(_message.Message):
    __slots__ = ("set", "facts")
    SET_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    set: FileSet
    facts: _containers.RepeatedCompositeFieldContainer[FactRow]
    def __init__(self, set: _Optional[_Union[FileSet, _Mapping]] = ..., facts: _Optional[_Iterable[_Union[FactRow, _Mapping]]] = ...) -> None: ...

class FactRow(_message.Message):
    __slots__ = ("family", "key", "value")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    family: str
    key: bytes
    value: bytes
    def __init__(self, family: _Optional[str] = ..., key: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class SendFileRequest(_message.Message):
    __slots__ = ("group", "shard", "name", "file", "offset", "content")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard: int
    name: str
    file: SortedFile
    offset: int
    content: bytes
    def __init__(self, group: _Optional[str] = ..., shard: _Optional[int] = ..., name: _Optional[str] = ..., file: _Optional[_Union[SortedFile, _Mapping]] = ..., offset: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class SendFileResponse(_message.Message):
    __slots__ = ("received", "full")
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    received: int
    full: str
    def __init__(self, received: _Optional[int] = ..., full: _Optional[str] = ...) -> None: ...

class IngestFilesRequest(_message.Message):
    __slots__ = ("group", "shard", "ingest", "check_only")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    INGEST_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard: int
    ingest: IngestFileSet
    check_only: bool
    def __init__(self, group: _Optional[str] = ..., shard: _Optional[int] = ..., ingest: _Optional[_Union[IngestFileSet, _Mapping]] = ..., check_only: bool = ...) -> None: ...

class PublishFilesRequest(_message.Message):
    __slots__ = ("group", "name", "command")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    command: str
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class PublishFilesResponse(_message.Message):
    __slots__ = ("publication",)
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    publication: Publication
    def __init__(self, publication: _Optional[_Union[Publication, _Mapping]] = ...) -> None: ...

class IngestFilesResponse(_message.Message):
    __slots__ = ("set",)
    SET_FIELD_NUMBER: _ClassVar[int]
    set: FileSet
    def __init__(self, set: _Optional[_Union[FileSet, _Mapping]] = ...) -> None: ...

class DropFilesRequest(_message.Message):
    __slots__ = ("group", "shard", "drop")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    group: str
    shard: int
    drop: DropFileSet
    def __init__(self, group: _Optional[str] = ..., shard: _Optional[int] = ..., drop: _Optional[_Union[DropFileSet, _Mapping]] = ...) -> None: ...

class DropFilesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SortedFile(_message.Message):
    __slots__ = ("family", "digest", "size", "rows", "ranges", "rows_digest")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    RANGES_FIELD_NUMBER: _ClassVar[int]
    ROWS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    family: str
    digest: bytes
    size: int
    rows: int
    ranges: _containers.RepeatedCompositeFieldContainer[KeyRange]
    rows_digest: bytes
    def __init__(self, family: _Optional[str] = ..., digest: _Optional[bytes] = ..., size: _Optional[int] = ..., rows: _Optional[int] = ..., ranges: _Optional[_Iterable[_Union[KeyRange, _Mapping]]] = ..., rows_digest: _Optional[bytes] = ...) -> None: ...

class KeyRange(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: bytes
    last: bytes
    def __init__(self, first: _Optional[bytes] = ..., last: _Optional[bytes] = ...) -> None: ...

class FileSet(_message.Message):
    __slots__ = ("name", "command", "state", "revision", "now_ms", "generation", "ingested_at", "files", "rows", "slots", "counts", "publication", "settled")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[FileSet.State]
        OPEN: _ClassVar[FileSet.State]
        INGESTED: _ClassVar[FileSet.State]
        DROPPED: _ClassVar[FileSet.State]
        STAGED: _ClassVar[FileSet.State]
        CLOSED: _ClassVar[FileSet.State]
    STATE_UNSPECIFIED: FileSet.State
    OPEN: FileSet.State
    INGESTED: FileSet.State
    DROPPED: FileSet.State
    STAGED: FileSet.State
    CLOSED: FileSet.State
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NOW_MS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    INGESTED_AT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    name: str
    command: str
    state: FileSet.State
    revision: int
    now_ms: int
    generation: int
    ingested_at: int
    files: _containers.RepeatedCompositeFieldContainer[SortedFile]
    rows: int
    slots: bytes
    counts: _containers.RepeatedCompositeFieldContainer[ItemCount]
    publication: int
    settled: _containers.RepeatedCompositeFieldContainer[FactRow]
    def __init__(self, name: _Optional[str] = ..., command: _Optional[str] = ..., state: _Optional[_Union[FileSet.State, str]] = ..., revision: _Optional[int] = ..., now_ms: _Optional[int] = ..., generation: _Optional[int] = ..., ingested_at: _Optional[int] = ..., files: _Optional[_Iterable[_Union[SortedFile, _Mapping]]] = ..., rows: _Optional[int] = ..., slots: _Optional[bytes] = ..., counts: _Optional[_Iterable[_Union[ItemCount, _Mapping]]] = ..., publication: _Optional[int] = ..., settled: _Optional[_Iterable[_Union[FactRow, _Mapping]]] = ...) -> None: ...

class PublicationMark(_message.Message):
    __slots__ = ("number", "closed", "closing", "name")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    CLOSING_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    number: int
    closed: _containers.RepeatedScalarFieldContainer[str]
    closing: int
    name: str
    def __init__(self, number: _Optional[int] = ..., closed: _Optional[_Iterable[str]] = ..., closing: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("group", "name", "command", "number", "state", "reason", "parts")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Publication.State]
        CLOSING: _ClassVar[Publication.State]
        COMMITTED: _ClassVar[Publication.State]
        ABORTED: _ClassVar[Publication.State]
    STATE_UNSPECIFIED: Publication.State
    CLOSING: Publication.State
    COMMITTED: Publication.State
    ABORTED: Publication.State
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    command: str
    number: int
    state: Publication.State
    reason: str
    parts: _containers.RepeatedCompositeFieldContainer[PublicationPart]
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., command: _Optional[str] = ..., number: _Optional[int] = ..., state: _Optional[_Union[Publication.State, str]] = ..., reason: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[PublicationPart, _Mapping]]] = ...) -> None: ...

class PublicationPart(_message.Message):
    __slots__ = ("shard", "closed")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    shard: int
    closed: bool
    def __init__(self, shard: _Optional[int] = ..., closed: bool = ...) -> None: ...

class OpenFileSet(_message.Message):
    __slots__ = ("name", "command")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    name: str
    command: str
    def __init__(self, name: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class IngestFileSet(_message.Message):
    __slots__ = ("name", "files", "slots", "counts", "stage")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    files: _containers.RepeatedCompositeFieldContainer[SortedFile]
    slots: bytes
    counts: _containers.RepeatedCompositeFieldContainer[ItemCount]
    stage: bool
    def __init__(self, name: _Optional[str] = ..., files: _Optional[_Iterable[_Union[SortedFile, _Mapping]]] = ..., slots: _Optional[bytes] = ..., counts: _Optional[_Iterable[_Union[ItemCount, _Mapping]]] = ..., stage: bool = ...) -> None: ...

class ItemCount(_message.Message):
    __slots__ = ("name", "items")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    items: int
    def __init__(self, name: _Optional[str] = ..., items: _Optional[int] = ...) -> None: ...

class DropFileSet(_message.Message):
    __slots__ = ("name", "forget")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    name: str
    forget: bool
    def __init__(self, name: _Optional[str] = ..., forget: bool = ...) -> None: ...

class CloseFileSet(_message.Message):
    __slots__ = ("name", "command", "publication")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    command: str
    publication: int
    def __init__(self, name: _Optional[str] = ..., command: _Optional[str] = ..., publication: _Optional[int] = ...) -> None: ...

class OpenPublished(_message.Message):
    __slots__ = ("name", "publication", "committed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    publication: int
    committed: bool
    def __init__(self, name: _Optional[str] = ..., publication: _Optional[int] = ..., committed: bool = ...) -> None: ...

class BeginPublication(_message.Message):
    __slots__ = ("group", "name", "command")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    command: str
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., command: _Optional[str] = ...) -> None: ...

class ReportPublication(_message.Message):
    __slots__ = ("group", "name", "publication", "shard", "over", "failure")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    OVER_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    publication: int
    shard: int
    over: bool
    failure: str
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., publication: _Optional[int] = ..., shard: _Optional[int] = ..., over: bool = ..., failure: _Optional[str] = ...) -> None: ...

class EndPublication(_message.Message):
    __slots__ = ("group", "name", "forget")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    group: str
    name: str
    forget: bool
    def __init__(self, group: _Optional[str] = ..., name: _Optional[str] = ..., forget: bool = ...) -> None: ...
