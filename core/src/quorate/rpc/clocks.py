"""What the wall clocks of the nodes show."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import grpc.aio

from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.v1 import node_pb2

_EVERY_S: Final = 5.0
_ANSWER_S: Final = 2.0
#: Older readings are ignored.
_FORGOTTEN_S: Final = 30.0


class _Heard(NamedTuple):
    wall_ms: int
    #: On the loop's clock, which no leap of a wall clock moves.
    at: float


class NodeClocks:
    """Polls the clock of every node, and extrapolates the last reading."""

    def __init__(
        self,
        channels: NodeChannels,
        nodes: Callable[[], Iterable[str]],
        loop: asyncio.AbstractEventLoop,
        *,
        every_s: float = _EVERY_S,
    ) -> None:
        self._channels: Final = channels
        self._nodes: Final = nodes
        self._loop: Final = loop
        self._every_s: Final = every_s
        self._readings: Final[dict[str, _Heard]] = {}
        self._asking: asyncio.Task[None] | None = None

    def __call__(self, node: str) -> int | None:
        """Return what a node's clock shows now; None if there is no recent reading."""
        reading = self._readings.get(node)
        if reading is None:
            return None
        elapsed_s = self._loop.time() - reading.at
        return None if elapsed_s > _FORGOTTEN_S else reading.wall_ms + round(elapsed_s * 1_000)

    def start(self) -> None:
        """Ask from now on."""
        self._asking = self._loop.create_task(self._ask_on())

    async def stop(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask_on(self) -> None:
        while True:
            await asyncio.gather(*(self._ask(node) for node in self._nodes()))
            await asyncio.sleep(self._every_s)

    async def _ask(self, node: str) -> None:
        try:
            route = await self._channels.route(node, _ANSWER_S)
            asked_at = self._loop.time()
            answer = await route.stub.Clock(
                node_pb2.ClockRequest(), timeout=_ANSWER_S, metadata=route.metadata
            )
        except (UnreachableError, grpc.aio.AioRpcError):
            return
        # It was read about halfway between asking and hearing.
        self._readings[node] = _Heard(answer.wall_ms, (asked_at + self._loop.time()) / 2)


def wall_ms() -> int:
    """Return what the clock of this machine shows."""
    return int(time.time() * 1_000)
