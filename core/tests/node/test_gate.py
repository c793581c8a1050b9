from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import pytest
from quorate.node.gate import Gate

Call = Callable[[], Awaitable[Any]]


class Service:
    """Two methods; one waits until it may answer."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def wait(self, request: bytes, context: object) -> bytes:
        self.begun.set()
        await self.may_end.wait()
        return request

    async def ask(self, request: bytes, context: object) -> bytes:
        return request

    async def stream(self, request: bytes, context: Any) -> None:
        await context.write(request)
        await self.wait(request, context)


@asynccontextmanager
async def served(gate: Gate, service: Service) -> AsyncIterator[Callable[[str], Call]]:
    """Serve behind the gate, and return what makes a call of a method."""
    server = grpc.aio.server()
    for name in ("shop", "peers"):
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        handlers = {
            "Wait": unary(gate.around(f"/{name}/Wait", service.wait)),
            "Ask": unary(gate.around(f"/{name}/Ask", service.ask)),
            "Stream": stream(gate.around(f"/{name}/Stream", service.stream)),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:

            def method(name: str) -> Call:
                made: Any = channel
                if name.endswith("Stream"):
                    return lambda: made.unary_stream(name)(b"x", timeout=20).read()
                return lambda: made.unary_unary(name)(b"x", timeout=20)

            yield method
    finally:
        await server.stop(0)


async def test_it_is_closed_but_for_what_never_asks() -> None:
    gate = Gate(["peers", "shop/Ask"])
    async with served(gate, Service()) as method:
        assert await method("/peers/Ask")() == b"x"
        assert await method("/shop/Ask")() == b"x"
        for name in ("/shop/Wait", "/shop/Stream"):
            with pytest.raises(grpc.aio.AioRpcError, match="is starting") as failed:
                await method(name)()
            assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("name", ["/shop/Wait", "/shop/Stream"])
async def test_a_call_inside_ends_in_peace(name: str) -> None:
    gate, service = Gate([]), Service()
    async with served(gate, service) as method:
        gate.open()
        call = asyncio.ensure_future(method(name)())
        await service.begun.wait()
        gate.close("this node is stopping")

        assert +gate.inside == {name.strip("/"): 1}
        assert not await gate.emptied(0.0)
        with pytest.raises(grpc.aio.AioRpcError, match="is stopping"):
            await method("/shop/Ask")()
        service.may_end.set()
        assert await gate.emptied(20)
        assert await call == b"x"
    assert not +gate.inside


async def test_what_is_awaited_is_never_refused_and_is_inside() -> None:
    gate, service = Gate(["peers"], ["peers/Wait"]), Service()
    async with served(gate, service) as method:
        call = asyncio.ensure_future(method("/peers/Wait")())
        await service.begun.wait()

        assert +gate.inside == {"peers/Wait": 1}
        assert not await gate.emptied(0.0)
        service.may_end.set()
        assert await call == b"x"
        assert await gate.emptied(20)


async def test_it_is_silent_once_nobody_asks_any_more() -> None:
    gate, loop = Gate([]), asyncio.get_running_loop()
    async with served(gate, Service()) as method:
        gate.open()
        gate.close("this node is stopping")
        silent = asyncio.create_task(gate.silent(1.0, within_s=20))
        await asyncio.sleep(0.2)
        with pytest.raises(grpc.aio.AioRpcError, match="is stopping"):
            await method("/shop/Ask")()
        refused_at = loop.time()
        await silent
        assert loop.time() - refused_at >= 0.9

        gate.close("this node is stopping")
        await gate.silent(20, within_s=0.0)


async def test_a_call_that_was_given_up_is_not_inside() -> None:
    gate, service = Gate([]), Service()
    async with served(gate, service) as method:
        gate.open()
        call = asyncio.ensure_future(method("/shop/Wait")())
        await service.begun.wait()
        call.cancel()

        assert await gate.emptied(20)
