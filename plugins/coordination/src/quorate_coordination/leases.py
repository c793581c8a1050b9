"""Leases: they expire unless renewed, and their claims and attached rows end with them."""

from typing import Final

from quorate.plugin import Item, Rejected, Resource, Serving, Storage, Timer, Txn, Verb, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_coordination import attachments, locks
from quorate_coordination.families import (
    GROUP,
    LEASES,
    LIFE,
    MOST_HELD,
    check_name,
    check_owner,
    place_of,
)
from quorate_coordination.holding import begin, check_ttl, find_lease, prolong
from quorate_coordination.v1 import leases_pb2 as pb

#: Maximum number of claims and attachments of the leases that end in one entry; a single lease may
#: have more.
_HELD_AT_ONCE: Final = 4 * MOST_HELD
_EXPIRED_AT_ONCE: Final = 256


def _check(lease: pb.Lease, path: str) -> None:
    check_ttl(f"{path}ttl_ms", lease.ttl_ms)
    check_owner(f"{path}owner", lease.owner)


def _changed(txn: Txn, before: pb.Lease | None, after: pb.Lease | None) -> None:
    """Begin a lease, or end it: with all that it holds, in this entry."""
    if before is None and after is not None:
        begin(txn, after)
    elif before is not None and after is None:
        txn.schedule(LIFE, keys.pack(before.name), None)
        locks.release_all(txn, before.name)
        attachments.carry_out_all(txn, before.name)


def _renew(txn: Txn, renewal: pb.LeaseRenewal) -> pb.LeaseRenewed:
    """Restart the time to live of a lease: only its deadline moves."""
    lease = find_lease(txn, renewal.name)
    if renewal.token not in (0, lease.token):
        raise Rejected("NOT_FOUND", f"lease {lease.name} has ended, and another has its name")
    return pb.LeaseRenewed(expires_at_ms=prolong(txn, lease))


def _expire(txn: Txn, command: pb.ExpireLeases) -> BatchReply:
    """End the leases whose deadlines stand and have come; the rest of many follow at once."""
    left = _HELD_AT_ONCE
    for key in still_due(txn, LIFE, command.keys):
        stored = txn.get(LEASES, key)
        if stored is None:
            txn.schedule(LIFE, key, None)
            continue
        lease = pb.Lease.FromString(stored)
        if left <= 0:
            txn.schedule(LIFE, key, txn.proposed_at_ms + 1, ttl_ms=lease.ttl_ms)
            continue
        left -= lease.holds
        _changed(txn, lease, None)
        txn.delete(LEASES, key)
    return BatchReply(items=len(command.keys))


EXPIRY: Final = Timer(
    name=LIFE,
    group=GROUP,
    due=lambda due: pb.ExpireLeases(keys=due),
    batch=_EXPIRED_AT_ONCE,
    liveness=True,
)

LEASE: Final[Resource[pb.Lease]] = Resource(
    family=LEASES,
    group=GROUP,
    row=pb.Lease,
    service=pb.DESCRIPTOR.services_by_name["LeaseService"],
    key=("name",),
    shard_by=("name",),
    storage=Storage(shard_of=place_of, changed=_changed),
    check_key={"name": check_name},
    check=_check,
    serving=Serving(internal=("token", "holds")),
    examples=(
        pb.Lease(name="jobs/4f1c", ttl_ms=10_000, owner="worker 1"),
        pb.Lease(name="controller/9a2b", ttl_ms=5_000),
    ),
    verbs={
        "Renew": Verb(
            apply=_renew,
            item=Item(reply=pb.LeaseRenewed),
            examples=(pb.LeaseRenewal(name="jobs/4f1c"),),
        ),
        "Expire": Verb(
            apply_all=_expire,
            message=pb.ExpireLeases,
            examples=(keys.pack("controller/9a2b"),),
        ),
    },
)
