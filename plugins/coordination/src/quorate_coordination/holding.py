"""The rows of leases, for the claims and attachments that a lease holds."""

from typing import Final

from quorate.plugin import Invalid, Rejected, Txn, keys

from quorate_coordination.families import LEASES, LIFE, MOST_HELD, TOKENS
from quorate_coordination.v1 import leases_pb2 as pb

SHORTEST_TTL_MS: Final = 1_000
LONGEST_TTL_MS: Final = 86_400_000


def check_ttl(field: str, ttl_ms: int) -> None:
    """Refuse a time to live that is too short to be renewed in time, or longer than a day."""
    if not SHORTEST_TTL_MS <= ttl_ms <= LONGEST_TTL_MS:
        raise Invalid(field, f"must be {SHORTEST_TTL_MS} to {LONGEST_TTL_MS}, not {ttl_ms}")


def find_lease(txn: Txn, name: str) -> pb.Lease:
    """Return a lease; rejects with NOT_FOUND when it has ended."""
    stored = txn.get(LEASES, keys.pack(name))
    if stored is None:
        raise Rejected("NOT_FOUND", f"there is no lease {name}: it has ended, or never began")
    return pb.Lease.FromString(stored)


def find_or_begin(txn: Txn, name: str, ttl_ms: int, owner: str) -> pb.Lease:
    """Return a lease; a missing one begins now if a time to live is given."""
    if not ttl_ms or txn.get(LEASES, keys.pack(name)) is not None:
        return find_lease(txn, name)
    lease = pb.Lease(name=name, ttl_ms=ttl_ms, owner=owner, created_at_ms=txn.proposed_at_ms)
    begin(txn, lease)
    return lease


def begin(txn: Txn, lease: pb.Lease) -> None:
    """Let the time to live of a new lease begin."""
    lease.token = next_token(txn)
    prolong(txn, lease)


def prolong(txn: Txn, lease: pb.Lease) -> int:
    """Restart the time to live of a lease, and return when it ends."""
    expires_at_ms = txn.proposed_at_ms + lease.ttl_ms
    txn.schedule(LIFE, keys.pack(lease.name), expires_at_ms, ttl_ms=lease.ttl_ms)
    return expires_at_ms


def hold(txn: Txn, lease: pb.Lease, more: int) -> None:
    """Count the claims and attachments of a lease, and write its row."""
    if more > 0 and lease.holds >= MOST_HELD:
        raise Rejected(
            "RESOURCE_EXHAUSTED",
            f"lease {lease.name} has {lease.holds} claims and attachments, which are the most:"
            " create another",
        )
    lease.holds += more
    txn.put(LEASES, keys.pack(lease.name), lease.SerializeToString(deterministic=True))


def next_token(txn: Txn) -> int:
    """Return a number that is larger than all before of this shard, and of every state that the
    cluster was restored from.

    It is even: the odd number above it refuses the writes of its holder, and of nobody later.
    """
    return 2 * txn.next_id(TOKENS)
