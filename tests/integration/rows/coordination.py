"""The rows of leases, locks, claims and attachments."""

from __future__ import annotations

from typing import Any, Final

from quorate.v1.command_pb2 import Command
from quorate_coordination.v1 import leases_pb2 as leases, locks_pb2 as locks

from tests.integration.rows.row import STRANGE, TEXT, InPlace, Row, by_method

TOO_MANY: Final = 1_001
CLAIM: Final = {"lock": "j/n", "lease": "j/1", "id": "1"}
END: Final = Command(
    type=leases.DeleteLeases.DESCRIPTOR.full_name,
    payload=leases.DeleteLeases(names=["j/2"], missing_ok=True).SerializeToString(),
)


def lease(**fields: Any) -> leases.CreateLeases:
    return leases.CreateLeases(leases=[leases.Lease(**{"name": "j/1", "ttl_ms": 1_000, **fields})])


def acquire(**fields: Any) -> locks.AcquireLocks:
    return locks.AcquireLocks(locks=[locks.Acquisition(**{**CLAIM, **fields})])


def release(**fields: Any) -> locks.ReleaseLocks:
    return locks.ReleaseLocks(claims=[locks.ClaimName(**{**CLAIM, **fields})])


def proclaim(**fields: Any) -> locks.ProclaimClaims:
    return locks.ProclaimClaims(claims=[locks.Proclamation(**{**CLAIM, **fields})])


def attach(**fields: Any) -> leases.AttachToLeases:
    new = leases.NewAttachment(**{"lease": "j/1", "on_end": END, **fields})
    return leases.AttachToLeases(attachments=[new])


def detach(**fields: Any) -> leases.DetachFromLeases:
    name = leases.AttachmentName(**{"lease": "j/1", "id": "1", **fields})
    return leases.DetachFromLeases(attachments=[name])


LEASES: Final = {
    "CreateBatch": Row(
        empty=None,
        large=(
            (lease(name=TEXT), InPlace("leases[0].name")),
            (lease(owner=TEXT), InPlace("leases[0].owner")),
            (lease(ttl_ms=86_400_001), InPlace("leases[0].ttl_ms")),
        ),
        wrong=(
            (lease(name=STRANGE), InPlace("leases[0].name")),
            (lease(ttl_ms=0), InPlace("leases[0].ttl_ms")),
        ),
    ),
    "RenewBatch": Row(
        empty=None,
        large=(
            (
                leases.RenewLeases(leases=[leases.LeaseRenewal(name=TEXT)]),
                InPlace("leases[0].name"),
            ),
        ),
    ),
    "DeleteBatch": Row(
        empty=None, large=((leases.DeleteLeases(names=[TEXT]), InPlace("names[0]")),)
    ),
    "Get": Row(empty=None, large=((leases.GetLeases(names=["j"] * TOO_MANY), "names"),)),
    "List": Row(
        empty=None,
        large=((leases.ListLeases(page_size=TOO_MANY), "page_size"),),
        wrong=((leases.ListLeases(page_token=b"\xff"), "page_token"),),
    ),
    "Count": Row(empty=None, large=((leases.ListLeases(prefix=TEXT), "prefix"),)),
}

ATTACHMENTS: Final = {
    "Attach": Row(
        empty=None,
        large=(
            (attach(lease=TEXT), InPlace("attachments[0].lease")),
            (attach(id=TEXT), InPlace("attachments[0].id")),
            (
                attach(on_end=Command(type=END.type, payload=bytes(8_193))),
                InPlace("attachments[0].on_end.payload"),
            ),
        ),
        wrong=(
            (attach(on_end=Command()), InPlace("attachments[0].on_end.type")),
            (
                attach(on_end=Command(type=END.type, timeout_ms=1)),
                InPlace("attachments[0].on_end.timeout_ms"),
            ),
            (attach(on_end=Command(type="no.Command")), "attachments[0].on_end.type"),
            (
                attach(on_end=Command(type=leases.ExpireLeases.DESCRIPTOR.full_name)),
                "attachments[0].on_end.type",
            ),
        ),
    ),
    "Detach": Row(
        empty=None,
        large=((detach(lease=TEXT), InPlace("attachments[0].lease")),),
        wrong=((detach(id=""), InPlace("attachments[0].id")),),
    ),
    "List": Row(
        empty=None,
        large=((leases.ListAttachments(page_size=TOO_MANY), "page_size"),),
        wrong=((leases.ListAttachments(page_token=b"\xff"), "page_token"),),
    ),
}

LOCKS: Final = {
    "Get": Row(empty=None, large=((locks.GetLocks(names=["j"] * TOO_MANY), "names"),)),
    "List": Row(
        empty=None,
        large=((locks.ListLocks(page_size=TOO_MANY), "page_size"),),
        wrong=((locks.ListLocks(page_token=b"\xff"), "page_token"),),
    ),
    "Count": Row(empty=None, large=((locks.ListLocks(prefix=TEXT), "prefix"),)),
}

CLAIMS: Final = {
    "Acquire": Row(
        empty=None,
        large=(
            (acquire(lock=TEXT), InPlace("locks[0].lock")),
            (acquire(lease=TEXT), InPlace("locks[0].lease")),
            (acquire(id=TEXT), InPlace("locks[0].id")),
            (acquire(owner=TEXT), InPlace("locks[0].owner")),
            (acquire(value=bytes(65_537)), InPlace("locks[0].value")),
            (acquire(sharing=1_001), InPlace("locks[0].sharing")),
        ),
        wrong=(
            (acquire(lock=STRANGE), InPlace("locks[0].lock")),
            (acquire(lease="k/1"), InPlace("locks[0].lease")),
            (acquire(id=""), InPlace("locks[0].id")),
            (acquire(lease_ttl_ms=999), InPlace("locks[0].lease_ttl_ms")),
        ),
    ),
    "Release": Row(
        empty=None,
        large=((release(lock=TEXT), InPlace("claims[0].lock")),),
        wrong=((release(lease="k/1"), InPlace("claims[0].lease")),),
    ),
    "Proclaim": Row(
        empty=None,
        large=((proclaim(value=bytes(65_537)), InPlace("claims[0].value")),),
        wrong=((proclaim(id=""), InPlace("claims[0].id")),),
    ),
    "Get": Row(
        empty=None,
        large=((locks.GetClaims(claims=[locks.ClaimKey(lock=TEXT)]), "claims[0].lock"),),
    ),
    "List": Row(
        empty=None,
        large=(
            (locks.ListClaims(lock=TEXT), "lock"),
            (locks.ListClaims(page_size=TOO_MANY), "page_size"),
        ),
        wrong=((locks.ListClaims(page_token=b"\xff"), "page_token"),),
    ),
}

ROWS: Final = by_method(
    {
        "quorate_coordination.v1.LeaseService": LEASES,
        "quorate_coordination.v1.AttachmentService": ATTACHMENTS,
        "quorate_coordination.v1.LockService": LOCKS,
        "quorate_coordination.v1.ClaimService": CLAIMS,
    }
)
