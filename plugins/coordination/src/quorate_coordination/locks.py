"""Locks: claims hold them in the order in which they came, each with a token that only rises."""

from collections.abc import Iterator
from typing import Any, Final

from quorate.plugin import Invalid, Item, Rejected, Resource, Storage, Txn, Verb, View, keys
from quorate.plugin.advanced import find_row, get_row, write_row
from quorate.plugin.checking import check_bytes

from quorate_coordination import holding
from quorate_coordination.families import (
    CLAIM_NUMBERS,
    CLAIMS,
    GROUP,
    LOCKS,
    LONGEST_VALUE,
    WAITING,
    check_id,
    check_name,
    check_owner,
    lock_fence,
    place_of,
)
from quorate_coordination.v1 import locks_pb2 as pb

#: How many share a lock without a limit.
ANY_NUMBER: Final = (1 << 32) - 1
MOST_PERMITS: Final = 1_000
MOST_WAITERS: Final = 10_000


def release_all(txn: Txn, lease: str) -> None:
    """Release the claims of a lease that ends: waiting claims first, so that none of them is
    granted a lock that another claim of the lease releases.
    """
    claims = [
        pb.Claim.FromString(value)
        for row in txn.scan(CLAIM_NUMBERS, *keys.prefix(lease))
        if (value := txn.get(CLAIMS, _key_of(row.key, row.value))) is not None
    ]
    for claim in sorted(claims, key=lambda claim: claim.token > 0):
        _give_up(txn, claim)


def _acquire(txn: Txn, wanted: pb.Acquisition) -> pb.Claim:
    """Claim a lock: hold it now, or wait for the earlier claims."""
    if not wanted.lease_ttl_ms:
        holding.find_lease(txn, wanted.lease)
    number = txn.get(CLAIM_NUMBERS, _name(wanted))
    if number is not None:
        return get_row(txn, CLAIM, pb.Claim(lock=wanted.lock, number=int.from_bytes(number)))
    lock = find_row(txn, LOCK, pb.Lock(name=wanted.lock)) or pb.Lock(name=wanted.lock)
    claim = pb.Claim(
        lock=wanted.lock,
        lease=wanted.lease,
        id=wanted.id,
        owner=wanted.owner,
        sharing=wanted.sharing or 1,
        value=wanted.value,
        created_at_ms=txn.proposed_at_ms,
    )
    waits = bool(lock.waiters) or not _fits(lock, claim)
    if waits and wanted.no_wait:
        holder = lock.owner or f"{lock.holders} holders"
        raise Rejected("LOCK_HELD", f"{lock.name} is held by {holder}: wait for it")
    if waits and lock.waiters >= MOST_WAITERS:
        raise Rejected("RESOURCE_EXHAUSTED", f"{lock.waiters} claims wait for {lock.name} already")
    lease = holding.find_or_begin(txn, wanted.lease, wanted.lease_ttl_ms, wanted.owner)
    holding.hold(txn, lease, 1)
    claim.number = holding.next_token(txn)
    txn.put(CLAIM_NUMBERS, _name(claim), claim.number.to_bytes(8))
    if waits:
        lock.waiters += 1
        txn.put(WAITING, keys.pack(lock.name, claim.number), b"")
        write_row(txn, CLAIM, claim)
    else:
        _grant(txn, lock, claim)
    write_row(txn, LOCK, lock)
    return claim


def _release(txn: Txn, name: pb.ClaimName) -> pb.Claim:
    """Give up a claim, whether it is held or waits."""
    claim = _find(txn, name)
    _give_up(txn, claim)
    holding.hold(txn, holding.find_lease(txn, claim.lease), -1)
    return claim


def _proclaim(txn: Txn, proclamation: pb.Proclamation) -> pb.Claim:
    """Replace the value that a holder publishes."""
    claim = _find(txn, proclamation)
    if not claim.token:
        raise Rejected("FAILED_PRECONDITION", f"the claim waits, and does not hold {claim.lock}")
    claim.value = proclamation.value
    if claim.sharing == 1:
        lock = get_row(txn, LOCK, pb.Lock(name=claim.lock))
        lock.value = proclamation.value
        write_row(txn, LOCK, lock)
    return write_row(txn, CLAIM, claim)


def _find(txn: Txn, name: pb.ClaimName | pb.Proclamation) -> pb.Claim:
    number = txn.get(CLAIM_NUMBERS, _name(name))
    if number is None:
        raise Rejected(
            "NOT_FOUND",
            f"lease {name.lease} has no claim {name.id} on {name.lock}: it was released, or its"
            " lease has ended",
        )
    return get_row(txn, CLAIM, pb.Claim(lock=name.lock, number=int.from_bytes(number)))


def _fits(lock: pb.Lock, claim: pb.Claim) -> bool:
    """Whether a claim can share the lock with its current holders."""
    return not lock.holders or (lock.sharing == claim.sharing and lock.holders < claim.sharing)


def _grant(txn: Txn, lock: pb.Lock, claim: pb.Claim) -> None:
    """Let a claim hold the lock: from here on, writes with older tokens are refused."""
    if claim.sharing < ANY_NUMBER or not lock.holders:
        lock.token = holding.next_token(txn)
    claim.token, claim.held_since_ms = lock.token, txn.proposed_at_ms
    if 1 < claim.sharing < ANY_NUMBER:
        claim.permit = next(
            each for each in range(1, claim.sharing + 1) if each not in lock.permits
        )
        lock.permits.append(claim.permit)
    elif claim.sharing == 1:
        lock.owner, lock.value = claim.owner, claim.value
    lock.holders += 1
    lock.sharing = claim.sharing
    txn.raise_fence(lock_fence(lock.name, claim.permit), claim.token, held=True)
    write_row(txn, CLAIM, claim)


def _give_up(txn: Txn, claim: pb.Claim) -> None:
    """Remove a claim, fence the later writes of its holder, and grant the next claims."""
    lock = get_row(txn, LOCK, pb.Lock(name=claim.lock))
    txn.delete(CLAIMS, keys.pack(claim.lock, claim.number))
    txn.delete(CLAIM_NUMBERS, _name(claim))
    if claim.token:
        lock.holders -= 1
        if claim.permit:
            lock.permits.remove(claim.permit)
        if claim.sharing < ANY_NUMBER or not lock.holders:
            txn.raise_fence(lock_fence(lock.name, claim.permit), claim.token + 1)
        lock.ClearField("owner")
        lock.ClearField("value")
    else:
        lock.waiters -= 1
        txn.delete(WAITING, keys.pack(claim.lock, claim.number))
    for waiting in _waiting(txn, lock):
        if not _fits(lock, waiting):
            break
        lock.waiters -= 1
        txn.delete(WAITING, keys.pack(lock.name, waiting.number))
        _grant(txn, lock, waiting)
    if lock.holders or lock.waiters:
        write_row(txn, LOCK, lock)
    else:
        txn.delete(LOCKS, keys.pack(lock.name))


def _waiting(txn: Txn, lock: pb.Lock) -> Iterator[pb.Claim]:
    """Yield the claims that wait, the first one first; each is read when it is asked for."""
    while lock.waiters:
        [row] = txn.scan(WAITING, *keys.prefix(lock.name), limit=1)
        number = int(keys.unpack(row.key)[1])
        yield get_row(txn, CLAIM, pb.Claim(lock=lock.name, number=number))


def _name(of: pb.Claim | pb.ClaimName | pb.Acquisition | pb.Proclamation) -> bytes:
    return keys.pack(of.lease, of.lock, of.id)


def _key_of(name: bytes, number: bytes) -> bytes:
    return keys.pack(keys.unpack(name)[1], int.from_bytes(number))


def _check_claimed(claimed: pb.ClaimName | pb.Acquisition | pb.Proclamation, path: str) -> None:
    check_name(f"{path}lock", claimed.lock)
    check_name(f"{path}lease", claimed.lease)
    check_id(f"{path}id", claimed.id)
    lock, lease = (each.partition("/")[0] for each in (claimed.lock, claimed.lease))
    if lock != lease:
        raise Invalid(
            f"{path}lease",
            f"must begin like its lock, with {lock!r} up to the first '/', and begins with"
            f" {lease!r}",
        )


def _check_acquisition(wanted: pb.Acquisition, path: str) -> None:
    _check_claimed(wanted, path)
    check_owner(f"{path}owner", wanted.owner)
    check_bytes(f"{path}value", wanted.value, LONGEST_VALUE)
    if MOST_PERMITS < wanted.sharing < ANY_NUMBER:
        raise Invalid(f"{path}sharing", f"must be at most {MOST_PERMITS}, or {ANY_NUMBER}")
    if wanted.lease_ttl_ms:
        holding.check_ttl(f"{path}lease_ttl_ms", wanted.lease_ttl_ms)


def _check_proclamation(proclamation: pb.Proclamation, path: str) -> None:
    _check_claimed(proclamation, path)
    check_bytes(f"{path}value", proclamation.value, LONGEST_VALUE)


def _lock_key(item: pb.Acquisition | pb.ClaimName | pb.Proclamation) -> bytes:
    return keys.pack(item.lock)


LOCK: Final = Resource(
    family=LOCKS,
    group=GROUP,
    row=pb.Lock,
    service=pb.DESCRIPTOR.services_by_name["LockService"],
    key=("name",),
    shard_by=("name",),
    storage=Storage(shard_of=place_of),
    check_key={"name": check_name},
)

_NIGHTLY: Final[dict[str, Any]] = {"lock": "jobs/nightly", "lease": "jobs/4f1c"}

CLAIM: Final = Resource(
    family=CLAIMS,
    group=GROUP,
    row=pb.Claim,
    service=pb.DESCRIPTOR.services_by_name["ClaimService"],
    key=("lock", "number"),
    shard_by=("lock",),
    storage=Storage(shard_of=place_of),
    check_key={"lock": check_name, "number": lambda _, __: None},
    view=View(cli=False),
    verbs={
        "Acquire": Verb(
            apply=_acquire,
            check=_check_acquisition,
            item=Item(key=_lock_key, repeats=True),
            examples=(
                pb.Acquisition(**_NIGHTLY, id="1", owner="worker 1", lease_ttl_ms=10_000),
                pb.Acquisition(**_NIGHTLY, id="2", owner="worker 2"),
                pb.Acquisition(**_NIGHTLY | {"lock": "jobs/slots"}, id="1", sharing=3),
                pb.Acquisition(**_NIGHTLY | {"lock": "jobs/plan"}, id="1", sharing=ANY_NUMBER),
            ),
        ),
        "Proclaim": Verb(
            apply=_proclaim,
            check=_check_proclamation,
            item=Item(key=_lock_key, repeats=True),
            examples=(pb.Proclamation(**_NIGHTLY, id="1", value=b"10.0.0.1:7400"),),
        ),
        "Release": Verb(
            apply=_release,
            check=_check_claimed,
            item=Item(key=_lock_key, repeats=True),
            examples=(pb.ClaimName(**_NIGHTLY, id="2"),),
        ),
    },
)
