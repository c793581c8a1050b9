"""Calls of single methods: sent to the right node, and tried again while that is safe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final, TypeVar

from google.protobuf.message import Message

from quorate.client.attempts import Attempts, Kind
from quorate.client.connections import Connections
from quorate.client.failures import AttemptError
from quorate.client.signatures import check_call
from quorate.client.topology import Topology
from quorate.plugin.slots import slot_of

R = TypeVar("R", bound=Message)


class Calls:
    """Asks nodes, one call at a time."""

    def __init__(self, topology: Topology, connections: Connections) -> None:
        self._topology: Final = topology
        self._connections: Final = connections

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
            address = self._address(group, shard_key)
            try:
                return await self._connections.to(address).call(
                    method, request, response, deadline - loop.time()
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
        """Yield the answers of one node: the first one that does not say that it did nothing."""
        check_call(method, request, response)
        failed: AttemptError | None = None
        for address in self._addresses(group, shard_key):
            begun = False
            answers = self._connections.to(address).stream(method, request, response, timeout_s)
            try:
                async for answer in answers:
                    begun = True
                    yield answer
            except AttemptError as failure:
                self._avoid(failure, address)
                failed = failure
                if begun or failure.retry != "safe":
                    break
            else:
                return
        if failed is not None:
            raise failed.error from None

    def _address(self, group: str | None, shard_key: bytes | None) -> str:
        return self._leader(group, shard_key) or self._topology.any_address()

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

    def _avoid(self, failure: AttemptError, address: str) -> None:
        if failure.unreachable:
            self._topology.avoid(address)


class NodeCalls:
    """Calls to one node, whatever it leads; none of them is tried again."""

    def __init__(
        self, node: str, topology: Topology, connections: Connections, timeout_s: float
    ) -> None:
        self._node: Final = node
        self._topology: Final = topology
        self._connections: Final = connections
        self._timeout_s: Final = timeout_s

    async def call(
        self, method: str, request: Message, response: type[R], *, timeout_s: float | None = None
    ) -> R:
        """Return the node's answer."""
        check_call(method, request, response)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._timeout_s if timeout_s is None else timeout_s)
        try:
            address = await self._topology.address_of(self._node, deadline - loop.time())
            return await self._connections.to(address).call(
                method, request, response, deadline - loop.time()
            )
        except AttemptError as failure:
            raise failure.error from None

    async def stream(
        self, method: str, request: Message, response: type[R], *, timeout_s: float | None = None
    ) -> AsyncGenerator[R, None]:
        """Yield the node's answers; without `timeout_s` for as long as it gives any."""
        check_call(method, request, response)
        try:
            address = await self._topology.address_of(self._node, self._timeout_s)
            answers = self._connections.to(address).stream(method, request, response, timeout_s)
            async for answer in answers:
                yield answer
        except AttemptError as failure:
            raise failure.error from None
