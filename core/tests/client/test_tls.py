"""A client encrypts with the files that it is given, as they are when it connects."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives import serialization
from quorate.cli import authority
from quorate.cli.authority import make_authority, sign
from quorate.client import InvalidError, Tls
from quorate.client.connections import Connections
from quorate.client.failures import AttemptError
from quorate.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse

STATUS = "/quorate.v1.AdminService/Status"


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    make_authority(tmp_path)
    sign(tmp_path, "node", ["127.0.0.1"])
    sign(tmp_path, "client", ["client"], serves=False)
    return Tls(
        ca=tmp_path / "ca.pem", cert=tmp_path / "client.pem", key=str(tmp_path / "client.key")
    )


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[str]:
    """A node that asks each caller for a certificate; its address."""

    async def status(_: NodeStatusRequest, __: object) -> NodeStatusResponse:
        return NodeStatusResponse(node="n1")

    method = grpc.unary_unary_rpc_method_handler(
        status, NodeStatusRequest.FromString, NodeStatusResponse.SerializeToString
    )
    server = grpc.aio.server()
    service, name = STATUS.strip("/").split("/")
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {name: method}),)
    )
    key, chain, ca = (
        (directory / name).read_bytes() for name in ("node.key", "node.pem", "ca.pem")
    )
    port = server.add_secure_port(
        "127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)], ca, True)
    )
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def asked(connections: Connections, address: str) -> str:
    """Return which node answers; raises `AttemptError`."""
    answer = await connections.to(address).call(STATUS, NodeStatusRequest(), NodeStatusResponse, 10)
    return answer.node


def test_the_environment_names_the_files() -> None:
    assert Tls.of_environment({}) is None
    assert Tls.of_environment({"QUORATE_TLS_CA": "", "QUORATE_TLS_KEY": ""}) is None
    assert Tls.of_environment({"QUORATE_TLS_CA": "ca"}) == Tls(ca="ca")
    whole = {"QUORATE_TLS_CA": "ca", "QUORATE_TLS_CERT": "c", "QUORATE_TLS_KEY": "k"}
    assert Tls.of_environment(whole) == Tls(ca="ca", cert="c", key="k")
    with pytest.raises(InvalidError, match="need QUORATE_TLS_CA: set it"):
        Tls.of_environment({"QUORATE_TLS_CERT": "c", "QUORATE_TLS_KEY": "k"})


@pytest.mark.parametrize("files", [{"cert": "c"}, {"key": "k"}])
def test_a_certificate_and_its_key_go_together(files: dict[str, str]) -> None:
    with pytest.raises(InvalidError, match="cert and key go together: give both or neither"):
        Tls(ca="ca", **files)


@pytest.mark.parametrize("name", ["ca.pem", "client.pem", "client.key"])
def test_a_file_that_cannot_be_used_is_named(tls: Tls, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("nothing")
    with pytest.raises(InvalidError, match=name):
        tls.context()
    (tmp_path / name).unlink()
    with pytest.raises(InvalidError, match=f"{name} cannot be read: No such file"):
        tls.context()


def test_nobody_is_asked_for_the_password_of_a_key(tls: Tls, tmp_path: Path) -> None:
    key = tmp_path / "client.key"
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    key.write_bytes(private.private_bytes(*form, locked))
    with pytest.raises(InvalidError, match=r"client\.key has a password, .* openssl pkey -in "):
        tls.context()


async def test_files_that_do_not_belong_together_keep_those_of_before(
    tls: Tls, tmp_path: Path
) -> None:
    connections = Connections(tls)
    async with serving(tmp_path) as first, serving(tmp_path) as second:
        assert await asked(connections, first) == "n1"
        (tmp_path / "client.key").write_bytes((tmp_path / "node.key").read_bytes())
        with pytest.raises(InvalidError, match="KEY_VALUES_MISMATCH"):
            tls.context()
        assert await asked(connections, second) == "n1"
        await connections.close()


def test_programs_with_grpcio_use_the_same_files(tls: Tls) -> None:
    assert isinstance(tls.credentials(), grpc.ChannelCredentials)


async def test_replaced_files_repair_a_connection_that_failed(tls: Tls, tmp_path: Path) -> None:
    foreign, own = tmp_path / "foreign", tls.files()
    make_authority(foreign)
    sign(foreign, "client", ["client"])
    for name in ("client.pem", "client.key"):
        (tmp_path / name).write_bytes((foreign / name).read_bytes())
    connections = Connections(tls)
    async with serving(tmp_path) as address:
        with pytest.raises(AttemptError):
            await asked(connections, address)
        _, key, chain = own
        assert key
        assert chain
        (tmp_path / "client.pem").write_bytes(chain)
        (tmp_path / "client.key").write_bytes(key)

        async with asyncio.timeout(20):
            while True:
                with suppress(AttemptError):
                    assert await asked(connections, address) == "n1"
                    break
                await asyncio.sleep(0.005)
        await connections.close()


async def reason(tls: Tls, address: str) -> str:
    """Return why a node cannot be reached."""
    connections = Connections(tls)
    try:
        with pytest.raises(AttemptError) as failed:
            await asked(connections, address)
    finally:
        await connections.close()
    assert failed.value.retry == "safe"
    return str(failed.value)


async def test_why_a_certificate_is_not_accepted_is_said(
    tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "foreign"
    make_authority(foreign)
    async with serving(tmp_path) as address:
        no_authority = await reason(replace(tls, ca=foreign / "ca.pem"), address)
        nobody = await reason(Tls(ca=tls.ca), address)
    assert "the CA of its certificate is not in the file that is named here" in no_authority
    assert "it asks for a certificate, or refuses the one of this client" in nobody

    sign(tmp_path, "node", ["elsewhere"])
    async with serving(tmp_path) as address:
        assert "its certificate is not for this host" in await reason(tls, address)
    monkeypatch.setattr(authority, "timedelta", lambda **_: timedelta(seconds=0))
    sign(tmp_path, "node", ["127.0.0.1"])
    async with serving(tmp_path) as address:
        assert "its certificate has expired" in await reason(tls, address)


async def test_a_port_that_does_not_encrypt_is_named(tls: Tls) -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        assert "it does not encrypt" in await reason(tls, f"127.0.0.1:{port}")
    finally:
        await server.stop(0)


async def test_a_port_at_which_nobody_listens_is_named(tls: Tls) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        found = await reason(tls, f"127.0.0.1:{held.getsockname()[1]}")
    assert "does not answer (the connection was refused)" in found
