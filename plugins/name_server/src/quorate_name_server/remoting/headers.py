"""The headers of requests and answers, as JSON or in RocketMQ's binary form."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from quorate_name_server.remoting.frames import Frame, MalformedError, frame

#: Codes of answers that many requests have.
SYSTEM_ERROR: Final = 1
NO_PERMISSION: Final = 16

_JSON: Final = 0
_BINARY: Final = 1
_RESPONSE: Final = 1
_ONE_WAY: Final = 2
#: The emulated release of RocketMQ: 5.3.3.
VERSION: Final = 479

#: Code, language, version, opaque, flag.
_FIXED: Final = Struct(">hBhii")
_LENGTH: Final = Struct(">i")
_KEY_LENGTH: Final = Struct(">h")
_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)

Fields = Mapping[str, str | None]


@dataclass(slots=True)
class Request:
    """A request of a peer, or a response."""

    code: int
    #: The caller's number of the request, which the answer repeats.
    opaque: int
    flag: int = 0
    #: The version of the caller.
    version: int = 0
    fields: Fields = field(default_factory=dict)
    body: bytes = b""

    def text(self, name: str) -> str:
        """Return a text field; empty if it is missing."""
        return self.fields.get(name) or ""

    def number(self, name: str) -> int | None:
        """Return a numeric field; as in Java, None if it is missing or of another type."""
        try:
            value = int(self.text(name))
        except ValueError:
            return None
        return value if value in _LONG else None

    def boolean(self, name: str) -> bool | None:
        """Return a boolean field, or None if it is missing."""
        value = self.fields.get(name)
        return None if value is None else value.lower() == "true"

    @property
    def one_way(self) -> bool:
        """Whether no answer is expected."""
        return bool(self.flag & _ONE_WAY)

    @property
    def is_response(self) -> bool:
        """Whether it is a response, which no request of this node has asked for."""
        return bool(self.flag & _RESPONSE)


@dataclass(slots=True)
class Response:
    """The answer to a request."""

    code: int = 0
    remark: str = ""
    #: None: the header has no fields.
    fields: Mapping[str, str] | None = None
    body: bytes = b""


def decode(received: Frame) -> Request:
    """Read the header of a frame; raises `MalformedError`."""
    kind, header, body = received
    if kind == _JSON:
        return _from_json(header, body)
    if kind == _BINARY:
        try:
            return _from_binary(header, body)
        except (struct.error, UnicodeDecodeError):
            raise MalformedError(f"a binary header of {len(header)} bytes is cut off") from None
    raise MalformedError(f"headers of kind {kind} are unknown")


def encode(response: Response, opaque: int) -> bytes:
    """Return the frame of an answer, with a JSON header, which every peer reads."""
    if response.remark or response.fields is not None:
        said: dict[str, Any] = {"code": response.code}
        if response.fields is not None:
            said["extFields"] = dict(response.fields)
        said |= {"flag": _RESPONSE, "language": "PYTHON", "opaque": opaque}
        if response.remark:
            said["remark"] = response.remark
        said["version"] = VERSION
        return frame(_written(said), response.body)
    header = b'{"code":%d,"flag":1,"language":"PYTHON","opaque":%d,"version":%d}'
    return frame(header % (response.code, opaque, VERSION), response.body)


def encode_one_way(code: int, fields: Mapping[str, str], opaque: int, body: bytes = b"") -> bytes:
    """Return the frame of a one-way request."""
    said = {"code": code, "extFields": fields, "flag": _ONE_WAY, "language": "PYTHON"}
    return frame(_written(said | {"opaque": opaque, "version": VERSION}), body)


def _written(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()


def _from_json(header: bytes, body: bytes) -> Request:
    try:
        said = json.loads(header.decode())
        if b"\\u" in header:
            # A lone surrogate can be decoded, but not encoded again.
            json.dumps(said, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise MalformedError(f"a header is not JSON: {header[:40]!r}") from None
    if type(said) is not dict:
        raise MalformedError(f"a header is not an object: {header[:40]!r}")
    fields = said.get("extFields") or {}
    if type(fields) is not dict:
        raise MalformedError("the extFields of a header are not an object")
    for value in fields.values():
        if type(value) is not str:
            fields = {key: _text(each) for key, each in fields.items()}
            break
    return Request(
        _int(said, "code"),
        _int(said, "opaque"),
        _int(said, "flag"),
        _int(said, "version"),
        fields,
        body,
    )


def _int(said: Mapping[str, Any], key: str) -> int:
    value = said.get(key)
    if type(value) is not int:
        try:
            value = int(value or 0)
        except (ValueError, TypeError, OverflowError):
            raise MalformedError(f"the {key} of a header is not a number") from None
    if value not in _INT:
        raise MalformedError(f"the {key} of a header is out of range")
    return value


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _from_binary(header: bytes, body: bytes) -> Request:
    code, _, version, opaque, flag = _FIXED.unpack_from(header)
    at = _FIXED.size
    (remark,) = _LENGTH.unpack_from(header, at)
    at += _LENGTH.size + max(remark, 0)
    (block,) = _LENGTH.unpack_from(header, at)
    at += _LENGTH.size
    if at + block > len(header):
        raise MalformedError(f"the fields of a binary header have {block:,} bytes")
    return Request(code, opaque, flag, version, dict(_fields(header, at, at + block)), body)


def _fields(header: bytes, at: int, end: int) -> Iterator[tuple[str, str | None]]:
    while at < end:
        key, at = _piece(header, at, end, _KEY_LENGTH)
        value, at = _piece(header, at, end, _LENGTH)
        yield key, value or None


def _piece(header: bytes, at: int, end: int, length: Struct) -> tuple[str, int]:
    (size,) = length.unpack_from(header, at)
    at += length.size
    if size < 0 or at + size > end:
        raise MalformedError(f"a field of a binary header has {size:,} bytes")
    return header[at : at + size].decode(), at + size
