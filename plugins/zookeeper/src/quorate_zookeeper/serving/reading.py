"""Reads of a connection: each from a state as new as what its client has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from quorate_zookeeper.serving.watches import Kind
from quorate_zookeeper.v1 import queries_pb2 as pb
from quorate_zookeeper.wire import jute, replies, requests
from quorate_zookeeper.wire.codes import Error, Op
from quorate_zookeeper.wire.jute import Record, ShortRecordError

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection

#: The watches that a read sets, and whether it sets them on what is not there.
_WATCHES: Final = {
    Op.EXISTS: (Kind.DATA, True),
    Op.GET_DATA: (Kind.DATA, False),
    Op.GET_CHILDREN: (Kind.CHILDREN, False),
    Op.GET_CHILDREN2: (Kind.CHILDREN, False),
}
#: Consecutive reads of these kinds are answered from one state.
_TOGETHER: Final = frozenset({Op.EXISTS, Op.GET_DATA})
#: Maximum size of their answers: another node sends them in one message.
_TOGETHER_BYTES: Final = 12 << 20


async def find(
    connection: Connection, lookups: Sequence[pb.Lookup], *, linearizable: bool = False
) -> pb.Found:
    """Read a state that is as new as what the client has seen, and all events that were sent.

    It returns in the turn of the loop in which nothing newer has been sent.
    """
    await connection.written()
    server = connection.server
    query = pb.Find(identities=connection.identities, session=connection.session, lookups=lookups)
    while True:
        answers = await server.node.read(
            query,
            pb.Found,
            consistency="linearizable" if linearizable else "stale",
            min_revision=max(connection.zxid, server.zxid),
        )
        [found] = answers.rows
        if found.zxid >= server.zxid:
            return found


async def read(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer a read, and those queued after it."""
    reads = [(xid, op, record.text(), op in _WATCHES and record.boolean())]
    malformed = None
    if op in _TOGETHER:
        most = max(1, _TOGETHER_BYTES // connection.server.config.request_bytes)
        while len(reads) < most and malformed is None and connection.next_is(_TOGETHER):
            record = Record(connection.take())
            xid, op = record.int32(), record.int32()
            try:
                reads.append((xid, op, record.text(), record.boolean()))
            except ShortRecordError:
                malformed = xid
    found = await find(connection, [pb.Lookup(type=op, path=path) for _, op, path, _ in reads])
    for (xid, op, path, watched), result in zip(reads, found.results, strict=True):
        if watched:
            kind, on_absent = _WATCHES[Op(op)]
            if not result.error or (on_absent and result.error == Error.NO_NODE):
                connection.server.watches.add(kind, path, connection, found.zxid)
        connection.reply(xid, found.zxid, result.error, result.body)
    if malformed is not None:
        connection.reply(malformed, 0, Error.MARSHALLING)


async def read_many(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer a multi that only reads."""
    wanted = requests.reads(record)
    lookups = [pb.Lookup(type=type_, path=path) for type_, path in wanted]
    found = await find(connection, lookups)
    results = (
        (type_, result.error, result.body)
        for (type_, _), result in zip(wanted, found.results, strict=True)
    )
    connection.reply(xid, found.zxid, 0, replies.multi_read(results))


async def sync(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer once this node has what was committed when the request came."""
    path = record.text()
    found = await find(connection, [], linearizable=True)
    connection.reply(xid, found.zxid, 0, jute.text(path))
