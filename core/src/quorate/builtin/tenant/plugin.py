"""Declarations of the domain: tenants, which are deleted after their rows in other plugins."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from quorate.builtin.tenant.quotas import QUOTAS, USAGES
from quorate.plugin import (
    Access,
    Admission,
    CliCommand,
    Declaration,
    Extension,
    ExtensionPoint,
    Invalid,
    Item,
    NodeApi,
    Rejected,
    Resource,
    Serving,
    Storage,
    Txn,
    Verb,
    hookimpl,
    keys,
)
from quorate.plugin.advanced import TenantCascade, find_row, get_row, write_row
from quorate.plugin.checking import check_description, check_most, check_name
from quorate.plugin.invalid_items import CheckedItems
from quorate.plugin.resource.tenants import CASCADES, TENANTS as FAMILY
from quorate.v1 import tenant_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

#: The sequence of the tenants' ids.
IDS: Final = "tenant.ids"
MOST_LIMITS: Final = 64
#: Each may ask every cascade whether it holds rows of the tenant.
MOST_DELETIONS: Final = 100


def check_tenant(tenant: pb.CreateTenant | pb.PutTenant | pb.UpdateTenant, path: str) -> None:
    """Refuse a description that is too long, too many limits, and invalid names of limits."""
    check_description(f"{path}description", tenant.description)
    check_most(f"{path}limits", len(tenant.limits), MOST_LIMITS)
    for name in sorted(tenant.limits):
        check_name(f"{path}limits[{name[:128]!r}]", name)


def check_mark(mark: pb.MarkTenant, path: str) -> None:
    """Refuse invalid names of cascades, and names that are repeated or out of order."""
    for position, cascade in enumerate(mark.cascades):
        check_name(f"{path}cascades[{position}]", cascade)
    if list(mark.cascades) != sorted(set(mark.cascades)):
        raise Invalid(f"{path}cascades", "must be in the order of their names, each once")


def check_finish(finish: pb.FinishTenantCascade, path: str) -> None:
    """Refuse an invalid name of a cascade, and the id zero."""
    if finish.id == 0:
        raise Invalid(f"{path}id", "must be the id of the tenant")
    check_name(f"{path}cascade", finish.cascade)


def change(txn: Txn, before: pb.Tenant | None, after: pb.Tenant | None) -> None:
    """Give a new tenant its id; refuse to change one that is being deleted."""
    if before is None and after is not None:
        after.id = txn.next_id(IDS)
    elif before is not None and before.deleting_at_ms:
        raise Rejected("FAILED_PRECONDITION", f"tenant {before.name} is being deleted")


def mark(txn: Txn, command: pb.MarkTenant) -> pb.Tenant:
    """Mark a tenant for deletion with the cascades that come first; without any, delete it."""
    if command.missing_ok and find_row(txn, TENANTS, command) is None:
        return pb.Tenant()
    tenant = get_row(txn, TENANTS, command)
    if tenant.deleting_at_ms:
        return tenant
    # Zero is no mark.
    tenant.deleting_at_ms = max(1, txn.proposed_at_ms)
    tenant.cascades.extend(command.cascades)
    return _write_or_remove(txn, tenant)


def finish_cascade(txn: Txn, command: pb.FinishTenantCascade) -> None:
    """Remove a finished cascade from a tenant being deleted; the last one deletes the tenant."""
    tenant = find_row(txn, TENANTS, command)
    if tenant is not None and tenant.id == command.id and command.cascade in tenant.cascades:
        tenant.cascades.remove(command.cascade)
        _write_or_remove(txn, tenant)


def _write_or_remove(txn: Txn, tenant: pb.Tenant) -> pb.Tenant:
    if tenant.cascades:
        return write_row(txn, TENANTS, tenant)
    txn.delete(FAMILY, keys.pack(tenant.name))
    return tenant


class Deletions:
    """Deletes tenants: the cascades are known to the nodes, not to the handlers."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._cascades: Final[Mapping[str, TenantCascade]] = node.extensions(
            CASCADES, TenantCascade
        )

    async def Delete(self, request: pb.DeleteTenantRequest, context: object) -> pb.Tenant:
        """Mark a tenant for deletion; without `cascade`, refuse to while it holds rows."""
        check_name("name", request.name)
        return await self._node.propose(await self._mark(request), pb.Tenant)

    async def DeleteBatch(self, request: pb.DeleteTenantsRequest, context: object) -> BatchReply:
        """Mark many tenants for deletion in one proposal; each is refused on its own."""
        _check_deletions(request)
        checked = CheckedItems[pb.MarkTenant](len(request.deletions))
        for position, deletion in enumerate(request.deletions):
            try:
                checked.valid[position] = await self._mark(deletion)
            except Rejected as refusal:
                # A new exception: the raised one holds its frames, and they hold the request.
                checked.refusals[position] = Rejected(refusal.code, refusal.message)
        return await checked.execute(
            lambda marks: self._node.propose(pb.MarkTenants(tenants=marks), BatchReply)
        )

    async def _mark(self, request: pb.DeleteTenantRequest) -> pb.MarkTenant:
        """Return the mark with every cascade: rows written meanwhile are deleted as well."""
        names = sorted(self._cascades)
        if not request.cascade:
            holders = [
                name for name in names if await self._cascades[name].holds(self._node, request.name)
            ]
            if holders:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"tenant {request.name} holds something in {', '.join(holders)}: "
                    "delete that first, or set cascade",
                )
        return pb.MarkTenant(name=request.name, cascades=names, missing_ok=request.missing_ok)


def _check_deletions(request: pb.DeleteTenantsRequest) -> None:
    check_most("deletions", len(request.deletions), MOST_DELETIONS)
    seen: set[str] = set()
    for position, deletion in enumerate(request.deletions):
        field = f"deletions[{position}].name"
        check_name(field, deletion.name)
        if deletion.name in seen:
            raise Invalid(field, f"names {deletion.name} a second time")
        seen.add(deletion.name)


_ACME: Final = pb.Tenant(name="acme", description="makes everything", limits={"topics": 10})
#: The first id of a shard is 1.
_DONE: Final = tuple(
    pb.FinishTenantCascade(name="acme", id=1, cascade=each) for each in ("offset", "mqtt")
)

#: Tenants own rows of other domains; the host copies them to the shards that read them.
TENANTS: Final[Resource[pb.Tenant]] = Resource(
    family=FAMILY,
    row=pb.Tenant,
    service=pb.DESCRIPTOR.services_by_name["TenantService"],
    key=("name",),
    check=check_tenant,
    serving=Serving(
        internal=("id", "deleting_at_ms", "cascades"),
        servicer=Deletions,
        access={
            "Delete": Access(right="write", domain=FAMILY, key="name"),
            "DeleteBatch": Access(right="write", domain=FAMILY, items="deletions", key="name"),
        },
    ),
    storage=Storage(changed=change, mirrored=True),
    examples=(pb.Tenant(name="bolt"), _ACME),
    verbs={
        "Delete": Verb(admission=Admission(by_hand=True)),
        "Mark": Verb(
            apply=mark,
            check=check_mark,
            message=pb.MarkTenants,
            examples=(
                pb.MarkTenant(name="bolt"),
                pb.MarkTenant(name="acme", cascades=["mqtt", "offset"]),
            ),
        ),
        "FinishCascade": Verb(
            apply=finish_cascade,
            check=check_finish,
            message=pb.FinishTenantCascades,
            item=Item(key=lambda finish: keys.pack(finish.name, finish.id, finish.cascade)),
            examples=_DONE,
        ),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        *(TENANTS, QUOTAS, USAGES),
        CliCommand(
            name="tenant",
            help="See and change tenants, their quotas and those of callers.",
            load=lambda: import_module("quorate.builtin.tenant.cli").tenant,
            former={"tenant usage": "tenant quota status"},
        ),
        ExtensionPoint(name=CASCADES, type=TenantCascade),
        Extension(point="cluster.console_groups", name="tenant", value="Tenants"),
    ]
