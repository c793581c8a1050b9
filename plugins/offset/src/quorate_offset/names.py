"""Validation of names, and of the tenants that they belong to."""

from typing import Final

from quorate.plugin import Invalid, Txn
from quorate.plugin.resource import tenant_there

LONGEST_NAME: Final = 255


def name_fault(name: str) -> str:
    """Return the fault of the name of a tenant, group or topic; empty if it is valid."""
    if not name:
        return "must not be empty"
    if len(name) > LONGEST_NAME:
        return f"must have at most {LONGEST_NAME} characters, not {len(name)}"
    return ""


def check_name(field: str, name: str) -> None:
    """Refuse an invalid name."""
    fault = name_fault(name)
    if fault:
        raise Invalid(field, fault)


def accept_tenant(txn: Txn, tenant: str) -> None:
    """Refuse new data of a tenant that does not exist or is being deleted."""
    check_name("tenant", tenant)
    tenant_there(txn, tenant)
