from quorate.v1 import peer_pb2 as _peer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SnapshotFrame(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: SnapshotHeader
    chunk: SnapshotChunk
    def __init__(self, header: _Optional[_Union[SnapshotHeader, _Mapping]] = ..., chunk: _Optional[_Union[SnapshotChunk, _Mapping]] = ...) -> None: ...

class SnapshotHeader(_message.Message):
    __slots__ = ("handshake", "shard", "target_replica", "config_index", "manifest", "epoch")
    HANDSHAKE_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    TARGET_REPLICA_FIELD_NUMBER: _ClassVar[int]
    CONFIG_INDEX_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    handshake: _peer_pb2.PeerHandshake
    shard: str
    target_replica: int
    config_index: int
    manifest: SnapshotManifest
    epoch: int
    def __init__(self, handshake: _Optional[_Union[_peer_pb2.PeerHandshake, _Mapping]] = ..., shard: _Optional[str] = ..., target_replica: _Optional[int] = ..., config_index: _Optional[int] = ..., manifest: _Optional[_Union[SnapshotManifest, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class SnapshotManifest(_message.Message):
    __slots__ = ("record", "files")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    record: bytes
    files: _containers.RepeatedCompositeFieldContainer[SnapshotFile]
    def __init__(self, record: _Optional[bytes] = ..., files: _Optional[_Iterable[_Union[SnapshotFile, _Mapping]]] = ...) -> None: ...

class SnapshotFile(_message.Message):
    __slots__ = ("name", "size", "checksum")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    name: str
    size: int
    checksum: int
    def __init__(self, name: _Optional[str] = ..., size: _Optional[int] = ..., checksum: _Optional[int] = ...) -> None: ...

class SnapshotChunk(_message.Message):
    __slots__ = ("file", "offset", "content")
    FILE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    file: int
    offset: int
    content: bytes
    def __init__(self, file: _Optional[int] = ..., offset: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class SnapshotAnswer(_message.Message):
    __slots__ = ("refusal", "busy")
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    refusal: str
    busy: bool
    def __init__(self, refusal: _Optional[str] = ..., busy: bool = ...) -> None: ...
