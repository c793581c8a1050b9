"""Handlers of registrations, heartbeats and unregistrations of brokers."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from quorate.plugin import Rejected
from quorate.plugin.singles import only_reply

from quorate_name_server.brokers.registering import (
    OLDER_STATE,
    TABLE_INCOMPLETE,
    TABLE_NEEDED,
)
from quorate_name_server.brokers.rows import member_of
from quorate_name_server.remoting import register_body, shapes
from quorate_name_server.remoting.door import Door, RefusedError
from quorate_name_server.remoting.headers import SYSTEM_ERROR, Request, Response
from quorate_name_server.remoting.java_json import BodyError, dumps, loads
from quorate_name_server.routes.making import ORDER_TOPICS
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

#: The most members registered over one connection: each is examined when it closes.
MOST_MEMBERS: Final = 1_000
#: The bits of a CRC-32 that fit Java's signed integers.
_CRC_BITS: Final = 0x7FFFFFFF
#: Without static topics this is the time at which the body was made.
_MADE_AT: Final = re.compile(rb'"mappingDataVersion":\{[^{}]*\}')


@dataclass(frozen=True, slots=True)
class Renewed:
    """The last registration of a member over a connection that changed nothing."""

    digest: bytes
    #: The row it was compared with; every change of the broker or its topics creates another one.
    broker: rows.Broker
    #: The registration without its topics.
    renewal: pb.Registration


async def register(door: Door, connection: Connection, request: Request) -> Response:
    """Register a member of a broker, and its topics.

    Brokers repeat the same registration every 30 seconds: its body is not even read.
    """
    said = _from_header(door, request)
    member = (said.name, said.address)
    held = connection.registrations
    if member not in held and len(held) >= MOST_MEMBERS:
        remark = f"{MOST_MEMBERS:,} members have registered over this connection; open another one"
        raise RefusedError(Response(SYSTEM_ERROR, remark))
    digest = _digest(request)
    door.registering[member] += 1
    try:
        registered = await _renew(door, connection.renewed.get(member), digest)
        if registered is None:
            register_body.read_body(said, request.body, version=request.version)
            registered = await _send(door, said)
            _remember(door, connection, said, digest)
    except Rejected as refusal:
        if refusal.code == OLDER_STATE:
            # The stock name server answers the member with the older state as if it registered.
            return Response(fields={})
        if refusal.code == TABLE_INCOMPLETE:
            raise RefusedError(Response(SYSTEM_ERROR, "register broker failed")) from None
        raise
    finally:
        door.registering[member] -= 1
        if not door.registering[member]:
            del door.registering[member]
    if connection.is_open or member not in door.connections:
        # An unconfirmed registration has no number yet.
        before = connection.registrations.get(member, 0)
        connection.registrations[member] = registered.registration or before
        door.connections[member] = connection
    if not connection.is_open:
        # It has closed meanwhile.
        await door.lose(connection)
    fields = {}
    if registered.master_address:
        fields["masterAddr"] = registered.master_address
        fields["haServerAddr"] = registered.master_ha_address
    order = door.known.settings(ORDER_TOPICS)
    if order is None or not door.settings.on("returnOrderTopicConfigToBroker"):
        return Response(fields=fields)
    return Response(fields=fields, body=dumps({"table": order}))


async def _renew(door: Door, before: Renewed | None, digest: bytes) -> pb.Registered | None:
    """Extend the life of a member that repeats its registration; return None for a new one."""
    if before is None or before.digest != digest:
        return None
    if before.broker is not door.known.brokers.get(before.renewal.name):
        return None
    try:
        return await _send(door, before.renewal)
    except Rejected as refusal:
        if refusal.code == TABLE_NEEDED:
            return None
        raise


async def _send(door: Door, said: pb.Registration) -> pb.Registered:
    reply = await door.names.Register(pb.RegisterBrokers(brokers=[said]), None)
    return pb.Registered.FromString(only_reply(reply))


def _remember(door: Door, connection: Connection, said: pb.Registration, digest: bytes) -> None:
    """Remember a registration that changed nothing."""
    member = (said.name, said.address)
    connection.renewed.pop(member, None)
    renewal = door.known.renewal(said)
    if renewal is not None:
        connection.renewed[member] = Renewed(digest, door.known.brokers[said.name], renewal)


def _digest(request: Request) -> bytes:
    """Return a digest of a registration that ignores its time."""
    fields = {name: value for name, value in request.fields.items() if name != "bodyCrc32"}
    digest = blake2b(repr((sorted(fields.items()), request.version)).encode(), digest_size=16)
    digest.update(_MADE_AT.sub(b"", request.body, count=1))
    return digest.digest()


async def unregister(door: Door, _: Connection, request: Request) -> Response:
    """Remove a member of a broker."""
    leaving = pb.Unregistration(name=request.text("brokerName"), address=request.text("brokerAddr"))
    only_reply(await door.names.Unregister(pb.UnregisterBrokers(brokers=[leaving]), None))
    door.forget((leaving.name, leaving.address))
    return Response()


async def heartbeat(door: Door, _: Connection, request: Request) -> Response:
    """Extend the life of a member; an unregistered member gets no error."""
    await _prolong(door, request)
    return Response()


async def query_data_version(door: Door, _: Connection, request: Request) -> Response:
    """Answer whether the topics of a member have changed; this counts as a heartbeat, too."""
    broker = await door.broker(request.text("brokerName"))
    member = member_of(broker, "address", request.text("brokerAddr"))
    asked = register_body.data_version(loads(request.body)) if request.body else None
    if member is None:
        return Response(fields={"changed": "true"})
    await _prolong(door, request)
    changed = asked != member.data_version
    return Response(
        fields={"changed": str(changed).lower()},
        body=dumps(shapes.data_version(member.data_version)),
    )


def _from_header(door: Door, request: Request) -> pb.Registration:
    expected = request.number("bodyCrc32") or 0
    if expected and zlib.crc32(request.body) & _CRC_BITS != expected:
        raise RefusedError(Response(SYSTEM_ERROR, "crc32 not match"))
    member_id = request.number("brokerId")
    if member_id is None:
        raise BodyError("brokerId is missing or not a number")
    timeout_ms = request.number("heartbeatTimeoutMillis") or 0
    try:
        said = pb.Registration(
            cluster=request.text("clusterName"),
            name=request.text("brokerName"),
            id=member_id,
            address=request.text("brokerAddr"),
            ha_address=request.text("haServerAddr"),
            zone=request.text("__ZONE_NAME"),
            heartbeat_timeout_ms=max(timeout_ms, 0),
            drops_absent_topics=door.settings.on("deleteTopicWithBrokerRegistration"),
            door=door.name,
        )
    except ValueError as error:
        raise BodyError(f"the fields of the header are not a registration: {error}") from None
    acting = request.boolean("enableActingMaster")
    if acting is not None:
        said.enable_acting_master = acting
    return said


async def _prolong(door: Door, request: Request) -> None:
    beat = pb.Heartbeat(name=request.text("brokerName"), address=request.text("brokerAddr"))
    await door.names.Heartbeat(pb.SendHeartbeats(brokers=[beat]), None)
