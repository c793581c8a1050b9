"""Channels over TLS: names, certificates of both ends, and what is refused."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from quorate.cli.authority import make_authority, sign
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.link import ChannelLimits
from quorate.http2.grpc.server import Server, ServerLimits
from quorate.http2.grpc.server_call import Method, ServerCall

_S = 60.0
_LIMITS = ChannelLimits(first_pause_s=0.01, longest_pause_s=0.05)


async def who(request: bytes, call: ServerCall) -> bytes:
    shown = call.auth_context().get("x509_common_name", [b"nobody"])
    return shown[0]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_authority(directory)
    sign(directory, "node", ["node.example", "localhost"])
    sign(directory, "alice", [], serves=False)
    return directory


def offered(files: Path, *, asks: bool = False, alpn: str = "h2") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(files / "node.pem", files / "node.key")
    context.set_alpn_protocols([alpn])
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files / "ca.pem")
    return context


def trusting(files: Path, client: str = "", *, authority: bool = True) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    if authority:
        context.load_verify_locations(files / "ca.pem")
    if client:
        context.load_cert_chain(files / f"{client}.pem", files / f"{client}.key")
    return context


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server({"/t/who": Method(serve=who)}.get, ServerLimits(), asyncio.get_running_loop())
    yield made
    await made.stop(0)


async def asked(port: int, context: ssl.SSLContext, name: str = "node.example") -> bytes:
    target = f"127.0.0.1:{port}"
    async with Channel(target, context=context, server_name=name, limits=_LIMITS) as channel:
        answer: bytes = await channel.unary_unary("/t/who")(b"", timeout=_S)
        return answer


async def refused(port: int, context: ssl.SSLContext, name: str = "node.example") -> str:
    with pytest.raises(CallError) as raised:
        await asked(port, context, name)
    assert raised.value.code() is Code.UNAVAILABLE
    return raised.value.details()


async def test_each_end_knows_the_other(server: Server, files: Path) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files, asks=True))
    assert await asked(port, trusting(files, "alice")) == b"alice"


async def test_a_server_of_others_is_asked_over_tls(files: Path) -> None:
    async def echo(request: bytes, context: Any) -> bytes:
        return request

    made = grpc.aio.server()
    methods = {"who": grpc.unary_unary_rpc_method_handler(echo)}
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", methods),))
    pair = ((files / "node.key").read_bytes(), (files / "node.pem").read_bytes())
    ca = (files / "ca.pem").read_bytes()
    credentials = grpc.ssl_server_credentials([pair], ca, require_client_auth=True)
    port = made.add_secure_port("127.0.0.1:0", credentials)
    await made.start()
    try:
        assert await asked(port, trusting(files, "alice")) == b""
        assert await refused(port, trusting(files))
    finally:
        await made.stop(0)


async def test_a_server_of_another_name_is_refused(server: Server, files: Path) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files))
    why = await refused(port, trusting(files), "other.example")
    assert "other.example" in why
    assert await asked(port, trusting(files), "localhost") == b"nobody"


async def test_a_server_of_an_unknown_authority_is_refused(server: Server, files: Path) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files))
    why = await refused(port, trusting(files, authority=False))
    assert "certificate verify failed" in why


async def test_a_server_that_asks_for_a_certificate_refuses_those_without(
    server: Server, files: Path
) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files, asks=True))
    assert await refused(port, trusting(files))


async def test_a_server_that_does_not_choose_h2_is_refused(server: Server, files: Path) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files, alpn="http/1.1"))
    assert "h2" in await refused(port, trusting(files))


async def test_a_server_without_tls_is_refused(server: Server, files: Path) -> None:
    port = await server.listen("127.0.0.1", 0)
    assert await refused(port, trusting(files))


async def test_a_context_that_changes_counts_from_the_next_attempt(
    server: Server, files: Path
) -> None:
    port = await server.listen("127.0.0.1", 0, offered(files))
    context = trusting(files, authority=False)
    target = f"127.0.0.1:{port}"
    async with Channel(
        target, context=context, server_name="node.example", limits=_LIMITS
    ) as channel:
        call = channel.unary_unary("/t/who")
        with pytest.raises(CallError, match="certificate verify failed"):
            await call(b"", timeout=_S)
        context.load_verify_locations(files / "ca.pem")
        assert await call(b"", timeout=_S, wait_for_ready=True) == b"nobody"
