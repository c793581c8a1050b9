"""Metadata, deadlines and status as they stand in header fields."""

from __future__ import annotations

import re
from binascii import Error as Base64Error, a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from quorate.http2.headers import Headers
from quorate.http2.hpack import Field

#: Keys are text; values are bytes if their keys end with `-bin`, and text otherwise.
Metadata = Sequence[tuple[str, str | bytes]]

_KEY: Final = re.compile(r"[0-9a-z_.\-]+")
#: Printable ASCII; surrounding spaces are refused elsewhere.
_VALUE: Final = re.compile(r"[\x20-\x7e]*")
#: Not of the caller's.
_OF_PROTOCOL: Final = frozenset(
    {b"content-type", b"te", b"grpc-timeout", b"grpc-encoding", b"grpc-accept-encoding"}
)
_OF_STATUS: Final = frozenset({b"grpc-status", b"grpc-message"})
_UNITS: Final = {b"H": 3_600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
#: Printable ASCII but for the percent sign.
_UNQUOTED: Final = "".join(chr(code) for code in range(0x20, 0x7F) if code != 0x25)


class MetadataError(ValueError):
    """Metadata that cannot be sent."""


class CallHead:
    """The header fields of a call: its path, deadline, encoding and metadata."""

    __slots__ = ("authority", "content_type", "encoding", "metadata", "method", "path", "timeout_s")

    def __init__(self, headers: Headers) -> None:
        self.path: Final = headers.pseudo[b":path"].decode("latin-1")
        self.method: Final = headers.pseudo[b":method"]
        self.authority: Final = headers.pseudo.get(b":authority", b"").decode("latin-1")
        self.content_type = b""
        self.encoding = b""
        #: None: no timeout, or a malformed one, which raises nothing.
        self.timeout_s: float | None = None
        for name, value in headers.fields:
            if name == b"content-type":
                self.content_type = value
            elif name == b"grpc-timeout":
                self.timeout_s = timeout_in(value)
            elif name == b"grpc-encoding":
                self.encoding = value
        self.metadata: Final = metadata_in(headers, _OF_PROTOCOL)


def metadata_in(
    headers: Headers, without: frozenset[bytes] = _OF_STATUS | _OF_PROTOCOL
) -> tuple[tuple[str, str | bytes], ...]:
    """Return the metadata among header fields; malformed fields are left out."""
    found: list[tuple[str, str | bytes]] = []
    for name, value in headers.fields:
        if name in without:
            continue
        key = name.decode("ascii")
        if not name.endswith(b"-bin"):
            found.append((key, value.decode("latin-1")))
            continue
        for part in value.split(b","):
            try:
                found.append((key, a2b_base64(part + b"=" * (-len(part) % 4))))
            except Base64Error:
                continue
    return tuple(found)


def fields_of(metadata: Iterable[tuple[str, str | bytes]]) -> list[Field]:
    """Return the header fields of metadata; raises `MetadataError`."""
    fields = []
    for key, value in metadata:
        if not _KEY.fullmatch(key) or (key.startswith("grpc-") and key not in _OWN_DETAILS):
            raise MetadataError(
                f"metadata key {key!r}: use lower-case letters, digits, '-', '_' and '.', and no "
                "name that begins with grpc-"
            )
        if key.endswith("-bin"):
            if isinstance(value, str):
                raise MetadataError(f"the value of {key} must be bytes")
            fields.append((key.encode(), b2a_base64(value, newline=False).rstrip(b"=")))
            continue
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if not _VALUE.fullmatch(text) or text != text.strip(" "):
            raise MetadataError(
                f"the value of {key} must be printable ASCII without spaces at its ends; end the "
                "key with -bin to send bytes"
            )
        fields.append((key.encode(), text.encode()))
    return fields


#: Keys of the protocol that callers of `abort` set themselves.
_OWN_DETAILS: Final = frozenset({"grpc-status-details-bin", "grpc-internal-encoding-request"})


def timeout_in(value: bytes) -> float | None:
    """Return the seconds of a timeout; None if it is malformed."""
    unit = _UNITS.get(value[-1:])
    if unit is None or not value[:-1].isdigit() or len(value) > 9:
        return None
    return int(value[:-1]) * unit


def message_of(text: str) -> bytes:
    """Return the text of a status as it is sent."""
    return quote_from_bytes(text.encode("utf-8", "replace"), safe=_UNQUOTED).encode()


def message_in(value: bytes) -> str:
    """Return the text of a status that was received."""
    return unquote_to_bytes(value).decode("utf-8", "replace")
