"""Clients with a certificate."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from quorate.cli.authority import make_authority, sign
from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Error, Op

from tests.support.zookeeper.peers import Door, Peer, begin, create, read


async def test_a_certificate_is_an_identity(
    tmp_path: Path, open_door: Callable[..., Awaitable[Door]]
) -> None:
    make_authority(tmp_path)
    for name in ("server", "ann"):
        sign(tmp_path, name, ["127.0.0.1"])
    [port] = free_ports(0)
    door = await open_door(
        tls_port=port,
        cert_file=str(tmp_path / "server.pem"),
        key_file=str(tmp_path / "server.key"),
        client_ca_file=str(tmp_path / "ca.pem"),
    )
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.load_cert_chain(tmp_path / "ann.pem", tmp_path / "ann.key")
    ann = Peer(*await asyncio.open_connection("127.0.0.1", port, ssl=context))
    await begin(ann)
    record = (await ann.ask(Op.WHO_AM_I)).record
    assert record.vector(lambda: (record.text(), record.text())) == [
        ("ip", "127.0.0.1"),
        ("x509", "CN=ann"),
    ]
    own = create("/own", entries=((31, "auth", ""),))
    assert (await ann.ask(Op.CREATE, own)).error == 0
    assert (await ann.ask(Op.GET_DATA, read("/own"))).error == 0
    other = await door.connect()
    assert (await other.ask(Op.GET_DATA, read("/own"))).error == Error.NO_AUTH
    acl = (await ann.ask(Op.GET_ACL, jute.text("/own"))).record
    assert (acl.int32(), acl.int32(), acl.text(), acl.text()) == (1, 31, "x509", "CN=ann")
    ann.writer.close()


@pytest.mark.parametrize(("user", "asked"), [("", "ann"), ("door", "door")])
async def test_who_has_a_certificate_calls_as_the_user_that_it_names(
    tmp_path: Path,
    open_door: Callable[..., Awaitable[Door]],
    monkeypatch: pytest.MonkeyPatch,
    user: str,
    asked: str,
) -> None:
    make_authority(tmp_path)
    for name in ("server", "ann", "ben"):
        sign(tmp_path, name, ["127.0.0.1"])
    [port] = free_ports(0)
    await open_door(
        tls_port=port,
        cert_file=str(tmp_path / "server.pem"),
        key_file=str(tmp_path / "server.key"),
        client_ca_file=str(tmp_path / "ca.pem"),
        user=user,
    )
    monkeypatch.setattr(MemoryNode, "allows", lambda _, name, access, request=None: name == asked)
    admitted = []
    for name in ("ann", "ben"):
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        peer = Peer(*await asyncio.open_connection("127.0.0.1", port, ssl=context))
        opening = jute.int32(0) + bytes(8) + jute.int32(9_000) + bytes(8) + jute.buffer(bytes(16))
        peer.writer.write(jute.buffer(opening))
        try:
            admitted.append(bool(await peer.reader.read(4)))
        except ConnectionResetError:
            admitted.append(False)
        peer.writer.close()

    assert admitted == [True, user == "door"]


@pytest.mark.parametrize("allowed", [False, True])
async def test_tls_1_2_is_taken_where_a_setting_says_so(
    tmp_path: Path, open_door: Callable[..., Awaitable[Door]], *, allowed: bool
) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "server", ["127.0.0.1"])
    [port] = free_ports(0)
    await open_door(
        tls_port=port,
        cert_file=str(tmp_path / "server.pem"),
        key_file=str(tmp_path / "server.key"),
        **({"tls_1_2": True} if allowed else {}),
    )
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    except (ssl.SSLError, ConnectionResetError):
        assert not allowed
    else:
        writer.close()
        assert allowed
