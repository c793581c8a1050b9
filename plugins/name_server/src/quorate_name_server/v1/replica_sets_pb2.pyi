from quorate.v1 import batch_pb2 as _batch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReplicaSet(_message.Message):
    __slots__ = ("name", "cluster", "replicas", "master", "master_epoch", "in_sync", "in_sync_epoch", "next_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    MASTER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NEXT_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster: str
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    master: int
    master_epoch: int
    in_sync: _containers.RepeatedScalarFieldContainer[int]
    in_sync_epoch: int
    next_id: int
    def __init__(self, name: _Optional[str] = ..., cluster: _Optional[str] = ..., replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ..., master: _Optional[int] = ..., master_epoch: _Optional[int] = ..., in_sync: _Optional[_Iterable[int]] = ..., in_sync_epoch: _Optional[int] = ..., next_id: _Optional[int] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("id", "address", "check_code", "alive")
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CHECK_CODE_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    id: int
    address: str
    check_code: str
    alive: bool
    def __init__(self, id: _Optional[int] = ..., address: _Optional[str] = ..., check_code: _Optional[str] = ..., alive: bool = ...) -> None: ...

class ApplyReplicaIds(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[ReplicaId]
    def __init__(self, replicas: _Optional[_Iterable[_Union[ReplicaId, _Mapping]]] = ...) -> None: ...

class ReplicaId(_message.Message):
    __slots__ = ("name", "cluster", "id", "check_code")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    CHECK_CODE_FIELD_NUMBER: _ClassVar[int]
    name: str
    cluster: str
    id: int
    check_code: str
    def __init__(self, name: _Optional[str] = ..., cluster: _Optional[str] = ..., id: _Optional[int] = ..., check_code: _Optional[str] = ...) -> None: ...

class RegisterReplicas(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[ReplicaAddress]
    def __init__(self, replicas: _Optional[_Iterable[_Union[ReplicaAddress, _Mapping]]] = ...) -> None: ...

class ReplicaAddress(_message.Message):
    __slots__ = ("name", "id", "address")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: int
    address: str
    def __init__(self, name: _Optional[str] = ..., id: _Optional[int] = ..., address: _Optional[str] = ...) -> None: ...

class SendReplicaHeartbeats(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[ReplicaHeartbeat]
    def __init__(self, replicas: _Optional[_Iterable[_Union[ReplicaHeartbeat, _Mapping]]] = ...) -> None: ...

class ReplicaHeartbeat(_message.Message):
    __slots__ = ("name", "id", "timeout_ms", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: int
    timeout_ms: int
    state: ReplicaState
    def __init__(self, name: _Optional[str] = ..., id: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., state: _Optional[_Union[ReplicaState, _Mapping]] = ...) -> None: ...

class ReplicaState(_message.Message):
    __slots__ = ("epoch", "max_offset", "priority")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    MAX_OFFSET_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    max_offset: int
    priority: int
    def __init__(self, epoch: _Optional[int] = ..., max_offset: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class LoseReplicas(_message.Message):
    __slots__ = ("replicas",)
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    replicas: _containers.RepeatedCompositeFieldContainer[ReplicaAddress]
    def __init__(self, replicas: _Optional[_Iterable[_Union[ReplicaAddress, _Mapping]]] = ...) -> None: ...

class ElectMasters(_message.Message):
    __slots__ = ("elections",)
    ELECTIONS_FIELD_NUMBER: _ClassVar[int]
    elections: _containers.RepeatedCompositeFieldContainer[Election]
    def __init__(self, elections: _Optional[_Iterable[_Union[Election, _Mapping]]] = ...) -> None: ...

class Election(_message.Message):
    __slots__ = ("name", "id", "designated", "unclean")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DESIGNATED_FIELD_NUMBER: _ClassVar[int]
    UNCLEAN_FIELD_NUMBER: _ClassVar[int]
    name: str
    id: int
    designated: bool
    unclean: bool
    def __init__(self, name: _Optional[str] = ..., id: _Optional[int] = ..., designated: bool = ..., unclean: bool = ...) -> None: ...

class Elected(_message.Message):
    __slots__ = ("set", "changed")
    SET_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    set: ReplicaSet
    changed: bool
    def __init__(self, set: _Optional[_Union[ReplicaSet, _Mapping]] = ..., changed: bool = ...) -> None: ...

class AlterInSyncSets(_message.Message):
    __slots__ = ("sets",)
    SETS_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedCompositeFieldContainer[InSyncSet]
    def __init__(self, sets: _Optional[_Iterable[_Union[InSyncSet, _Mapping]]] = ...) -> None: ...

class InSyncSet(_message.Message):
    __slots__ = ("name", "master", "master_epoch", "in_sync", "in_sync_epoch")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    MASTER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_EPOCH_FIELD_NUMBER: _ClassVar[int]
    name: str
    master: int
    master_epoch: int
    in_sync: _containers.RepeatedScalarFieldContainer[int]
    in_sync_epoch: int
    def __init__(self, name: _Optional[str] = ..., master: _Optional[int] = ..., master_epoch: _Optional[int] = ..., in_sync: _Optional[_Iterable[int]] = ..., in_sync_epoch: _Optional[int] = ...) -> None: ...

class CleanReplicas(_message.Message):
    __slots__ = ("sets",)
    SETS_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedCompositeFieldContainer[ReplicaCleaning]
    def __init__(self, sets: _Optional[_Iterable[_Union[ReplicaCleaning, _Mapping]]] = ...) -> None: ...

class ReplicaCleaning(_message.Message):
    __slots__ = ("name", "ids", "living")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LIVING_FIELD_NUMBER: _ClassVar[int]
    name: str
    ids: _containers.RepeatedScalarFieldContainer[int]
    living: bool
    def __init__(self, name: _Optional[str] = ..., ids: _Optional[_Iterable[int]] = ..., living: bool = ...) -> None: ...

class ExpireReplicas(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetReplicaSets(_message.Message):
    __slots__ = ("sets", "stale")
    SETS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedScalarFieldContainer[str]
    stale: bool
    def __init__(self, sets: _Optional[_Iterable[str]] = ..., stale: bool = ...) -> None: ...

class ListReplicaSets(_message.Message):
    __slots__ = ("cluster", "page_size", "page_token", "stale")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    page_size: int
    page_token: bytes
    stale: bool
    def __init__(self, cluster: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ..., stale: bool = ...) -> None: ...

class ReplicaSetPage(_message.Message):
    __slots__ = ("sets", "next_page_token")
    SETS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedCompositeFieldContainer[ReplicaSet]
    next_page_token: bytes
    def __init__(self, sets: _Optional[_Iterable[_Union[ReplicaSet, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
