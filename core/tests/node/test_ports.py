"""A port of a plugin's own: gRPC and HTTP/1.1 at one address."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from quorate.cli.authority import make_authority, sign
from quorate.config.sections import LimitsSection
from quorate.node.ports import Ports
from quorate.plugin.advanced import HttpAnswer, HttpRequest, OpenPort, ServicePort, Stub
from quorate.rpc.server import ServingRefusedError

_S = 30.0
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]


class OddError(Exception):
    """A failure that the plugin has a status for."""


class Servicer:
    """Serves the methods of the health service."""

    async def Check(self, request: Any, context: Any) -> Any:
        if request.service == "odd":
            raise OddError("etcdserver: odd")
        if request.service == "abort":
            await context.abort(9, "not now")
        if request.service == "bug":
            raise KeyError(1)
        return health_pb2.HealthCheckResponse(status=1)

    async def List(self, request: Any, context: Any) -> Any:
        raise AssertionError

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield health_pb2.HealthCheckResponse(status=1)
        if request.service == "odd":
            raise OddError("etcdserver: odd")
        await asyncio.Event().wait()


async def site(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(200, request.path.encode())


def declared(**more: Any) -> ServicePort:
    def status(error: Exception) -> tuple[int, str] | None:
        return (5, str(error)) if isinstance(error, OddError) else None

    return ServicePort(
        **{
            "host": "127.0.0.1",
            "port": 0,
            "services": [(HEALTH, Servicer())],
            "http": site,
            "status": status,
            **more,
        }
    )


@pytest.fixture
async def port() -> AsyncIterator[OpenPort]:
    async with Ports().serve(declared()) as port:
        yield port


async def check(channel: grpc.aio.Channel, service: str = "") -> Any:
    stub = Stub(channel, HEALTH)
    return await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=_S)


async def fetched(port: int, path: str, context: ssl.SSLContext | None = None) -> bytes:
    async with asyncio.timeout(_S):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname="localhost" if context else None
        )
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")[2]


async def refused(call: Any) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value.code().name, raised.value.details() or ""


async def test_both_protocols_are_served_at_one_port(port: OpenPort) -> None:
    assert await fetched(port.port, "/version") == b"/version"
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}") as channel:
        assert (await check(channel)).status == 1
        watch = Stub(channel, HEALTH).Watch(health_pb2.HealthCheckRequest(), timeout=_S)
        assert (await watch.read()).status == 1
        assert port.connections == 1
        assert await fetched(port.port, "/health") == b"/health"
        async with asyncio.timeout(_S):
            while port.connections > 1:
                await asyncio.sleep(0.01)
        watch.cancel()


async def test_both_are_served_within_tls(tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "node", ["localhost"])
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(tmp_path / "node.pem", tmp_path / "node.key")
    offered.set_alpn_protocols(["h2", "http/1.1"])
    async with Ports().serve(declared(tls=offered)) as port:
        trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        assert await fetched(port.port, "/version", trusting) == b"/version"
        trusting.set_alpn_protocols(["http/1.1"])
        assert await fetched(port.port, "/version", trusting) == b"/version"
        credentials = grpc.ssl_channel_credentials((tmp_path / "ca.pem").read_bytes())
        async with grpc.aio.secure_channel(f"localhost:{port.port}", credentials) as channel:
            assert (await check(channel)).status == 1
            assert port.connections == 1


async def test_the_first_bytes_may_come_one_by_one(port: OpenPort) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
    async with asyncio.timeout(_S):
        for each in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)):
            writer.write(bytes((each,)))
            await writer.drain()
            await asyncio.sleep(0)
        # Its settings.
        assert (await reader.readexactly(9))[3] == 4
        writer.close()
        other, put = await asyncio.open_connection("127.0.0.1", port.port)
        for each in b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n":
            put.write(bytes((each,)))
            await put.drain()
            await asyncio.sleep(0)
        assert (await other.readline()).startswith(b"HTTP/1.1 200")
        put.close()


async def test_failures_have_the_statuses_of_the_plugin(port: OpenPort) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}") as channel:
        assert await refused(check(channel, "odd")) == ("NOT_FOUND", "etcdserver: odd")
        assert await refused(check(channel, "abort")) == ("FAILED_PRECONDITION", "not now")
        assert (await refused(check(channel, "bug")))[0] == "INTERNAL"
        watch = Stub(channel, HEALTH).Watch(
            health_pb2.HealthCheckRequest(service="odd"), timeout=_S
        )
        assert (await watch.read()).status == 1
        assert await refused(watch.read()) == ("NOT_FOUND", "etcdserver: odd")


async def test_what_is_not_served_is_named(port: OpenPort) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}") as channel:
        for path, text in (
            ("/a.B/C", "unknown service a.B"),
            ("/grpc.health.v1.Health/C", "unknown method C for service grpc.health.v1.Health"),
        ):
            assert await refused(channel.unary_unary(path, None, None)(b"", timeout=_S)) == (
                "UNIMPLEMENTED",
                text,
            )


async def test_requests_are_bounded() -> None:
    async with Ports().serve(declared(message_bytes=1_000)) as port:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}") as channel:
            assert (await refused(check(channel, "x" * 1_001)))[0] == "RESOURCE_EXHAUSTED"
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n")
        async with asyncio.timeout(_S):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413")
        writer.close()


async def test_an_address_leaves_connections_for_others() -> None:
    """It gets half of them, however they speak."""
    async with Ports().serve(declared(connections=4)) as port:
        held = [await asyncio.open_connection("127.0.0.1", port.port) for _ in range(2)]
        async with asyncio.timeout(_S):
            while port.connections < 2:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            for _, each in held:
                each.close()
            while port.connections:
                await asyncio.sleep(0.01)
        assert await fetched(port.port, "/") == b"/"


async def test_a_client_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.node.ports.HANDSHAKE_S", 0.1)
    async with Ports().serve(declared()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        async with asyncio.timeout(_S):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_an_open_address_needs_tls_or_a_word() -> None:
    with pytest.raises(ServingRefusedError, match=r"0\.0\.0\.0:0 can be reached"):
        async with Ports().serve(declared(host="0.0.0.0")):
            raise AssertionError
    async with Ports().serve(declared(host="0.0.0.0", insecure=True)) as port:
        assert await fetched(port.port, "/") == b"/"
        with pytest.raises(ServingRefusedError, match="stop the process that uses it"):
            async with Ports().serve(declared(port=port.port)):
                raise AssertionError


async def test_a_servicer_has_every_method() -> None:
    with pytest.raises(ServingRefusedError, match=r"object lacks Check"):
        async with Ports().serve(declared(services=[(HEALTH, object())])):
            raise AssertionError


async def test_the_limits_of_the_node_hold() -> None:
    async with Ports(limits=LimitsSection(inflight_bytes=0)).serve(declared()) as port:
        assert await fetched(port.port, "/") == b"/"
