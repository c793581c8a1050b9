"""One connection: its requests take effect and are answered in the order in which they came."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from quorate.plugin import OrderedCommands, Rejected

from quorate_zookeeper.serving import tls
from quorate_zookeeper.serving.watches import KINDS, Kind
from quorate_zookeeper.sessions.apply import SESSION_EXPIRED
from quorate_zookeeper.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_zookeeper.wire import jute, replies, requests
from quorate_zookeeper.wire.codes import AUTH_XID, WRITES, Error, Event, Op
from quorate_zookeeper.wire.jute import Record, ShortRecordError
from quorate_zookeeper.wire.requests import UndecodableError

if TYPE_CHECKING:
    from quorate_zookeeper.serving.server import Server

_log = logging.getLogger(__name__)

_LENGTH_BYTES: Final = 4
_PASSWORD_BYTES: Final = 16
#: A connection that has not said by then who it is is closed.
_CONNECT_S: Final = 10.0
#: How long a client waits for a node that is behind what it has seen.
_CATCH_UP_S: Final = 3.0
#: Requests that are read ahead, and writes that are in flight; each of so many bytes.
_MOST_WAITING: Final = 256
_MOST_WAITING_BYTES: Final = 4 << 20
_MOST_WRITES: Final = 1_024
#: What a client leaves unread before it is sent away.
_MOST_UNREAD_BYTES: Final = 64 << 20
#: The watches that a read sets, and whether it sets them on what is not there.
_READS: Final = {
    Op.EXISTS: (Kind.DATA, True),
    Op.GET_DATA: (Kind.DATA, False),
    Op.GET_CHILDREN: (Kind.CHILDREN, False),
    Op.GET_CHILDREN2: (Kind.CHILDREN, False),
}
#: The modes of `add watch`.
_MODES: Final = {0: Kind.PERSISTENT, 1: Kind.RECURSIVE}


class _Slot:
    """The place of a reply among those of its connection."""

    __slots__ = ("body", "done", "error", "last", "size", "xid", "zxid")

    def __init__(self, xid: int, size: int = 0) -> None:
        self.xid: Final = xid
        #: Bytes of the request, of a write.
        self.size: Final = size
        #: It is sent once every event up to this transaction was; 0: at once.
        self.zxid = 0
        self.error = 0
        self.body = b""
        self.done = False
        #: Whether the connection is closed after it.
        self.last = False


class Connection(asyncio.Protocol):
    """Reads requests, and answers each after the events of all that it has seen."""

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._transport: asyncio.Transport | None = None
        self._received: Final = bytearray()
        self._frames: Final[deque[bytes]] = deque()
        self._frames_bytes = 0
        self._began = False
        self._worker: asyncio.Task[None] | None = None
        self._awake: asyncio.Future[None] | None = None
        self._reads = True
        self._writable = True
        self._slots: Final[deque[_Slot]] = deque()
        self._stream: OrderedCommands | None = None
        #: Writes that were not answered yet.
        self._writes = 0
        self._writes_bytes = 0
        self._closes_session = False
        #: Who the client has proved to be.
        self.identities: list[pb.Identity] = []
        #: Whom its certificate names; empty: it has shown none.
        self.user = ""
        #: The peer's address, as `host:port`, and its host.
        self.peer = ""
        self.host = ""
        #: 0: there is none yet.
        self.session = 0
        #: The number by which the session knows this connection.
        self.number = 0
        self.timeout_s = 0.0
        self.active_s = 0.0
        self.renewed_s = 0.0
        #: The newest state that the client has seen.
        self.zxid = 0
        self.received = 0
        self.sent = 0

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        self.host, self.peer = str(peer[0]), f"{peer[0]}:{peer[1]}"
        self.identities.append(pb.Identity(scheme="ip", id=self.host))
        self.user = tls.user_of(transport)
        subject = tls.subject_of(transport)
        if subject:
            self.identities.append(pb.Identity(scheme="x509", id=subject))
        self.active_s = self._server.now_s()
        if not self._server.entered(self):
            self.abort()
            return
        self._server.loop.call_later(_CONNECT_S, self._check_connected)

    def connection_lost(self, error: Exception | None) -> None:
        """End: what was proposed goes on, and is not answered any more."""
        self._transport = None
        self._frames.clear()
        self._slots.clear()
        self._server.left(self)
        if self._worker is not None:
            self._worker.cancel()
        if self._stream is not None:
            self._server.start(self._stream.close())

    def data_received(self, data: bytes) -> None:
        """Take bytes, and wake who works on requests."""
        self.active_s = self._server.now_s()
        self._received.extend(data)
        if not self._began and len(self._received) >= _LENGTH_BYTES:
            self._began = True
            if self._server.answer_word(self, bytes(self._received[:_LENGTH_BYTES])):
                self._received.clear()
                return
        self._cut()
        if self._frames:
            if self._worker is None:
                self._worker = self._server.loop.create_task(self._serve())
            self._wake()
        self._pace()

    def pause_writing(self) -> None:
        """Stop working: the client does not read what it is sent."""
        self._writable = False

    def resume_writing(self) -> None:
        """Go on."""
        self._writable = True
        self._wake()

    # What the server calls.

    def notify(self, zxid: int, event: int, path: str) -> None:
        """Send an event."""
        self._write(replies.notification(zxid, event, path))

    def flush(self) -> None:
        """Send the replies that may be sent by now."""
        if not self._slots or self._transport is None:
            return
        out: list[bytes] = []
        zxid, slots = self._server.zxid, self._slots
        while slots and slots[0].done:
            slot = slots[0]
            if slot.zxid > zxid:
                self._server.blocked.add(self)
                break
            slots.popleft()
            shown = 0 if slot.xid == AUTH_XID else slot.zxid or max(self.zxid, zxid)
            out.append(replies.reply(slot.xid, shown, slot.error, slot.body))
            if slot.last:
                self._write(b"".join(out))
                self.close()
                return
        if out:
            self._write(b"".join(out))

    def write_last(self, data: bytes) -> None:
        """Send something, and close."""
        self._write(data)
        self.close()

    def end(self) -> None:
        """The session has ended: close, unless the client asked for it and waits for the reply."""
        if not self._closes_session:
            self.close()

    def close(self) -> None:
        """Close it after what was written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def outstanding(self) -> int:
        """Requests that were not answered yet."""
        return len(self._slots) + len(self._frames)

    # Bytes.

    def _cut(self) -> None:
        received, start = self._received, 0
        while len(received) - start >= _LENGTH_BYTES:
            length = int.from_bytes(received[start : start + _LENGTH_BYTES], signed=True)
            if not 0 < length <= self._server.config.request_bytes:
                self._server.complain(f"{self.peer} sent a request of {length} bytes")
                self.close()
                received.clear()
                return
            end = start + _LENGTH_BYTES + length
            if len(received) < end:
                break
            self._frames.append(bytes(received[start + _LENGTH_BYTES : end]))
            self._frames_bytes += length
            self.received += 1
            start = end
        if start:
            del received[:start]

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self.sent += 1
        transport.write(data)
        if transport.get_write_buffer_size() > _MOST_UNREAD_BYTES:
            self._server.complain(f"{self.peer} does not read what it is sent")
            self.abort()

    def _check_connected(self) -> None:
        if not self.session:
            self.close()

    def _pace(self) -> None:
        """Read on or do not."""
        reads = len(self._frames) < _MOST_WAITING and self._frames_bytes < _MOST_WAITING_BYTES
        if reads != self._reads and self._transport is not None:
            self._reads = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # Requests, one after the other.

    def _wake(self) -> None:
        if self._awake is not None and not self._awake.done():
            self._awake.set_result(None)

    async def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._awake = self._server.loop.create_future()
            await self._awake

    def _may_go_on(self) -> bool:
        return (
            bool(self._frames)
            and self._writable
            and self._writes < _MOST_WRITES
            and self._writes_bytes < _MOST_WAITING_BYTES
        )

    def _has_written(self) -> bool:
        return not self._writes

    async def _serve(self) -> None:
        try:
            await self._until(self._may_go_on)
            if not self._is_admitted() or not await self._connect(self._take()):
                return
            while not self._closes_session:
                if not self._may_go_on():
                    await self._until(self._may_go_on)
                if not self._is_admitted():
                    return
                await self._answer(self._take())
        except ShortRecordError:
            self._server.complain(f"{self.peer} sent a request without a header")
            self.close()
        except Exception as error:  # noqa: BLE001 - the client tries another node
            self._fail(error)

    def _is_admitted(self) -> bool:
        if self._server.admits(self.user):
            return True
        self._server.complain(
            f"{self.peer} is refused: the cluster asks who calls; set [plugins.zookeeper] user to "
            "a user with `write` on zookeeper, or give clients certificates of such users"
        )
        self.close()
        return False

    def _take(self) -> bytes:
        frame = self._frames.popleft()
        self._frames_bytes -= len(frame)
        if not self._reads:
            self._pace()
        return frame

    def _fail(self, error: BaseException) -> None:
        """Close: whether a request was carried out is not known here."""
        if not isinstance(error, TimeoutError) and not hasattr(error, "code"):
            _log.error("the connection of %s failed", self.peer, exc_info=error)
        self._server.complain(f"the connection of {self.peer} is closed: {error}")
        self.abort()

    async def _connect(self, frame: bytes) -> bool:
        server, config = self._server, self._server.config
        asked_for = requests.Connect.decode(frame)
        if not await server.reached(asked_for.last_zxid, _CATCH_UP_S):
            server.complain(f"{self.peer} has seen {asked_for.last_zxid:#x}, which is not here")
            self.close()
            return False
        self.zxid = asked_for.last_zxid
        timeout_ms = min(
            max(asked_for.timeout_ms, config.min_session_timeout_ms),
            config.max_session_timeout_ms,
        )
        password, heard_s = asked_for.password, self.active_s
        opening: pb.OpenSession | pb.AttachSession
        if asked_for.session:
            opening = pb.AttachSession(session=asked_for.session, timeout_ms=timeout_ms)
        else:
            password = secrets.token_bytes(_PASSWORD_BYTES)
            opening = pb.OpenSession(timeout_ms=timeout_ms)
        opening.password_sha256 = hashlib.sha256(password).digest()
        opened = await server.node.propose(opening, pb.SessionOpened)
        answer = partial(replies.connected, with_read_only=asked_for.knows_read_only)
        if not opened.session:
            self.write_last(answer(0, 0, bytes(_PASSWORD_BYTES)))
            return False
        self.session, self.number = opened.session, opened.connection
        self.timeout_s = timeout_ms / 1_000
        self.renewed_s = heard_s
        self._stream = server.node.ordered()
        server.attached(self)
        self._write(answer(timeout_ms, self.session, password))
        return True

    async def _answer(self, frame: bytes) -> None:
        record = Record(frame)
        xid, op = record.int32(), record.int32()
        try:
            if op in WRITES and op != Op.CHECK:
                self._propose(xid, [requests.operation(op, record)], alone=True)
            elif op == Op.MULTI:
                self._propose(xid, requests.operations(record), alone=False)
            elif op == Op.PING:
                self._reply(xid)
            else:
                handle = _HANDLERS.get(op)
                if handle is None:
                    self._reply(xid, -1, Error.UNIMPLEMENTED, last=True)
                    return
                await handle(self, xid, op, record)
        except (ShortRecordError, UndecodableError):
            self._reply(xid, 0, Error.MARSHALLING)

    def _reply(
        self, xid: int, zxid: int = 0, error: int = 0, body: bytes = b"", *, last: bool = False
    ) -> None:
        slot = _Slot(xid)
        self._slots.append(slot)
        slot.last = last
        self._closes_session = self._closes_session or last
        self._fill(slot, zxid, error, body)

    def _fill(self, slot: _Slot, zxid: int, error: int = 0, body: bytes = b"") -> None:
        slot.zxid, slot.error, slot.body, slot.done = zxid, error, body, True
        self.zxid = max(self.zxid, zxid)
        self.flush()

    # Writes.

    def _propose(self, xid: int, operations: Sequence[pb.Operation], *, alone: bool) -> None:
        if not operations:
            self._reply(xid, 0, 0, replies.multi((), ()))
            return
        command = pb.Transact(
            session=self.session,
            connection=self.number,
            identities=self.identities,
            operations=operations,
            enforce_quotas=self._server.config.enforce_quotas,
        )
        types = [each.type for each in operations]
        slot = _Slot(xid, command.ByteSize())
        self._slots.append(slot)
        self._submit(slot, command, partial(_result_of, types, alone))

    def _submit(
        self,
        slot: _Slot,
        command: pb.Transact | pb.CloseSession,
        result_of: Callable[[pb.Transacted], tuple[int, bytes]],
    ) -> None:
        assert self._stream is not None
        self._writes += 1
        self._writes_bytes += slot.size
        future = self._stream.propose(command, pb.Transacted)
        future.add_done_callback(partial(self._written, slot, result_of))

    def _written(
        self,
        slot: _Slot,
        result_of: Callable[[pb.Transacted], tuple[int, bytes]],
        future: asyncio.Future[pb.Transacted],
    ) -> None:
        self._writes -= 1
        self._writes_bytes -= slot.size
        if self._transport is None or future.cancelled():
            return
        error = future.exception()
        if error is None:
            done = future.result()
            self._fill(slot, done.zxid, *result_of(done))
        elif isinstance(error, Rejected) and error.code == SESSION_EXPIRED:
            slot.last = True
            self._fill(slot, 0, Error.SESSION_EXPIRED)
        else:
            self._fail(error)
        self._wake()

    async def _close(self, xid: int, op: int, record: Record) -> None:
        self._closes_session = True
        slot = _Slot(xid)
        slot.last = True
        self._slots.append(slot)
        command = pb.CloseSession(session=self.session, connection=self.number)
        self._submit(slot, command, lambda _: (0, b""))

    # Reads.

    async def _find(
        self, lookups: Sequence[asked.Lookup], *, linearizable: bool = False
    ) -> asked.Found:
        """Read a state that is as new as what the client has seen, and all events that were sent.

        It returns in the turn of the loop in which nothing newer has been sent.
        """
        await self._until(self._has_written)
        query = asked.Find(identities=self.identities, session=self.session, lookups=lookups)
        node = self._server.node
        while True:
            answers = await node.read(
                query,
                asked.Found,
                consistency="linearizable" if linearizable else "stale",
                min_revision=max(self.zxid, self._server.zxid),
            )
            [found] = answers.rows
            if found.zxid >= self._server.zxid:
                return found

    async def _read(self, xid: int, op: int, record: Record) -> None:
        path = record.text()
        watches = op in _READS and record.boolean()
        found = await self._find([asked.Lookup(type=op, path=path)])
        [result] = found.results
        if watches:
            kind, on_absent = _READS[Op(op)]
            if not result.error or (on_absent and result.error == Error.NO_NODE):
                self._server.watches.add(kind, path, self, found.zxid)
        self._reply(xid, found.zxid, result.error, result.body)

    async def _read_many(self, xid: int, op: int, record: Record) -> None:
        wanted = requests.reads(record)
        found = await self._find([asked.Lookup(type=type_, path=path) for type_, path in wanted])
        results = (
            (type_, result.error, result.body)
            for (type_, _), result in zip(wanted, found.results, strict=True)
        )
        self._reply(xid, found.zxid, 0, replies.multi_read(results))

    async def _sync(self, xid: int, op: int, record: Record) -> None:
        path = record.text()
        found = await self._find([], linearizable=True)
        self._reply(xid, found.zxid, 0, jute.text(path))

    # Watches.

    async def _set_watches(self, xid: int, op: int, record: Record) -> None:
        since = record.int64()
        data, exist, children = (record.vector(record.text) for _ in range(3))
        standing: list[tuple[Kind, str]] = []
        if op == Op.SET_WATCHES2:
            standing += [(Kind.PERSISTENT, path) for path in record.vector(record.text)]
            standing += [(Kind.RECURSIVE, path) for path in record.vector(record.text)]
        paths = list(dict.fromkeys((*data, *exist, *children)))
        found = await self._find([asked.Lookup(path=path) for path in paths])
        stats = {
            path: None if result.error else replies.Described.decode(Record(result.body))
            for path, result in zip(paths, found.results, strict=True)
        }
        add = partial(self._server.watches.add, watcher=self, zxid=found.zxid)
        for path in data:
            stat = stats[path]
            if stat is None:
                self.notify(-1, Event.DELETED, path)
            elif stat.mzxid > since:
                self.notify(-1, Event.DATA, path)
            else:
                add(Kind.DATA, path)
        for path in exist:
            if stats[path] is not None:
                self.notify(-1, Event.CREATED, path)
            else:
                add(Kind.DATA, path)
        for path in children:
            stat = stats[path]
            if stat is None:
                self.notify(-1, Event.DELETED, path)
            elif stat.pzxid > since:
                self.notify(-1, Event.CHILDREN, path)
            else:
                add(Kind.CHILDREN, path)
        for kind, path in standing:
            add(kind, path)
        self._reply(xid, found.zxid)

    async def _add_watch(self, xid: int, op: int, record: Record) -> None:
        path, mode = record.text(), record.int32()
        if mode not in _MODES:
            raise UndecodableError
        found = await self._find([])
        self._server.watches.add(_MODES[mode], path, self, found.zxid)
        self._reply(xid, found.zxid, 0, jute.int32(0))

    async def _check_watches(self, xid: int, op: int, record: Record) -> None:
        path, type_ = record.text(), record.int32()
        if type_ not in KINDS:
            raise UndecodableError
        watches = self._server.watches
        has = watches.has(KINDS[type_], path, self)
        if has and op == Op.REMOVE_WATCHES:
            watches.remove(KINDS[type_], path, self)
        self._reply(xid, 0, Error.OK if has else Error.NO_WATCHER)

    # Who it is.

    async def _auth(self, xid: int, op: int, record: Record) -> None:
        record.int32()
        scheme, proof = record.text(), record.buffer() or b""
        if scheme == "digest":
            self._prove(proof)
        elif scheme != "ip":
            self._reply(xid, 0, Error.AUTH_FAILED, last=True)
            return
        self._reply(xid)

    def _prove(self, proof: bytes) -> None:
        user = proof.split(b":")[0].decode(errors="replace")
        digest = base64.b64encode(hashlib.sha1(proof).digest()).decode()
        proved = [pb.Identity(scheme="digest", id=f"{user}:{digest}")]
        if proved[0].id == self._server.config.super_digest:
            proved.append(pb.Identity(scheme="super"))
        self.identities += [each for each in proved if each not in self.identities]

    async def _sasl(self, xid: int, op: int, record: Record) -> None:
        self._reply(xid, 0, Error.AUTH_FAILED, last=True)

    async def _who_am_i(self, xid: int, op: int, record: Record) -> None:
        shown = [
            jute.text(each.scheme)
            + jute.text(each.id.split(":")[0] if each.scheme == "digest" else each.id)
            for each in self.identities
        ]
        self._reply(xid, 0, 0, jute.vector(shown))

    async def _reconfigure(self, xid: int, op: int, record: Record) -> None:
        self._reply(xid, 0, Error.RECONFIG_DISABLED)


def _result_of(types: Sequence[int], alone: bool, done: pb.Transacted) -> tuple[int, bytes]:
    """Return the error code and the record that answer a write."""
    if alone:
        return done.error, b"" if done.error else done.results[0]
    if done.error:
        return 0, replies.failed_multi(len(types), done.failed_at, done.error)
    return 0, replies.multi(types, done.results)


_Handler = Callable[[Connection, int, int, Record], Awaitable[None]]
_HANDLERS: Final[dict[int, _Handler]] = {
    Op.CLOSE: Connection._close,
    Op.EXISTS: Connection._read,
    Op.GET_DATA: Connection._read,
    Op.GET_ACL: Connection._read,
    Op.GET_CHILDREN: Connection._read,
    Op.GET_CHILDREN2: Connection._read,
    Op.GET_EPHEMERALS: Connection._read,
    Op.COUNT_DESCENDANTS: Connection._read,
    Op.MULTI_READ: Connection._read_many,
    Op.SYNC: Connection._sync,
    Op.RECONFIG: Connection._reconfigure,
    Op.CHECK_WATCHES: Connection._check_watches,
    Op.REMOVE_WATCHES: Connection._check_watches,
    Op.AUTH: Connection._auth,
    Op.SASL: Connection._sasl,
    Op.SET_WATCHES: Connection._set_watches,
    Op.SET_WATCHES2: Connection._set_watches,
    Op.ADD_WATCH: Connection._add_watch,
    Op.WHO_AM_I: Connection._who_am_i,
}
