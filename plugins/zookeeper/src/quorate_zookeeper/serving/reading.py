"""Reads of a connection: each from a state as new as what its client has seen."""

from __future__ import annotations

import asyncio
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
#: What may need several pages.
_IN_PAGES: Final = (Op.GET_CHILDREN, Op.GET_CHILDREN2, Op.COUNT_DESCENDANTS)
#: Characters of a path that are logged.
_SHOWN: Final = 200
#: Consecutive reads of these kinds are answered from one state.
_TOGETHER: Final = frozenset({Op.EXISTS, Op.GET_DATA})
#: Reads that are answered from one state at most: the loop does nothing else meanwhile.
AT_A_TIME: Final = 1_000
#: The names of a page of children; a longer list is read in several.
_PAGE_BYTES: Final = 8 << 20
#: How often such a list is begun anew because children came or went between two pages, which takes
#: a turn of the loop: a replica on this node is read in one.
_ATTEMPTS: Final = 20


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
        while len(reads) < AT_A_TIME and malformed is None and connection.next_is(_TOGETHER):
            record = Record(connection.take())
            xid, op = record.int32(), record.int32()
            try:
                reads.append((xid, op, record.text(), record.boolean()))
            except ShortRecordError:
                malformed = xid
    while reads:
        lookups = [_lookup(op, path) for _, op, path, _ in reads]
        found = await find(connection, lookups)
        if found.results[0].HasField("page"):
            # No other read is taken together with it.
            in_pages = _counted if lookups[0].type == Op.COUNT_DESCENDANTS else _listed
            found = await in_pages(connection, lookups[0])
        answered = reads[: len(found.results)]
        del reads[: len(answered)]
        for (xid, op, path, watched), result in zip(answered, found.results, strict=True):
            error, body = _bounded(connection, path, result)
            if watched:
                kind, on_absent = _WATCHES[Op(op)]
                watches = not error or (on_absent and error == Error.NO_NODE)
                if watches and not connection.watch(kind, path, found.zxid):
                    error = Error.SYSTEM
            connection.reply(xid, found.zxid, error, body)
    if malformed is not None:
        connection.reply(malformed, 0, Error.MARSHALLING)


def _lookup(op: int, path: str, after: str = "") -> pb.Lookup:
    page_bytes = _PAGE_BYTES if op in _IN_PAGES else 0
    return pb.Lookup(type=op, path=path, page_bytes=page_bytes, after=after)


def _bounded(connection: Connection, path: str, result: pb.Result) -> tuple[int, bytes]:
    """Return the error and the body of a result that clients may be sent."""
    most = connection.server.config.reply_bytes
    if len(result.body) <= most:
        return result.error, result.body
    connection.server.warn(
        f"{connection.peer} is not answered {len(result.body):,} bytes about {path[:_SHOWN]}: "
        f"reply_bytes of [plugins.zookeeper] is {most:,}"
    )
    return Error.MARSHALLING, b""


async def _listed(connection: Connection, lookup: pb.Lookup) -> pb.Found:
    """Read children page by page, all from one state: until none came or went in between."""
    server = connection.server
    most = server.config.reply_bytes
    # What one list holds is bounded, and so is what all of them do.
    async with server.listing:
        for _ in range(_ATTEMPTS):
            pages: list[pb.Page] = []
            size, pzxid = 0, 0
            while True:
                after = pages[-1].last if pages else ""
                found = await find(connection, [_lookup(lookup.type, lookup.path, after)])
                [result] = found.results
                if not result.HasField("page"):
                    # By now it is short, or may not be read.
                    return found
                seen = replies.Described.decode(Record(result.body)).pzxid
                if pages and seen != pzxid:
                    break
                pzxid = seen
                pages.append(result.page)
                size += len(result.page.names)
                if not result.page.last or size > most:
                    names = [jute.int32(sum(page.count for page in pages))]
                    names += [page.names for page in pages]
                    stat = result.body if lookup.type == Op.GET_CHILDREN2 else b""
                    whole = pb.Result(body=b"".join((*names, stat)))
                    return pb.Found(zxid=found.zxid, results=[whole])
    server.warn(
        f"children of {lookup.path[:_SHOWN]} come and go while {connection.peer} lists them"
    )
    return pb.Found(zxid=found.zxid, results=[pb.Result(error=Error.SYSTEM)])


async def _counted(connection: Connection, lookup: pb.Lookup) -> pb.Found:
    """Count what is below a znode, page by page: the loop does other things in between."""
    count, after = 0, b""
    while True:
        part = pb.Lookup(
            type=lookup.type, path=lookup.path, page_bytes=lookup.page_bytes, after_key=after
        )
        found = await find(connection, [part])
        [result] = found.results
        if result.error:
            return found
        if not result.HasField("page"):
            count += Record(result.body).int32()
            return pb.Found(zxid=found.zxid, results=[pb.Result(body=jute.int32(count))])
        count += result.page.count
        after = result.page.last_key
        await asyncio.sleep(0)


async def read_many(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer a multi that only reads; what makes it too large for a reply is refused alone."""
    wanted = requests.reads(record)
    room = connection.server.config.reply_bytes
    results: list[tuple[int, int, bytes]] = []
    while len(results) < len(wanted):
        part = wanted[len(results) : len(results) + AT_A_TIME]
        found = await find(connection, [_lookup(type_, path) for type_, path in part])
        for (type_, _), result in zip(part, found.results, strict=False):
            room -= len(result.body)
            fits = room >= 0 and not result.HasField("page")
            error, body = (result.error, result.body) if fits else (Error.MARSHALLING, b"")
            results.append((type_, error, body))
    zxid = found.zxid if wanted else connection.server.zxid
    connection.reply(xid, zxid, 0, replies.multi_read(results))


async def sync(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer once this node has what was committed when the request came."""
    path = record.text()
    found = await find(connection, [], linearizable=True)
    connection.reply(xid, found.zxid, 0, jute.text(path))
