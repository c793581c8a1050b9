"""Who a client proves to be."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from quorate_zookeeper.v1 import commands_pb2 as pb
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Error
from quorate_zookeeper.wire.jute import Record

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection


async def authenticate(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Add an identity of the scheme `digest`."""
    record.int32()
    scheme, proof = record.text(), record.buffer() or b""
    if scheme == "digest":
        _prove(connection, proof)
    elif scheme != "ip":
        connection.reply(xid, 0, Error.AUTH_FAILED, last=True)
        return
    connection.reply(xid)


def _prove(connection: Connection, proof: bytes) -> None:
    user = proof.split(b":")[0].decode(errors="replace")
    digest = base64.b64encode(hashlib.sha1(proof).digest()).decode()
    proved = [pb.Identity(scheme="digest", id=f"{user}:{digest}")]
    if proved[0].id == connection.server.config.super_digest:
        proved.append(pb.Identity(scheme="super"))
    connection.identities += [each for each in proved if each not in connection.identities]


async def refuse_sasl(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Refuse SASL."""
    connection.reply(xid, 0, Error.AUTH_FAILED, last=True)


async def who_am_i(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Answer the identities of the client, of digests the users alone."""
    shown = [
        jute.text(each.scheme)
        + jute.text(each.id.split(":")[0] if each.scheme == "digest" else each.id)
        for each in connection.identities
    ]
    connection.reply(xid, 0, 0, jute.vector(shown))
