"""A store as this node serves it: writes, reads and answers of its clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi, Rejected

from quorate_etcd import errors
from quorate_etcd.auth import callers
from quorate_etcd.auth.checked import CHECKS
from quorate_etcd.config import EtcdConfig
from quorate_etcd.v1 import queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

R = TypeVar("R", bound=Message)

#: The codes of core for a write that is larger than its limits.
_TOO_LARGE: Final = ("TOO_LARGE", "INVALID_ARGUMENT")


class Store:
    """Reads and writes one store, and makes the headers of its answers."""

    def __init__(
        self,
        node: NodeApi,
        config: EtcdConfig,
        name: str,
        header: Callable[[int], rpc.ResponseHeader],
    ) -> None:
        self.node: Final = node
        self.config: Final = config
        self.name: Final = name
        #: Returns the header of an answer with a revision.
        self.header: Final = header

    async def propose(self, command: Message, reply: type[R]) -> R:
        """Carry out a command; refuses a command above the limits of the node with etcd's text."""
        _name_user(command)
        try:
            return await self.node.propose(command, reply)
        except Invalid:
            errors.REQUEST_TOO_LARGE.refuse()
        except Rejected as refusal:
            if refusal.code in _TOO_LARGE and not refusal.message.startswith(errors.PREFIX):
                errors.REQUEST_TOO_LARGE.refuse()
            raise

    async def read(
        self,
        query: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        applied: int = 0,
    ) -> R:
        """Return the answer to a query, from a state that has a revision of the shard."""
        _name_user(query)
        try:
            answers = await self.node.read(
                query, row, consistency=consistency, min_revision=applied
            )
        except Rejected as refusal:
            if consistency == "linearizable" or refusal.message != errors.FUTURE_REVISION.text:
                raise
            # The revision may have come from a node that is ahead of this one.
            answers = await self.node.read(query, row, min_revision=applied)
        [answer] = answers.rows
        return answer

    async def stand(self) -> asked.Standing:
        """Return how the store stands after every write that was answered before."""
        return await self.read(asked.Stand(store=self.name), asked.Standing)


def _name_user(message: Message) -> None:
    """Name the caller in a message whose handler checks it."""
    if type(message) in CHECKS:
        message.user = callers.user()  # type: ignore[attr-defined]


def consistency_of(*, serializable: bool) -> Literal["stale", "linearizable"]:
    """Return which reads a client has asked for."""
    return "stale" if serializable else "linearizable"
