from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Greeting(_message.Message):
    __slots__ = ("town", "name", "salutation", "times", "said_at_ms", "expires_at_ms")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    town: str
    name: str
    salutation: str
    times: int
    said_at_ms: int
    expires_at_ms: int
    def __init__(self, town: _Optional[str] = ..., name: _Optional[str] = ..., salutation: _Optional[str] = ..., times: _Optional[int] = ..., said_at_ms: _Optional[int] = ..., expires_at_ms: _Optional[int] = ...) -> None: ...

class Tally(_message.Message):
    __slots__ = ("salutation", "greetings")
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    GREETINGS_FIELD_NUMBER: _ClassVar[int]
    salutation: str
    greetings: int
    def __init__(self, salutation: _Optional[str] = ..., greetings: _Optional[int] = ...) -> None: ...
