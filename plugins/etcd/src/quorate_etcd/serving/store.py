"""A store as this node serves it: writes, reads and answers of its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi, Rejected
from quorate.plugin.advanced import Answers, NotProposedError, OutcomeUnknownError

from quorate_etcd import errors
from quorate_etcd.auth import callers
from quorate_etcd.auth.checked import CHECKS
from quorate_etcd.config import EtcdConfig
from quorate_etcd.v1 import queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

R = TypeVar("R", bound=Message)

#: The codes of core for a write that is larger than its limits.
_TOO_LARGE: Final = ("TOO_LARGE", "INVALID_ARGUMENT")
#: How long a call waits for a leader, as on a stock server: 5 s and two elections.
_PATIENCE_S: Final = 7.0
_PAUSE_S: Final = 0.1


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
        """Carry out a command; one that was surely not proposed waits for a leader.

        Refuses a command above the limits of the node, and one whose outcome is unknown, with
        etcd's texts.
        """
        _name_user(command)
        patience = _Patience()
        while True:
            try:
                return await self.node.propose(command, reply)
            except NotProposedError as error:
                await patience.wait(error)
            except OutcomeUnknownError as error:
                if error.code == "UNAVAILABLE":
                    errors.TIMED_OUT_LEADER.refuse()
                raise
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
        """Return the answer to a query, from a state that has a revision of the shard.

        A linearizable one waits for a leader.
        """
        _name_user(query)
        if consistency == "linearizable":
            [answer] = (await self._newest(query, row, applied)).rows
            return answer
        try:
            answers = await self.node.read(
                query, row, consistency=consistency, min_revision=applied
            )
        except Rejected as refusal:
            if refusal.message != errors.FUTURE_REVISION.text:
                raise
            # The revision may have come from a node that is ahead of this one.
            answers = await self._newest(query, row, applied)
        [answer] = answers.rows
        return answer

    async def _newest(self, query: Message, row: type[R], applied: int) -> Answers[R]:
        patience = _Patience()
        while True:
            try:
                return await self.node.read(query, row, min_revision=applied)
            except Rejected:
                raise
            except Exception as error:  # noqa: BLE001 - all but the passing ones are raised
                await patience.wait(error)

    async def stand(self) -> asked.Standing:
        """Return how the store stands after every write that was answered before."""
        return await self.read(asked.Stand(store=self.name), asked.Standing)


class _Patience:
    """Waits between the attempts of one call, for as long as a stock server does."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._until: Final = self._loop.time() + _PATIENCE_S

    async def wait(self, error: Exception) -> None:
        """Wait until the next attempt; raises an error that does not pass, or did not in time."""
        if getattr(error, "code", "") != "UNAVAILABLE":
            raise error
        if self._loop.time() >= self._until:
            errors.TIMED_OUT.refuse()
        await asyncio.sleep(_PAUSE_S)


def _name_user(message: Message) -> None:
    """Name the caller in a message whose handler checks it."""
    if type(message) in CHECKS:
        message.user = callers.user()  # type: ignore[attr-defined]


def consistency_of(*, serializable: bool) -> Literal["stale", "linearizable"]:
    """Return which reads a client has asked for."""
    return "stale" if serializable else "linearizable"
