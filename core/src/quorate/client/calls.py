"""Calls of single methods: sent to the right node, and tried again while that is safe."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeVar

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from quorate.client.connections import Connections
from quorate.client.errors import (
    DeadlineError,
    InvalidError,
    OtherClusterError,
    OutcomeUnknownError,
    QuorateError,
    UnansweredError,
)
from quorate.client.failures import AttemptError
from quorate.client.topology import Topology
from quorate.plugin.slots import slot_of

R = TypeVar("R", bound=Message)


#: A `stamped` write is carried out once however often it is sent.
Kind = Literal["read", "write", "stamped"]

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


@dataclass(eq=False)
class Attempts:
    """The failed attempts of one operation, until one succeeds or no further one is safe."""

    _topology: Topology
    #: On the loop's clock.
    _deadline: float
    _kind: Kind
    _count: int = 0
    #: The last thing that a node said: it says more than another one's silence.
    _said: str = ""
    #: Another cluster answered.
    _other: OtherClusterError | None = None
    #: An attempt may have been carried out.
    lost: bool = False

    @property
    def begins(self) -> bool:
        """Whether none has failed yet."""
        return not self._count

    async def after(self, failure: AttemptError, address: str = "") -> None:
        """Return when it may be tried again; otherwise raises the error for its caller."""
        moved = self._learn(failure, address)
        if not failure.unreachable:
            self._said = failure.why
        elif isinstance(failure.error, OtherClusterError):
            self._other = failure.error
        if failure.retry == "never":
            raise self._refused(failure)
        if failure.retry == "unknown" and self._kind != "read":
            self.lost = True
            if self._kind == "write":
                raise failure.error
        loop = asyncio.get_running_loop()
        if failure.moved:
            # Not beside the next attempt: that one is to go to the right shard.
            with suppress(AttemptError):
                await self._topology.fresh(self._deadline - loop.time())
            moved = True
        # Another node may know at once; but the nodes are not asked in circles.
        pause_s = 0.0 if moved and not self._count else self._pause_s()
        self._count += 1
        pause_s = max(pause_s, failure.delay_s * random.uniform(1.0, 1.25))
        if loop.time() + pause_s >= self._deadline:
            raise self._timed_out(failure) from failure.error
        if pause_s:
            await asyncio.sleep(pause_s)

    def _learn(self, failure: AttemptError, address: str) -> bool:
        if failure.unreachable:
            if address:
                self._topology.avoid(address)
            return True
        if failure.retry != "safe":
            return False
        self._topology.doubt()
        return bool(failure.leader) and self._topology.follow(failure.shard, failure.leader)

    def _pause_s(self) -> float:
        longest = min(_FIRST_PAUSE_S * 2.0 ** min(self._count, 10), _LONGEST_PAUSE_S)
        return longest * random.uniform(0.5, 1.0)

    def _refused(self, failure: AttemptError) -> QuorateError:
        if self.lost and failure.unlogged:
            return OutcomeUnknownError(
                "an attempt was lost on the way, and the next one was refused "
                f"({failure.error}); read before trying again"
            )
        return failure.error

    def _timed_out(self, failure: AttemptError) -> QuorateError:
        why = self._said or failure.why
        if self.lost:
            return UnansweredError(
                "the deadline has passed, and an attempt was lost on the way, so it may be done; "
                f"read before trying again; the last reason was: {why}"
            )
        if self._other is not None and not self._said:
            return self._other
        return DeadlineError(
            "the deadline has passed and nothing was done, so trying again is safe; the last "
            f"reason was: {why}"
        )


def end_of_attempt(topology: Topology, deadline: float, *, first: bool) -> float:
    """Return the deadline of one attempt of a call that may be retried.

    The first attempt gets half of the remaining time, since its node may hang.
    """
    if not first or not topology.has_others:
        return deadline
    now = asyncio.get_running_loop().time()
    return now + (deadline - now) / 2


def check_call(method: str, request: Message, response: type[Message]) -> None:
    """Raise `InvalidError` unless the method takes the one and answers with the other.

    Bytes of another message would be read as if they were right. A method whose file is not
    imported here is not known, and not checked.
    """
    known = _signature(method)
    if known is None:
        return
    for field, verb, given, expected in (
        ("request", "takes", type(request), known[0]),
        ("response", "answers with", response, known[1]),
    ):
        if given is not expected:
            raise InvalidError(
                field,
                f"{method} {verb} {expected.DESCRIPTOR.full_name}, not "
                f"{given.DESCRIPTOR.full_name}",
            )


@cache
def _signature(method: str) -> tuple[type[Message], type[Message]] | None:
    name = method.removeprefix("/").replace("/", ".")
    try:
        found = descriptor_pool.Default().FindMethodByName(name)
    except KeyError:
        return None
    classes = message_factory.GetMessageClass
    return classes(found.input_type), classes(found.output_type)


@dataclass(eq=False)
class Calls:
    """Asks nodes, one call at a time."""

    _topology: Topology
    _connections: Connections

    async def call(
        self,
        method: str,
        request: Message,
        response: type[R],
        deadline: float,
        *,
        kind: Kind,
        group: str | None = None,
        shard_key: bytes | None = None,
    ) -> R:
        """Return the answer of the leader of a shard, or else of any node."""
        check_call(method, request, response)
        loop = asyncio.get_running_loop()
        attempts: Attempts | None = None
        while True:
            address = self._leader(group, shard_key) or self._topology.any_address()
            end = deadline
            if kind == "read":
                end = end_of_attempt(self._topology, deadline, first=attempts is None)
            try:
                return await self._connections.to(address).call(
                    method, request, response, end - loop.time(), None
                )
            except AttemptError as failure:
                attempts = attempts or Attempts(self._topology, deadline, kind)
                await attempts.after(failure, address)

    async def stream(
        self,
        method: str,
        request: Message,
        response: type[R],
        timeout_s: float | None,
        *,
        group: str | None = None,
        shard_key: bytes | None = None,
    ) -> AsyncGenerator[R, None]:
        """Yield the answers of one node; a call that failed without effect goes to another node."""
        check_call(method, request, response)
        failed: AttemptError | None = None
        for address in self._addresses(group, shard_key):
            begun = False
            answers = self._connections.to(address).stream(
                method, request, response, timeout_s, None
            )
            try:
                async for answer in answers:
                    begun = True
                    yield answer
            except AttemptError as failure:
                if failure.unreachable:
                    self._topology.avoid(address)
                failed = failure
                if begun or failure.retry != "safe":
                    break
            else:
                return
        if failed is not None:
            raise failed.error from None

    def _addresses(self, group: str | None, shard_key: bytes | None) -> list[str]:
        """Return the address of every node that is known, that of the leader first."""
        leader = self._leader(group, shard_key)
        others = [each for each in self._topology.addresses() if each != leader]
        return [leader, *others] if leader else others

    def _leader(self, group: str | None, shard_key: bytes | None) -> str:
        if group is None:
            return ""
        place = self._topology.place(group, slot_of(shard_key or b""))
        return place.address if place is not None else ""


@dataclass(eq=False)
class NodeCalls:
    """Calls to one node, regardless of the shards it leads, without retries."""

    _node: str
    _topology: Topology
    _connections: Connections
    _timeout_s: float

    async def call(
        self, method: str, request: Message, response: type[R], *, timeout_s: float | None = None
    ) -> R:
        """Return the node's answer."""
        check_call(method, request, response)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._timeout_s if timeout_s is None else timeout_s)
        traces = self._connections.traces
        try:
            address = await self._topology.address_of(self._node, deadline - loop.time())
            answer = self._connections.to(address).call(
                method, request, response, deadline - loop.time(), None
            )
            return await (answer if traces is None else traces.during(method[1:], answer))
        except AttemptError as failure:
            raise failure.error from None

    async def stream(
        self, method: str, request: Message, response: type[R], *, timeout_s: float | None = None
    ) -> AsyncGenerator[R, None]:
        """Yield the node's answers; without `timeout_s` for as long as it gives any."""
        check_call(method, request, response)
        try:
            address = await self._topology.address_of(self._node, self._timeout_s)
            answers = self._connections.to(address).stream(
                method, request, response, timeout_s, None
            )
            async for answer in answers:
                yield answer
        except AttemptError as failure:
            raise failure.error from None
