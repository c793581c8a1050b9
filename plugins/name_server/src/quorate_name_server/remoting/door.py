"""The shared context of requests to a name server: the domain, settings and kept answers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import NodeApi
from quorate.plugin.singles import only_reply
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.brokers.confirming import may_be_retried
from quorate_name_server.brokers.rows import member_of
from quorate_name_server.config import NameServerConfig
from quorate_name_server.remoting.headers import Request, Response
from quorate_name_server.remoting.settings import OF_NAME_SERVER, Settings
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.service import NameService
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    rows_pb2 as rows,
    service_pb2 as answers,
)

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

_log = logging.getLogger(__name__)

#: The most answers kept; beyond that all are dropped.
MOST_ANSWERS: Final = 20_000
#: Time for a broker to accept a connection, and to break it.
CONNECT_S: Final = 1.0
_AGAIN_S: Final = 0.01

T = TypeVar("T")


class RefusedError(Exception):
    """A request is refused with a code of RocketMQ."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.remark)
        self.response: Final = response


class Door:
    """Passes RocketMQ's requests on to the domain."""

    def __init__(self, node: NodeApi) -> None:
        config = node.config(NameServerConfig)
        self.node: Final = node
        self.names: Final = NameService(node)
        self.known: Final = node.cache(KnownRoutes)
        self.settings: Final = Settings(node, OF_NAME_SERVER)
        #: The name of this door in the rows of members.
        self.name: Final = f"{socket.gethostname()}:{config.remoting_port}"
        self._available: Final = config.reads == "available"
        #: The connection of a member's last registration, by broker and address.
        self.connections: Final[dict[tuple[str, str], Connection]] = {}
        #: The number of registrations in progress, by member.
        self.registering: Final[Counter[tuple[str, str]]] = Counter()
        #: By question: the state of the rows that the answer was made from, and the answer.
        self._answers: Final[dict[Hashable, tuple[int, bytes]]] = {}

    @property
    def at_hand(self) -> bool:
        """Whether reads are answered from this node's memory alone."""
        return (
            self._available
            and not len(self.known.unconfirmed)
            and self.node.cache_age_ms(KnownRoutes) >= 0
        )

    def kept(self, question: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return a kept answer if no row has changed since, or make it."""
        changes = self.known.changes
        found = self._answers.get(question)
        if found is not None and found[0] == changes:
            return found[1]
        answer = make()
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.clear()
        self._answers[question] = (changes, answer)
        return answer

    async def propose(self, command: Message) -> bytes:
        """Propose a command with one item, and return its reply; raises `Rejected`."""
        return only_reply(await self.node.propose(command, BatchReply))

    async def broker(self, name: str) -> rows.Broker:
        """Return a broker; an empty one if it does not exist."""
        found = await self.names.GetBrokers(answers.GetBrokersRequest(names=[name]), None)
        return found.brokers[0] if found.brokers else rows.Broker(name=name)

    def forget(self, member: tuple[str, str]) -> None:
        """Forget the connection and the registration of a member that has left."""
        connection = self.connections.pop(member, None)
        if connection is not None:
            connection.registrations.pop(member, None)
            connection.renewed.pop(member, None)

    async def lose(self, connection: Connection) -> None:
        """Unregister the members that registered over a closed connection.

        A process that refuses connections has ended, regardless of its other connections. Other
        members stay as long as they have a connection to the door of another node.
        """
        # Answers in progress may add registrations.
        for key, registration in list(connection.registrations.items()):
            if self.connections.get(key) is not connection:
                continue
            del self.connections[key]
            name, address = key
            self.known.unconfirmed.forget(name, address)
            ended = address.rpartition(":")[0] == connection.host and await refuses(address)
            member = member_of(self.known.brokers.get(name), "address", address)
            leaving = pb.Unregistration(
                name=name,
                address=address,
                registration=registration or (0 if member is None else member.registration),
                door="" if ended else self.name,
            )
            comes_again = key in self.connections or key in self.registering
            if leaving.registration and not comes_again:
                await self._unregister(leaving)

    async def _unregister(self, leaving: pb.Unregistration) -> None:
        """Unregister a member; without a majority it expires for lack of heartbeats."""
        try:
            await self.names.Unregister(pb.UnregisterBrokers(brokers=[leaving]), None)
        except Exception as error:  # noqa: BLE001 - no caller waits for the outcome
            if not may_be_retried(error):
                _log.warning("RocketMQ door: %s stays registered: %s", leaving.address, error)


#: Answers a request to a name server.
Handle = Callable[[Door, "Connection", Request], Awaitable[Response]]


async def refuses(address: str) -> bool:
    """Return whether connections to an address are refused: its process has ended.

    A process that ends closes its sockets one by one, and may still accept a connection that breaks
    right after; a live one leaves it open.
    """
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_S):
            while True:
                reader, writer = await asyncio.open_connection(host, int(port))
                try:
                    with suppress(ConnectionResetError):
                        await reader.read(1)
                finally:
                    writer.transport.abort()
                await asyncio.sleep(_AGAIN_S)
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError, ValueError):
        return False
