"""Callers in one event loop that each wait for an answer before they ask again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import Message
from quorate.client import QuorateError

from systems.system import Load, Took

#: The writer that looks for a leader is not to wait for a lost node's connection.
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
)


def channel(address: str, credentials: grpc.ChannelCredentials | None = None) -> grpc.aio.Channel:
    """Return a channel of the load."""
    if credentials is not None:
        return grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
    return grpc.aio.insecure_channel(address, options=_OPTIONS)


def calls(
    call: Callable[..., Awaitable[object]], requests: Sequence[Message], *, pairs: int = 1
) -> Load:
    """Return the load of a gRPC method with requests in turn."""
    count = len(requests)
    return closed_loop(lambda number: call(requests[number % count], timeout=30), pairs=pairs)


def in_turn(stubs: Iterator[Any], method: str) -> Callable[..., Awaitable[object]]:
    """Return a call of one node after the other, as clients make that know all of them."""
    return lambda request, **how: getattr(next(stubs), method)(request, **how)


def closed_loop(operate: Callable[[int], Awaitable[object]], *, pairs: int = 1) -> Load:
    """Return the load of an operation, which is given a number that grows."""

    async def run(in_flight: int, seconds: float) -> Took:
        latencies: list[float] = []
        failures = 0
        began = time.perf_counter()
        end = began + seconds

        async def call(number: int) -> None:
            nonlocal failures
            while (now := time.perf_counter()) < end:
                try:
                    await operate(number)
                except (grpc.RpcError, QuorateError):
                    failures += 1
                    await asyncio.sleep(0.01)
                else:
                    latencies.append(time.perf_counter() - now)
                number += in_flight

        await asyncio.gather(*map(call, range(in_flight)))
        return Took(seconds=time.perf_counter() - began, latencies_s=latencies, failures=failures)

    return Load(run=run, pairs=pairs)
