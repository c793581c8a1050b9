"""What is wrong with a request whatever the rows say; it is refused before it is logged."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from quorate.plugin import Invalid
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    FinishTenantCascade,
    FinishTenantCascades,
    GetTenantRequest,
    ListTenants,
    MarkTenant,
    MarkTenants,
    UpdateTenant,
    UpdateTenants,
)

LONGEST_NAME: Final = 128
LONGEST_DESCRIPTION: Final = 1_024
MOST_LIMITS: Final = 64
LARGEST_PAGE: Final = 1_000
#: Each may ask every cascade whether it holds something.
MOST_DELETIONS: Final = 100

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def check_tenant(command: CreateTenant | UpdateTenant, field: str = "") -> None:
    """Refuse a name that is none, and more words or limits than a row may have."""
    _check_name(f"{field}name", command.name)
    length = len(command.description)
    if length > LONGEST_DESCRIPTION:
        raise Invalid(
            f"{field}description",
            f"must have at most {LONGEST_DESCRIPTION} characters, not {length}",
        )
    _check_limits(f"{field}limits", command.limits)


def check_tenants(command: CreateTenants | UpdateTenants) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    tenants: Sequence[CreateTenant | UpdateTenant] = command.tenants
    _check_any("tenants", tenants)
    for position, tenant in enumerate(tenants):
        check_tenant(tenant, f"tenants[{position}].")


def check_mark(command: MarkTenant, field: str = "") -> None:
    """Refuse a name that is none, and cascades that are not in their order."""
    _check_name(f"{field}name", command.name)
    for position, cascade in enumerate(command.cascades):
        _check_name(f"{field}cascades[{position}]", cascade)
    if list(command.cascades) != sorted(set(command.cascades)):
        raise Invalid(f"{field}cascades", "must be in the order of their names, each once")


def check_marks(command: MarkTenants) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_any("tenants", command.tenants)
    for position, tenant in enumerate(command.tenants):
        check_mark(tenant, f"tenants[{position}].")


def check_finish(command: FinishTenantCascade, field: str = "") -> None:
    """Refuse names that are none, and an id that no tenant has."""
    _check_name(f"{field}name", command.name)
    if command.id == 0:
        raise Invalid(f"{field}id", "must be that of the tenant")
    _check_name(f"{field}cascade", command.cascade)


def check_finishes(command: FinishTenantCascades) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_any("cascades", command.cascades)
    for position, cascade in enumerate(command.cascades):
        check_finish(cascade, f"cascades[{position}].")


def check_delete(request: DeleteTenantRequest) -> None:
    """Refuse a name that is none."""
    _check_name("name", request.name)


def check_deletes(request: DeleteTenantsRequest) -> None:
    """Refuse a batch that is too large, names a tenant twice, or has a wrong item."""
    _check_any("deletions", request.deletions)
    count = len(request.deletions)
    if count > MOST_DELETIONS:
        raise Invalid("deletions", f"must be at most {MOST_DELETIONS}, not {count}")
    seen: set[str] = set()
    for position, deletion in enumerate(request.deletions):
        field = f"deletions[{position}].name"
        _check_name(field, deletion.name)
        if deletion.name in seen:
            raise Invalid(field, f"names {deletion.name} a second time")
        seen.add(deletion.name)


def check_get(request: GetTenantRequest) -> None:
    """Refuse a name that is none."""
    _check_name("name", request.name)


def check_list(request: ListTenants) -> None:
    """Refuse a prefix and a position that no name can have, and a page that is too large."""
    for field, text in (("prefix", request.prefix), ("after", request.after)):
        if len(text) > LONGEST_NAME:
            raise Invalid(field, f"must have at most {LONGEST_NAME} characters, not {len(text)}")
    if request.limit > LARGEST_PAGE:
        raise Invalid("limit", f"must be at most {LARGEST_PAGE}, not {request.limit}")


def _check_limits(field: str, limits: Mapping[str, int]) -> None:
    if len(limits) > MOST_LIMITS:
        raise Invalid(field, f"must be at most {MOST_LIMITS}, not {len(limits)}")
    for name in sorted(limits):
        _check_name(f"{field}[{name[:LONGEST_NAME]!r}]", name)


def _check_any(field: str, items: Collection[object]) -> None:
    if not items:
        raise Invalid(field, "must not be empty")


def _check_name(field: str, name: str) -> None:
    if not name:
        raise Invalid(field, "must not be empty")
    if len(name) > LONGEST_NAME:
        raise Invalid(field, f"must have at most {LONGEST_NAME} characters, not {len(name)}")
    if not _NAME.fullmatch(name):
        raise Invalid(field, "must be letters, digits, '.', '_' and '-'")
