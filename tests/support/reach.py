"""Connections of many clients to nodes that come and go, and what a failed call says."""

import os
import random
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2
from quorate.client import Tls
from quorate.rpc.status import DETAILS_KEY, detail

#: How long a call may take before its client gives it up.
CALL_S: Final = 1.0
#: How long a client waits before it looks again whether there is a node.
LOOK_S: Final = 0.005
#: How long a client leaves a node alone that did not answer it.
_SHUN_S: Final = 2.0

_OPTIONS: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
    ("grpc.enable_retries", 0),
)
#: Codes that leave open what became of a write when the server did not say more.
_UNKNOWN: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
)


class Node(NamedTuple):
    """A node that a client may ask now."""

    number: int
    channel: grpc.aio.Channel


def _channel(address: str) -> grpc.aio.Channel:
    tls = Tls.of_environment(os.environ)
    if tls is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    return grpc.aio.secure_channel(address, tls.credentials(), options=_OPTIONS)


class Reach:
    """One channel a node, for all clients of a test; a client keeps away from who failed it."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._channels: Final = [_channel(address) for address in addresses]
        self._shunned: Final[dict[tuple[int, int], float]] = {}

    async def __aenter__(self) -> Self:
        for channel in self._channels:
            channel.get_state(try_to_connect=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for channel in self._channels:
            await channel.close(None)

    def choose(self, client: int, rng: random.Random) -> Node | None:
        """Return a node that is connected; None when the client knows of none."""
        now = time.monotonic()
        nodes = [
            Node(number, channel)
            for number, channel in enumerate(self._channels)
            if channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY
            and self._shunned.get((client, number), now) <= now
        ]
        return rng.choice(nodes) if nodes else None

    def shun(self, client: int, node: Node) -> None:
        """Have a client leave a node alone for a while."""
        self._shunned[client, node.number] = time.monotonic() + _SHUN_S


def reason(error: grpc.aio.AioRpcError) -> str:
    """Return what the node says that a call failed for; empty when no node said anything."""
    return _told(error).reason


def may_have_happened(error: grpc.aio.AioRpcError) -> bool:
    """Tell whether a write may have been carried out, now or later.

    Raises the error when it says neither that, nor that trying again is safe.
    """
    if _told(error).metadata.get("retry") == "safe":
        return False
    if error.code() not in _UNKNOWN:
        raise error
    return True


def _told(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    metadata: Any = error.trailing_metadata()
    for name, value in metadata or ():
        if name == DETAILS_KEY:
            return detail(status_pb2.Status.FromString(value), error_details_pb2.ErrorInfo)
    return error_details_pb2.ErrorInfo()
