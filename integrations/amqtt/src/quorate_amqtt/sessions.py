"""The sessions of the clients of this broker, from the connect until another broker has them."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Final

from quorate.client import (
    AsyncClient,
    ChangeKind,
    InvalidError,
    QuorateError,
    RejectedError,
    WatchedChange,
)
from quorate.plugin import keys
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.v1 import sessions_pb2

from quorate_amqtt.admission import Refused, stored_will
from quorate_amqtt.away import FAMILIES
from quorate_amqtt.clients import Client
from quorate_amqtt.config import Settings
from quorate_amqtt.connection import Connection
from quorate_amqtt.fields import Reason
from quorate_amqtt.outbox import Outbox
from quorate_amqtt.packets import Options
from quorate_amqtt.router import Router
from quorate_amqtt.state import State
from quorate_amqtt.subscriptions import Subscriptions

_LOG: Final = logging.getLogger(__name__)
#: Seconds until a call without an answer is retried.
_AGAIN_S: Final = 0.5
#: Clients that are connected at a time: enough for large calls, and few enough that clients which
#: are connected already are served meanwhile.
_AT_A_TIME: Final = 250


class Sessions:
    """Connects clients, records their departure, and releases clients that other brokers serve."""

    def __init__(
        self,
        settings: Settings,
        epoch: int,
        state: State,
        router: Router,
        subscriptions: Subscriptions,
    ) -> None:
        self._settings: Final = settings
        self._epoch: Final = epoch
        self._state: Final = state
        self._router: Final = router
        self._subscriptions: Final = subscriptions
        self._clients: Final = router.clients
        self._connection_ids: Final = itertools.count(1)
        self._connecting: Final = asyncio.Semaphore(_AT_A_TIME)
        #: Clients of which a session has ended, and it is not known whether it is this one.
        self._doubtful: set[str] = set()
        self._doubt: Final = asyncio.Event()
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        #: All sessions of the tenant were given.
        self.listed: Final = asyncio.Event()

    async def connect(self, connection: Connection) -> bool:
        """Connect the client of a connection; tell whether its session goes on."""
        async with self._connecting:
            try:
                return await self._connect(connection)
            except RejectedError as error:
                full = error.code == "LIMIT_REACHED"
                reason = Reason.QUOTA_EXCEEDED if full else Reason.SERVER_UNAVAILABLE
                raise Refused(reason, str(error)) from error
            except (QuorateError, TimeoutError) as error:
                why = str(error) or "Quorate did not answer"
                raise Refused(Reason.SERVER_UNAVAILABLE, why) from error

    async def _connect(self, connection: Connection) -> bool:
        connect, client_id = connection.connect, connection.connect.client_id
        known = self._clients.get(client_id)
        if known is not None and known.leaving is not None:
            # The queue has all of it, then.
            async with asyncio.timeout(self._settings.timeout_s):
                await asyncio.shield(known.leaving)
        reply = await self._state.connect(
            sessions_pb2.SessionConnect(
                tenant=self._settings.tenant,
                client_id=client_id,
                connection_id=next(self._connection_ids),
                expiry_interval_s=connection.expiry_s,
                clean_start=connect.clean_start,
                will=stored_will(connect.will),
            )
        )
        filters: dict[str, Options] = {}
        if reply.session_present:
            try:
                filters = await self._state.subscriptions(client_id)
            except (QuorateError, TimeoutError):
                undone = self.until_done(
                    lambda: self._state.disconnect(client_id, reply.generation, discard_will=False)
                )
                self.keep(undone)
                raise
        await self._attach(connection, reply, filters)
        return reply.session_present

    async def _attach(
        self,
        connection: Connection,
        reply: sessions_pb2.ConnectReply,
        filters: dict[str, Options],
    ) -> None:
        client_id = connection.connect.client_id
        earlier = self._clients.get(client_id)
        if earlier is not None and earlier.moved:
            self._router.let_go(earlier)
            earlier = None
        if earlier is not None and earlier.generation > reply.generation:
            raise Refused(Reason.SERVER_UNAVAILABLE, "the client has connected again meanwhile")
        if earlier is not None:
            # That connection has nothing to say of the session any more.
            self._disconnect(earlier, Reason.TAKEN_OVER)
        if earlier is None or not reply.session_present:
            backlog = self._router.backlog
            outbox = Outbox(
                self._settings.queued_messages, lambda number: backlog.delete(client_id, number)
            )
            client = Client(client_id, 0, False, outbox)
            self._clients.add(client)
        else:
            client = earlier
        client.generation = connection.generation = reply.generation
        client.persistent = connection.expiry_s > 0
        client.connection, connection.client = connection, client
        client.queued = client.queued or reply.queued > 0
        client.got = None
        self._router.connected(client, filters, present=reply.session_present)
        await self._subscriptions.join(client, filters)

    def leave(self, connection: Connection) -> None:
        """Record that a connection has ended; a session that is another's by now goes on there."""
        client = connection.client
        client.connection = None
        if not client.persistent:
            self._drop(client)
        for topic_filter in client.filters:
            self._router.leave(client, topic_filter)
        saving = self.keep(self._router.save(client)) if client.persistent else None
        client.leaving = saving
        self.keep(self._record_end(client, connection, saving))

    async def _record_end(
        self, client: Client, connection: Connection, saving: asyncio.Task[None] | None
    ) -> None:
        """Report a client's disconnect to the cluster; forget the client if its session ends."""
        if saving is not None:
            # Messages of other brokers come after the messages of this one.
            await asyncio.wait({saving})
            if client.leaving is saving:
                client.leaving = None

        async def record() -> None:
            generation = client.generation
            if client.connection is None:
                await self._state.leave(client.client_id, list(client.filters))
            ended = await self._state.disconnect(
                client.client_id,
                connection.generation,
                discard_will=connection.took_leave,
                expiry_s=connection.new_expiry_s,
            )
            if ended and client.connection is None and client.generation == generation:
                self._drop(client)

        await self.until_done(record)

    def _drop(self, client: Client) -> None:
        if self._clients.get(client.client_id) is client:
            self._clients.remove(client.client_id)

    async def end_all(self) -> None:
        """End all connections, and save the unacknowledged messages of their clients."""
        ended = []
        for client in self._clients:
            if (connection := self._disconnect(client, Reason.SHUTTING_DOWN)) is not None:
                ended.append((client, connection))
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.timeout_s):
                for client, connection in ended:
                    await connection.ended.wait()
                    if client.persistent:
                        await self._router.save(client)

    async def follow(self, q: AsyncClient) -> None:
        """Follow the sessions and subscriptions of the tenant, without an end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._check())
            tasks.create_task(self._watch(q))

    async def _watch(self, q: AsyncClient) -> None:
        """End connections of clients that have connected elsewhere or lost their session."""
        watch = q.watch(FAMILIES, prefix=keys.pack(self._settings.tenant), marks=True)
        given: set[str] | None = None
        known: set[str] = set()
        async with aclosing(watch) as changes:
            async for change in changes:
                self._router.away.see(change)
                match change.kind:
                    case ChangeKind.RESYNC:
                        given, known = set(), {each.client_id for each in self._clients}
                    case ChangeKind.LISTED:
                        if given is not None:
                            self._doubtful |= known - given
                            self._doubt.set()
                        given = None
                        self.listed.set()
                    case ChangeKind.BOOKMARK:
                        pass
                    case _ if change.family == SESSIONS:
                        client_id = str(keys.unpack(change.key)[1])
                        if given is not None:
                            given.add(client_id)
                        if (client := self._clients.get(client_id)) is not None:
                            self._see(client, change)

    def _see(self, client: Client, change: WatchedChange) -> None:
        """Apply a change of the session of a client."""
        if change.kind is ChangeKind.DELETED:
            # It may be an earlier session of the client.
            self._doubtful.add(client.client_id)
            self._doubt.set()
            return
        row = sessions_pb2.Session.FromString(change.value)
        if row.generation == client.generation:
            client.created_at_ms = row.created_at_ms
        elif row.generation > client.generation and row.broker_epoch != self._epoch:
            if client.moved:
                return
            connection = self._disconnect(client, Reason.TAKEN_OVER)
            if not client.persistent:
                self._drop(client)
                return
            self._router.moved(client)
            self.keep(self._hand_over(client, connection))

    async def _hand_over(self, client: Client, connection: Connection | None) -> None:
        """Save the unacknowledged messages of a client for the broker that serves it now."""
        if connection is not None:
            await connection.ended.wait()
        await self._router.save(client)

    def _disconnect(self, client: Client, reason: Reason) -> Connection | None:
        """End the connection of a client, if it has one; return it."""
        connection, client.connection = client.connection, None
        if connection is not None:
            connection.end(reason)
        return connection

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
                    self._drop(client)
                    self._disconnect(client, Reason.ADMINISTRATIVE)

    def keep(self, doing: Awaitable[None]) -> asyncio.Task[None]:
        """Hold a task until it is done: the loop does not."""
        task: asyncio.Task[None] = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def until_done(self, call: Callable[[], Awaitable[object]]) -> None:
        """Retry a call until the cluster answers: no other broker makes it while this one lives."""
        while True:
            try:
                await call()
            except (RejectedError, InvalidError) as error:
                _LOG.warning("the cluster refuses a call of the broker: %s", error)
            except (QuorateError, TimeoutError):
                await asyncio.sleep(_AGAIN_S)
                continue
            return
