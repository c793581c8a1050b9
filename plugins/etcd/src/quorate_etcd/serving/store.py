"""A store as this node serves it: writes, reads and answers of its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Consistency, Invalid, NodeApi, Rejected
from quorate.plugin.advanced import Answers, Gathering, NotProposedError, OutcomeUnknownError

from quorate_etcd import errors
from quorate_etcd.auth import callers
from quorate_etcd.auth.checked import CHECKS
from quorate_etcd.config import EtcdConfig
from quorate_etcd.store.transacting import Write, is_joint, transact_of, weight
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

R = TypeVar("R", bound=Message)

#: The codes of core for a write that is larger than its limits.
_TOO_LARGE: Final = ("TOO_LARGE", "INVALID_ARGUMENT")
#: Operations of writes that are carried out together, and keys that are read together: they keep
#: the loop for some milliseconds.
_MOST_OPERATIONS: Final = 64
_MOST_KEYS: Final = 128
#: A larger write goes alone.
_LARGE_BYTES: Final = 1 << 14
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
        self._writes: Final = Gathering(self._transact_all, _MOST_OPERATIONS)
        self._gets: Final = Gathering(self._get_all, _MOST_KEYS)

    async def transact(self, request: Write) -> pb.Transacted:
        """Carry out a write of a client as `propose` does; small ones go together."""
        command = transact_of(self.name, request)
        size = sum(map(len, command.request))
        if size > self.config.request_bytes:
            errors.REQUEST_TOO_LARGE.refuse()
        _name_user(command)
        if size > _LARGE_BYTES or not is_joint(request):
            return await self._propose(command, pb.Transacted)
        return await self._writes.add(command, weight(request))

    async def get(self, key: bytes) -> rpc.RangeResponse:
        """Return the newest pair of a key, after every write that was answered before."""
        got = await self._gets.add(asked.Get(key=key, user=callers.user.get()), 1)
        if got.HasField("refused"):
            raise Rejected(got.refused.code, got.refused.text)
        return got.response

    async def propose(self, command: Message, reply: type[R]) -> R:
        """Carry out a command; one that was surely not proposed waits for a leader.

        Refuses a command above the limits of the node, and one whose outcome is unknown, with
        etcd's texts.
        """
        _name_user(command)
        return await self._propose(command, reply)

    async def _propose(self, command: Message, reply: type[R]) -> R:
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

    async def _transact_all(
        self, commands: Sequence[pb.Transact]
    ) -> Sequence[pb.Transacted | BaseException]:
        if len(commands) == 1:
            return [await self._propose(commands[0], pb.Transacted)]
        together = pb.TransactAll(store=self.name, writes=commands)
        try:
            done = await self._propose(together, pb.AllTransacted)
        except Rejected as refusal:
            if _is_final(refusal):
                raise
            alone = (self._propose(each, pb.Transacted) for each in commands)
            return await asyncio.gather(*alone, return_exceptions=True)
        return [
            Rejected(each.refused.code, each.refused.text)
            if each.HasField("refused")
            else each.done
            for each in done.results
        ]

    async def _get_all(self, keys: Sequence[asked.Get]) -> Sequence[asked.Got | BaseException]:
        try:
            found = await self._newest(asked.GetAll(store=self.name, keys=keys), asked.Got, 0)
        except Rejected as refusal:
            if len(keys) == 1 or _is_final(refusal):
                raise
            alone = await asyncio.gather(
                *(self._get_all([each]) for each in keys), return_exceptions=True
            )
            return [each if isinstance(each, BaseException) else each[0] for each in alone]
        return found.rows

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


def _is_final(refusal: Rejected) -> bool:
    """Whether a refusal of several requests is the answer to each: it is not about their number."""
    return refusal.message in (errors.TIMED_OUT.text, errors.TIMED_OUT_LEADER.text)


def _name_user(message: Message) -> None:
    """Name the caller in a message whose handler checks it."""
    if type(message) in CHECKS:
        message.user = callers.user.get()  # type: ignore[attr-defined]


def consistency_of(*, serializable: bool) -> Literal["stale", "linearizable"]:
    """Return which reads a client has asked for."""
    return "stale" if serializable else "linearizable"
