"""Every kind of method, of a service that is not ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from quorate.config.sections import LimitsSection, TlsSection
from quorate.plugin import Rejected
from quorate.plugin.catalog import assemble
from quorate.rpc import deadline
from quorate.rpc.large_requests import LARGE_BYTES
from quorate.rpc.server import RpcServer, ServingRefusedError

if TYPE_CHECKING:
    from core.tests.rpc.conftest import Told

KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class Echo:
    """Answers with what it hears; refuses `refuse`, breaks at `break`."""

    async def unary_unary(self, request: StringValue, context: Any) -> StringValue:
        return self._heard(request)

    async def unary_stream(self, request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        yield self._heard(request)

    async def stream_unary(self, requests: AsyncIterator[StringValue], context: Any) -> StringValue:
        return self._heard(await anext(aiter(requests)))

    async def stream_stream(
        self, requests: AsyncIterator[StringValue], context: Any
    ) -> AsyncIterator[StringValue]:
        async for each in requests:
            yield self._heard(each)

    def _heard(self, request: StringValue) -> StringValue:
        match request.value:
            case "refuse":
                raise Rejected("NOT_FOUND", "it is not there")
            case "break":
                raise ZeroDivisionError("a bug")
            case "remaining":
                return StringValue(value=str(deadline.remaining_s()))
        return request


class Counting(Echo):
    """Tells how many calls it had at the same time; each waits until as many as expected came."""

    def __init__(self) -> None:
        self.most = 0
        self.expected = 1
        self._open = 0
        self._there = asyncio.Event()

    async def unary_unary(self, request: StringValue, context: Any) -> StringValue:
        self._open += 1
        self.most = max(self.most, self._open)
        if self._open >= self.expected:
            self._there.set()
        await asyncio.wait_for(self._there.wait(), 20)
        # One that need not wait would come now.
        await asyncio.sleep(0.02)
        self._open -= 1
        return request


Service = Callable[[str], ServiceDescriptor]


@pytest.fixture
async def channel(
    limits: LimitsSection, four_kinds: Service, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[grpc.aio.Channel]:
    monkeypatch.setattr("quorate.rpc.server.module_owners", lambda: {"acme_shop": "shop"})
    server = RpcServer(limits)
    server.add(four_kinds("echo.Echo"), Echo())
    server.add_plugins(assemble([]), lambda _: pytest.fail("no plugin is enabled"))
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(0)


async def call(channel: grpc.aio.Channel, kind: str, content: bytes, timeout: float = 10) -> bytes:
    method: Any = getattr(channel, kind)(f"/echo.Echo/{kind}", None, None)

    async def requests() -> AsyncIterator[bytes]:
        yield content

    answer = method(requests() if kind.startswith("stream") else content, timeout=timeout)
    if kind.endswith("unary"):
        found: bytes = await answer
        return found
    [found] = [each async for each in answer]
    return found


def text(value: str) -> bytes:
    return StringValue(value=value).SerializeToString()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_answered_comes_through(channel: grpc.aio.Channel, kind: str) -> None:
    assert await call(channel, kind, text("hello")) == text("hello")
    assert await call(channel, kind, b"") == b""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"\xff\xff", b"\x0a\xff", text("x" * 4_001)])
async def test_a_request_that_is_none_or_too_large_is_blamed(
    channel: grpc.aio.Channel, kind: str, content: bytes, told: Callable[[Any], Told]
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call(channel, kind, content)

    found = told(failed.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert (found.reason, found.field) == ("INVALID", "request")
    assert str(len(content)) in found.text


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_becomes_its_status(
    channel: grpc.aio.Channel, kind: str, told: Callable[[Any], Told]
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call(channel, kind, text("refuse"))

    found = told(failed.value)
    assert (found.code, found.text) == (grpc.StatusCode.NOT_FOUND, "it is not there")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bug_is_logged_here_and_told_without_a_traceback(
    channel: grpc.aio.Channel,
    kind: str,
    caplog: pytest.LogCaptureFixture,
    told: Callable[[Any], Told],
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call(channel, kind, text("break"))

    found = told(failed.value)
    assert (found.code, found.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert "Traceback" not in found.text
    [record] = [each for each in caplog.records if each.name.startswith("quorate.rpc")]
    assert f"/echo.Echo/{kind}" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.parametrize("kind", KINDS)
async def test_a_servicer_knows_the_time_that_is_left(channel: grpc.aio.Channel, kind: str) -> None:
    answer = await call(channel, kind, text("remaining"), timeout=20)

    assert 5 < float(StringValue.FromString(answer).value) < 22


async def test_beside_small_requests_large_ones_are_worked_on_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, four_kinds: Service
) -> None:
    monkeypatch.setattr("quorate.rpc.large_requests._LONGEST_TURN_S", 20.0)
    servicer, server = Counting(), RpcServer(LimitsSection())
    server.add(four_kinds("echo.Echo"), servicer)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        small, large = text("x"), text("x" * LARGE_BYTES)
        servicer.expected = 3
        await asyncio.gather(*(call(channel, "unary_unary", large, 20) for _ in range(3)))
        assert servicer.most == 3
        servicer.most = 0
        await call(channel, "unary_unary", small)
        await asyncio.gather(*(call(channel, "unary_unary", large, 20) for _ in range(3)))
        assert servicer.most == 1
    await server.stop(0)


async def test_outside_of_a_call_there_is_no_deadline(channel: grpc.aio.Channel) -> None:
    assert deadline.remaining_s() is None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "/echo.Echo/Nothing",
            "service echo.Echo has no method 'Nothing' on this node; it has unary_unary, "
            "unary_stream, stream_unary, stream_stream: call one of these, or bring caller and "
            "node to one version",
        ),
        (
            "/acme_shop.v1.ShopService/Buy",
            "service acme_shop.v1.ShopService belongs to the plugin shop, which is installed on "
            "this node and not enabled: add 'shop' to [plugins] enabled on every node, and "
            "restart them",
        ),
        (
            "/acme_pub.v1.PubService/Drink",
            "no plugin of this node serves acme_pub.v1.PubService: correct the name, or install "
            "the plugin that has it on every node and add it to [plugins] enabled",
        ),
    ],
)
async def test_what_nobody_serves_is_told_with_what_to_do(
    channel: grpc.aio.Channel,
    path: str,
    text: str,
    told: Callable[[Any], Told],
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await asyncio.wait_for(channel.unary_unary(path, None, None)(b""), 10)

    found = told(failed.value)
    assert (found.code, found.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_DECLARED")
    assert found.text == text


async def test_a_stream_that_nobody_serves_ends_before_it_sends(channel: grpc.aio.Channel) -> None:
    method: Any = channel.stream_stream("/acme_pub.v1.PubService/Drink", None, None)
    stream = method()

    with pytest.raises(grpc.aio.AioRpcError, match="acme_pub"):
        await asyncio.wait_for(stream.read(), 10)


async def test_a_servicer_that_lacks_a_method_is_not_served(
    limits: LimitsSection, four_kinds: Service
) -> None:
    server = RpcServer(limits)

    with pytest.raises(ServingRefusedError, match=r"object lacks unary_unary, .* of service echo"):
        server.add(four_kinds("echo.Echo"), object())
    await server.stop(0)


class Stopped(Echo):
    """A stream whose server stops while it waits for what comes next."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self.ended = asyncio.Event()

    async def stream_stream(self, requests: Any, context: Any) -> None:  # type: ignore[override]
        await context.read()
        self.begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await self.stopped.wait()
        try:
            await context.read()
        finally:
            self.ended.set()


async def test_a_stream_that_the_end_of_the_server_meets_is_no_fault(
    limits: LimitsSection, four_kinds: Service, caplog: pytest.LogCaptureFixture
) -> None:
    servicer, server = Stopped(), RpcServer(limits)
    server.add(four_kinds("echo.Echo"), servicer)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        method: Any = channel.stream_stream("/echo.Echo/stream_stream", None, None)
        stream = method()
        await stream.write(b"")
        await servicer.begun.wait()
        await server.stop(0)
        servicer.stopped.set()
        await servicer.ended.wait()
        await asyncio.sleep(0)
    assert [record for record in caplog.records if record.name.startswith("quorate")] == []
