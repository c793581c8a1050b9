"""Requests about the watches of a connection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from quorate_zookeeper.serving.reading import find
from quorate_zookeeper.serving.watches import KINDS, Kind
from quorate_zookeeper.v1 import queries_pb2 as pb
from quorate_zookeeper.wire import jute, replies
from quorate_zookeeper.wire.codes import Error, Event, Op
from quorate_zookeeper.wire.jute import Record
from quorate_zookeeper.wire.requests import UndecodableError

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection

#: The modes of `add watch`.
_MODES: Final = {0: Kind.PERSISTENT, 1: Kind.RECURSIVE}


async def set_watches(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Set the watches that a client had on an earlier connection, and send what it missed."""
    since = record.int64()
    data, exist, children = (record.vector(record.text) for _ in range(3))
    standing: list[tuple[Kind, str]] = []
    if op == Op.SET_WATCHES2:
        standing += [(Kind.PERSISTENT, path) for path in record.vector(record.text)]
        standing += [(Kind.RECURSIVE, path) for path in record.vector(record.text)]
    paths = list(dict.fromkeys((*data, *exist, *children)))
    found = await find(connection, [pb.Lookup(path=path) for path in paths])
    stats = {
        path: None if result.error else replies.Described.decode(Record(result.body))
        for path, result in zip(paths, found.results, strict=True)
    }
    add = partial(connection.server.watches.add, watcher=connection, zxid=found.zxid)
    for path in data:
        stat = stats[path]
        if stat is None:
            connection.notify(-1, Event.DELETED, path)
        elif stat.mzxid > since:
            connection.notify(-1, Event.DATA, path)
        else:
            add(Kind.DATA, path)
    for path in exist:
        if stats[path] is not None:
            connection.notify(-1, Event.CREATED, path)
        else:
            add(Kind.DATA, path)
    for path in children:
        stat = stats[path]
        if stat is None:
            connection.notify(-1, Event.DELETED, path)
        elif stat.pzxid > since:
            connection.notify(-1, Event.CHILDREN, path)
        else:
            add(Kind.CHILDREN, path)
    for kind, path in standing:
        add(kind, path)
    connection.reply(xid, found.zxid)


async def add_watch(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Set a persistent watch."""
    path, mode = record.text(), record.int32()
    if mode not in _MODES:
        raise UndecodableError
    found = await find(connection, [])
    connection.server.watches.add(_MODES[mode], path, connection, found.zxid)
    connection.reply(xid, found.zxid, 0, jute.int32(0))


async def check_watches(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Return whether there are such watches, and remove them if that is asked."""
    path, type_ = record.text(), record.int32()
    if type_ not in KINDS:
        raise UndecodableError
    watches = connection.server.watches
    has = watches.has(KINDS[type_], path, connection)
    if has and op == Op.REMOVE_WATCHES:
        watches.remove(KINDS[type_], path, connection)
    connection.reply(xid, 0, Error.OK if has else Error.NO_WATCHER)
