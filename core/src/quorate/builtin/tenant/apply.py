"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.builtin.tenant.families import IDS, TENANTS, tenant_key
from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    FinishTenantCascade,
    FinishTenantCascades,
    MarkTenant,
    MarkTenants,
    Tenant,
    UpdateTenant,
    UpdateTenants,
)


def create_tenant(txn: Txn, command: CreateTenant) -> Tenant:
    """Make a tenant."""
    stored = _read(txn, command.name)
    if stored is not None:
        deleting = " and is being deleted: wait until it is gone" if stored.deleting_at_ms else ""
        raise Rejected("ALREADY_EXISTS", f"tenant {command.name} is there already{deleting}")
    tenant = Tenant(
        name=command.name,
        id=txn.next_id(IDS),
        description=command.description,
        limits=command.limits,
        created_at_ms=txn.proposed_at_ms,
    )
    return _write(txn, tenant)


def create_tenants(txn: Txn, command: CreateTenants) -> BatchReply:
    """Make many tenants."""
    return answer_each(txn, command.tenants, create_tenant)


def update_tenant(txn: Txn, command: UpdateTenant) -> Tenant:
    """Replace what is said of a tenant, unless it is being deleted."""
    tenant = _there(txn, command.name)
    if tenant.deleting_at_ms:
        raise Rejected("FAILED_PRECONDITION", f"tenant {command.name} is being deleted")
    tenant.description = command.description
    tenant.limits.clear()
    tenant.limits.update(command.limits)
    return _write(txn, tenant)


def update_tenants(txn: Txn, command: UpdateTenants) -> BatchReply:
    """Replace what is said of many tenants."""
    return answer_each(txn, command.tenants, update_tenant)


def mark_tenant(txn: Txn, command: MarkTenant) -> Tenant:
    """Mark a tenant for deletion with what is to be done before; with nothing, delete it."""
    tenant = _there(txn, command.name)
    if tenant.deleting_at_ms:
        return tenant
    # Zero is no mark.
    tenant.deleting_at_ms = max(1, txn.proposed_at_ms)
    tenant.cascades.extend(command.cascades)
    return _write_or_remove(txn, tenant)


def mark_tenants(txn: Txn, command: MarkTenants) -> BatchReply:
    """Mark many tenants for deletion."""
    return answer_each(txn, command.tenants, mark_tenant)


def finish_cascade(txn: Txn, command: FinishTenantCascade) -> None:
    """Take a name off a tenant that is being deleted; the last one takes the tenant along."""
    tenant = _read(txn, command.name)
    if tenant is not None and tenant.id == command.id and command.cascade in tenant.cascades:
        tenant.cascades.remove(command.cascade)
        _write_or_remove(txn, tenant)


def finish_cascades(txn: Txn, command: FinishTenantCascades) -> BatchReply:
    """Take names off many tenants."""
    return answer_each(txn, command.cascades, finish_cascade)


def _read(txn: Txn, name: str) -> Tenant | None:
    value = txn.get(TENANTS, tenant_key(name))
    return None if value is None else Tenant.FromString(value)


def _there(txn: Txn, name: str) -> Tenant:
    tenant = _read(txn, name)
    if tenant is None:
        raise Rejected("NOT_FOUND", f"there is no tenant {name}")
    return tenant


def _write(txn: Txn, tenant: Tenant) -> Tenant:
    txn.put(TENANTS, tenant_key(tenant.name), tenant.SerializeToString(deterministic=True))
    return tenant


def _write_or_remove(txn: Txn, tenant: Tenant) -> Tenant:
    if tenant.cascades:
        return _write(txn, tenant)
    txn.delete(TENANTS, tenant_key(tenant.name))
    return tenant
