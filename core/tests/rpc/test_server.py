from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from quorate.cli.authority import make_authority, sign
from quorate.config.sections import EngineName, LimitsSection, TlsSection
from quorate.http2.grpc.channel import Channel
from quorate.plugin.advanced import Stub
from quorate.rpc import server as serving
from quorate.rpc.engines.engine import Encryption
from quorate.rpc.reflection import STABLE
from quorate.rpc.server import RpcServer, ServingRefusedError

if TYPE_CHECKING:
    from core.tests.rpc.conftest import Node

STATUS = health_pb2.HealthCheckResponse


@pytest.mark.parametrize(
    ("host", "tls", "what"),
    [
        ("0.0.0.0", TlsSection(), "tls.insecure = true"),
        ("broker.example", TlsSection(), "tls.insecure = true"),
    ],
)
async def test_an_address_that_is_not_safe_is_refused(
    limits: LimitsSection, host: str, tls: TlsSection, what: str
) -> None:
    server = RpcServer(limits)

    with pytest.raises(ServingRefusedError, match=what):
        server.bind(host, 0, tls)
    await server.stop(0)


async def test_an_open_address_is_served_to_who_trusts_the_network(limits: LimitsSection) -> None:
    server = RpcServer(limits)

    assert server.bind("0.0.0.0", 0, TlsSection(insecure=True)) > 0
    await server.stop(0)


async def test_a_port_that_is_taken_is_named(nodes: dict[str, Node], limits: LimitsSection) -> None:
    server = RpcServer(limits)
    port = int(nodes["a"].address.rpartition(":")[2])

    with pytest.raises(ServingRefusedError, match=f"127.0.0.1:{port}"):
        server.bind("127.0.0.1", port, TlsSection())
    await server.stop(0)


@pytest.mark.parametrize("service", ["", "quorate.v1.CommandService", "quorate.v1.NodeService"])
async def test_health_follows_the_node(nodes: dict[str, Node], service: str) -> None:
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        stub: Any = Stub(channel, health_pb2.DESCRIPTOR.services_by_name["Health"])
        asked = health_pb2.HealthCheckRequest(service=service)

        assert (await stub.Check(asked, timeout=10)).status == STATUS.NOT_SERVING
        await nodes["a"].server.set_serving(True)
        assert (await stub.Check(asked, timeout=10)).status == STATUS.SERVING


@pytest.mark.parametrize("file", [STABLE, reflection_pb2.DESCRIPTOR], ids=["v1", "v1alpha"])
async def test_reflection_lists_the_services(nodes: dict[str, Node], file: FileDescriptor) -> None:
    request: Any = GetMessageClass(file.message_types_by_name["ServerReflectionRequest"])
    service = file.services_by_name["ServerReflection"]
    symbols = ["quorate.v1.CommandService.Execute", "quorate.v1.Command.payload", service.full_name]
    asked = [
        request(list_services=""),
        *(request(file_containing_symbol=symbol) for symbol in symbols),
    ]
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        call = Stub(channel, service).ServerReflectionInfo(iter(asked), timeout=10)
        listed, *described = [each async for each in call]

    names = {each.name for each in listed.list_services_response.service}
    assert {"quorate.v1.CommandService", "quorate.v1.NodeService", service.full_name} <= names
    # As `describe` of grpcurl asks.
    for symbol, each in zip(symbols, described, strict=True):
        assert each.file_descriptor_response.file_descriptor_proto, symbol


async def test_nobody_is_told_of_the_services_unless_that_is_allowed(
    limits: LimitsSection,
) -> None:
    server = RpcServer(limits)
    address = f"127.0.0.1:{server.bind('127.0.0.1', 0, TlsSection())}"
    await server.start()
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            reflection = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            call = Stub(channel, reflection).ServerReflectionInfo(iter([asked]), timeout=10)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await anext(aiter(call))
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    finally:
        await server.stop(0)


async def test_a_name_is_served_at_all_of_its_addresses(
    limits: LimitsSection, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = ["127.0.0.1", "127.0.0.2"]
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in hosts]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    server = RpcServer(limits)
    port = server.bind("localhost", 0, TlsSection())
    monkeypatch.undo()
    await server.start()
    try:
        for host in hosts:
            async with Channel(f"{host}:{port}") as channel:
                check = channel.unary_unary("/grpc.health.v1.Health/Check", None, STATUS.FromString)
                assert (await check(b"", timeout=20)).status == STATUS.NOT_SERVING
    finally:
        await server.stop(0)


async def test_what_is_larger_than_the_server_reads_is_refused(nodes: dict[str, Node]) -> None:
    async with grpc.aio.insecure_channel(nodes["a"].address) as channel:
        execute: Any = channel.unary_unary("/quorate.v1.CommandService/Execute", None, None)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await execute(bytes(20 << 20), timeout=10)

    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("engine", ["http2", "grpcio"])
async def test_a_caller_that_stalls_before_its_connection_stands_is_cut_off(
    engine: EngineName, limits: LimitsSection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "n1", ["n1"])
    key, chain = tmp_path / "n1.key", tmp_path / "n1.pem"
    monkeypatch.setattr(serving, "HANDSHAKE_S", 0.2)
    server = RpcServer(limits, engine=engine)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    encryption = Encryption(
        context, lambda: grpc.ssl_server_credentials([(key.read_bytes(), chain.read_bytes())])
    )
    port = server.bind("127.0.0.1", 0, TlsSection(), encryption)
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
    finally:
        await server.stop(0)
