from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ListGreetingsQuery(_message.Message):
    __slots__ = ("town", "name_prefix", "after_name", "limit")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    AFTER_NAME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    town: str
    name_prefix: str
    after_name: str
    limit: int
    def __init__(self, town: _Optional[str] = ..., name_prefix: _Optional[str] = ..., after_name: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class CountGreetingsQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SalutationCount(_message.Message):
    __slots__ = ("salutation", "greetings")
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    GREETINGS_FIELD_NUMBER: _ClassVar[int]
    salutation: str
    greetings: int
    def __init__(self, salutation: _Optional[str] = ..., greetings: _Optional[int] = ...) -> None: ...
