"""The parts of MQTT packets: numbers, texts and lengths; and the reasons for refusals."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Reason(IntEnum):
    """The reason codes of MQTT 5 that this broker gives or heeds."""

    SUCCESS = 0x00
    WITH_WILL = 0x04
    NO_SUBSCRIPTION = 0x11
    UNSPECIFIED = 0x80
    MALFORMED_PACKET = 0x81
    PROTOCOL_ERROR = 0x82
    UNSUPPORTED_VERSION = 0x84
    INVALID_CLIENT_ID = 0x85
    BAD_PASSWORD = 0x86
    NOT_AUTHORIZED = 0x87
    SERVER_UNAVAILABLE = 0x88
    SERVER_BUSY = 0x89
    BANNED = 0x8A
    SHUTTING_DOWN = 0x8B
    BAD_AUTHENTICATION = 0x8C
    KEEP_ALIVE_TIMEOUT = 0x8D
    TAKEN_OVER = 0x8E
    INVALID_FILTER = 0x8F
    INVALID_TOPIC = 0x90
    UNKNOWN_PACKET = 0x92
    INVALID_ALIAS = 0x94
    PACKET_TOO_LARGE = 0x95
    QUOTA_EXCEEDED = 0x97
    ADMINISTRATIVE = 0x98


class Malformed(Exception):
    """A client has sent a malformed or forbidden packet."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(why)
        self.reason: Final = reason


class Fields:
    """Reads the fields of a packet one after the other; raises `Malformed` when it is too short."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data: Final = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def raw(self, size: int) -> bytes:
        """Read bytes."""
        if size > self.left:
            raise Malformed(Reason.MALFORMED_PACKET, "it ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        """Read all that is left."""
        return self.raw(self.left)

    def byte(self) -> int:
        """Read a byte."""
        return self.raw(1)[0]

    def two(self) -> int:
        """Read a number of two bytes."""
        return int.from_bytes(self.raw(2), "big")

    def four(self) -> int:
        """Read a number of four bytes."""
        return int.from_bytes(self.raw(4), "big")

    def varint(self) -> int:
        """Read a number of one to four bytes, seven bits in each."""
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise Malformed(Reason.MALFORMED_PACKET, "a number has more than four bytes")

    def binary(self) -> bytes:
        """Read bytes after their length."""
        return self.raw(self.two())

    def text(self) -> str:
        """Read a text after its length."""
        try:
            value = self.binary().decode()
        except UnicodeDecodeError:
            raise Malformed(Reason.MALFORMED_PACKET, "a text is no UTF-8") from None
        if "\0" in value:
            raise Malformed(Reason.MALFORMED_PACKET, "a text has the character U+0000")
        return value


def varint_of(value: int) -> bytes:
    """Return a number in as many bytes as it needs."""
    out = bytearray()
    while True:
        value, seven = divmod(value, 128)
        out.append(seven | (0x80 if value else 0))
        if not value:
            return bytes(out)


def binary_of(value: bytes) -> bytes:
    """Return bytes after their length."""
    return len(value).to_bytes(2, "big") + value


def text_of(value: str) -> bytes:
    """Return a text after its length."""
    return binary_of(value.encode())
