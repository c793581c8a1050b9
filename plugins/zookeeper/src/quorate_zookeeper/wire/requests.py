"""Decodes requests of clients from bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, error as StructError
from typing import Final, NamedTuple

from quorate_zookeeper.v1 import rows_pb2 as rows
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import CREATES, Op, Perm
from quorate_zookeeper.wire.jute import Record

#: The operations of a multi.
_IN_MULTI: Final = CREATES | {Op.DELETE, Op.SET_DATA, Op.CHECK}
_SET_DATA: Final = int(Op.SET_DATA)
_IN_MULTI_READ: Final = frozenset({Op.GET_DATA, Op.GET_CHILDREN})
#: Flags of creates; 5 and 6 have a time to live.
_FLAGS: Final = range(7)
#: The header of each operation: its type, whether the multi ends, an error code.
_HEADER: Final = Struct(">i?i")
_INT: Final = Struct(">i")
#: The end of a change of data, and the header of the next operation.
_VERSION_AND_HEADER: Final = Struct(">ii?i")
#: The same, and the length of the path of that operation.
_VERSION_AND_NEXT: Final = Struct(">ii?ii")
_END_OF_MULTI: Final = -1
#: The list that grants every right to every client, which most creates carry.
_OPEN: Final = (rows.Acl(perms=Perm.ALL, scheme="world", id="anyone"),)
#: That list as a record.
EVERYBODY: Final = jute.vector([jute.int32(Perm.ALL) + jute.text("world") + jute.text("anyone")])


class UndecodableError(Exception):
    """A request that is invalid regardless of the tree."""


@dataclass(frozen=True, slots=True)
class Connect:
    """The first frame of a connection."""

    last_zxid: int
    timeout_ms: int
    session: int
    password: bytes
    #: Whether the client supports read-only servers, and expects that field in the answer.
    knows_read_only: bool

    @classmethod
    def decode(cls, frame: bytes) -> Connect:
        """Decode the frame; raises `ShortRecordError`."""
        record = Record(frame)
        record.int32()
        last_zxid, timeout_ms, session = record.int64(), record.int32(), record.int64()
        password = record.buffer() or b""
        knows_read_only = not record.ended
        return cls(last_zxid, timeout_ms, session, password, knows_read_only)


#: A change of data: path, data or null, version or -1.
DataChange = tuple[str, bytes | None, int]


class Operation(NamedTuple):
    """An operation that writes, or checks a version within a multi."""

    type: int
    path: str
    #: None: null.
    data: bytes | None = None
    acl: Sequence[rows.Acl] = ()
    #: -1: any.
    version: int = -1
    flags: int = 0
    ttl_ms: int = 0


def operation(op: int, record: Record) -> Operation:
    """Read a write operation; raises `ShortRecordError`."""
    path = record.text()
    if op == _SET_DATA:
        return Operation(op, path, record.buffer(), version=record.int32())
    if op in CREATES:
        data, entries, flags = record.buffer(), acl(record), record.int32()
        ttl_ms = record.int64() if op == Op.CREATE_TTL else 0
        return Operation(op, path, data, entries, flags=flags, ttl_ms=ttl_ms)
    entries = acl(record) if op == Op.SET_ACL else ()
    return Operation(op, path, None, entries, record.int32())


def operations(record: Record) -> list[Operation | list[DataChange]]:
    """Read the operations of a multi, with consecutive changes of data as one list.

    Raises `ShortRecordError` and `UndecodableError`.
    """
    found: list[Operation | list[DataChange]] = []
    while (op := _next_of_multi(record)) is not None:
        if op not in _IN_MULTI:
            raise UndecodableError
        if op == _SET_DATA:
            found.append(_changes(record))
            continue
        each = operation(op, record)
        if op in CREATES and each.flags not in _FLAGS:
            raise UndecodableError
        found.append(each)
    return found


def _changes(record: Record) -> list[DataChange]:
    """Read consecutive changes of data, without a call for each field.

    The last change is read field by field, and so is one that is incomplete or null.
    """
    data, at = record.data, record.at
    read_int, read_next = _INT.unpack_from, _VERSION_AND_NEXT.unpack_from
    found: list[DataChange] = []
    try:
        [path_bytes] = read_int(data, at)
        while True:
            path_at = at + _INT.size
            path_end = path_at + path_bytes
            value_at = path_end + _INT.size
            [value_bytes] = read_int(data, path_end)
            value_end = value_at + value_bytes
            version, op, ended, _, next_path_bytes = read_next(data, value_end)
            if op != _SET_DATA or ended or path_bytes < 0 or value_bytes < 0:
                break
            path = data[path_at:path_end].decode(errors="replace")
            found.append((path, data[value_at:value_end], version))
            at = value_end + _VERSION_AND_HEADER.size
            path_bytes = next_path_bytes
    except StructError:
        pass
    record.at = at
    found.append((record.text(), record.buffer(), record.int32()))
    return found


def reads(record: Record) -> list[tuple[int, str]]:
    """Read the types and paths of a read-only multi; raises as `operations` does."""
    found: list[tuple[int, str]] = []
    while (op := _next_of_multi(record)) is not None:
        if op not in _IN_MULTI_READ:
            raise UndecodableError
        found.append((op, record.text()))
        record.boolean()
    return found


def _next_of_multi(record: Record) -> int | None:
    op: int
    op, ended, _ = record.fields(_HEADER)
    return None if ended or op == _END_OF_MULTI else op


def acl(record: Record) -> Sequence[rows.Acl]:
    """Read an access control list; raises `ShortRecordError`."""
    if record.skips(EVERYBODY):
        return _OPEN
    return record.vector(
        lambda: rows.Acl(perms=record.int32(), scheme=record.text(), id=record.text())
    )
