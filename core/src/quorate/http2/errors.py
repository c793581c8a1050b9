"""Errors of the protocol, with the codes of RFC 9113, section 7."""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """Reasons to end a stream or a connection."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


class ConnectionFault(Exception):
    """The other end broke a rule that ends the connection."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(f"{code.name}: {why}")
        self.code = code
        self.why = why


class StreamFault(Exception):
    """The other end broke a rule that ends one stream."""

    def __init__(self, stream: int, code: ErrorCode, why: str) -> None:
        super().__init__(f"stream {stream}: {code.name}: {why}")
        self.stream = stream
        self.code = code
        self.why = why
