"""One connection: its requests take effect and are answered in order of arrival."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from quorate.plugin import Rejected
from quorate.plugin.advanced import OrderedCommands

from quorate_zookeeper.serving import identities, tls
from quorate_zookeeper.serving.holding import LARGE
from quorate_zookeeper.serving.operations import OPERATIONS
from quorate_zookeeper.serving.watches import Kind
from quorate_zookeeper.sessions.apply import SESSION_EXPIRED
from quorate_zookeeper.v1 import commands_pb2 as pb
from quorate_zookeeper.wire import replies, requests
from quorate_zookeeper.wire.codes import AUTH_XID, WRITES, Error, Op
from quorate_zookeeper.wire.jute import Record, ShortRecordError
from quorate_zookeeper.wire.requests import UndecodableError

if TYPE_CHECKING:
    from quorate_zookeeper.serving.server import Server

_log = logging.getLogger(__name__)

_LENGTH_BYTES: Final = 4
_PASSWORD_BYTES: Final = 16
#: A connection without a session is closed after this time.
CONNECT_S: Final = 10.0
#: Maximum wait of a client for the node to reach the state that the client has seen.
_CATCH_UP_S: Final = 3.0
#: Maximum number of requests read ahead, of bytes of these and of writes in flight, and of writes.
_MOST_WAITING: Final = 256
_MOST_WAITING_BYTES: Final = 4 << 20
_MOST_WRITES: Final = 1_024
#: Maximum number of bytes that a client may leave unread: a reply and the events behind it.
_MOST_UNREAD_BYTES: Final = 128 << 20
#: The host's refusal of a command with too large writes, reply or rows.
_TOO_LARGE: Final = "TOO_LARGE"
#: Operations that are proposed unchanged.
_WRITES: Final = (WRITES - {Op.CHECK}) | {Op.MULTI}


@dataclass(slots=True, eq=False)
class _Slot:
    """The place of a reply among those of its connection."""

    xid: int
    arrived_s: float
    #: Bytes of the request, of a write.
    size: int = 0
    #: Whether the connection is closed after it.
    last: bool = False
    #: The reply is sent after every event up to this transaction; 0: at once.
    zxid: int = 0
    error: int = 0
    body: bytes = b""
    done: bool = False


class Connection(asyncio.Protocol):
    """Reads requests, and answers each after all events up to the state that the answer shows."""

    def __init__(self, server: Server) -> None:
        self.server: Final = server
        self._transport: asyncio.Transport | None = None
        self._received: Final = bytearray()
        self._frames: Final[deque[bytes]] = deque()
        self._frames_bytes = 0
        #: The arrival times of these frames, and of the request in progress.
        self._arrivals: Final[deque[float]] = deque()
        self._arrived_s = 0.0
        self._began = False
        self._worker: asyncio.Task[None] | None = None
        self._awake: asyncio.Future[None] | None = None
        self._reads = True
        self._writable = True
        self._slots: Final[deque[_Slot]] = deque()
        self._unsent: Final[list[bytes]] = []
        self._stream: OrderedCommands | None = None
        #: Unanswered writes.
        self._writes = 0
        self._writes_bytes = 0
        self._closes_session = False
        #: The identities that the client has proved.
        self.identities: list[pb.Identity] = []
        #: The user of its certificate; empty without one.
        self.user = ""
        #: The peer's address, as `host:port`, and its host.
        self.peer = ""
        self.host = ""
        #: 0 until a session is attached.
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

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or abort it if the server refuses it."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        self.host, self.peer = str(peer[0]), f"{peer[0]}:{peer[1]}"
        self.identities.append(pb.Identity(scheme="ip", id=self.host))
        self.user = tls.user_of(transport)
        subject = tls.subject_of(transport)
        if subject:
            self.identities.append(pb.Identity(scheme="x509", id=subject))
        self.active_s = self.server.now_s()
        if not self.server.entered(self):
            self.abort()
            return
        self.server.loop.call_later(CONNECT_S, self._check_connected)

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up: proposed writes continue, but are not answered."""
        self._transport = None
        self._frames.clear()
        self._arrivals.clear()
        self._slots.clear()
        self.server.held.forget(self)
        self.server.left(self)
        if self._worker is not None:
            self._worker.cancel()
        if self._stream is not None:
            self.server.start(self._stream.close())

    def data_received(self, data: bytes) -> None:
        """Buffer bytes, and wake the worker that serves requests."""
        self.active_s = self.server.now_s()
        self._received.extend(data)
        if not self._began and len(self._received) >= _LENGTH_BYTES:
            self._began = True
            if self.server.answer_word(self, bytes(self._received[:_LENGTH_BYTES])):
                self._received.clear()
                return
        self._cut()
        if self._frames:
            if self._worker is None:
                self._worker = self.server.loop.create_task(self._serve())
            self._wake()
        self._pace()
        if self._frames_bytes + len(self._received) >= LARGE:
            self.server.held.mind(self)

    def pause_writing(self) -> None:
        """Stop serving requests: the client does not read its replies."""
        self._writable = False
        self.server.held.mind(self)

    def resume_writing(self) -> None:
        """Resume serving requests."""
        self._writable = True
        self.server.held.mind(self)
        self._wake()

    # Called by the server.

    def notify(self, zxid: int, event: int, path: str) -> None:
        """Send an event."""
        self._write(replies.notification(zxid, event, path))

    def flush(self) -> None:
        """Send the replies that no longer wait for a request or an event."""
        if not self._slots or self._transport is None:
            return
        out: list[bytes] = []
        zxid, slots = self.server.zxid, self._slots
        while slots and slots[0].done:
            slot = slots[0]
            if slot.zxid > zxid:
                self.server.blocked.add(self)
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
        """Send data, and close."""
        self._write(data)
        self.close()

    def end(self) -> None:
        """Close after the session's end, unless the client awaits the reply to its own close."""
        if not self._closes_session:
            self.close()

    def close(self) -> None:
        """Close the connection after sending the pending data."""
        if self._transport is not None:
            self._send()
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def held_bytes(self) -> int:
        """Bytes held for the client: unread replies, and requests not yet started."""
        if self._transport is None:
            return 0
        unread: int = self._transport.get_write_buffer_size()
        return unread + self._frames_bytes + len(self._received)

    def evict(self) -> None:
        """Abort the connection, to free its memory for others."""
        self.server.warn(f"{self.peer} neither reads its replies nor completes its requests")
        self.abort()

    @property
    def outstanding(self) -> int:
        """The number of unanswered requests."""
        return len(self._slots) + len(self._frames)

    def watch(self, kind: Kind, path: str, zxid: int) -> bool:
        """Watch a path for changes after a transaction; return False if the limit is reached."""
        if self.server.watches.add(kind, path, self, zxid):
            return True
        self.server.warn(
            f"{self.peer} sets too many watches: watch_bytes of [plugins.zookeeper] is "
            f"{self.server.config.watch_bytes:,}, and a connection may use an eighth of it"
        )
        return False

    # Bytes.

    def _cut(self) -> None:
        received, start = self._received, 0
        while len(received) - start >= _LENGTH_BYTES:
            length = int.from_bytes(received[start : start + _LENGTH_BYTES], signed=True)
            if not 0 < length <= self.server.config.request_bytes:
                self.server.warn(f"{self.peer} sent a request of {length} bytes")
                self.close()
                received.clear()
                return
            end = start + _LENGTH_BYTES + length
            if len(received) < end:
                break
            self._frames.append(bytes(received[start + _LENGTH_BYTES : end]))
            self._arrivals.append(self.active_s)
            self._frames_bytes += length
            self.received += 1
            start = end
        if start:
            del received[:start]

    def _write(self, data: bytes) -> None:
        if self._transport is None:
            return
        self.sent += 1
        if not self._unsent:
            # All data of one turn of the loop is sent together.
            self.server.loop.call_soon(self._send)
        self._unsent.append(data)

    def _send(self) -> None:
        transport, unsent = self._transport, self._unsent
        if transport is None or transport.is_closing() or not unsent:
            return
        transport.write(b"".join(unsent))
        unsent.clear()
        if self._writable:
            return
        if transport.get_write_buffer_size() > _MOST_UNREAD_BYTES:
            self.evict()
        else:
            self.server.held.mind(self)

    def _check_connected(self) -> None:
        if not self.session:
            self.close()

    def _pace(self) -> None:
        """Pause or resume reading, by the requests read ahead."""
        reads = len(self._frames) < _MOST_WAITING and self._frames_bytes < _MOST_WAITING_BYTES
        if reads != self._reads and self._transport is not None:
            self._reads = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # Requests, in order.

    def _wake(self) -> None:
        if self._awake is not None and not self._awake.done():
            self._awake.set_result(None)

    async def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._awake = self.server.loop.create_future()
            await self._awake

    def _may_go_on(self) -> bool:
        return (
            bool(self._frames)
            and self._writable
            and self._writes < _MOST_WRITES
            and self._writes_bytes < _MOST_WAITING_BYTES
        )

    async def written(self) -> None:
        """Wait until all writes of the session are answered."""
        if self._writes:
            await self._until(lambda: not self._writes)

    async def _serve(self) -> None:
        try:
            await self._until(self._may_go_on)
            if not self._is_admitted() or not await self._connect(self.take()):
                return
            while not self._closes_session:
                if not self._may_go_on():
                    await self._until(self._may_go_on)
                if not self._is_admitted():
                    return
                await self._answer(self.take())
        except ShortRecordError:
            self.server.warn(f"{self.peer} sent a request without a header")
            self.close()
        except Exception as error:  # noqa: BLE001 - the client tries another node
            self._fail(error)

    def _is_admitted(self) -> bool:
        if self.server.admits(self.user):
            return True
        self.server.warn(
            f"{self.peer} is refused: {self.user!r} is the name of a node, or reserved; give it a "
            "certificate with a name of its own"
            if self.server.node.is_reserved(self.user)
            else f"{self.peer} is refused: the cluster requires authentication; set user of "
            "[plugins.zookeeper] to a user with `write` on zookeeper, or give clients certificates "
            "of such users"
        )
        self.close()
        return False

    async def act(self) -> None:
        """Write under the identity that the client has proved last."""
        await self.written()
        earlier = self._stream
        with self.server.node.acting(identities.user_of(self), self.peer):
            self._stream = self.server.node.ordered()
        if earlier is not None:
            await earlier.close()

    def next_is(self, operations: Container[int]) -> bool:
        """Return whether the next request has arrived and is one of these operations."""
        return bool(self._frames) and int.from_bytes(self._frames[0][4:8]) in operations

    def take(self) -> bytes:
        """Take the next request."""
        frame = self._frames.popleft()
        self._arrived_s = self._arrivals.popleft()
        self._frames_bytes -= len(frame)
        if not self._reads:
            self._pace()
        return frame

    def _fail(self, error: BaseException) -> None:
        """Abort the connection: the outcome of its requests is unknown."""
        if not isinstance(error, TimeoutError) and not hasattr(error, "code"):
            _log.error("the connection of %s failed", self.peer, exc_info=error)
        self.server.warn(f"the connection of {self.peer} is closed: {error}")
        self.abort()

    async def _connect(self, frame: bytes) -> bool:
        server, config = self.server, self.server.config
        asked_for = requests.Connect.decode(frame)
        if not await server.reached(asked_for.last_zxid, _CATCH_UP_S):
            server.warn(f"{self.peer} has seen {asked_for.last_zxid:#x}, and this node has not")
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
        with server.node.acting(identities.user_of(self), self.peer):
            opened = await server.node.propose(opening, pb.SessionOpened)
        answer = partial(replies.connected, with_read_only=asked_for.knows_read_only)
        if not opened.session:
            self.write_last(answer(0, 0, bytes(_PASSWORD_BYTES)))
            return False
        self.session, self.number = opened.session, opened.connection
        self.timeout_s = timeout_ms / 1_000
        self.renewed_s = heard_s
        await self.act()
        server.attached(self)
        self._write(answer(timeout_ms, self.session, password))
        return True

    async def _answer(self, frame: bytes) -> None:
        record = Record(frame)
        xid, op = record.int32(), record.int32()
        try:
            if op in _WRITES:
                self._propose(xid, op, record.rest)
            elif op == Op.PING:
                self.reply(xid)
            elif op == Op.CLOSE:
                self._close_session(xid)
            else:
                answer = OPERATIONS.get(op)
                if answer is None:
                    self.reply(xid, -1, Error.UNIMPLEMENTED, last=True)
                    return
                await answer(self, xid, op, record)
        except (ShortRecordError, UndecodableError):
            self.reply(xid, 0, Error.MARSHALLING)

    def reply(
        self, xid: int, zxid: int = 0, error: int = 0, body: bytes = b"", *, last: bool = False
    ) -> None:
        """Answer a request after the previous ones; `last` closes the connection after it."""
        slot = _Slot(xid, self._arrived_s, last=last)
        self._slots.append(slot)
        self._closes_session = self._closes_session or last
        self._fill(slot, zxid, error, body)

    def _fill(self, slot: _Slot, zxid: int, error: int = 0, body: bytes = b"") -> None:
        slot.zxid, slot.error, slot.body, slot.done = zxid, error, body, True
        self.zxid = max(self.zxid, zxid)
        self.server.counts.took(self.server.loop.time() - slot.arrived_s)
        self.flush()

    # Writes.

    def _propose(self, xid: int, op: int, request: bytes) -> None:
        command = pb.Transact(
            session=self.session,
            connection=self.number,
            identities=self.identities,
            enforce_quotas=self.server.config.enforce_quotas,
            type=op,
            request=request,
        )
        self._submit(_Slot(xid, self._arrived_s, len(request)), command)

    def _submit(self, slot: _Slot, command: pb.Transact | pb.CloseSession) -> None:
        assert self._stream is not None
        self._slots.append(slot)
        self._writes += 1
        self._writes_bytes += slot.size
        with self.server.node.acting(identities.user_of(self), self.peer):
            future = self._stream.propose(command, pb.Transacted)
        future.add_done_callback(partial(self._written, slot))

    def _written(self, slot: _Slot, future: asyncio.Future[pb.Transacted]) -> None:
        self._writes -= 1
        self._writes_bytes -= slot.size
        if self._transport is None or future.cancelled():
            return
        error = future.exception()
        if error is None:
            done = future.result()
            self._fill(slot, done.zxid, done.error, done.body)
        elif isinstance(error, Rejected) and error.code == SESSION_EXPIRED:
            slot.last = True
            self._fill(slot, 0, Error.SESSION_EXPIRED)
        elif isinstance(error, Rejected) and error.code == _TOO_LARGE:
            self.server.warn(f"a write of {self.peer} is refused: {error}")
            self._fill(slot, self.server.zxid, Error.MARSHALLING)
        else:
            self._fail(error)
        self._wake()

    def _close_session(self, xid: int) -> None:
        self._closes_session = True
        command = pb.CloseSession(session=self.session, connection=self.number)
        self._submit(_Slot(xid, self._arrived_s, last=True), command)
