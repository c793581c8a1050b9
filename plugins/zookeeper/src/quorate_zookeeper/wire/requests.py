"""What clients ask, read from its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_zookeeper.wire.codes import CREATES, Op
from quorate_zookeeper.wire.jute import Record

#: The operations of a multi.
_IN_MULTI: Final = CREATES | {Op.DELETE, Op.SET_DATA, Op.CHECK}
_IN_MULTI_READ: Final = frozenset({Op.GET_DATA, Op.GET_CHILDREN})
#: Flags of creates; 5 and 6 have a time to live.
_FLAGS: Final = range(7)
_END_OF_MULTI: Final = -1


class UndecodableError(Exception):
    """A request that has no meaning, whatever the tree is."""


@dataclass(frozen=True, slots=True)
class Connect:
    """The first frame of a connection."""

    last_zxid: int
    timeout_ms: int
    session: int
    password: bytes
    #: Whether the client knows of servers that only read, and hears of it in the answer.
    knows_read_only: bool

    @classmethod
    def decode(cls, frame: bytes) -> Connect:
        """Read it; raises `ShortRecordError`."""
        record = Record(frame)
        record.int32()
        last_zxid, timeout_ms, session = record.int64(), record.int32(), record.int64()
        password = record.buffer() or b""
        knows_read_only = not record.ended
        return cls(last_zxid, timeout_ms, session, password, knows_read_only)


def operation(op: int, record: Record) -> pb.Operation:
    """Read an operation that writes; raises `ShortRecordError`."""
    path = record.text()
    if op in CREATES:
        found = pb.Operation(type=op, path=path, data=record.buffer(), acl=acl(record))
        found.flags = record.int32()
        if op == Op.CREATE_TTL:
            found.ttl_ms = record.int64()
        return found
    if op == Op.SET_DATA:
        return pb.Operation(type=op, path=path, data=record.buffer(), version=record.int32())
    if op == Op.SET_ACL:
        return pb.Operation(type=op, path=path, acl=acl(record), version=record.int32())
    return pb.Operation(type=op, path=path, version=record.int32())


def operations(record: Record) -> list[pb.Operation]:
    """Read those of a multi; raises `ShortRecordError` and `UndecodableError`."""
    found: list[pb.Operation] = []
    while (op := _next_of_multi(record)) is not None:
        if op not in _IN_MULTI:
            raise UndecodableError
        found.append(operation(op, record))
        if op in CREATES and found[-1].flags not in _FLAGS:
            raise UndecodableError
    return found


def reads(record: Record) -> list[tuple[int, str]]:
    """Read the types and paths of a multi that only reads; raises as `operations`."""
    found: list[tuple[int, str]] = []
    while (op := _next_of_multi(record)) is not None:
        if op not in _IN_MULTI_READ:
            raise UndecodableError
        found.append((op, record.text()))
        record.boolean()
    return found


def _next_of_multi(record: Record) -> int | None:
    op, ended, _ = record.int32(), record.boolean(), record.int32()
    return None if ended or op == _END_OF_MULTI else op


def acl(record: Record) -> list[rows.Acl]:
    """Read an access control list; raises `ShortRecordError`."""
    return record.vector(
        lambda: rows.Acl(perms=record.int32(), scheme=record.text(), id=record.text())
    )
