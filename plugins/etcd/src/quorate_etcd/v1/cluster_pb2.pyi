from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Member(_message.Message):
    __slots__ = ("node", "client_urls", "peer_urls")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CLIENT_URLS_FIELD_NUMBER: _ClassVar[int]
    PEER_URLS_FIELD_NUMBER: _ClassVar[int]
    node: str
    client_urls: _containers.RepeatedScalarFieldContainer[str]
    peer_urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node: _Optional[str] = ..., client_urls: _Optional[_Iterable[str]] = ..., peer_urls: _Optional[_Iterable[str]] = ...) -> None: ...

class Announce(_message.Message):
    __slots__ = ("store", "member")
    STORE_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    store: str
    member: Member
    def __init__(self, store: _Optional[str] = ..., member: _Optional[_Union[Member, _Mapping]] = ...) -> None: ...

class Announced(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FindMembers(_message.Message):
    __slots__ = ("store",)
    STORE_FIELD_NUMBER: _ClassVar[int]
    store: str
    def __init__(self, store: _Optional[str] = ...) -> None: ...

class Members(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[Member]
    def __init__(self, members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ...) -> None: ...
