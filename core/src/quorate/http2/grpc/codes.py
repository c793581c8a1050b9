"""The codes of a call's status."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final

from quorate.http2.errors import ErrorCode


class Code(IntEnum):
    """How a call ended."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


#: The status of a stream that was reset, by the code of the reset.
_OF_RESETS: Final[dict[int, Code]] = {
    ErrorCode.REFUSED_STREAM: Code.UNAVAILABLE,
    ErrorCode.CANCEL: Code.CANCELLED,
    ErrorCode.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    ErrorCode.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
}
#: The status of an answer that is not from gRPC, by its HTTP status.
_OF_HTTP: Final = {
    b"400": Code.INTERNAL,
    b"401": Code.UNAUTHENTICATED,
    b"403": Code.PERMISSION_DENIED,
    b"404": Code.UNIMPLEMENTED,
    b"429": Code.UNAVAILABLE,
    b"502": Code.UNAVAILABLE,
    b"503": Code.UNAVAILABLE,
    b"504": Code.UNAVAILABLE,
}


def code_of(given: int | Enum) -> Code:
    """Return a code that is given as its number, or as grpcio has it: first in a pair."""
    if type(given) is Code:
        return given
    return Code(given.value[0] if isinstance(given, Enum) and not isinstance(given, int) else given)


def of_reset(code: int) -> Code:
    """Return the status of a call after a reset of its stream."""
    return _OF_RESETS.get(code, Code.INTERNAL)


def of_http(status: bytes) -> Code:
    """Return the status of a call that was answered by no server of gRPC's."""
    return _OF_HTTP.get(status, Code.UNKNOWN)


def of_number(text: bytes) -> Code:
    """Return the status that a trailer names; an unknown one is UNKNOWN."""
    try:
        return Code(int(text))
    except ValueError:
        return Code.UNKNOWN
