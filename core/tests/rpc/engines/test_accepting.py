"""How calls are accepted: many at a time, without a task, until their callers have gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from quorate.config.sections import LimitsSection, TlsSection
from quorate.plugin import Rejected
from quorate.rpc.engines import accepting
from quorate.rpc.server import RpcServer

METHOD = "/echo.Echo/unary_unary"
STREAM = "/echo.Echo/unary_stream"
KNOWN = accepting.supported()
ACCEPTED_HERE = pytest.mark.skipif(
    not KNOWN, reason=f"gRPC {grpc.__version__} has not what is called, and accepts by itself"
)


class Echo:
    """Answers; one that is told to wait does so until its caller has gone or all were let go."""

    def __init__(self) -> None:
        self.waiting = 0
        self.most = 0
        self.gone = 0
        self.let_go = asyncio.Event()
        self.changed = asyncio.Condition()

    async def unary_unary(self, request: StringValue, context: Any) -> StringValue:
        match request.value:
            case "refuse":
                raise Rejected("NOT_FOUND", "it is not there")
            case "wait":
                await self._wait()
            case "cancelled?":
                task = asyncio.current_task()
                return StringValue(value="" if task is None else str(task.cancelling()))
        return request

    async def unary_stream(self, request: StringValue, context: Any) -> None:
        await context.write(request)
        await self._wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(holds)

    async def _wait(self) -> None:
        await self._count(1)
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.gone += 1
            raise
        finally:
            await self._count(-1)

    async def _count(self, change: int) -> None:
        self.waiting += change
        self.most = max(self.most, self.waiting)
        async with self.changed:
            self.changed.notify_all()

    def __getattr__(self, name: str) -> Any:
        async def unused(request: Any, context: Any) -> Any:
            raise AssertionError(name)

        return unused


@asynccontextmanager
async def served(
    limits: LimitsSection, service: ServiceDescriptor, echo: Echo
) -> AsyncIterator[tuple[RpcServer, Any]]:
    server = RpcServer(limits, engine="grpcio")
    server.add(service, echo)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, 0)
        way = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        yield server, way.unary_unary(METHOD, None, None)


@pytest.fixture(params=[True, False], ids=["here", "by gRPC"])
async def site(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    limits: LimitsSection,
    four_kinds: Callable[[str], ServiceDescriptor],
) -> AsyncIterator[tuple[Echo, Any]]:
    """What serves, and what calls it, with either way to accept calls."""
    monkeypatch.setattr(accepting, "supported", lambda: KNOWN and request.param)
    echo = Echo()
    async with served(limits, four_kinds("echo.Echo"), echo) as (_, call):
        yield echo, call


def text(value: str) -> bytes:
    return StringValue(value=value).SerializeToString()


def test_this_version_of_grpc_has_what_is_called() -> None:
    assert KNOWN or grpc.__version__.startswith("1.6")


async def test_calls_are_answered_again_and_again(site: tuple[Echo, Any]) -> None:
    _, call = site

    for number in range(200):
        assert await call(text(f"{number}")) == text(f"{number}")


async def test_a_burst_is_accepted_whole_and_another_one_after_it(site: tuple[Echo, Any]) -> None:
    echo, call = site

    for _ in range(3):
        calls = [asyncio.ensure_future(call(text("wait"), timeout=30)) for _ in range(150)]
        await echo.until(lambda: echo.waiting == 150)
        echo.let_go.set()
        assert set(await asyncio.gather(*calls)) == {text("wait")}
        echo.let_go.clear()


async def test_one_that_is_refused_harms_no_other(site: tuple[Echo, Any]) -> None:
    _, call = site

    for _ in range(50):
        with pytest.raises(grpc.aio.AioRpcError, match="not there"):
            await call(text("refuse"))
        assert await call(text("a")) == text("a")


async def test_what_serves_a_caller_that_has_gone_is_cancelled_and_no_other(
    site: tuple[Echo, Any],
) -> None:
    echo, call = site

    for round_ in range(1, 4):
        stays = asyncio.ensure_future(call(text("wait"), timeout=30))
        leaves = [asyncio.ensure_future(call(text("wait"), timeout=30)) for _ in range(40)]
        await echo.until(lambda: echo.waiting == 41)
        for each in leaves:
            each.cancel()
        await echo.until(lambda: echo.waiting == 1)
        assert echo.gone == 40 * round_
        asked = (call(text("cancelled?"), timeout=30) for _ in range(100))
        assert set(await asyncio.gather(*asked)) == {text("0")}
        echo.let_go.set()
        assert await stays == text("wait")
        echo.let_go.clear()


async def test_calls_that_are_cancelled_at_any_time_harm_no_other(site: tuple[Echo, Any]) -> None:
    """Also between the answer and its way out, and before the request was read."""
    _, call = site

    for turns in range(60):
        leaves = [asyncio.ensure_future(call(text("a"), timeout=30)) for _ in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for each in leaves:
            each.cancel()
        assert await call(text("b"), timeout=30) == text("b")


async def test_a_server_that_stops_ends_its_calls(
    limits: LimitsSection, four_kinds: Callable[[str], ServiceDescriptor]
) -> None:
    echo = Echo()
    before = asyncio.all_tasks()
    async with served(limits, four_kinds("echo.Echo"), echo) as (server, call):
        waits = asyncio.ensure_future(call(text("wait"), timeout=30))
        await echo.until(lambda: echo.waiting == 1)
        await server.stop(0)
        with pytest.raises(grpc.aio.AioRpcError):
            await waits
    async with asyncio.timeout(20):
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0)

    assert echo.gone == 1


@pytest.mark.parametrize("here", [True, False], ids=["here", "by gRPC"])
async def test_streams_are_open_together_until_their_callers_have_gone(
    monkeypatch: pytest.MonkeyPatch,
    limits: LimitsSection,
    four_kinds: Callable[[str], ServiceDescriptor],
    here: bool,
) -> None:
    monkeypatch.setattr(accepting, "supported", lambda: KNOWN and here)
    echo, server = Echo(), RpcServer(limits, engine="grpcio")
    server.add(four_kinds("echo.Echo"), echo)
    port = server.bind("127.0.0.1", 0, TlsSection())
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stream = channel.unary_stream(STREAM, None, None)
        for round_ in range(1, 4):
            calls = [stream(text(f"{number}"), timeout=60) for number in range(60)]
            for number, call in enumerate(calls):
                assert await call.read() == text(f"{number}")
            await echo.until(lambda: echo.waiting == 60)
            for call in calls[::2]:
                call.cancel()
            await echo.until(lambda: echo.waiting == 30)
            echo.let_go.set()
            for call in calls[1::2]:
                assert not await call.read()
            await echo.until(lambda: echo.waiting == 0)
            echo.let_go.clear()
            assert echo.gone == 30 * round_
    await server.stop(0)


@ACCEPTED_HERE
async def test_a_call_makes_no_task(
    limits: LimitsSection, four_kinds: Callable[[str], ServiceDescriptor]
) -> None:
    """Those of the caller are its own: it is in this loop as well."""
    made: list[str] = []

    def note(loop: Any, coroutine: Any, **more: Any) -> Any:
        made.append(coroutine.__qualname__)
        return asyncio.Task(coroutine, loop=loop, **more)

    async with served(limits, four_kinds("echo.Echo"), Echo()) as (_, call):
        asyncio.get_running_loop().set_task_factory(note)
        await call(text("a"))
        first = list(made)
        made.clear()
        for _ in range(10):
            await call(text("a"))
    asyncio.get_running_loop().set_task_factory(None)

    assert "_Method._serve" in first
    callers = {"UnaryUnaryCall._invoke"}
    assert set(made) == callers
