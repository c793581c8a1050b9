"""The broker: amqtt's listeners and plugins over the state in Quorate.

Acknowledgements follow durability in this order: CONNACK after its session is connected and its
subscriptions are read, SUBACK and UNSUBACK after they are written, PUBACK and PUBREC after a
retained message is stored and the queues of clients that are away are written. Any other message is
given to all brokers, and then acknowledged; Quorate is not asked.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, Final

from amqtt.adapters import (
    ReaderAdapter,
    StreamReaderAdapter,
    WebSocketsWriter,
    WriterAdapter,
)
from amqtt.broker import Broker, Server
from amqtt.contexts import BrokerConfig
from amqtt.errors import MQTTError
from amqtt.events import BrokerEvents, Events
from amqtt.mqtt.publish import PublishPacket
from amqtt.session import Session
from quorate.client import AsyncClient
from quorate.v1.cluster_pb2 import Broker as Registered
from quorate_mqtt.client import AccessCache, Action, LoginCache, Mqtt
from quorate_mqtt.v1 import wills_pb2
from websockets.asyncio.server import ServerConnection

from quorate_amqtt import packets
from quorate_amqtt.admission import Admission, Refused, expiry_of, topic_fault
from quorate_amqtt.config import Settings
from quorate_amqtt.connection import BROKEN, Connection, Writer, read_packet
from quorate_amqtt.fields import Fields, Malformed, Reason, varint_of
from quorate_amqtt.messages import Message
from quorate_amqtt.packets import V3, V5, Connect, Publish
from quorate_amqtt.properties import PASSED_ON, WILL, Properties, decode, encode
from quorate_amqtt.retained import RetainedMessages
from quorate_amqtt.router import Router
from quorate_amqtt.sessions import Sessions
from quorate_amqtt.state import State
from quorate_amqtt.subscriptions import Subscriptions
from quorate_amqtt.web_sockets import WebSocketReader

_LOG: Final = logging.getLogger(__name__)
#: Seconds until a silent connection is closed.
_FIRST_PACKET_S: Final = 10.0
#: Connections that wait to be accepted; the system may allow fewer.
_BACKLOG: Final = 16_384
#: The work to finish before a message is acknowledged.
Written = Sequence[Awaitable[object]]


class QuorateBroker(Broker):
    """A broker of amqtt with its state in Quorate."""

    def __init__(
        self,
        settings: Settings,
        q: AsyncClient,
        queues: AsyncClient,
        registered: Registered,
        access: AccessCache,
        logins: LoginCache,
    ) -> None:
        listeners = {name: each.settings() for name, each in settings.listeners.items()}
        super().__init__(
            BrokerConfig.from_dict({"listeners": listeners, "plugins": dict(settings.plugins)})
        )
        self.settings: Final = settings
        self._q: Final = q
        self._mqtt: Final = Mqtt(q)
        self._epoch: Final = registered.epoch
        self._admission: Final = Admission(settings, access, logins)
        state = State(q, settings.tenant, registered.name, registered.epoch, settings.timeout_s)
        self.router: Final = Router(settings, registered, queues)
        self._stopping = False
        self.retained: Final = RetainedMessages(state)
        self.links: Final = self.router.links
        self.subscribers: Final = Subscriptions(
            state, self.router, self.retained, self._admission, self.plugins_manager.fire_event
        )
        self.served: Final = Sessions(
            settings, registered.epoch, state, self.router, self.subscribers
        )

    async def follow(self) -> None:
        """Follow changes in the cluster and at the other brokers, for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.router.follow(self._q))
            tasks.create_task(self.retained.follow(self._q, self.settings.tenant))
            tasks.create_task(self.served.follow(self._q))
            tasks.create_task(self._publish_wills())

    async def ready(self) -> None:
        """Wait until no message passes by the clients that connect from now on."""
        await self.links.linked()
        await self.retained.known.wait()
        await self.served.listed.wait()

    @property
    def addresses(self) -> dict[str, str]:
        """Where clients connect, by the names of the listeners."""
        found = {}
        for name, server in self._servers.items():
            host, port = next(iter(server.instance.sockets)).getsockname()[:2]
            found[name] = f"{host}:{port}"
        return found

    # Messages.

    async def publish(self, connection: Connection, packet: Publish) -> tuple[Reason, Written]:
        """Deliver a client's message to its receivers; a retained one is durable then.

        Returns what the client is answered, and what must be done before.
        """
        topic, client_id = packet.topic, connection.client.client_id
        if fault := topic_fault(topic):
            raise Malformed(Reason.INVALID_TOPIC, fault)
        if self._admission.refusal(
            connection, Action.PUBLISH, topic, packet.qos, retain=packet.retain
        ):
            _LOG.info("%s may not publish to %s", client_id, topic)
            # MQTT 3.1.1 has no answer that says so.
            return (Reason.SUCCESS if connection.version == V3 else Reason.NOT_AUTHORIZED), ()
        message = Message(
            topic=topic,
            payload=packet.payload,
            qos=packet.qos,
            retain=packet.retain,
            properties=encode(packet.properties, PASSED_ON),
            expires_at_ms=expiry_of(packet.properties.message_expiry_s),
            publisher=client_id,
        )
        if self.shows(BrokerEvents.MESSAGE_BROADCAST):
            shown = PublishPacket.build(
                topic, message.payload, packet.packet_id, packet.again, message.qos, message.retain
            )
            await self.plugins_manager.fire_event(
                BrokerEvents.MESSAGE_BROADCAST, client_id=client_id, message=shown
            )
        if packet.retain:
            await self.retained.publish(message)
        return Reason.SUCCESS, self.router.spread(message)

    async def retain_message(
        self,
        source_session: Session | None,
        topic_name: str | None,
        data: bytes | bytearray | None,
        qos: int | None = None,
    ) -> None:
        """Retain a message of a plugin of amqtt."""
        if topic_name is not None:
            await self.retained.publish(Message(topic_name, bytes(data or b""), qos or 0))

    async def _broadcast_message(
        self,
        session: Session | None,
        topic: str | None,
        data: bytes | bytearray | None,
        force_qos: int | None = None,
    ) -> None:
        """Publish a message of a plugin of amqtt."""
        if topic is not None:
            self.router.spread(Message(topic, bytes(data or b""), force_qos or 0))

    # Clients.

    async def _create_server_instance(self, *arguments: Any) -> Any:
        """Listen for more clients than amqtt does: thousands come when another broker dies.

        Whom the queue has no room for tries again after one, three, seven and fifteen seconds.
        """
        instance = await super()._create_server_instance(*arguments)
        for each in instance.sockets:
            with socket.fromfd(each.fileno(), each.family, each.type) as listening:
                listening.listen(_BACKLOG)
        return instance

    async def stream_connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listener_name: str
    ) -> None:
        """Serve a network connection."""
        await self._client_connected(listener_name, StreamReaderAdapter(reader), Writer(writer))

    async def ws_connected(self, websocket: ServerConnection, listener_name: str) -> None:
        """Serve a connection of WebSockets."""
        await self._client_connected(
            listener_name, WebSocketReader(websocket), WebSocketsWriter(websocket)
        )

    async def _initialize_client_session(
        self, reader: ReaderAdapter, writer: WriterAdapter, remote_address: str, remote_port: int
    ) -> tuple[Any, Any]:
        """Read CONNECT; no session is touched before the client is authenticated."""
        try:
            async with asyncio.timeout(_FIRST_PACKET_S):
                connect = await self._read_connect(reader, writer)
        except BROKEN as error:
            await writer.close()
            raise MQTTError(f"no CONNECT came: {error}") from error
        return Connection(self, connect, reader, writer), SimpleNamespace(client_id="")

    async def _read_connect(self, reader: ReaderAdapter, writer: WriterAdapter) -> Connect:
        """Read the whole packet before it is decoded: its inner lengths may be wrong."""
        head, body = await read_packet(reader, self.settings.packet_bytes)
        if head >> 4 != packets.CONNECT:
            raise Malformed(Reason.PROTOCOL_ERROR, "the first packet is another one")
        version = V5 if packets.version_of(body) == V5 else V3
        try:
            connect = packets.decode(head, body, version)
        except Malformed as error:
            if version == V5 or error.reason is Reason.UNSUPPORTED_VERSION:
                writer.write(packets.connack(version, error.reason, False, Properties()))
                await writer.drain()
            raise
        assert isinstance(connect, Connect)
        return connect

    async def _handle_client_session(
        self,
        reader: ReaderAdapter,
        writer: WriterAdapter,
        client_session: Any,
        handler: Any,
        server: Server,
        listener_name: str,
    ) -> None:
        """Connect a client, and serve it until its connection ends."""
        connection: Connection = handler
        try:
            try:
                properties = await self._admission.admit(connection)
                client_session.client_id = connection.connect.client_id
                present = await self.served.connect(connection)
            except Refused as refused:
                _LOG.info("refusing %s: %s", connection.connect.client_id, refused)
                await connection.answer(refused.reason)
                return
            await connection.answer(Reason.SUCCESS, session_present=present, properties=properties)
            await self._enter(connection)
            await connection.serve()
        except BROKEN as error:
            raise MQTTError(str(error)) from error
        finally:
            await connection.stop()
            if hasattr(connection, "client"):
                await self._leave(connection)

    async def _enter(self, connection: Connection) -> None:
        """Show amqtt's plugins a client that has connected."""
        if not self.settings.plugins:
            return
        connection.session = _session_of(connection)
        client_id = connection.client.client_id
        shown: Any = (connection.session, connection)
        self._sessions[client_id] = shown
        await self.plugins_manager.fire_event(
            BrokerEvents.CLIENT_CONNECTED, client_id=client_id, client_session=connection.session
        )

    async def _leave(self, connection: Connection) -> None:
        client_id = connection.client.client_id
        shown: Any = self._sessions.get(client_id)
        if shown is not None and shown[1] is connection:
            self._sessions.pop(client_id)
            await self.plugins_manager.fire_event(
                BrokerEvents.CLIENT_DISCONNECTED,
                client_id=client_id,
                client_session=connection.session,
            )
        # At the end of the broker that of its registration says so for all clients.
        if connection.client.connection is connection and not self._stopping:
            self.served.leave(connection)

    def shows(self, event: Events) -> bool:
        """Return whether a plugin of amqtt wants to know of an event."""
        return event in self.plugins_manager._event_plugin_callbacks

    # Wills.

    async def _publish_wills(self) -> None:
        """Publish the wills that are given to this broker, whichever served their clients."""
        async with (
            asyncio.TaskGroup() as tasks,
            aclosing(self._mqtt.wills.due(self._epoch)) as wills,
        ):
            async for due in wills:
                tasks.create_task(self._publish_will(due))

    async def _publish_will(self, due: wills_pb2.KeyedWillDelivery) -> None:
        will = due.delivery.will
        read = Fields(varint_of(len(will.properties)) + will.properties)
        properties = decode(WILL, read)
        message = Message(
            topic=will.topic,
            payload=will.payload,
            qos=will.qos,
            retain=will.retain,
            properties=encode(properties, PASSED_ON),
            expires_at_ms=expiry_of(properties.message_expiry_s),
            publisher=due.client_id,
        )
        if due.tenant != self.settings.tenant:
            # Its tenant's clients are at other brokers.
            self.router.forward(due.tenant, message)
        else:
            if will.retain:
                await self.served.until_done(lambda: self.retained.publish(message))
            await asyncio.gather(*self.router.spread(message))
        await self.served.until_done(lambda: self._mqtt.wills.acknowledge(due))

    # The part of amqtt that it runs at the end by itself.

    async def shutdown(self) -> None:
        """End all connections, and the broker."""
        self._stopping = True
        await self.served.end_all()
        self._sessions.clear()
        await super().shutdown()

    async def _session_monitor(self) -> None:
        """Sessions expire in Quorate."""


def _session_of(connection: Connection) -> Session:
    """Return a client as amqtt's plugins know it."""
    connect, will, session = connection.connect, connection.connect.will, Session()
    session.client_id = connect.client_id
    session.clean_session = connect.clean_start
    session.username = connect.username
    session.password = (connect.password or b"").decode(errors="replace")
    session.keep_alive = connect.keep_alive_s
    session.remote_address, session.remote_port = connection.address, connection.port
    if will is not None:
        session.will_flag = True
        session.will_topic, session.will_message = will.topic, will.payload
        session.will_qos, session.will_retain = will.qos, will.retain
    return session
