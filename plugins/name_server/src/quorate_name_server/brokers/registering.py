"""Registers members: adds each to its broker, and writes its topics."""

from itertools import islice
from typing import Final

from quorate.plugin import Rejected, Txn, keys

from quorate_name_server.brokers.rows import (
    HEARTBEAT_TIMEOUT_MS,
    MASTER,
    broker_at,
    find_broker,
    forget,
    member_of,
    prolong,
    put_broker,
)
from quorate_name_server.families import (
    ADDRESSES,
    DEPARTED,
    LIVENESS,
    REGISTRATIONS,
    member_key,
)
from quorate_name_server.topics.apply import drop_topics, put_mappings, put_queues, topics_of
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

#: The data version differs: send the topics.
TABLE_NEEDED: Final = "TABLE_NEEDED"
#: A member that is not registered yet sent a single topic, which cannot be all of them.
TABLE_INCOMPLETE: Final = "TABLE_INCOMPLETE"
#: Another process has the same id and a newer state.
OLDER_STATE: Final = "OLDER_STATE"
#: A member of another broker has the address.
ADDRESS_TAKEN: Final = "ADDRESS_TAKEN"
#: Number of the broker's former topics that one registration deletes.
MOST_LEFT: Final = 20_000


def register(txn: Txn, registration: pb.Registration) -> pb.Registered:
    """Register a member, and write its changed topics."""
    broker = find_broker(txn, registration.name)
    before = None if broker is None else broker.SerializeToString(deterministic=True)
    if broker is None:
        broker = rows.Broker(name=registration.name, cluster=registration.cluster)
    rival = member_of(broker, "id", registration.id)
    known = member_of(broker, "address", registration.address)
    if known is not None and _outdated(txn, registration, known):
        return answer_of(broker, known.address, known.id)
    if registration.unchanged:
        return _renew(txn, registration, broker, known)
    _check(txn, registration, broker, rival)

    first = rival is None
    member = rows.Member(
        id=registration.id,
        address=registration.address,
        ha_address=registration.ha_address,
        cluster=registration.cluster,
        heartbeat_timeout_ms=registration.heartbeat_timeout_ms or HEARTBEAT_TIMEOUT_MS,
        registration=known.registration if known is not None else txn.next_id(REGISTRATIONS),
        registered_at_ms=known.registered_at_ms if known is not None else txn.proposed_at_ms,
        doors=_doors(registration, known),
        filter_servers=_filter_servers(registration, known),
    )
    stood = known is not None and known.data_version == registration.data_version
    if not registration.partial:
        member.data_version.CopyFrom(registration.data_version)
    elif known is not None:
        member.data_version.CopyFrom(known.data_version)
    if rival is not None and rival.address != registration.address:
        forget(txn, broker, rival)
    if known is not None:
        broker.members.remove(known)
    else:
        txn.put(ADDRESSES, keys.pack(registration.address), registration.name.encode())
    broker.members.append(member)
    broker.members.sort(key=lambda each: each.id)
    broker.zone = registration.zone
    broker.enable_acting_master = registration.enable_acting_master
    if before is None and _departed(txn, broker.name):
        # It registered again before its former topics were deleted.
        drop_topics(txn, broker.name, list(topics_of(txn, broker.name)))
        txn.delete(DEPARTED, keys.pack(broker.name))
    written = _put_topics(txn, registration, broker, first=first, stood=stood)
    changed = put_broker(txn, broker, before) or written
    prolong(txn, broker.name, member, registration.received_ms_ago)
    answer = answer_of(broker, member.address, member.id)
    answer.changed = changed
    return answer


def speaks_for(registration: pb.Registration, broker: rows.Broker) -> bool:
    """Return whether a member's topics are its broker's: it is the master, or the acting one."""
    if registration.id == MASTER:
        return True
    stands_in = registration.HasField("enable_acting_master")
    return stands_in and registration.id == min(each.id for each in broker.members)


def _renew(
    txn: Txn, registration: pb.Registration, broker: rows.Broker, known: rows.Member | None
) -> pb.Registered:
    version = registration.data_version
    if known is None or known.id != registration.id or known.data_version != version:
        raise Rejected(
            TABLE_NEEDED,
            f"{_named(registration)} is not registered with this data version; send its topics",
        )
    prolong(txn, broker.name, known, registration.received_ms_ago)
    return answer_of(broker, known.address, known.id)


def _check(
    txn: Txn, registration: pb.Registration, broker: rows.Broker, rival: rows.Member | None
) -> None:
    owner = broker_at(txn, registration.address)
    if owner not in ("", registration.name):
        raise Rejected(
            ADDRESS_TAKEN,
            f"address {registration.address} belongs to broker {owner}, which is alive; "
            "unregister it, or wait until its heartbeat timeout has passed",
        )
    if _departed(txn, registration.name):
        left = sum(1 for _ in islice(topics_of(txn, registration.name), MOST_LEFT + 1))
        if left > MOST_LEFT:
            raise Rejected(
                "UNAVAILABLE",
                f"topics of the removed broker {registration.name} are still being deleted; try "
                "again soon",
            )
    if rival is None:
        if len(registration.topics) == 1 and not registration.partial:
            raise Rejected(
                TABLE_INCOMPLETE,
                f"{_named(registration)} is not registered yet; register all its topics first",
            )
        return
    if rival.address == registration.address:
        return
    newer = rival.data_version.state_version > registration.data_version.state_version
    if newer or rival.registered_at_ms > txn.proposed_at_ms - registration.received_ms_ago:
        raise Rejected(
            OLDER_STATE,
            f"{_named(registration)} is {rival.address}, whose state is newer than that of "
            f"{registration.address}",
        )


def _departed(txn: Txn, name: str) -> bool:
    return txn.get(DEPARTED, keys.pack(name)) is not None


def _outdated(txn: Txn, registration: pb.Registration, known: rows.Member) -> bool:
    """Return whether a later registration of the member outdates this one."""
    if not registration.received_ms_ago:
        return False
    until_ms = txn.deadline(LIVENESS, member_key(registration.name, known.registration)) or 0
    seen_ms = until_ms - known.heartbeat_timeout_ms
    if seen_ms <= txn.proposed_at_ms - registration.received_ms_ago:
        return False
    return _order(known.data_version) >= _order(registration.data_version)


def _order(version: rows.DataVersion) -> tuple[int, int, int]:
    return version.state_version, version.counter, version.timestamp


def _put_topics(
    txn: Txn, registration: pb.Registration, broker: rows.Broker, *, first: bool, stood: bool
) -> bool:
    if not speaks_for(registration, broker):
        return False
    if registration.drops_absent_topics and not registration.mappings:
        kept = {each.topic for each in registration.topics}
        gone = [each for each in topics_of(txn, broker.name) if each not in kept]
        broker.topics -= drop_topics(txn, broker.name, gone)
    queues = {
        each.topic: each.queues.SerializeToString(deterministic=True)
        for each in registration.topics
    }
    written = put_queues(txn, broker, queues, overwrite=first or not stood)
    if first:
        broker.write_wiped = False
    if first or not stood:
        own = (each for each in registration.mappings if each.broker in ("", broker.name))
        put_mappings(txn, broker.name, own)
    return written


def _named(registration: pb.Registration) -> str:
    return f"member {registration.id} of broker {registration.name}"


def _doors(registration: pb.Registration, known: rows.Member | None) -> list[str]:
    doors = set() if known is None else set(known.doors)
    return sorted(doors | {registration.door} if registration.door else doors)


def _filter_servers(registration: pb.Registration, known: rows.Member | None) -> list[str]:
    if registration.HasField("filter_servers"):
        return list(registration.filter_servers.addresses)
    return [] if known is None else list(known.filter_servers)


def answer_of(broker: rows.Broker | None, address: str, member_id: int) -> pb.Registered:
    """Return the answer to a member: its registration, and for a slave its master."""
    answer = pb.Registered()
    member = member_of(broker, "address", address)
    if member is not None:
        answer.registration = member.registration
    master = member_of(broker, "id", MASTER)
    if member_id != MASTER and master is not None:
        answer.master_address = master.address
        answer.master_ha_address = master.ha_address
    return answer
