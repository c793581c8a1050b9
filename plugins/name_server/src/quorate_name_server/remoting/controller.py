"""The shared context of requests to a controller: the domain, and the codes of its refusals."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message
from quorate.plugin import NodeApi
from quorate.plugin.singles import only_reply
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.remoting.door import RefusedError, refuses
from quorate_name_server.remoting.headers import Response
from quorate_name_server.remoting.settings import OF_CONTROLLER, Settings
from quorate_name_server.replication import apply, electing
from quorate_name_server.replication.known import KnownReplicas
from quorate_name_server.replication.rows import UNKNOWN_REPLICA
from quorate_name_server.v1 import replica_sets_pb2 as pb

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

_log = logging.getLogger(__name__)

OLDER_MASTER_EPOCH: Final = 2000
OLDER_IN_SYNC_EPOCH: Final = 2001
INVALID_MASTER: Final = 2002
INVALID_REPLICAS: Final = 2003
NO_MASTER: Final = 2004
INVALID_REQUEST: Final = 2005
REPLICA_DEAD: Final = 2006
NOT_LEADER: Final = 2007
NO_METADATA: Final = 2008
INVALID_CLEANING: Final = 2009
NOT_REGISTERED: Final = 2010
MASTER_STILL_EXISTS: Final = 2011
ELECTION_FAILED: Final = 2012
ALTERATION_FAILED: Final = 2013
INVALID_ID: Final = 2014

#: The codes of RocketMQ by the reasons of the domain; a request may have its own for some.
CODES_OF_REASONS: Final[Mapping[str, int]] = {
    apply.ID_TAKEN: INVALID_ID,
    apply.INVALID_SET: ALTERATION_FAILED,
    apply.NOT_MASTER: INVALID_MASTER,
    apply.OLDER_IN_SYNC_EPOCH: OLDER_IN_SYNC_EPOCH,
    apply.OLDER_MASTER_EPOCH: OLDER_MASTER_EPOCH,
    apply.REPLICA_ALIVE: INVALID_CLEANING,
    apply.REPLICA_DEAD: REPLICA_DEAD,
    electing.NO_CANDIDATE: ELECTION_FAILED,
    UNKNOWN_REPLICA: NOT_REGISTERED,
    # Brokers then try another node.
    "DEADLINE_EXCEEDED": NOT_LEADER,
    "UNAVAILABLE": NOT_LEADER,
}
#: Time without contact to a majority after which a node does not call itself the leader.
OLDEST_MS: Final = 3_000
_LONGEST_REMARK: Final = 500


class Controller:
    """Passes the requests to a controller on to the domain."""

    def __init__(self, node: NodeApi) -> None:
        self.node: Final = node
        self.known: Final = node.cache(KnownReplicas)
        self.settings: Final = Settings(node, OF_CONTROLLER)
        #: The connection of the last heartbeat of a replica, by broker and address.
        self.connections: Final[dict[tuple[str, str], Connection]] = {}

    @property
    def leads(self) -> bool:
        """Whether this node acts as the leader, as every node does that reaches a majority."""
        return 0 <= self.node.cache_age_ms(KnownReplicas) < OLDEST_MS

    def replicas(self, name: str) -> pb.ReplicaSet | None:
        """Return a set, or None; refused without a majority."""
        if not self.leads:
            raise RefusedError(Response(NOT_LEADER, "this node does not reach a majority"))
        return self.known.sets.get(name)

    async def propose(self, command: Message, codes: Mapping[str, int] | None = None) -> bytes:
        """Propose a command with one item, and return its reply; raises `RefusedError`.

        `codes` overrides RocketMQ's codes of refusals for this request.
        """
        try:
            return only_reply(await self.node.propose(command, BatchReply))
        except Exception as error:
            code = {**CODES_OF_REASONS, **(codes or {})}.get(getattr(error, "code", ""))
            if code is None:
                raise
            raise RefusedError(Response(code, str(error)[:_LONGEST_REMARK])) from None

    def hear(self, connection: Connection, name: str, number: int, address: str) -> None:
        """Record the connection of a replica's heartbeats."""
        replica = self.known.replica(name, number)
        if replica is not None and replica.address == address and connection.is_open:
            connection.registrations[name, address] = number
            self.connections[name, address] = connection

    async def lose(self, connection: Connection) -> None:
        """End the lives of a closed connection's replicas whose process has ended.

        A process that still listens has only lost the connection, and its replica stays alive.
        """
        for (name, address), number in list(connection.registrations.items()):
            if self.connections.get((name, address)) is not connection:
                continue
            del self.connections[name, address]
            if await refuses(address) and (name, address) not in self.connections:
                lost = pb.ReplicaAddress(name=name, id=number, address=address)
                try:
                    await self.propose(pb.LoseReplicas(replicas=[lost]))
                except Exception as error:  # noqa: BLE001 - its heartbeat timeout ends its life
                    _log.warning("RocketMQ controller: cannot end %s yet: %s", address, error)
