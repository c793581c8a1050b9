from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PeerChallengeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PeerChallenge(_message.Message):
    __slots__ = ("challenge",)
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    challenge: bytes
    def __init__(self, challenge: _Optional[bytes] = ...) -> None: ...

class PeerHandshake(_message.Message):
    __slots__ = ("cluster_id", "token_hash", "node", "replica", "target_node", "config_index", "start", "start_mark")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    TARGET_NODE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_INDEX_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    START_MARK_FIELD_NUMBER: _ClassVar[int]
    cluster_id: bytes
    token_hash: bytes
    node: str
    replica: int
    target_node: str
    config_index: int
    start: int
    start_mark: int
    def __init__(self, cluster_id: _Optional[bytes] = ..., token_hash: _Optional[bytes] = ..., node: _Optional[str] = ..., replica: _Optional[int] = ..., target_node: _Optional[str] = ..., config_index: _Optional[int] = ..., start: _Optional[int] = ..., start_mark: _Optional[int] = ...) -> None: ...

class PeerAnswer(_message.Message):
    __slots__ = ("refusal", "handshake")
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    HANDSHAKE_FIELD_NUMBER: _ClassVar[int]
    refusal: str
    handshake: PeerHandshake
    def __init__(self, refusal: _Optional[str] = ..., handshake: _Optional[_Union[PeerHandshake, _Mapping]] = ...) -> None: ...

class PeerIntroduction(_message.Message):
    __slots__ = ("token_hash", "node", "replica", "initial_members", "first_entry", "about", "port", "challenge")
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INITIAL_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    FIRST_ENTRY_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    token_hash: bytes
    node: str
    replica: int
    initial_members: _containers.RepeatedScalarFieldContainer[str]
    first_entry: bytes
    about: bytes
    port: int
    challenge: bytes
    def __init__(self, token_hash: _Optional[bytes] = ..., node: _Optional[str] = ..., replica: _Optional[int] = ..., initial_members: _Optional[_Iterable[str]] = ..., first_entry: _Optional[bytes] = ..., about: _Optional[bytes] = ..., port: _Optional[int] = ..., challenge: _Optional[bytes] = ...) -> None: ...
