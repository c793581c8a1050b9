"""Accepts the connections of other nodes, and reads their messages."""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from quorate.consensus.messages import Lane, Message, Peer
from quorate.consensus.peer.connection import Connection, address_of
from quorate.consensus.peer.frames import decode_frame
from quorate.consensus.peer.streams import StreamLimits, tls_fault
from quorate.consensus.peer.wire import (
    NO_OPENING,
    OPENING_BYTES,
    Answer,
    Handshake,
    MalformedMessageError,
    decode_handshake,
    decode_opening,
    encode_answer,
    encode_opening,
)
from quorate.http2.accepting import stop_accepting

_logger = logging.getLogger(__name__)

OVERSIZED: Final = "a frame over the limit"
NO_TLS: Final = "it begins no TLS"
SILENT: Final = "it connects and says nothing"

#: Maximum number of connections without a handshake; one more closes the oldest of the machine
#: that has most of them.
_MOST_UNKNOWN: Final = 128


#: The name of all unknown nodes: names that strangers claim are not stored.
STRANGER: Final = "a stranger"


class Refused:
    """Counts by (node, reason); the reasons are a fixed set of sentences, so this stays small."""

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known: Final = is_known
        self.counts: Final[Counter[tuple[str, str]]] = Counter()

    def record(self, node: str, reason: str, detail: str, level: int = logging.WARNING) -> None:
        """Count a refusal; log the first one of its kind with its detail."""
        who = node if self._is_known(node) else STRANGER
        self.counts[who, reason] += 1
        if self.counts[who, reason] == 1:
            _logger.log(level, "refused from %s: %s (%s)", who, reason, detail)


class Incoming:
    """Listens for other nodes, and reads what they send.

    `answer(handshake, lane, address, certificate)` admits or refuses, and `deliver(peer, messages)`
    gets messages.
    A connection without a handshake after `answer_s`, or with one that is too large, is closed, and
    so is one that is not encrypted by then where it has to be.
    """

    def __init__(
        self,
        me: Peer,
        limits: StreamLimits,
        *,
        answer: Callable[[Handshake, Lane, str, bytes | None], Answer],
        deliver: Callable[[Peer, list[tuple[str, Message]]], None],
        refused: Refused,
    ) -> None:
        self.me: Final = me
        self.limits: Final = limits
        self.answer: Final = answer
        self.deliver: Final = deliver
        self.refused: Final = refused
        #: Connections without a handshake, the oldest first.
        self.unknown: Final[dict[Connection | _Encrypting, None]] = {}
        #: The newest connection of each node and lane; it replaces an older one.
        self.newest: Final[dict[tuple[str, Lane], Connection]] = {}
        #: Begin TLS on connections that were accepted.
        self.encrypting: Final[set[asyncio.Task[None]]] = set()
        self._server: asyncio.Server | None = None
        self._stopped = False
        #: The port, also after the end; 0: none yet.
        self.port = 0

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Start to accept connections; raises `OSError`."""
        self._stopped = False
        self._server = await asyncio.get_running_loop().create_server(
            self.connection if tls is None else lambda: _Encrypting(self, tls), host, port
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop accepting, and close all connections."""
        self._stopped = True
        if self._server is None:
            return
        await stop_accepting([self._server])
        for connection in (*self.unknown, *self.newest.values()):
            connection.abort()
        await self._server.wait_closed()
        # A loop that ended before them would leave their sockets open.
        while self.encrypting:
            await asyncio.wait(self.encrypting)

    def connection(self) -> Connection:
        """Return a new connection, whose handshake is the next thing that comes."""
        return Connection(self.caller(), OPENING_BYTES, self.limits.silent_s)

    def caller(self) -> "_Caller":
        """Return what reads a new connection."""
        return _Caller(self)

    def admit(self, connection: "Connection | _Encrypting") -> None:
        """Add a connection that has not sent its handshake yet."""
        if self._stopped:
            # It was accepted before the end.
            connection.abort()
            return
        self.unknown[connection] = None
        if len(self.unknown) > _MOST_UNKNOWN:
            # A flood from one machine keeps no other out.
            held = Counter(each.host for each in self.unknown)
            [(most, _)] = held.most_common(1)
            oldest = next(each for each in self.unknown if each.host == most)
            del self.unknown[oldest]
            oldest.abort()


class _Encrypting(asyncio.Protocol):
    """A connection until TLS stands: it counts as one without a handshake.

    A server that encrypts by itself would tell nobody of it before. Nor can what it accepted be
    encrypted later: uvloop may read first bytes already, and TLS would never see them. So another
    transport takes the connection over before anything is read.
    """

    def __init__(self, incoming: Incoming, tls: ssl.SSLContext) -> None:
        self._in: Final = incoming
        self._tls: Final = tls
        self._accepted: socket.socket | None = None
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless it is one too many."""
        self._address = address_of(transport)
        self._accepted = transport.get_extra_info("socket").dup()
        cast(asyncio.Transport, transport).abort()
        self._in.admit(self)
        working = asyncio.create_task(self._encrypt(self._accepted))
        self._in.encrypting.add(working)
        working.add_done_callback(self._in.encrypting.discard)

    @property
    def host(self) -> str:
        """The machine at the other end."""
        return self._address.rpartition(":")[0]

    def abort(self) -> None:
        """Let it end at once."""
        if self._accepted is not None:
            # The transport finds that out, and closes it.
            with suppress(OSError):
                self._accepted.shutdown(socket.SHUT_RDWR)

    async def _encrypt(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._in.connection,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=self._in.limits.answer_s,
            )
        except ssl.SSLError as error:
            reason = tls_fault(str(error)) or NO_TLS
            detail = f"{error.reason} from {self._address}"
            self._in.refused.record(self._address, reason, detail)
        except OSError:
            # It ended, or took too long.
            pass
        finally:
            self._in.unknown.pop(self, None)


class _Caller:
    """One connection that another node made."""

    def __init__(self, incoming: Incoming) -> None:
        self._in: Final = incoming
        self._connection: Connection | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._peer: Peer | None = None
        self._address = ""

    def opened(self, connection: Connection) -> None:
        """Wait for the handshake, up to `answer_s`."""
        self._connection = connection
        self._address = connection.peer
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(self._in.limits.answer_s, self._refuse, SILENT, "")
        self._in.admit(connection)

    def read(self, content: memoryview) -> None:
        """Process the handshake, then messages."""
        try:
            if self._peer is None:
                self._shake_hands(content)
            else:
                read = self._in
                entry_bytes = read.limits.entry_bytes
                messages = decode_frame(content, self._peer, read.me, entry_bytes, self._note_error)
                read.deliver(self._peer, messages)
        except MalformedMessageError as error:
            self._refuse(error.reason, error.detail)

    def oversized(self, size: int) -> None:
        """Record the refusal; the connection ends."""
        self._refuse(OVERSIZED if self._peer else NO_OPENING, f"{size} bytes")

    def has_room(self) -> None:
        """Do nothing: nothing waits to be written."""

    def closed(self) -> None:
        """Remove the connection."""
        self._known()
        incoming, connection = self._in, self._connection
        for key in [key for key, each in incoming.newest.items() if each is connection]:
            del incoming.newest[key]

    def _shake_hands(self, content: memoryview) -> None:
        connection = self._connection
        assert connection is not None
        lane, shown = decode_opening(content)
        asker = decode_handshake(shown)
        answer = self._in.answer(asker, lane, self._address, connection.certificate)
        self._known()
        if not answer.refusal:
            # Before the answer, after which the peer relies on older connections not being read.
            older = self._in.newest.pop((asker.peer.node, lane), None)
            if older is not None:
                older.abort()
            self._in.newest[asker.peer.node, lane] = connection
            self._peer = asker.peer
            connection.largest = self._in.limits.received_bytes
        connection.write(encode_opening(lane, encode_answer(answer)))
        if answer.refusal:
            connection.close()

    def _refuse(self, reason: str, detail: str) -> None:
        self._note(reason, detail)
        if self._connection is not None:
            self._connection.abort()

    def _note_error(self, error: MalformedMessageError) -> None:
        self._note(error.reason, error.detail)

    def _note(self, reason: str, detail: str) -> None:
        node = self._peer.node if self._peer else self._address
        self._in.refused.record(node, reason, f"{detail} from {self._address}".lstrip())

    def _known(self) -> None:
        """Cancel the wait for the handshake."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self._connection is not None:
            self._in.unknown.pop(self._connection, None)
