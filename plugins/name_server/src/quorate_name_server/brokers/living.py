"""The lives of registered members: heartbeats, unregistration and expiry."""

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.brokers.rows import (
    broker_at,
    find_broker,
    member_of,
    prolong,
    put_broker,
    remove_member,
)
from quorate_name_server.families import LIVENESS
from quorate_name_server.v1 import commands_pb2 as pb


def take_heartbeat(txn: Txn, heartbeat: pb.Heartbeat) -> None:
    """Extend the life of a member."""
    name = heartbeat.name or broker_at(txn, heartbeat.address)
    broker = find_broker(txn, name) if name else None
    member = member_of(broker, "address", heartbeat.address)
    if member is None:
        raise Rejected(
            "NOT_FOUND", f"no broker has a member at {heartbeat.address}; register it again"
        )
    prolong(txn, name, member)


def unregister(txn: Txn, leaving: pb.Unregistration) -> pb.Unregistered:
    """Remove a member, unless it has registered again or is connected to another door."""
    broker = find_broker(txn, leaving.name)
    member = member_of(broker, "address", leaving.address)
    if broker is None or member is None:
        return pb.Unregistered()
    if leaving.registration not in (0, member.registration):
        return pb.Unregistered()
    if leaving.door:
        if leaving.door in member.doors:
            member.doors.remove(leaving.door)
        if member.doors:
            put_broker(txn, broker)
            return pb.Unregistered()
    remove_member(txn, broker, member)
    return pb.Unregistered(removed=True)


def expire(txn: Txn, command: pb.ExpireMembers) -> BatchReply:
    """Remove the members with an expired deadline."""
    for key in still_due(txn, LIVENESS, command.keys):
        name, registration = keys.unpack(key)
        broker = find_broker(txn, str(name))
        member = member_of(broker, "registration", registration)
        if broker is None or member is None:
            txn.schedule(LIVENESS, key, None)
        else:
            remove_member(txn, broker, member)
    return BatchReply(items=len(command.keys))


def permit(txn: Txn, name: str, *, wiped: bool) -> pb.WritePermission:
    """Revoke the write permission of a broker, or restore it, as its topics define it.

    A broker that registers anew has it again, too.
    """
    broker = find_broker(txn, name)
    if broker is None:
        return pb.WritePermission()
    if broker.write_wiped != wiped:
        broker.write_wiped = wiped
        put_broker(txn, broker)
    return pb.WritePermission(topics=broker.topics)
