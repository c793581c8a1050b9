"""The broker: amqtt's listeners and packets, and what it tells clients comes from Quorate.

In this order a client is told what is durable: CONNACK after its session is connected and its
subscriptions are read, SUBACK and UNSUBACK after they are written, PUBACK and PUBREC of a retained
message after it is stored. A message that is not retained is given to all brokers, and then
acknowledged; Quorate is not asked.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from amqtt.adapters import BufferReader, ReaderAdapter, StreamReaderAdapter, WriterAdapter
from amqtt.broker import Broker, Server
from amqtt.contexts import BrokerConfig
from amqtt.errors import MQTTError
from amqtt.events import BrokerEvents
from amqtt.mqtt.connack import (
    BAD_USERNAME_PASSWORD,
    CONNECTION_ACCEPTED,
    IDENTIFIER_REJECTED,
    NOT_AUTHORIZED,
    SERVER_UNAVAILABLE,
)
from amqtt.mqtt.packet import CONNECT, MQTTFixedHeader
from amqtt.mqtt.publish import PublishPacket
from amqtt.session import Session
from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    QuorateError,
    RejectedError,
    WatchedChange,
)
from quorate.plugin import Invalid, keys
from quorate.v1.cluster_pb2 import Broker as Registered
from quorate_mqtt.client import Access, AccessCache, Action, LoginCache, Mqtt
from quorate_mqtt.names import check_identity, check_topic_filter, check_topic_name
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.v1 import sessions_pb2, wills_pb2

from quorate_amqtt.clients import Client
from quorate_amqtt.config import Settings
from quorate_amqtt.connection import BROKEN, Connection, Writer, read_body
from quorate_amqtt.messages import Message
from quorate_amqtt.outbox import Outbox
from quorate_amqtt.retained import RetainedMessages
from quorate_amqtt.router import Router
from quorate_amqtt.state import State

#: A client that has connected and says nothing is let go.
_FIRST_PACKET_S: Final = 10.0
#: What the cluster did not answer is tried again after this time.
_AGAIN_S: Final = 0.5
#: Clients that are connected at a time: enough for large calls, and few enough that clients which
#: are connected already are served meanwhile.
_AT_A_TIME: Final = 250
#: Connections that wait to be accepted; the system may allow fewer.
_BACKLOG: Final = 16_384
_MQTT_5: Final = 5
#: CONNACK of MQTT 5: unsupported protocol version.
_NO_MQTT_5: Final = bytes([0x20, 0x03, 0x00, 0x84, 0x00])
#: SUBACK of a filter that is refused.
_REFUSED: Final = 0x80


class _Connect(NamedTuple):
    packet: bytes
    #: Of the protocol.
    level: int


class Refused(Exception):
    """A client may not connect; CONNACK says why."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code: Final = code


class QuorateBroker(Broker):
    """A broker of amqtt whose state lies in Quorate."""

    def __init__(
        self,
        settings: Settings,
        q: AsyncClient,
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
        self._tenant: Final = settings.tenant
        self._access: Final = access
        self._logins: Final = logins
        self._state: Final = State(
            q, settings.tenant, registered.name, registered.epoch, settings.timeout_s
        )
        self._router: Final = Router(settings, registered)
        self._clients: Final = self._router.clients
        self._connection_ids: Final = itertools.count(1)
        self._connecting: Final = asyncio.Semaphore(_AT_A_TIME)
        #: Clients of which a session has ended, and it is not known whether it is this one.
        self._doubtful: set[str] = set()
        self._doubt: Final = asyncio.Event()
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._stopping = False
        self.retained: Final = RetainedMessages(self._state)
        self.links: Final = self._router.links

    async def follow(self) -> None:
        """Follow what the cluster and the other brokers tell, without an end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._router.follow(self._q))
            tasks.create_task(self.retained.follow(self._q, self._tenant))
            tasks.create_task(self._follow_sessions())
            tasks.create_task(self._check())
            tasks.create_task(self._publish_wills())

    @property
    def addresses(self) -> dict[str, str]:
        """Where clients connect, by the names of the listeners."""
        found = {}
        for name, server in self._servers.items():
            host, port = next(iter(server.instance.sockets)).getsockname()[:2]
            found[name] = f"{host}:{port}"
        return found

    # Messages.

    async def publish(self, connection: Connection, packet: PublishPacket) -> None:
        """Give a client's message to whoever is to have it; a retained one is durable then."""
        topic, qos = packet.topic_name or "", packet.qos or 0
        try:
            check_topic_name("topic", topic)
        except Invalid as invalid:
            raise MQTTError(f"topic: {invalid.reason}") from None
        if topic.startswith("$"):
            raise MQTTError("topics that begin with $ are the broker's own")
        message = Message(topic, bytes(packet.data or b""), qos)
        if not self._allows(connection, Action.PUBLISH, topic, qos, retain=packet.retain_flag):
            # MQTT 3.1.1 has no answer that says so.
            self.logger.info("%s may not publish to %s", connection.client.client_id, topic)
            return
        await self.plugins_manager.fire_event(
            BrokerEvents.MESSAGE_BROADCAST, client_id=connection.client.client_id, message=packet
        )
        if packet.retain_flag:
            await self.retained.publish(message)
        self._router.spread(message)

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
            self._router.spread(Message(topic, bytes(data or b""), force_qos or 0))

    # Clients.

    async def _create_server_instance(self, *arguments: Any) -> Any:
        """Listen for more clients than amqtt does: thousands come when another broker dies.

        Whom the queue has no room for tries again after one, three, seven and fifteen seconds.
        """
        instance = await super()._create_server_instance(*arguments)
        for listening in instance.sockets:
            with listening.dup() as sock:
                sock.listen(_BACKLOG)
        return instance

    async def stream_connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listener_name: str
    ) -> None:
        """Serve a network connection."""
        await self._client_connected(listener_name, StreamReaderAdapter(reader), Writer(writer))

    async def _initialize_client_session(
        self, reader: ReaderAdapter, writer: WriterAdapter, remote_address: str, remote_port: int
    ) -> tuple[Connection, Session]:
        """Read CONNECT. Nobody else's session is touched before the client is known."""
        try:
            async with asyncio.timeout(_FIRST_PACKET_S):
                connect = await self._read_connect(reader)
                if connect.level == _MQTT_5:
                    writer.write(_NO_MQTT_5)
                    raise MQTTError("it speaks MQTT 5, and amqtt does not")
                connection, session = await Connection.init_from_connect(
                    BufferReader(connect.packet), writer, self.plugins_manager
                )
        except BROKEN as error:
            await writer.close()
            raise MQTTError(f"no CONNECT came: {error}") from error
        assert isinstance(connection, Connection)
        connection.broker = self
        return connection, session

    async def _read_connect(self, reader: ReaderAdapter) -> _Connect:
        """Read all of it before it is decoded: what it says of itself may be wrong."""
        header = await MQTTFixedHeader.from_stream(reader)
        if header is None or header.packet_type != CONNECT:
            raise MQTTError("the first packet is another one")
        body = await read_body(reader, header, self.settings.packet_bytes)
        name_bytes = int.from_bytes(body[:2], "big")
        return _Connect(header.to_bytes() + body, body[2 + name_bytes])

    async def _handle_client_session(
        self,
        reader: ReaderAdapter,
        writer: WriterAdapter,
        client_session: Session,
        handler: Any,
        server: Server,
        listener_name: str,
    ) -> None:
        """Connect a client, and serve it until its connection ends."""
        connection: Connection = handler
        connection.attach(client_session, reader, writer)
        try:
            try:
                async with self._connecting:
                    present = await self._connect(connection)
            except Refused as refused:
                self.logger.info("refusing %s: %s", client_session.client_id, refused)
                await connection.answer(refused.code)
                return
            client_id = client_session.client_id
            await connection.answer(CONNECTION_ACCEPTED, session_present=present)
            await self.plugins_manager.fire_event(
                BrokerEvents.CLIENT_CONNECTED, client_id=client_id, client_session=client_session
            )
            await connection.serve()
        finally:
            await connection.stop()
            if hasattr(connection, "client"):
                await self._leave(connection)

    async def _connect(self, connection: Connection) -> bool:
        """Connect the client of a connection; tell whether its session goes on."""
        session = connection.owner
        will = self._will_of(session)
        await self._authenticate_client(session)
        if will is not None and not self._allows_session(
            session, Action.PUBLISH, will.topic, will.qos, retain=will.retain
        ):
            raise Refused(NOT_AUTHORIZED, f"it may not publish to {will.topic}, as its will does")
        client_id = str(session.client_id)
        try:
            reply = await self._state.connect(
                sessions_pb2.SessionConnect(
                    tenant=self._tenant,
                    client_id=client_id,
                    connection_id=next(self._connection_ids),
                    expiry_interval_s=(
                        0 if session.clean_session else self.settings.session_expiry_s
                    ),
                    clean_start=bool(session.clean_session),
                    will=will,
                )
            )
        except (QuorateError, TimeoutError) as error:
            raise Refused(SERVER_UNAVAILABLE, str(error) or "Quorate did not answer") from error
        try:
            filters = await self._state.subscriptions(client_id) if reply.session_present else {}
        except (QuorateError, TimeoutError) as error:
            undone = self._until_done(
                lambda: self._state.disconnect(client_id, reply.generation, discard_will=False)
            )
            self._keep(asyncio.create_task(undone))
            raise Refused(SERVER_UNAVAILABLE, str(error) or "Quorate did not answer") from error
        earlier = self._clients.get(client_id)
        if earlier is not None and earlier.generation > reply.generation:
            raise Refused(SERVER_UNAVAILABLE, "the client has connected again meanwhile")
        if earlier is not None and earlier.connection is not None:
            earlier.connection.end()
        if earlier is None or not reply.session_present:
            client = Client(
                client_id, reply.generation, False, Outbox(self.settings.queued_messages)
            )
            self._clients.add(client)
        else:
            client = earlier
        client.generation = reply.generation
        client.persistent = not session.clean_session
        client.connection, connection.client = connection, client
        connection.generation = reply.generation
        client.outbox.extend(self._router.handed_over(client_id))
        self._clients.set_filters(client, filters)
        await self._join(client, list(filters))
        session.parent = int(reply.session_present)
        self._sessions[client_id] = (session, connection)
        return reply.session_present

    async def _authenticate_client(self, session: Session) -> None:
        """Refuse a client that is not who it says it is, or is kept out."""
        client_id, username = str(session.client_id), session.username or ""
        try:
            check_identity("client_id", client_id)
        except Invalid as invalid:
            raise Refused(IDENTIFIER_REJECTED, f"client id: {invalid.reason}") from None
        if not username:
            if not self.settings.anonymous:
                raise Refused(NOT_AUTHORIZED, "it has no user name")
        else:
            try:
                check_identity("username", username)
                answer = await self._logins.authenticate(
                    self._tenant, username, (session.password or "").encode()
                )
            except (Invalid, InvalidError) as error:
                raise Refused(BAD_USERNAME_PASSWORD, str(error)) from None
            except QuorateError as error:
                raise Refused(SERVER_UNAVAILABLE, str(error)) from None
            if not answer.authenticated:
                raise Refused(BAD_USERNAME_PASSWORD, "that is not its password")
        if not self._allows_session(session, Action.CONNECT):
            raise Refused(NOT_AUTHORIZED, "the blacklist keeps it out")

    def _will_of(self, session: Session) -> wills_pb2.Will | None:
        if not session.will_flag:
            return None
        topic = session.will_topic or ""
        try:
            check_topic_name("will", topic)
        except Invalid as invalid:
            raise Refused(NOT_AUTHORIZED, f"topic of the will: {invalid.reason}") from None
        if topic.startswith("$") or session.will_qos not in (0, 1, 2):
            raise Refused(NOT_AUTHORIZED, "nothing can be published as its will says")
        return wills_pb2.Will(
            topic=topic,
            payload=bytes(session.will_message or b""),
            qos=session.will_qos,
            retain=bool(session.will_retain),
        )

    async def subscribe(
        self, connection: Connection, topics: Sequence[tuple[str, int]]
    ) -> list[int]:
        """Subscribe a client; returns what SUBACK says of each filter."""
        client, wanted = connection.client, dict[str, int]()
        codes = []
        for topic_filter, qos in topics:
            if qos not in (0, 1, 2):
                raise MQTTError(f"there is no quality of service {qos}")
            allowed = self._may_subscribe(connection, topic_filter, qos)
            codes.append(qos if allowed else _REFUSED)
            if allowed:
                wanted[topic_filter] = qos
        if wanted:
            refused = await self._keep_subscriptions(client, wanted)
            for topic_filter in wanted.keys() - refused:
                self._clients.subscribe(client, topic_filter, wanted[topic_filter])
                self._router.enter(client, topic_filter)
                await self.plugins_manager.fire_event(
                    BrokerEvents.CLIENT_SUBSCRIBED,
                    client_id=client.client_id,
                    topic=topic_filter,
                    qos=wanted[topic_filter],
                )
            codes = [
                _REFUSED if topic_filter in refused else code
                for (topic_filter, _), code in zip(topics, codes, strict=True)
            ]
        return codes

    async def _keep_subscriptions(self, client: Client, filters: dict[str, int]) -> set[str]:
        """Store what outlives the connection; returns what was refused."""
        refused: set[str] = set()
        if client.persistent:
            refused = await self._state.subscribe(client.client_id, client.generation, filters)
        await self._state.join(client.client_id, [each for each in filters if each not in refused])
        return refused

    def give_retained(
        self, connection: Connection, topics: Sequence[tuple[str, int]], codes: Sequence[int]
    ) -> None:
        """Give a client the retained messages of what it has subscribed to just now."""
        for (topic_filter, qos), code in zip(topics, codes, strict=True):
            if code != _REFUSED:
                for message in self.retained.matching(topic_filter):
                    self._clients.give(connection.client, message, qos)

    async def unsubscribe(self, connection: Connection, topics: Sequence[str]) -> None:
        """End subscriptions of a client."""
        client = connection.client
        known = [each for each in topics if each in client.filters]
        await self._state.leave(client.client_id, known)
        if known and client.persistent:
            await self._state.unsubscribe(client.client_id, client.generation, known)
        for topic_filter in known:
            self._clients.unsubscribe(client, topic_filter)
            self._router.leave(client, topic_filter)
            await self.plugins_manager.fire_event(
                BrokerEvents.CLIENT_UNSUBSCRIBED, client_id=client.client_id, topic=topic_filter
            )

    async def _leave(self, connection: Connection) -> None:
        """Record that a connection has ended; a session that is another's by now goes on there."""
        client, session = connection.client, connection.owner
        if client.connection is not connection:
            return
        client.connection = None
        self._sessions.pop(client.client_id, None)
        if not client.persistent:
            self._clients.remove(client.client_id)
        if self._stopping:
            # The end of the registration says so for all of them.
            return
        await self.plugins_manager.fire_event(
            BrokerEvents.CLIENT_DISCONNECTED, client_id=client.client_id, client_session=session
        )
        for topic_filter in client.filters:
            self._router.leave(client, topic_filter)
        await self._until_done(lambda: self._record_end(client, connection))

    async def _record_end(self, client: Client, connection: Connection) -> None:
        """Tell the cluster that a client is gone; forget it if its session ends with that."""
        generation = client.generation
        if client.connection is None:
            await self._state.leave(client.client_id, list(client.filters))
        ended = await self._state.disconnect(
            client.client_id, connection.generation, discard_will=connection.took_leave
        )
        if ended and client.connection is None and client.generation == generation:
            self._drop(client)

    async def _join(self, client: Client, filters: Sequence[str]) -> None:
        await self._state.join(client.client_id, filters)
        for topic_filter in filters:
            self._router.enter(client, topic_filter)

    def _drop(self, client: Client) -> None:
        if self._clients.get(client.client_id) is client:
            self._clients.remove(client.client_id)

    # What clients may do.

    def _allows(
        self, connection: Connection, action: Action, topic: str, qos: int, *, retain: bool = False
    ) -> bool:
        return self._allows_session(connection.owner, action, topic, qos, retain=retain)

    def _allows_session(
        self,
        session: Session,
        action: Action,
        topic: str = "",
        qos: int = 0,
        *,
        retain: bool = False,
    ) -> bool:
        access = Access(
            client_id=str(session.client_id),
            username=session.username or "",
            address=session.remote_address or "",
            action=action,
            topic=topic,
            qos=qos,
            retain=retain,
        )
        return self._access.decide(self._tenant, access).allowed

    def _may_subscribe(self, connection: Connection, topic_filter: str, qos: int) -> bool:
        try:
            check_topic_filter("filter", topic_filter)
        except Invalid:
            return False
        return self._allows(connection, Action.SUBSCRIBE, topic_filter, qos)

    # What the cluster tells.

    async def _follow_sessions(self) -> None:
        """End connections of clients that have connected elsewhere, or whose session is gone."""
        watch = self._q.watch(SESSIONS, prefix=keys.pack(self._tenant), marks=True)
        given: set[str] | None = None
        known: set[str] = set()
        async with aclosing(watch) as changes:
            async for change in changes:
                match change.kind:
                    case ChangeKind.RESYNC:
                        given, known = set(), {each.client_id for each in self._clients}
                    case ChangeKind.LISTED:
                        if given is not None:
                            self._doubtful |= known - given
                            self._doubt.set()
                        given = None
                    case ChangeKind.BOOKMARK:
                        pass
                    case _:
                        client_id = str(keys.unpack(change.key)[1])
                        if given is not None:
                            given.add(client_id)
                        if (client := self._clients.get(client_id)) is not None:
                            self._see(client, change)

    def _see(self, client: Client, change: WatchedChange) -> None:
        """Take note of what has become of a client's session."""
        if change.kind is ChangeKind.DELETED:
            # It may be an earlier session that this one has come after.
            self._doubtful.add(client.client_id)
            self._doubt.set()
            return
        row = sessions_pb2.Session.FromString(change.value)
        if row.generation > client.generation and row.broker_epoch != self._epoch:
            handing_over = self._router.hand_over(client, client.connection, row.broker_epoch)
            self._keep(asyncio.create_task(handing_over))
            self._end(client)

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Hold a task until it is done: the loop does not."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self, client: Client) -> None:
        connection, client.connection = client.connection, None
        self._drop(client)
        self._sessions.pop(client.client_id, None)
        if connection is not None:
            connection.end()

    async def _check(self) -> None:
        """End the clients of which a session has ended, if it was theirs; without an end."""
        while True:
            await self._doubt.wait()
            self._doubt.clear()
            doubtful, self._doubtful = self._doubtful, set()
            found = [(each, self._clients.get(each)) for each in sorted(doubtful)]
            clients = [(client, client.generation) for _, client in found if client is not None]
            try:
                sessions = await self._state.sessions([client.client_id for client, _ in clients])
            except (QuorateError, TimeoutError):
                self._doubtful |= doubtful
                self._doubt.set()
                await asyncio.sleep(_AGAIN_S)
                continue
            for client, generation in clients:
                if client.generation == generation and client.client_id not in sessions:
                    self._end(client)

    async def _publish_wills(self) -> None:
        """Publish the wills that are given to this broker, whoever served their clients."""
        async with (
            asyncio.TaskGroup() as tasks,
            aclosing(self._mqtt.wills.due(self._epoch)) as wills,
        ):
            async for due in wills:
                tasks.create_task(self._publish_will(due))

    async def _publish_will(self, due: wills_pb2.KeyedWillDelivery) -> None:
        will = due.delivery.will
        message = Message(will.topic, will.payload, will.qos)
        if due.tenant != self._tenant:
            # Its tenant's clients are at other brokers.
            self._router.forward(due.tenant, message)
        else:
            if will.retain:
                await self._until_done(lambda: self.retained.publish(message))
            self._router.spread(message)
        await self._until_done(lambda: self._mqtt.wills.acknowledge(due))

    async def _until_done(self, call: Callable[[], Awaitable[object]]) -> None:
        """Call until the cluster has answered: nobody else does it while this broker lives."""
        while True:
            try:
                await call()
            except (RejectedError, InvalidError) as error:
                self.logger.warning("the cluster refuses it: %s", error)
            except (QuorateError, TimeoutError):
                await asyncio.sleep(_AGAIN_S)
                continue
            return

    # What amqtt does at the end, and by itself.

    async def shutdown(self) -> None:
        """End all connections, and the broker."""
        self._stopping = True
        await super().shutdown()

    async def _session_monitor(self) -> None:
        """Sessions expire in Quorate."""
