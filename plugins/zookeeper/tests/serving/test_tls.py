"""Clients with a certificate."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from quorate.cli.authority import make_authority, sign
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
