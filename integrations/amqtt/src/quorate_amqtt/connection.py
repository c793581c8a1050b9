"""The connection of one client: amqtt's packets and acknowledgements, in an order of our own.

amqtt makes a task of each packet, and acknowledges a message before the broker has looked at it.
Here packets are carried out one after the other, and a message is acknowledged when it has gone to
whoever is to have it, and a retained one when it is durable.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from amqtt.adapters import BufferReader, ReaderAdapter, StreamWriterAdapter
from amqtt.codecs_amqtt import read_or_raise
from amqtt.errors import (
    AMQTTError,
    CodecError,
    MQTTError,
    NoDataError,
    ProtocolHandlerError,
)
from amqtt.events import MQTTEvents
from amqtt.mqtt import packet_class
from amqtt.mqtt.connack import ConnackPacket
from amqtt.mqtt.disconnect import DisconnectPacket
from amqtt.mqtt.packet import (
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    MQTTFixedHeader,
)
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.mqtt.puback import PubackPacket
from amqtt.mqtt.pubcomp import PubcompPacket
from amqtt.mqtt.publish import PublishPacket
from amqtt.mqtt.pubrec import PubrecPacket
from amqtt.session import OutgoingApplicationMessage, Session
from quorate.client import QuorateError

from quorate_amqtt.messages import Message
from quorate_amqtt.state import SessionLostError

if TYPE_CHECKING:
    from quorate_amqtt.broker import QuorateBroker
    from quorate_amqtt.clients import Client

#: Packets of a client that wait for their turn; then no more is read of it.
_WAITING: Final = 100
#: A client may be silent for so many times its keep-alive.
_PATIENCE: Final = 1.5
#: What is waited for when a connection is closed in good order.
_CLOSING_S: Final = 1.0
#: A client that has not read anything for so long is let go.
_WRITING_S: Final = 30.0
#: What a client sends that is no packet of MQTT, or cannot be carried out, ends its connection.
BROKEN: Final = (
    AMQTTError,
    CodecError,
    MQTTError,
    NoDataError,
    ProtocolHandlerError,
    QuorateError,
    SessionLostError,
    EOFError,
    LookupError,
    OSError,
    ValueError,
    struct.error,
)


class Connection(BrokerProtocolHandler):
    """A network connection of a client that has sent CONNECT."""

    #: Set once, before the connection is started.
    broker: QuorateBroker
    client: Client
    #: What the connect was answered with.
    generation: int

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._inbox: Final[asyncio.Queue[Any]] = asyncio.Queue(_WAITING)
        self._tasks: Final[list[asyncio.Task[None]]] = []
        #: Nothing is done for the client any more.
        self.ended: Final = asyncio.Event()
        #: The client has said goodbye: its will is not published.
        self.took_leave = False

    @property
    def owner(self) -> Session:
        """The session of amqtt that this connection was made with."""
        assert self.session is not None
        return self.session

    async def answer(self, code: int, *, session_present: bool = False) -> None:
        """Send the answer to CONNECT."""
        await self._send_packet(ConnackPacket.build(int(session_present), code))

    async def serve(self) -> None:
        """Serve the client until its connection ends, whoever ends it."""
        async with asyncio.TaskGroup() as tasks:
            for each in (self._reader_loop(), self._carry_out(), self._send()):
                self._tasks.append(tasks.create_task(self._ending(each)))

    def end(self) -> None:
        """End the connection at once."""
        for task in self._tasks:
            task.cancel()
        if isinstance(self.writer, Writer):
            self.writer.abort()

    async def stop(self) -> None:
        """Close the network connection."""
        self.end()
        self.ended.set()
        self._stop_waiters()
        if self.writer is not None:
            try:
                async with asyncio.timeout(_CLOSING_S):
                    await self.writer.close()
            except (OSError, TimeoutError):
                if isinstance(self.writer, Writer):
                    self.writer.abort()

    async def deliver(self, message: Message) -> bool:
        """Send a message; tell whether the client has acknowledged it, where it is to do so."""
        session = self.owner
        try:
            packet_id = session.next_packet_id if message.qos else None
            sent = OutgoingApplicationMessage(
                packet_id, message.topic, message.qos, message.payload, message.retained
            )
            if message.again and packet_id is not None:
                # amqtt takes a message with a packet for one that it sends again.
                sent.publish_packet = sent.build_publish_packet()
                session.inflight_out[packet_id] = sent
            await self._handle_message_flow(sent)
        except BROKEN:
            # The next connection gets it again.
            return False
        return True

    async def handle_connection_closed(self) -> None:
        """Send nothing more; what the client has sent before is still carried out."""
        if isinstance(self.writer, Writer):
            self.writer.abort()

    async def _send_packet(self, packet: Any) -> None:
        """Send a packet. That of amqtt takes a cancellation for an error, and has no deadline."""
        assert self.writer is not None
        try:
            async with asyncio.timeout(_WRITING_S), self._write_lock:
                await packet.to_stream(self.writer)
        except ConnectionError:
            await self.handle_connection_closed()
        except TimeoutError:
            self.end()
            raise
        await self.plugins_manager.fire_event(
            MQTTEvents.PACKET_SENT, packet=packet, session=self.session
        )

    async def _ending(self, part: Awaitable[None]) -> None:
        """Carry out a part of the service; when it ends, all of it does."""
        try:
            await part
        except TimeoutError:
            self.logger.info("closing the connection: the client or Quorate was silent")
        except BROKEN as error:
            self.logger.info("closing the connection: %s", error)
        finally:
            for task in self._tasks:
                if task is not asyncio.current_task():
                    task.cancel()

    async def _send(self) -> None:
        await self.client.outbox.send(self.deliver)

    async def _reader_loop(self) -> None:
        """Read packets: what the client acknowledges is noted, all else waits for its turn."""
        assert self.reader is not None
        keep_alive_s = self.owner.keep_alive * _PATIENCE or None
        while True:
            async with asyncio.timeout(keep_alive_s):
                header = await MQTTFixedHeader.from_stream(self.reader)
                if header is None:
                    break
                body = await read_body(self.reader, header, self.broker.settings.packet_bytes)
            if header.packet_type == PUBLISH:
                # amqtt would make a text of its own of a topic that is no UTF-8.
                body[2 : 2 + int.from_bytes(body[:2], "big")].decode()
            packet = await packet_class(header).from_stream(BufferReader(body), fixed_header=header)
            await self.plugins_manager.fire_event(
                MQTTEvents.PACKET_RECEIVED, packet=packet, session=self.session
            )
            kind = header.packet_type
            if (acknowledge := self._acknowledgements.get(kind)) is not None:
                await acknowledge(self, packet)
            elif kind in _IN_TURN:
                await self._inbox.put((kind, packet))
            else:
                raise MQTTError(f"a client does not send packets of type {kind}")
            if kind == DISCONNECT:
                # Nothing counts that comes after it.
                break
        await self._inbox.put((None, None))
        # What is still waiting is carried out.
        await asyncio.Event().wait()

    #: Answers to what was sent to the client, and pings.
    _acknowledgements: Final[Mapping[int, Callable[[Any, Any], Awaitable[None]]]] = {
        PUBACK: BrokerProtocolHandler.handle_puback,
        PUBREC: BrokerProtocolHandler.handle_pubrec,
        PUBCOMP: BrokerProtocolHandler.handle_pubcomp,
        PINGREQ: BrokerProtocolHandler.handle_pingreq,
    }

    async def _carry_out(self) -> None:
        while True:
            kind, packet = await self._inbox.get()
            match kind:
                case None:
                    return
                case _ if kind == PUBLISH:
                    await self._take(packet)
                case _ if kind == PUBREL:
                    self.client.taken.discard(packet.packet_id)
                    await self._send_packet(PubcompPacket.build(packet.packet_id))
                case _ if kind == SUBSCRIBE:
                    identifier = packet.variable_header.packet_id
                    codes = await self.broker.subscribe(self, packet.payload.topics)
                    await self.mqtt_acknowledge_subscription(identifier, codes)
                    self.broker.give_retained(self, packet.payload.topics, codes)
                case _ if kind == UNSUBSCRIBE:
                    await self.broker.unsubscribe(self, packet.payload.topics)
                    await self.mqtt_acknowledge_unsubscription(packet.variable_header.packet_id)
                case _:
                    assert isinstance(packet, DisconnectPacket)
                    self.took_leave = True
                    return

    async def _take(self, packet: PublishPacket) -> None:
        """Take a message: it is given on once, and then acknowledged."""
        qos, identifier = packet.qos or 0, packet.packet_id or 0
        if qos not in (0, 1, 2):
            raise MQTTError(f"there is no quality of service {qos}")
        if qos and not identifier:
            raise MQTTError("a packet with an acknowledgement has no identifier")
        if qos == 2 and identifier in self.client.taken:
            await self._send_packet(PubrecPacket.build(identifier))
            return
        await self.broker.publish(self, packet)
        if qos == 1:
            await self._send_packet(PubackPacket.build(identifier))
        elif qos == 2:
            self.client.taken.add(identifier)
            await self._send_packet(PubrecPacket.build(identifier))


_IN_TURN: Final = frozenset({PUBLISH, PUBREL, SUBSCRIBE, UNSUBSCRIBE, DISCONNECT})


async def read_body(reader: ReaderAdapter, header: MQTTFixedHeader, most: int) -> bytes:
    """Return what follows the header of a packet; raises `MQTTError` for too much."""
    if header.remaining_length > most:
        raise MQTTError(f"a packet of {header.remaining_length:,} bytes is larger than {most:,}")
    return await read_or_raise(reader, header.remaining_length) if header.remaining_length else b""


class Writer(StreamWriterAdapter):
    """Writes to a socket, and can let go of a client that does not read."""

    def abort(self) -> None:
        """Close the connection without waiting for anything."""
        self.is_closed = True
        self._writer.transport.abort()
