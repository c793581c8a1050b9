"""The connection of one client: its packets are carried out and answered in their order.

A message is acknowledged when it has gone to all that are to have it: when it is durable, for a
retained one and for clients that are away.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from amqtt.adapters import BufferReader, ReaderAdapter, StreamWriterAdapter, WriterAdapter
from amqtt.errors import NoDataError
from amqtt.events import MQTTEvents
from amqtt.mqtt import packet_class
from amqtt.mqtt.packet import MQTTFixedHeader
from quorate.client import QuorateError
from websockets.exceptions import ConnectionClosed

from quorate_amqtt import packets
from quorate_amqtt.fields import Malformed, Reason, varint_of
from quorate_amqtt.messages import Delivery
from quorate_amqtt.outbox import WINDOW
from quorate_amqtt.packets import PUBACK, PUBCOMP, PUBREC, PUBREL, V5, Connect
from quorate_amqtt.properties import Properties, encode
from quorate_amqtt.state import SessionLostError

if TYPE_CHECKING:
    from quorate_amqtt.broker import QuorateBroker
    from quorate_amqtt.clients import Client

_LOG: Final = logging.getLogger(__name__)
#: Packets of a client that wait for their turn; then no more is read of it.
_WAITING: Final = 100
#: Answers that wait until published messages are durable.
_UNANSWERED: Final = 1_000
#: Multiple of its keep-alive for which a client may be silent.
_PATIENCE: Final = 1.5
#: Seconds to wait for the orderly close of a connection.
_CLOSING_S: Final = 1.0
#: Time without reading after which a client is disconnected.
_WRITING_S: Final = 30.0
#: Errors that end a connection and nothing else.
BROKEN: Final = (
    Malformed,
    NoDataError,
    QuorateError,
    SessionLostError,
    ConnectionClosed,
    EOFError,
    OSError,
)

#: An answer, and the work to finish before it is sent.
_Answer = tuple[Sequence[Awaitable[object]], bytes]


class Connection:
    """A network connection of a client that has sent CONNECT."""

    #: Set when the client is connected.
    client: Client
    #: The generation of the session, from the reply to the connect.
    generation: int

    def __init__(
        self, broker: QuorateBroker, connect: Connect, reader: ReaderAdapter, writer: WriterAdapter
    ) -> None:
        self._broker: Final = broker
        self.connect: Final = connect
        self.version: Final = connect.version
        self._reader: Final = reader
        self._writer: Final = writer
        peer = writer.get_peer_info()
        self.address: Final = str(peer[0]) if peer else ""
        self.port: Final = int(peer[1]) if peer else 0
        #: The view of the client for amqtt's plugins.
        self.session: Any = None
        #: How long the session outlives the connection.
        self.expiry_s = 0
        #: The expiry interval that the client gave in DISCONNECT.
        self.new_expiry_s: int | None = None
        self._inbox: Final[asyncio.Queue[packets.Packet | None]] = asyncio.Queue(_WAITING)
        self._answers: Final[asyncio.Queue[_Answer]] = asyncio.Queue(_UNANSWERED)
        self._answering = False
        self._fetching = False
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        #: While it is served.
        self._group: asyncio.TaskGroup | None = None
        self._is_over = False
        self._write_lock: Final = asyncio.Lock()
        #: Reason code for the client when the connection ends; None: none.
        self._farewell: Reason | None = None
        #: Nothing is done for the client any more.
        self.ended: Final = asyncio.Event()
        #: The client has said goodbye: its will is not published.
        self.took_leave = False

    async def answer(
        self, reason: Reason, *, session_present: bool = False, properties: Properties | None = None
    ) -> None:
        """Send the answer to CONNECT."""
        answer = packets.connack(self.version, reason, session_present, properties or Properties())
        await self._write(answer)

    async def serve(self) -> None:
        """Serve the client until either side ends the connection."""
        if self._is_over:
            return
        async with asyncio.TaskGroup() as self._group:
            for part in (self._read(), self._carry_out(), self._send()):
                self._start(part)
            self.fetch()

    def fetch(self) -> None:
        """Start to deliver the queued messages of the client."""
        if self.client.queued and not self._fetching and self._group is not None:
            self._fetching = True
            self._start(self._fetch())

    def end(self, reason: Reason | None = None) -> None:
        """End the connection at once; a client of MQTT 5 receives the reason."""
        self._farewell = self._farewell or reason
        self._group, self._is_over = None, True
        for task in self._tasks:
            task.cancel()

    def _start(self, part: Coroutine[Any, Any, bool]) -> None:
        assert self._group is not None
        task = self._group.create_task(self._carry(part))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, part: Coroutine[Any, Any, bool]) -> None:
        """Run a part of the service; the connection ends when a part returns False or fails."""
        goes_on = False
        try:
            goes_on = await part
        except BROKEN as error:
            _LOG.info("%s: closing the connection: %s", self.client.client_id, error)
            self._farewell = self._farewell or _reason_of(error)
        finally:
            if not goes_on:
                self._tasks.discard(asyncio.current_task())
                self.end()

    async def _fetch(self) -> bool:
        await self._broker.router.fetch(self.client)
        self._fetching = False
        return True

    async def stop(self) -> None:
        """Close the network connection."""
        self.end()
        try:
            async with asyncio.timeout(_CLOSING_S):
                if self._farewell is not None and self.version == V5:
                    self._writer.write(packets.disconnect(self._farewell))
                    await self._writer.drain()
                await self._writer.close()
        except (OSError, ConnectionClosed):
            if isinstance(self._writer, Writer):
                self._writer.abort()
        finally:
            self.ended.set()

    async def _write(self, packet: bytes) -> None:
        try:
            async with asyncio.timeout(_WRITING_S), self._write_lock:
                self._writer.write(packet)
                await self._writer.drain()
        except TimeoutError:
            if isinstance(self._writer, Writer):
                self._writer.abort()
            raise
        if self._broker.shows(MQTTEvents.PACKET_SENT):
            await self._show(MQTTEvents.PACKET_SENT, packet)

    async def _show(self, event: MQTTEvents, packet: bytes) -> None:
        """Show amqtt's plugins a packet of MQTT 3.1.1."""
        if self.version == V5:
            return
        reader = BufferReader(packet)
        header = await MQTTFixedHeader.from_stream(reader)
        assert header is not None
        shown = await packet_class(header).from_stream(reader, fixed_header=header)
        await self._broker.plugins_manager.fire_event(event, packet=shown, session=self.session)

    async def _send(self) -> bool:
        receive_maximum = self.connect.properties.receive_maximum or WINDOW
        await self.client.outbox.send(self._deliver, receive_maximum)
        return False

    async def _deliver(self, delivery: Delivery) -> None:
        """Send a message, or release one that the client has already received."""
        message = delivery.message
        if delivery.received:
            await self._write(packets.ack(self.version, PUBREL, delivery.packet_id))
            return
        flags = (delivery.again and 8) | delivery.qos << 1 | delivery.retain
        properties = b""
        if self.version == V5:
            properties = message.properties + delivery.identifiers
            if message.expires_at_ms:
                left_s = math.ceil(message.expires_at_ms / 1_000 - time.time())
                properties += encode(Properties(message_expiry_s=max(1, left_s)))
        topic = message.topic.encode()
        packet = packets.publish(
            self.version, topic, message.payload, flags, delivery.packet_id, properties
        )
        largest = self.connect.properties.maximum_packet_bytes
        if largest is not None and len(packet) > largest:
            # It is as if the client had it.
            if delivery.qos:
                self.client.outbox.acknowledge(delivery.packet_id, delivery.qos)
            return
        await self._write(packet)

    async def _read(self) -> bool:
        """Read packets: acknowledgements are recorded at once, other packets wait in line."""
        silent_s = self.connect.keep_alive_s * _PATIENCE or None
        most = self._broker.settings.packet_bytes
        while True:
            try:
                async with asyncio.timeout(silent_s):
                    head, body = await read_packet(self._reader, most)
            except TimeoutError:
                raise Malformed(Reason.KEEP_ALIVE_TIMEOUT, "the client was silent") from None
            except (EOFError, ConnectionError):
                break
            packet = packets.decode(head, body, self.version)
            if self._broker.shows(MQTTEvents.PACKET_RECEIVED):
                shown = bytes([head]) + varint_of(len(body)) + body
                await self._show(MQTTEvents.PACKET_RECEIVED, shown)
            match packet:
                case packets.Ack() if packet.kind != PUBREL:
                    await self._acknowledged(packet)
                case packets.Ping():
                    await self._write(packets.PONG)
                case packets.Connect():
                    raise Malformed(Reason.PROTOCOL_ERROR, "it sends CONNECT again")
                case _:
                    await self._inbox.put(packet)
            if isinstance(packet, packets.Disconnect):
                # Nothing counts that comes after it.
                break
        await self._inbox.put(None)
        # Packets that still wait are carried out.
        return True

    async def _acknowledged(self, ack: packets.Ack) -> None:
        outbox = self.client.outbox
        if ack.kind == PUBACK:
            outbox.acknowledge(ack.packet_id, 1)
        elif ack.kind == PUBCOMP:
            outbox.acknowledge(ack.packet_id, 2)
        elif ack.reason >= Reason.UNSPECIFIED:
            # A client of MQTT 5 does not want it.
            outbox.acknowledge(ack.packet_id, 2)
        else:
            known = outbox.receive(ack.packet_id)
            reason = Reason.SUCCESS if known else Reason.UNKNOWN_PACKET
            await self._write(packets.ack(self.version, PUBREL, ack.packet_id, reason))

    async def _carry_out(self) -> bool:
        while (packet := await self._inbox.get()) is not None:
            match packet:
                case packets.Publish():
                    await self._take(packet)
                case packets.Ack():
                    known = packet.packet_id in self.client.taken
                    self.client.taken.discard(packet.packet_id)
                    reason = Reason.SUCCESS if known else Reason.UNKNOWN_PACKET
                    await self._reply(packets.ack(self.version, PUBCOMP, packet.packet_id, reason))
                case packets.Subscribe():
                    before = set(self.client.filters)
                    codes = await self._broker.subscribers.subscribe(self, packet.filters)
                    answer = packets.suback(self.version, packet.packet_id, codes)
                    await self._reply(answer)
                    await self._answers.join()
                    self._broker.subscribers.give_retained(self, packet.filters, codes, before)
                case packets.Unsubscribe():
                    codes = await self._broker.subscribers.unsubscribe(self, packet.filters)
                    await self._reply(packets.unsuback(self.version, packet.packet_id, codes))
                case packets.Disconnect():
                    self._take_leave(packet)
                    break
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await self._answers.join()
        return False

    async def _reply(self, answer: bytes, written: Sequence[Awaitable[object]] = ()) -> None:
        """Answer after all that was to be answered before, and when something is written."""
        if not written and not self._answering:
            await self._write(answer)
            return
        await self._answers.put((written, answer))
        if not self._answering and self._group is not None:
            self._answering = True
            self._start(self._answer())

    async def _answer(self) -> bool:
        while not self._answers.empty():
            written, answer = self._answers.get_nowait()
            for each in written:
                await each
            await self._write(answer)
            self._answers.task_done()
        self._answering = False
        return True

    async def _take(self, packet: packets.Publish) -> None:
        """Take a message: it is given on once, and then acknowledged."""
        kind, packet_id = PUBACK if packet.qos == 1 else PUBREC, packet.packet_id
        if packet.qos == 2 and packet_id in self.client.taken:
            await self._reply(packets.ack(self.version, PUBREC, packet_id))
            return
        reason, written = await self._broker.publish(self, packet)
        if packet.qos == 2 and reason is Reason.SUCCESS:
            self.client.taken.add(packet_id)
        if packet.qos:
            await self._reply(packets.ack(self.version, kind, packet_id, reason), written)

    def _take_leave(self, packet: packets.Disconnect) -> None:
        self.took_leave = packet.reason != Reason.WITH_WILL
        new_expiry_s = packet.properties.session_expiry_s
        if new_expiry_s and not self.connect.properties.session_expiry_s:
            raise Malformed(Reason.PROTOCOL_ERROR, "a session that was to end cannot be kept")
        self.new_expiry_s = new_expiry_s


def _reason_of(error: BaseException) -> Reason | None:
    match error:
        case Malformed():
            return error.reason
        case SessionLostError():
            return Reason.TAKEN_OVER
        case QuorateError():
            return Reason.UNSPECIFIED
    return None


async def read_packet(reader: ReaderAdapter, most: int) -> tuple[int, bytes]:
    """Read a packet: return its first byte and its body; raises `EOFError` at the end."""
    head, size = (await _exactly(reader, 1))[0], 0
    for shift in (0, 7, 14, 21):
        byte = (await _exactly(reader, 1))[0]
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    else:
        raise Malformed(Reason.MALFORMED_PACKET, "its length has more than four bytes")
    if size > most:
        raise Malformed(
            Reason.PACKET_TOO_LARGE, f"a packet of {size:,} bytes is larger than {most:,}"
        )
    return head, await _exactly(reader, size) if size else b""


async def _exactly(reader: ReaderAdapter, size: int) -> bytes:
    data = await reader.read(size)
    if len(data) < size:
        raise EOFError("the connection has ended")
    return bytes(data)


class Writer(StreamWriterAdapter):
    """Writes to a socket, and can abort the connection of a client that does not read."""

    def abort(self) -> None:
        """Close the connection without waiting for anything."""
        self.is_closed = True
        self._writer.transport.abort()
