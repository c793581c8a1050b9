"""Encodes replies and events to bytes."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from quorate_zookeeper.v1 import rows_pb2 as rows
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import (
    CONNECTED,
    CREATES_WITH_STAT,
    NOTIFICATION_XID,
    WRITES,
    Error,
    Op,
)
from quorate_zookeeper.wire.jute import Record

_HEADER: Final = Struct(">iiqi")
_HEADER_BYTES: Final = 16
_RESULT: Final = Struct(">iBi")
_END: Final = _RESULT.pack(-1, 1, -1)
#: The header before the result of each operation of a multi.
HEADS: Final[dict[int, bytes]] = {
    type_: _RESULT.pack(Op.CREATE2 if type_ in CREATES_WITH_STAT else type_, 0, 0)
    for type_ in WRITES
}
_STAT: Final = Struct(">qqqqiiiqiiq")
_STAT_BEGINS: Final = Struct(">qqqq")
_STAT_MIDDLE: Final = Struct(">iiq")
_STAT_ENDS: Final = Struct(">iq")
#: Returns a stat from the version on: version, part, size of the data, part.
end_of_stat: Final = Struct(">i16si12s").pack
_SIGN: Final = 1 << 31


def reply(xid: int, zxid: int, error: int, body: bytes = b"") -> bytes:
    """Return the frame of a reply."""
    if error:
        body = b""
    return _HEADER.pack(_HEADER_BYTES + len(body), xid, zxid, error) + body


def connected(timeout_ms: int, session: int, password: bytes, *, with_read_only: bool) -> bytes:
    """Return the frame that answers a connect request; session 0 tells that it has ended."""
    body = b"".join(
        (
            jute.int32(0),
            jute.int32(timeout_ms),
            jute.int64(session),
            jute.buffer(password),
            b"\x00" if with_read_only else b"",
        )
    )
    return jute.buffer(body)


def notification(zxid: int, event: int, path: str) -> bytes:
    """Return the frame that reports an event to a watcher."""
    body = jute.int32(event) + jute.int32(CONNECTED) + jute.text(path)
    return reply(NOTIFICATION_XID, zxid, 0, body)


def stat(node: rows.Znode, children: rows.Children) -> bytes:
    """Return the record that describes a znode."""
    begins, middle, ends = stat_parts(node, children)
    return begins + end_of_stat(node.version, middle, len(node.data), ends)


def stat_parts(node: rows.Znode, children: rows.Children) -> tuple[bytes, bytes, bytes]:
    """Return the parts of a stat before the version, after it, and after the size of the data."""
    created, count, pzxid = node.czxid, children.count, children.pzxid
    changes = 2 * children.creates - count
    return (
        _STAT_BEGINS.pack(created, node.mzxid, node.created_at_ms, node.modified_at_ms),
        _STAT_MIDDLE.pack(
            # Wrapped as a counter of 32 bits.
            changes if -_SIGN <= changes < _SIGN else (changes + _SIGN) % (2 * _SIGN) - _SIGN,
            node.aversion,
            node.ephemeral_owner,
        ),
        _STAT_ENDS.pack(count, pzxid if pzxid > created else created),
    )


class Described(NamedTuple):
    """The fields of a stat that are used here."""

    mzxid: int
    pzxid: int
    version: int
    ephemeral_owner: int

    @classmethod
    def decode(cls, record: Record) -> Described:
        """Read a stat; raises `ShortRecordError`."""
        fields = record.fields(_STAT)
        return cls(fields[1], fields[10], fields[4], fields[7])


def acl(entries: Iterable[rows.Acl]) -> bytes:
    """Return the record of an access control list."""
    return jute.vector(
        jute.int32(each.perms) + jute.text(each.scheme) + jute.text(each.id) for each in entries
    )


def multi(results: Iterable[bytes]) -> bytes:
    """Return the record of a successful multi; `results` alternates `HEADS` and bodies."""
    return b"".join((*results, _END))


def failed_multi(count: int, failed_at: int, error: int) -> bytes:
    """Return the record of a multi whose operation at `failed_at` was refused."""
    codes = [Error.OK] * failed_at + [error]
    codes += [Error.RUNTIME_INCONSISTENCY] * (count - len(codes))
    return b"".join(map(failed, codes)) + _END


def multi_read(results: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return the record of reads: the type, the error and the answer of each."""
    parts = (
        failed(error) if error else _RESULT.pack(type_, 0, 0) + body
        for type_, error, body in results
    )
    return b"".join(parts) + _END


def failed(error: int) -> bytes:
    """Return the result of an operation of a multi that was refused."""
    return _RESULT.pack(-1, 0, error) + jute.int32(error)
