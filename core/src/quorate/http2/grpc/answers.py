"""The header fields of answers: how one begins, and the status that it ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quorate.http2.grpc.codes import Code, of_http, of_number
from quorate.http2.grpc.messages import ENCODINGS
from quorate.http2.grpc.metadata import message_in, metadata_in
from quorate.http2.headers import Headers

_STATUS: Final = b"grpc-status"


class Beginning:
    """The beginning of an answer; `refused` has the reason if it is not a gRPC answer."""

    __slots__ = ("code", "informational", "metadata", "refused", "unpack")

    def __init__(self, headers: Headers) -> None:
        status = headers.pseudo[b":status"]
        fields = dict(headers.fields)
        encoding = fields.get(b"grpc-encoding", b"")
        #: More of them follow (RFC 9110, section 15.2).
        self.informational: Final = status[:1] == b"1"
        self.code = Code.OK
        self.refused = ""
        self.unpack: Callable[[bytes, int], bytes] | None = None
        self.metadata: Final = metadata_in(headers)
        if status != b"200" or not _is_grpc(fields):
            self.code, self.refused = of_http(status), _foreign(status, fields)
        elif encoding not in ENCODINGS:
            self.code = Code.INTERNAL
            self.refused = f"the answer has the grpc-encoding {encoding.decode('latin-1')}"
        else:
            self.unpack = ENCODINGS[encoding]


class Ending:
    """The status of a call: trailers, or an answer that has nothing else."""

    __slots__ = ("code", "details", "metadata")

    def __init__(self, headers: Headers) -> None:
        fields = dict(headers.fields)
        status = headers.pseudo.get(b":status", b"200")
        self.metadata: Final = metadata_in(headers)
        if _STATUS in fields:
            self.code = of_number(fields[_STATUS])
            self.details = message_in(fields.get(b"grpc-message", b""))
        elif status != b"200" or (headers.pseudo and not _is_grpc(fields)):
            self.code, self.details = of_http(status), _foreign(status, fields)
        else:
            self.code, self.details = Code.UNKNOWN, "the answer ended without grpc-status"


def beginning_of(headers: Headers) -> Beginning:
    """Return how an answer begins; equal header blocks of a connection are read once."""
    memo = headers.memo
    if type(memo) is not Beginning:
        memo = headers.memo = Beginning(headers)
    return memo


def ending_of(headers: Headers) -> Ending:
    """Return the status that an answer ends with; equal header blocks are read once."""
    memo = headers.memo
    if type(memo) is not Ending:
        memo = headers.memo = Ending(headers)
    return memo


def _is_grpc(fields: dict[bytes, bytes]) -> bool:
    return fields.get(b"content-type", b"").startswith(b"application/grpc")


def _foreign(status: bytes, fields: dict[bytes, bytes]) -> str:
    kind = fields.get(b"content-type", b"no").decode("latin-1")
    return f"no gRPC server answered: HTTP status {status.decode('latin-1')}, {kind} content"
