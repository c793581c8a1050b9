from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PeerFrame(_message.Message):
    __slots__ = ("handshake", "envelopes")
    HANDSHAKE_FIELD_NUMBER: _ClassVar[int]
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    handshake: PeerHandshake
    envelopes: _containers.RepeatedCompositeFieldContainer[PeerEnvelope]
    def __init__(self, handshake: _Optional[_Union[PeerHandshake, _Mapping]] = ..., envelopes: _Optional[_Iterable[_Union[PeerEnvelope, _Mapping]]] = ...) -> None: ...

class PeerHandshake(_message.Message):
    __slots__ = ("cluster_id", "token_hash", "node", "replica", "target_node", "config_index")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    TARGET_NODE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_INDEX_FIELD_NUMBER: _ClassVar[int]
    cluster_id: bytes
    token_hash: bytes
    node: str
    replica: int
    target_node: str
    config_index: int
    def __init__(self, cluster_id: _Optional[bytes] = ..., token_hash: _Optional[bytes] = ..., node: _Optional[str] = ..., replica: _Optional[int] = ..., target_node: _Optional[str] = ..., config_index: _Optional[int] = ...) -> None: ...

class PeerAnswer(_message.Message):
    __slots__ = ("refusal", "handshake")
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    HANDSHAKE_FIELD_NUMBER: _ClassVar[int]
    refusal: str
    handshake: PeerHandshake
    def __init__(self, refusal: _Optional[str] = ..., handshake: _Optional[_Union[PeerHandshake, _Mapping]] = ...) -> None: ...

class PeerIntroduction(_message.Message):
    __slots__ = ("token_hash", "node", "replica", "initial_members", "first_entry", "about")
    TOKEN_HASH_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    INITIAL_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    FIRST_ENTRY_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    token_hash: bytes
    node: str
    replica: int
    initial_members: _containers.RepeatedScalarFieldContainer[str]
    first_entry: bytes
    about: bytes
    def __init__(self, token_hash: _Optional[bytes] = ..., node: _Optional[str] = ..., replica: _Optional[int] = ..., initial_members: _Optional[_Iterable[str]] = ..., first_entry: _Optional[bytes] = ..., about: _Optional[bytes] = ...) -> None: ...

class PeerEnvelope(_message.Message):
    __slots__ = ("shard", "source_replica", "target_node", "target_replica", "term", "config_index", "append", "append_reply", "heartbeat", "heartbeat_reply", "request_vote", "vote_reply", "timeout_now", "read_request", "read_reply")
    class EntryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ENTRY_KIND_UNSPECIFIED: _ClassVar[PeerEnvelope.EntryKind]
        ENTRY_KIND_NOOP: _ClassVar[PeerEnvelope.EntryKind]
        ENTRY_KIND_COMMAND: _ClassVar[PeerEnvelope.EntryKind]
        ENTRY_KIND_CONFIG: _ClassVar[PeerEnvelope.EntryKind]
    ENTRY_KIND_UNSPECIFIED: PeerEnvelope.EntryKind
    ENTRY_KIND_NOOP: PeerEnvelope.EntryKind
    ENTRY_KIND_COMMAND: PeerEnvelope.EntryKind
    ENTRY_KIND_CONFIG: PeerEnvelope.EntryKind
    class Entry(_message.Message):
        __slots__ = ("index", "term", "kind", "payload")
        INDEX_FIELD_NUMBER: _ClassVar[int]
        TERM_FIELD_NUMBER: _ClassVar[int]
        KIND_FIELD_NUMBER: _ClassVar[int]
        PAYLOAD_FIELD_NUMBER: _ClassVar[int]
        index: int
        term: int
        kind: PeerEnvelope.EntryKind
        payload: bytes
        def __init__(self, index: _Optional[int] = ..., term: _Optional[int] = ..., kind: _Optional[_Union[PeerEnvelope.EntryKind, str]] = ..., payload: _Optional[bytes] = ...) -> None: ...
    class Append(_message.Message):
        __slots__ = ("prev_index", "prev_term", "entries", "commit")
        PREV_INDEX_FIELD_NUMBER: _ClassVar[int]
        PREV_TERM_FIELD_NUMBER: _ClassVar[int]
        ENTRIES_FIELD_NUMBER: _ClassVar[int]
        COMMIT_FIELD_NUMBER: _ClassVar[int]
        prev_index: int
        prev_term: int
        entries: _containers.RepeatedCompositeFieldContainer[PeerEnvelope.Entry]
        commit: int
        def __init__(self, prev_index: _Optional[int] = ..., prev_term: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[PeerEnvelope.Entry, _Mapping]]] = ..., commit: _Optional[int] = ...) -> None: ...
    class AppendReply(_message.Message):
        __slots__ = ("success", "prev_index", "match", "hint_index", "hint_term")
        SUCCESS_FIELD_NUMBER: _ClassVar[int]
        PREV_INDEX_FIELD_NUMBER: _ClassVar[int]
        MATCH_FIELD_NUMBER: _ClassVar[int]
        HINT_INDEX_FIELD_NUMBER: _ClassVar[int]
        HINT_TERM_FIELD_NUMBER: _ClassVar[int]
        success: bool
        prev_index: int
        match: int
        hint_index: int
        hint_term: int
        def __init__(self, success: bool = ..., prev_index: _Optional[int] = ..., match: _Optional[int] = ..., hint_index: _Optional[int] = ..., hint_term: _Optional[int] = ...) -> None: ...
    class Heartbeat(_message.Message):
        __slots__ = ("commit", "round", "agreed")
        COMMIT_FIELD_NUMBER: _ClassVar[int]
        ROUND_FIELD_NUMBER: _ClassVar[int]
        AGREED_FIELD_NUMBER: _ClassVar[int]
        commit: int
        round: int
        agreed: int
        def __init__(self, commit: _Optional[int] = ..., round: _Optional[int] = ..., agreed: _Optional[int] = ...) -> None: ...
    class HeartbeatReply(_message.Message):
        __slots__ = ("round", "match")
        ROUND_FIELD_NUMBER: _ClassVar[int]
        MATCH_FIELD_NUMBER: _ClassVar[int]
        round: int
        match: int
        def __init__(self, round: _Optional[int] = ..., match: _Optional[int] = ...) -> None: ...
    class RequestVote(_message.Message):
        __slots__ = ("last_index", "last_term", "pre", "transfer")
        LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
        LAST_TERM_FIELD_NUMBER: _ClassVar[int]
        PRE_FIELD_NUMBER: _ClassVar[int]
        TRANSFER_FIELD_NUMBER: _ClassVar[int]
        last_index: int
        last_term: int
        pre: bool
        transfer: bool
        def __init__(self, last_index: _Optional[int] = ..., last_term: _Optional[int] = ..., pre: bool = ..., transfer: bool = ...) -> None: ...
    class VoteReply(_message.Message):
        __slots__ = ("granted", "pre", "for_term")
        GRANTED_FIELD_NUMBER: _ClassVar[int]
        PRE_FIELD_NUMBER: _ClassVar[int]
        FOR_TERM_FIELD_NUMBER: _ClassVar[int]
        granted: bool
        pre: bool
        for_term: int
        def __init__(self, granted: bool = ..., pre: bool = ..., for_term: _Optional[int] = ...) -> None: ...
    class TimeoutNow(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class ReadRequest(_message.Message):
        __slots__ = ("token",)
        TOKEN_FIELD_NUMBER: _ClassVar[int]
        token: int
        def __init__(self, token: _Optional[int] = ...) -> None: ...
    class ReadReply(_message.Message):
        __slots__ = ("token", "index")
        TOKEN_FIELD_NUMBER: _ClassVar[int]
        INDEX_FIELD_NUMBER: _ClassVar[int]
        token: int
        index: int
        def __init__(self, token: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...
    SHARD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REPLICA_FIELD_NUMBER: _ClassVar[int]
    TARGET_NODE_FIELD_NUMBER: _ClassVar[int]
    TARGET_REPLICA_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    CONFIG_INDEX_FIELD_NUMBER: _ClassVar[int]
    APPEND_FIELD_NUMBER: _ClassVar[int]
    APPEND_REPLY_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_REPLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_VOTE_FIELD_NUMBER: _ClassVar[int]
    VOTE_REPLY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_NOW_FIELD_NUMBER: _ClassVar[int]
    READ_REQUEST_FIELD_NUMBER: _ClassVar[int]
    READ_REPLY_FIELD_NUMBER: _ClassVar[int]
    shard: str
    source_replica: int
    target_node: str
    target_replica: int
    term: int
    config_index: int
    append: PeerEnvelope.Append
    append_reply: PeerEnvelope.AppendReply
    heartbeat: PeerEnvelope.Heartbeat
    heartbeat_reply: PeerEnvelope.HeartbeatReply
    request_vote: PeerEnvelope.RequestVote
    vote_reply: PeerEnvelope.VoteReply
    timeout_now: PeerEnvelope.TimeoutNow
    read_request: PeerEnvelope.ReadRequest
    read_reply: PeerEnvelope.ReadReply
    def __init__(self, shard: _Optional[str] = ..., source_replica: _Optional[int] = ..., target_node: _Optional[str] = ..., target_replica: _Optional[int] = ..., term: _Optional[int] = ..., config_index: _Optional[int] = ..., append: _Optional[_Union[PeerEnvelope.Append, _Mapping]] = ..., append_reply: _Optional[_Union[PeerEnvelope.AppendReply, _Mapping]] = ..., heartbeat: _Optional[_Union[PeerEnvelope.Heartbeat, _Mapping]] = ..., heartbeat_reply: _Optional[_Union[PeerEnvelope.HeartbeatReply, _Mapping]] = ..., request_vote: _Optional[_Union[PeerEnvelope.RequestVote, _Mapping]] = ..., vote_reply: _Optional[_Union[PeerEnvelope.VoteReply, _Mapping]] = ..., timeout_now: _Optional[_Union[PeerEnvelope.TimeoutNow, _Mapping]] = ..., read_request: _Optional[_Union[PeerEnvelope.ReadRequest, _Mapping]] = ..., read_reply: _Optional[_Union[PeerEnvelope.ReadReply, _Mapping]] = ...) -> None: ...
