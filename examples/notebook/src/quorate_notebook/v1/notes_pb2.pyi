from google.protobuf import field_mask_pb2 as _field_mask_pb2
from quorate.v1 import batch_pb2 as _batch_pb2
from quorate.v1 import rows_pb2 as _rows_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NoteColor(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTE_COLOR_UNSPECIFIED: _ClassVar[NoteColor]
    NOTE_COLOR_YELLOW: _ClassVar[NoteColor]
    NOTE_COLOR_GREEN: _ClassVar[NoteColor]
NOTE_COLOR_UNSPECIFIED: NoteColor
NOTE_COLOR_YELLOW: NoteColor
NOTE_COLOR_GREEN: NoteColor

class Note(_message.Message):
    __slots__ = ("name", "text", "color", "created_at_ms", "updated_at_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    color: NoteColor
    created_at_ms: int
    updated_at_ms: int
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., color: _Optional[_Union[NoteColor, str]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class CreateNotes(_message.Message):
    __slots__ = ("notes",)
    NOTES_FIELD_NUMBER: _ClassVar[int]
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    def __init__(self, notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ...) -> None: ...

class PutNotes(_message.Message):
    __slots__ = ("notes",)
    NOTES_FIELD_NUMBER: _ClassVar[int]
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    def __init__(self, notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ...) -> None: ...

class UpdateNotes(_message.Message):
    __slots__ = ("notes", "update_mask")
    NOTES_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class Addition(_message.Message):
    __slots__ = ("name", "text")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class AppendToNotes(_message.Message):
    __slots__ = ("additions",)
    ADDITIONS_FIELD_NUMBER: _ClassVar[int]
    additions: _containers.RepeatedCompositeFieldContainer[Addition]
    def __init__(self, additions: _Optional[_Iterable[_Union[Addition, _Mapping]]] = ...) -> None: ...

class DeleteNotes(_message.Message):
    __slots__ = ("names", "missing_ok")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    MISSING_OK_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    missing_ok: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., missing_ok: bool = ...) -> None: ...

class GetNotes(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class ListNotes(_message.Message):
    __slots__ = ("prefix", "color", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    color: NoteColor
    page_size: int
    page_token: bytes
    def __init__(self, prefix: _Optional[str] = ..., color: _Optional[_Union[NoteColor, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[bytes] = ...) -> None: ...

class NotePage(_message.Message):
    __slots__ = ("notes", "next_page_token")
    NOTES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    next_page_token: bytes
    def __init__(self, notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ..., next_page_token: _Optional[bytes] = ...) -> None: ...
