"""A call that ends early, wherever its shard is led, leaves nothing to the collector of garbage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.config import load
from quorate.v1.command_pb2 import (
    Command,
    ExecuteRequest,
    ExecuteResponse,
    StreamRequest,
    StreamResponse,
)
from quorate.v1.watch_pb2 import WatchedFamily, WatchRequest, WatchResponse

from tests.support.cycles import no_frame_in_a_cycle

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

LARGE = "x" * 300_000
REFUSED = f"#={LARGE}"


class Calls:
    """Calls a node."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.execute: Any = channel.unary_unary(
            "/quorate.v1.CommandService/Execute",
            ExecuteRequest.SerializeToString,
            ExecuteResponse.FromString,
        )
        self.stream: Any = channel.stream_stream(
            "/quorate.v1.CommandService/Stream",
            StreamRequest.SerializeToString,
            StreamResponse.FromString,
        )
        self.watch: Any = channel.unary_stream(
            "/quorate.v1.WatchService/Watch",
            WatchRequest.SerializeToString,
            WatchResponse.FromString,
        )

    async def watched(self, request: WatchRequest, timeout_s: float) -> list[WatchResponse]:
        return [each async for each in self.watch(request, timeout=timeout_s)]


def command(text: str) -> Command:
    return Command(
        type=StringValue.DESCRIPTOR.full_name, payload=StringValue(value=text).SerializeToString()
    )


def commands(*texts: str) -> ExecuteRequest:
    return ExecuteRequest(commands=map(command, texts))


async def failure(call: Awaitable[object]) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value.code()


@pytest.mark.ci
async def test_calls_that_end_early_are_freed_on_every_node(nodes: Nodes, tmp_path: Path) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths):
        for path in paths:
            address = f"127.0.0.1:{load(path, {'toy': nodes.section}, {}).node.port}"
            async with grpc.aio.insecure_channel(address) as channel:
                calls = Calls(channel)
                await calls.execute(commands("a=1", "b=1"), timeout=20)
                async with no_frame_in_a_cycle():
                    await refusals(calls)
                    await streams(calls)
                    await watches(calls)
                    await late_and_cancelled(calls)


async def refusals(calls: Calls) -> None:
    answers = (await calls.execute(commands(REFUSED), timeout=20)).answers
    assert answers[0].HasField("status")
    many = commands(*(f"#{number}={LARGE}" for number in range(4)), REFUSED, REFUSED)
    await calls.execute(many, timeout=20)
    unknown = ExecuteRequest(commands=[Command(type="unknown", payload=LARGE.encode())])
    answers = (await calls.execute(unknown, timeout=20)).answers
    assert answers[0].HasField("status")


async def streams(calls: Calls) -> None:
    async def refused() -> AsyncIterator[StreamRequest]:
        yield StreamRequest(commands=[command(REFUSED), command(f"a={LARGE}"), Command(type="x")])

    async for _ in calls.stream(refused(), timeout=20):
        pass

    async def too_many() -> AsyncIterator[StreamRequest]:
        yield StreamRequest(commands=[command(REFUSED)])
        yield StreamRequest(commands=[Command()] * 10_001)

    async def ended() -> None:
        async for _ in calls.stream(too_many(), timeout=20):
            pass

    assert await failure(ended()) is grpc.StatusCode.INVALID_ARGUMENT

    async def open_for_ever() -> AsyncIterator[StreamRequest]:
        yield StreamRequest(commands=[command(f"a={LARGE}")])
        await asyncio.Event().wait()

    left = calls.stream(open_for_ever(), timeout=20)
    async for _ in left:
        break
    left.cancel()


async def watches(calls: Calls) -> None:
    unknown = WatchRequest(families=[WatchedFamily(name="toy.nothing")])
    assert await failure(calls.watched(unknown, 20)) is grpc.StatusCode.INVALID_ARGUMENT
    rows = [WatchedFamily(name="toy.rows")]
    strange = WatchRequest(families=rows, token=LARGE.encode())
    assert await failure(calls.watched(strange, 20)) is grpc.StatusCode.INVALID_ARGUMENT
    whole = WatchRequest(families=rows)
    assert await failure(calls.watched(whole, 0.5)) is grpc.StatusCode.DEADLINE_EXCEEDED
    left = calls.watch(whole, timeout=20)
    async for _ in left:
        break
    left.cancel()


async def late_and_cancelled(calls: Calls) -> None:
    writes = commands(*(f"{number}={LARGE}" for number in range(4)))
    begun = [calls.execute(writes, timeout=0.002 * number) for number in range(5)]
    await asyncio.gather(*(_ended(each) for each in begun))
    begun = [calls.execute(writes, timeout=20) for _ in range(5)]
    await asyncio.sleep(0)
    for each in begun:
        each.cancel()
    await asyncio.gather(*(_ended(each) for each in begun))


async def _ended(call: Any) -> None:
    await call.code()
