"""Each kind of method, and each way in which a call can end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from quorate.config.sections import LimitsSection, TlsSection
from quorate.plugin import Rejected
from quorate.rpc.calls import CallTally
from quorate.rpc.server import RpcServer

KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class Service:
    """Refuses `refuse`, breaks at `break`, and waits for ever at `wait`."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    async def unary_unary(self, request: StringValue, context: Any) -> StringValue:
        return await self._answer(request)

    async def unary_stream(self, request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        yield await self._answer(request)

    async def stream_unary(self, requests: AsyncIterator[StringValue], context: Any) -> StringValue:
        return await self._answer(await anext(aiter(requests)))

    async def stream_stream(
        self, requests: AsyncIterator[StringValue], context: Any
    ) -> AsyncIterator[StringValue]:
        async for each in requests:
            yield await self._answer(each)

    async def _answer(self, request: StringValue) -> StringValue:
        match request.value:
            case "refuse":
                raise Rejected("NOT_FOUND", "it is not there")
            case "break":
                raise ZeroDivisionError("a bug")
            case "wait":
                self.waiting.set()
                await asyncio.Event().wait()
        return request


class Site:
    """A server with a tally, and a channel to it."""

    def __init__(self, port: int, tally: CallTally, service: Service) -> None:
        self.tally = tally
        self.service = service
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def call(self, kind: str, text: str, timeout_s: float = 20) -> None:
        """Call a method and read its answers to the end."""
        method = getattr(self.channel, kind)(
            f"/calls.Calls/{kind}", StringValue.SerializeToString, StringValue.FromString
        )
        request = StringValue(value=text)
        call = method(iter([request]) if kind.startswith("stream") else request, timeout=timeout_s)
        if kind.endswith("stream"):
            async for _ in call:
                pass
        else:
            await call

    async def ended(self, kind: str, code: str) -> bool:
        """Wait until a call is counted, and tell whether it is the only one."""
        async with asyncio.timeout(20):
            while not self.tally.ended:
                await asyncio.sleep(0.01)
        return self.tally.ended == {(f"/calls.Calls/{kind}", code): 1}


@pytest.fixture
async def site(four_kinds: Callable[[str], ServiceDescriptor]) -> AsyncIterator[Site]:
    tally, service = CallTally(), Service()
    server = RpcServer(LimitsSection(), outermost=[tally.around])
    server.add(four_kinds("calls.Calls"), service)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    site = Site(port, tally, service)
    yield site
    await site.channel.close(None)
    await server.stop(0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "code"), [("hello", "OK"), ("refuse", "NOT_FOUND"), ("break", "INTERNAL")]
)
async def test_a_call_is_counted_by_method_and_code(
    site: Site, kind: str, text: str, code: str
) -> None:
    if code == "OK":
        await site.call(kind, text)
    else:
        with pytest.raises(grpc.aio.AioRpcError):
            await site.call(kind, text)

    assert await site.ended(kind, code)
    assert list(site.tally.durations[f"/calls.Calls/{kind}"].buckets())[-1][1] == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_that_goes_on_is_open_until_its_caller_has_gone(site: Site, kind: str) -> None:
    call = asyncio.create_task(site.call(kind, "wait"))
    await asyncio.wait_for(site.service.waiting.wait(), 20)
    assert site.tally.open == {f"/calls.Calls/{kind}": 1}

    call.cancel()

    assert await site.ended(kind, "CANCELLED")
    assert site.tally.open.total() == 0


async def test_a_call_whose_deadline_has_passed_is_over(site: Site) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="DEADLINE_EXCEEDED"):
        await site.call("unary_unary", "wait", 0.2)

    # The caller's clock began earlier: its leave may be here before the deadline is.
    code = "DEADLINE_EXCEEDED"
    assert await site.ended("unary_unary", code) or await site.ended("unary_unary", "CANCELLED")
    assert site.tally.open.total() == 0


class Left:
    """The context of a call that its caller has left."""

    def __init__(self, remaining_s: float | None) -> None:
        self.remaining_s = remaining_s

    def cancelled(self) -> bool:
        return True

    def time_remaining(self) -> float | None:
        return self.remaining_s


@pytest.mark.parametrize(
    ("remaining_s", "code"),
    [
        (-0.1, "DEADLINE_EXCEEDED"),
        (0.0, "DEADLINE_EXCEEDED"),
        (0.1, "CANCELLED"),
        (None, "CANCELLED"),
    ],
)
@pytest.mark.parametrize("text", ["hello", "wait"])
async def test_a_caller_that_leaves_is_counted_by_whether_its_time_was_over(
    remaining_s: float | None, code: str, text: str
) -> None:
    tally, service = CallTally(), Service()
    served: Any = tally.around("/calls.Calls/unary", service.unary_unary)
    call = asyncio.create_task(served(StringValue(value=text), Left(remaining_s)))
    if text == "wait":
        await asyncio.wait_for(service.waiting.wait(), 20)
        call.cancel()
    await asyncio.wait([call])

    assert tally.ended == {("/calls.Calls/unary", code): 1}


async def test_a_method_that_nobody_serves_is_not_counted(site: Site) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
        await site.channel.unary_unary("/calls.Calls/Unknown", None, None)(b"")
    await site.call("unary_unary", "hello")

    assert await site.ended("unary_unary", "OK")
