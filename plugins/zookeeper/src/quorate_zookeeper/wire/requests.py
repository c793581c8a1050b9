"""What clients ask, read from its bytes."""

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
#: What stands before each of them: its type, whether it is the end, an error code.
_HEADER: Final = Struct(">i?i")
_INT: Final = Struct(">i")
#: The same, and the length of the path that follows it.
_HEADER_OF_PATH: Final = Struct(">i?ii")
#: The constructor of a named tuple takes as long as what is read for it.
_new: Final = tuple.__new__
_END_OF_MULTI: Final = -1
#: The list that lets everybody do everything, which most creates have.
_OPEN: Final = (rows.Acl(perms=Perm.ALL, scheme="world", id="anyone"),)
_OPEN_RECORD: Final = jute.vector([jute.int32(Perm.ALL) + jute.text("world") + jute.text("anyone")])


class UndecodableError(Exception):
    """A request that has no meaning, whatever the tree is."""


@dataclass(frozen=True, slots=True)
class Connect:
    """The first frame of a connection."""

    last_zxid: int
    timeout_ms: int
    session: int
    password: bytes
    #: Whether the client knows of read-only servers, and expects that field in the answer.
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
    """Read an operation that writes; raises `ShortRecordError`."""
    path = record.text()
    if op == _SET_DATA:
        data, [version] = record.buffer(), record.fields(_INT)
        return _new(Operation, (op, path, data, (), version, 0, 0))
    if op in CREATES:
        data, entries, flags = record.buffer(), acl(record), record.int32()
        ttl_ms = record.int64() if op == Op.CREATE_TTL else 0
        return Operation(op, path, data, entries, flags=flags, ttl_ms=ttl_ms)
    entries = acl(record) if op == Op.SET_ACL else ()
    return Operation(op, path, None, entries, record.int32())


def operations(record: Record) -> list[Operation]:
    """Read those of a multi; raises `ShortRecordError` and `UndecodableError`."""
    found: list[Operation] = []
    while (op := _next_of_multi(record)) is not None:
        if op not in _IN_MULTI:
            raise UndecodableError
        found.append(operation(op, record))
        if op == _SET_DATA:
            _read_like_it(record, found)
        elif op in CREATES and found[-1].flags not in _FLAGS:
            raise UndecodableError
    return found


def _read_like_it(record: Record, found: list[Operation]) -> None:
    """Read the changes of data that follow one, without a call for each field.

    It stops before whatever is not a whole one of a path and bytes: that is read field by field.
    """
    data, at = record.data, record.at
    read_header, read_int = _HEADER_OF_PATH.unpack_from, _INT.unpack_from
    try:
        while True:
            op, ended, _, path_bytes = read_header(data, at)
            start = at + _HEADER_OF_PATH.size
            path_end = start + path_bytes
            [data_bytes] = read_int(data, path_end)
            data_end = path_end + _INT.size + data_bytes
            [version] = read_int(data, data_end)
            if op != _SET_DATA or ended or path_bytes < 0 or data_bytes < 0:
                break
            path = data[start:path_end].decode(errors="replace")
            value = data[path_end + _INT.size : data_end]
            found.append(_new(Operation, (op, path, value, (), version, 0, 0)))
            at = data_end + _INT.size
    except StructError:
        pass
    record.at = at


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
    op: int
    op, ended, _ = record.fields(_HEADER)
    return None if ended or op == _END_OF_MULTI else op


def acl(record: Record) -> Sequence[rows.Acl]:
    """Read an access control list; raises `ShortRecordError`."""
    if record.skips(_OPEN_RECORD):
        return _OPEN
    return record.vector(
        lambda: rows.Acl(perms=record.int32(), scheme=record.text(), id=record.text())
    )
