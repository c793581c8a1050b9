"""The identities that clients prove."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from quorate_zookeeper.v1 import commands_pb2 as pb
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Error
from quorate_zookeeper.wire.jute import Record

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection

#: Maximum length of a digest's name in the audit log.
_NAME: Final = 64
#: Maximum number of identities of a connection, which its requests carry, and size of a proof.
MOST_IDENTITIES: Final = 16
PROOF_BYTES: Final = 1_024


def user_of(connection: Connection) -> str:
    """Return the user for the audit log: that of the certificate, else of a digest.

    A digest is shown as `digest:NAME`: clients choose the name, and only an ACL compares its hash.
    Without either it is the configured user of all clients, which may be empty.
    """
    if connection.user:
        return connection.user
    names = [each.id.split(":")[0] for each in connection.identities if each.scheme == "digest"]
    return f"digest:{names[0][:_NAME]}" if names else connection.server.config.user


async def authenticate(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Add an identity of the scheme `digest`, or refuse another scheme."""
    record.int32()
    scheme, proof = record.text(), record.buffer() or b""
    if scheme == "digest":
        before = user_of(connection)
        if not _proves(connection, proof):
            connection.server.warn(
                f"{connection.peer} offered more than {MOST_IDENTITIES} identities, or a proof of "
                f"more than {PROOF_BYTES:,} bytes"
            )
            _refuse(connection, xid)
            return
        if user_of(connection) != before:
            await connection.act()
    elif scheme != "ip":
        _refuse(connection, xid)
        return
    connection.reply(xid)


def _proves(connection: Connection, proof: bytes) -> bool:
    """Add the identity of a proof; return False if it is too long, or one identity too many."""
    if len(proof) > PROOF_BYTES:
        return False
    user = proof.split(b":")[0].decode(errors="replace")
    digest = base64.b64encode(hashlib.sha1(proof).digest()).decode()
    proved = [pb.Identity(scheme="digest", id=f"{user}:{digest}")]
    known = connection.server.config.super_digest.get_secret_value()
    if hmac.compare_digest(proved[0].id.encode(), known.encode()):
        proved.append(pb.Identity(scheme="super"))
    new = [each for each in proved if each not in connection.identities]
    if len(connection.identities) + len(new) > MOST_IDENTITIES:
        return False
    connection.identities += new
    return True


async def refuse_sasl(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Refuse SASL."""
    _refuse(connection, xid)


def _refuse(connection: Connection, xid: int) -> None:
    connection.server.counts.refused_identities += 1
    connection.reply(xid, 0, Error.AUTH_FAILED, last=True)


async def who_am_i(connection: Connection, xid: int, op: int, record: Record) -> None:
    """Reply with the identities of the client; digests show only their users."""
    shown = [
        jute.text(each.scheme)
        + jute.text(each.id.split(":")[0] if each.scheme == "digest" else each.id)
        for each in connection.identities
    ]
    connection.reply(xid, 0, 0, jute.vector(shown))
