"""The header blocks of calls, which repeat: parts of them are made once.

No table of a connection is used, so that the blocks of a channel outlive its connections, and equal
calls send equal bytes: a server that remembers whole blocks, as ours does, looks a call up by them.
A timeout therefore has three digits at most, rounded up; the channel itself keeps to the exact one.
"""

from __future__ import annotations

from math import ceil
from typing import Final, TypeVar

from quorate.http2.grpc.metadata import Metadata, fields_of
from quorate.http2.hpack import plain_block

K = TypeVar("K")

#: Parts that a channel remembers of each kind; more begin anew.
_REMEMBERED: Final = 256
#: Fields with values that intermediaries must not keep.
_SECRET: Final = frozenset({b"authorization", b"cookie"})


class RequestHeads:
    """Makes the header blocks of the calls of a channel."""

    def __init__(self, scheme: str, authority: str, user_agent: str) -> None:
        self._scheme: Final = scheme.encode()
        self._authority: Final = authority.encode()
        self._user_agent: Final = user_agent.encode()
        self._metadata: Final[dict[tuple[str, str | bytes], bytes]] = {}
        self._timeouts: Final[dict[int, bytes]] = {}

    def of_path(self, path: str) -> bytes:
        """Return the header fields common to all calls of a method, as a block."""
        return plain_block(
            (
                (b":method", b"POST"),
                (b":scheme", self._scheme),
                (b":path", path.encode()),
                (b":authority", self._authority),
                (b"te", b"trailers"),
                (b"content-type", b"application/grpc"),
                (b"user-agent", self._user_agent),
                (b"grpc-accept-encoding", b"identity, gzip"),
            )
        )

    def of_timeout(self, seconds: float) -> bytes:
        """Return the field of a timeout."""
        count, unit = ceil(seconds * 1_000), 0
        while count > 999:
            count, unit = -(-count // 10), unit + 1
        key = count << 4 | unit
        found = self._timeouts.get(key)
        if found is None:
            found = plain_block([(b"grpc-timeout", _timeout(count, unit))])
            _remember(self._timeouts, key, found)
        return found

    def of_metadata(self, metadata: Metadata) -> bytes:
        """Return the fields of metadata; raises `MetadataError`."""
        known = self._metadata
        parts = []
        for pair in metadata:
            key = pair if type(pair) is tuple else (pair[0], pair[1])
            part = known.get(key)
            if part is None:
                part = plain_block(fields_of([key]), _SECRET)
                _remember(known, key, part)
            parts.append(part)
        return b"".join(parts)


def _timeout(count: int, tens: int) -> bytes:
    """Return three digits of milliseconds with some zeros behind, in at most eight digits."""
    if tens <= 5:
        return b"%dm" % (count * 10**tens)
    seconds = count * 10 ** (tens - 3)
    if seconds < 100_000_000:
        return b"%dS" % seconds
    return b"%dH" % min(99_999_999, -(-seconds // 3_600))


def _remember(known: dict[K, bytes], key: K, part: bytes) -> None:
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = part
