"""The meaning of a list of header fields, and the rules that it keeps (RFC 9113, section 8)."""

from __future__ import annotations

import re
from typing import Final

from quorate.http2.hpack import Field

#: Fields that belong to a connection of HTTP/1.
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_OF_REQUESTS: Final = frozenset({b":method", b":scheme", b":path", b":authority"})
_NEEDED: Final = frozenset({b":method", b":scheme", b":path"})
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_BAD_VALUE: Final = re.compile(rb"[\x00\r\n]|^[ \t]|[ \t]\Z")


class Headers:
    """A list of fields; equal blocks of a connection share one object.

    `fault` names the rule that it breaks, if any. The layer above keeps what it read from it in
    `memo`.
    """

    __slots__ = (
        "content_length",
        "fault",
        "fields",
        "is_request",
        "is_response",
        "memo",
        "pseudo",
    )

    def __init__(self, fields: list[Field]) -> None:
        self.pseudo: dict[bytes, bytes] = {}
        #: Without the pseudo-header fields.
        self.fields: Final[list[Field]] = []
        self.content_length: int | None = None
        self.memo: object = None
        self.fault: Final = self._sort(fields)
        found = self.pseudo.keys()
        #: Whether it can begin an answer.
        self.is_response: Final = found == {b":status"}
        #: Whether it can begin a request.
        self.is_request: Final = (
            found >= _NEEDED and found <= _OF_REQUESTS and bool(self.pseudo[b":path"])
        )

    def _sort(self, fields: list[Field]) -> str:
        for name, value in fields:
            if _BAD_VALUE.search(value):
                return "a value holds a character that it must not"
            if name[:1] == b":":
                if self.fields:
                    return "a pseudo field follows a field"
                if name in self.pseudo or not (name in _OF_REQUESTS or name == b":status"):
                    return "a pseudo field is unknown or comes twice"
                self.pseudo[name] = value
                continue
            if not _NAME.fullmatch(name):
                return "a name holds a character that it must not"
            if name in _OF_CONNECTIONS or (name == b"te" and value != b"trailers"):
                return "a field belongs to HTTP/1"
            if name == b"content-length":
                if not value.isdigit() or len(value) > 18:
                    return "its content-length is no number"
                self.content_length = int(value)
            self.fields.append((name, value))
        return ""
