"""What the nodes of a cluster say of themselves, asked one by one and side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import grpc
import grpc.aio

from quorate.plugin import Stub
from quorate.v1 import admin_pb2
from quorate.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse

#: How long a node may take to answer before it counts as silent.
PATIENCE_S: Final = 2.0

_OPTIONS: Final = [
    # A node that was not there when it was asked first may be there a second later.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
]


@dataclass(frozen=True, slots=True)
class Silent:
    """A node that did not answer."""

    reason: str


Status = NodeStatusResponse | Silent


class Statuses:
    """Asks nodes for their status; used as an asynchronous context manager."""

    def __init__(self) -> None:
        self._channels: Final[dict[str, grpc.aio.Channel]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.gather(*(channel.close(None) for channel in self._channels.values()))

    async def of(self, addresses: Mapping[str, str]) -> Mapping[str, Status]:
        """Return what each node says, by the name that its address is given under."""
        found = await asyncio.gather(*map(self._ask, addresses.values()))
        return dict(zip(addresses, found, strict=True))

    async def _ask(self, address: str) -> Status:
        channel = self._channels.get(address)
        if channel is None:
            channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
            self._channels[address] = channel
        try:
            answer: NodeStatusResponse = await Stub(
                channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
            ).Status(NodeStatusRequest(), timeout=PATIENCE_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                return Silent(f"no answer within {PATIENCE_S:g} s")
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                # What gRPC says of it is about sockets, and long.
                return Silent("it cannot be reached")
            return Silent(error.details() or error.code().name)
        return answer
