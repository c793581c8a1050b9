"""Requests that set, check and remove the watches of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quorate.plugin.batches import in_parts

from quorate_zookeeper.serving.reading import AT_A_TIME, find
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
    """Restore the watches of a client's earlier connection, and send the events it missed."""
    since = record.int64()
    wanted = [
        (missed, kind, path) for missed, kind in _RESUMED for path in record.vector(record.text)
    ]
    standing: list[tuple[Kind, str]] = []
    if op == Op.SET_WATCHES2:
        for kind in (Kind.PERSISTENT, Kind.RECURSIVE):
            standing += [(kind, path) for path in record.vector(record.text)]
    set_all = True
    for part in in_parts(wanted, AT_A_TIME):
        found = await find(connection, [pb.Lookup(path=path) for _, _, path in part])
        for (missed, kind, path), result in zip(part, found.results, strict=True):
            stat = None if result.error else replies.Described.decode(Record(result.body))
            if (event := missed(stat, since)) is not None:
                connection.notify(-1, event, path)
            elif not connection.watch(kind, path, found.zxid):
                set_all = False
    found = await find(connection, [])
    for kind, path in standing:
        set_all &= connection.watch(kind, path, found.zxid)
    connection.reply(xid, found.zxid, Error.OK if set_all else Error.SYSTEM)


def _missed_change(stat: replies.Described | None, since: int) -> Event | None:
    if stat is None:
        return Event.DELETED
    return Event.DATA if stat.mzxid > since else None


def _missed_creation(stat: replies.Described | None, since: int) -> Event | None:
    return None if stat is None else Event.CREATED


def _missed_children(stat: replies.Described | None, since: int) -> Event | None:
    if stat is None:
        return Event.DELETED
    return Event.CHILDREN if stat.pzxid > since else None


#: The lists of one-shot watches that clients resume: on data, on absent znodes, on children.
_RESUMED: Final = (
    (_missed_change, Kind.DATA),
    (_missed_creation, Kind.DATA),
    (_missed_children, Kind.CHILDREN),
)


async def add_watch(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Set a persistent watch."""
    path, mode = record.text(), record.int32()
    if mode not in _MODES:
        raise UndecodableError
    found = await find(connection, [])
    if connection.watch(_MODES[mode], path, found.zxid):
        connection.reply(xid, found.zxid, 0, jute.int32(0))
    else:
        connection.reply(xid, found.zxid, Error.SYSTEM)


async def check_watches(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Reply whether such watches exist, and remove them if the request asks for it."""
    path, type_ = record.text(), record.int32()
    if type_ not in KINDS:
        raise UndecodableError
    watches = connection.server.watches
    has = watches.has(KINDS[type_], path, connection)
    if has and op == Op.REMOVE_WATCHES:
        watches.remove(KINDS[type_], path, connection)
    connection.reply(xid, 0, Error.OK if has else Error.NO_WATCHER)
