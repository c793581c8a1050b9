"""Reads of a connection, each from a state at least as new as its client has seen."""

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

#: The watches that a read sets, and whether it sets them on an absent znode.
_WATCHES: Final = {
    Op.EXISTS: (Kind.DATA, True),
    Op.GET_DATA: (Kind.DATA, False),
    Op.GET_CHILDREN: (Kind.CHILDREN, False),
    Op.GET_CHILDREN2: (Kind.CHILDREN, False),
}
#: Operations that may need several pages.
_IN_PAGES: Final = (Op.GET_CHILDREN, Op.GET_CHILDREN2, Op.COUNT_DESCENDANTS)
#: Maximum length of a path in the log.
_SHOWN: Final = 200
#: Consecutive reads of these kinds are answered from one state.
_TOGETHER: Final = frozenset({Op.EXISTS, Op.GET_DATA})
#: Maximum number of reads answered from one state: they block the loop.
AT_A_TIME: Final = 1_000
#: The size of a page of children's names; a longer list takes several.
_PAGE_BYTES: Final = 8 << 20
#: Attempts to read such a list: it restarts if children come or go between two pages. That needs
#: a turn of the loop, since a replica on this node is read within one.
_ATTEMPTS: Final = 20


async def find(
    connection: Connection, lookups: Sequence[pb.Lookup], *, linearizable: bool = False
) -> pb.Found:
    """Read a state as new as the client has seen, and as all events sent by this node.

    Returns in a turn of the loop in which no newer event has been sent.
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
    """Answer a read, and the reads queued behind it."""
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
            # Such a read is never combined with others.
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
    """Return the error and the body of a result; one over the size limit is refused."""
    most = connection.server.config.reply_bytes
    if len(result.body) <= most:
        return result.error, result.body
    connection.server.warn(
        f"{connection.peer} is refused a reply of {len(result.body):,} bytes on {path[:_SHOWN]}: "
        f"reply_bytes of [plugins.zookeeper] is {most:,}"
    )
    return Error.MARSHALLING, b""


async def _listed(connection: Connection, lookup: pb.Lookup) -> pb.Found:
    """Read children page by page from one state; retry if any came or went in between."""
    server = connection.server
    most = server.config.reply_bytes
    # One list at a time: this bounds their memory together.
    async with server.listing:
        for _ in range(_ATTEMPTS):
            pages: list[pb.Page] = []
            size, pzxid = 0, 0
            while True:
                after = pages[-1].last if pages else ""
                found = await find(connection, [_lookup(lookup.type, lookup.path, after)])
                [result] = found.results
                if not result.HasField("page"):
                    # The list has become short, or may no longer be read.
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
    """Count the descendants of a znode page by page, yielding to the loop in between."""
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
    """Answer a read-only multi; only the results beyond the reply limit are refused."""
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
    """Answer once this node has applied all transactions committed before the request."""
    path = record.text()
    found = await find(connection, [], linearizable=True)
    connection.reply(xid, found.zxid, 0, jute.text(path))
