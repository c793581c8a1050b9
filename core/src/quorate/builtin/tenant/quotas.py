"""Quotas, and the usage measured against them: rows that every node keeps at hand."""

from functools import partial
from typing import Final

from quorate.plugin import Access, Admission, Invalid, Resource, Serving, Txn, Verb, View, keys
from quorate.plugin.advanced import find_row, write_row
from quorate.plugin.checking import LARGEST_PAGE, check_name, check_text
from quorate.plugin.resource.tenants import EVERYONE, QUOTAS as FAMILY, USAGES as USAGE_FAMILY
from quorate.v1 import quota_pb2 as pb

#: Limits that a kind of quota does not have.
_KINDS: Final = {"tenant": (), "identity": ("rows", "bytes"), "address": ("rows", "bytes")}
LONGEST_NAME: Final = 256


def check_kind(field: str, kind: str) -> None:
    """Refuse an unknown kind of quota."""
    if kind not in _KINDS:
        raise Invalid(field, f"must be one of {', '.join(_KINDS)}, not {kind[:128]!r}")


def check_whose(field: str, name: str) -> None:
    """Refuse an invalid name of a tenant or a caller."""
    if name != EVERYONE:
        check_text(field, name, LONGEST_NAME)


def check_quota(quota: pb.Quota, path: str) -> None:
    """Refuse limits that this kind of quota does not have."""
    if quota.kind == "tenant" and quota.name != EVERYONE:
        check_name(f"{path}name", quota.name)
    for name in _KINDS.get(quota.kind, ()):
        if getattr(quota, name):
            raise Invalid(f"{path}{name}", f"does not apply to a quota of kind {quota.kind}")


def report(txn: Txn, usage: pb.TenantUsage) -> pb.TenantUsage:
    """Store the measured usage; delete its row when no rows are left."""
    if usage.rows:
        return write_row(txn, USAGES, usage)
    if find_row(txn, USAGES, usage) is not None:
        txn.delete(USAGE_FAMILY, keys.pack(usage.tenant, usage.shard))
    return usage


_ADMIN: Final = Access(right="admin", domain=FAMILY)
_SERVICE: Final = pb.DESCRIPTOR.services_by_name["QuotaService"]

QUOTAS: Final[Resource[pb.Quota]] = Resource(
    family=FAMILY,
    row=pb.Quota,
    service=_SERVICE,
    serving=Serving(
        methods=("CreateBatch", "UpdateBatch", "PutBatch", "DeleteBatch", "Get", "List")
    ),
    key=("kind", "name"),
    check=check_quota,
    check_key={"kind": check_kind, "name": check_whose},
    view=View(table=False),
    verbs={
        verb: Verb(admission=Admission(access=_ADMIN))
        for verb in ("Create", "Update", "Put", "Delete")
    },
    examples=(
        pb.Quota(kind="tenant", name="acme", rows=100_000, bytes=1 << 30, commands_per_s=5_000),
        pb.Quota(kind="identity", name="loader", commands_per_s=50_000, watches=10),
        pb.Quota(kind="address", name=EVERYONE, calls_per_s=100, watches=10, connections=20),
    ),
)


USAGES: Final[Resource[pb.TenantUsage]] = Resource(
    family=USAGE_FAMILY,
    row=pb.TenantUsage,
    service=_SERVICE,
    serving=Serving(methods=("ListUsages",), lookups=LARGEST_PAGE),
    key=("tenant", "shard"),
    view=View(noun="tenant usage"),
    check_key={"shard": partial(check_text, longest=LONGEST_NAME)},
    verbs={
        "Report": Verb(
            apply=report,
            message=pb.ReportTenantUsages,
            examples=(
                pb.TenantUsage(tenant="acme", shard="mqtt/0", rows=12, bytes=3_400),
                pb.TenantUsage(tenant="bolt", shard="mqtt/0"),
            ),
        ),
    },
)
