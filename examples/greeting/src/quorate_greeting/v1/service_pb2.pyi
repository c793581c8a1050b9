from quorate.v1 import batch_pb2 as _batch_pb2
from quorate_greeting.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SayHelloRequest(_message.Message):
    __slots__ = ("town", "name", "salutation")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SALUTATION_FIELD_NUMBER: _ClassVar[int]
    town: str
    name: str
    salutation: str
    def __init__(self, town: _Optional[str] = ..., name: _Optional[str] = ..., salutation: _Optional[str] = ...) -> None: ...

class SayHelloResponse(_message.Message):
    __slots__ = ("greeting", "text")
    GREETING_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    greeting: _rows_pb2.Greeting
    text: str
    def __init__(self, greeting: _Optional[_Union[_rows_pb2.Greeting, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class SayHelloBatchRequest(_message.Message):
    __slots__ = ("hellos",)
    HELLOS_FIELD_NUMBER: _ClassVar[int]
    hellos: _containers.RepeatedCompositeFieldContainer[SayHelloRequest]
    def __init__(self, hellos: _Optional[_Iterable[_Union[SayHelloRequest, _Mapping]]] = ...) -> None: ...

class SayHelloBatchResponse(_message.Message):
    __slots__ = ("responses", "refusals")
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[SayHelloResponse]
    refusals: _containers.RepeatedCompositeFieldContainer[_batch_pb2.ItemRefusal]
    def __init__(self, responses: _Optional[_Iterable[_Union[SayHelloResponse, _Mapping]]] = ..., refusals: _Optional[_Iterable[_Union[_batch_pb2.ItemRefusal, _Mapping]]] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("town", "name")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    town: str
    name: str
    def __init__(self, town: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListGreetingsRequest(_message.Message):
    __slots__ = ("town", "name_prefix", "page_size", "page_token")
    TOWN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    town: str
    name_prefix: str
    page_size: int
    page_token: str
    def __init__(self, town: _Optional[str] = ..., name_prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListGreetingsResponse(_message.Message):
    __slots__ = ("greetings", "next_page_token")
    GREETINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    greetings: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Greeting]
    next_page_token: str
    def __init__(self, greetings: _Optional[_Iterable[_Union[_rows_pb2.Greeting, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListTalliesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTalliesResponse(_message.Message):
    __slots__ = ("tallies",)
    TALLIES_FIELD_NUMBER: _ClassVar[int]
    tallies: _containers.RepeatedCompositeFieldContainer[_rows_pb2.Tally]
    def __init__(self, tallies: _Optional[_Iterable[_Union[_rows_pb2.Tally, _Mapping]]] = ...) -> None: ...
