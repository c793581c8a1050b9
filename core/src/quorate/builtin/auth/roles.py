"""Roles: the built-in ones, and the grants in the rows of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from quorate.plugin.access import EVERY, OPERATIONS, Right
from quorate.plugin.advanced import Grant
from quorate.v1 import auth_pb2 as pb

ADMIN: Final = "admin"

_READER: Final = (
    Grant(right="read", domain=EVERY),
    # The work of nodes and controllers is no secret.
    Grant(right="read", domain=OPERATIONS),
)
#: The built-in domains that brokers and loaders write.
_BROKERS: Final = ("cluster", "kv")
_LOADS: Final = ("kv",)

#: By name, with the purpose of each.
BUILT_IN: Final[Mapping[str, str]] = {
    ADMIN: "may do everything",
    "operator": "reads everything, writes tenants and settings, and carries out operations",
    "reader": "reads everything",
    "broker": "reads everything, registers in clusters, and writes pairs and rows of plugins",
    "loader": "reads everything, and writes pairs and rows of plugins",
}

_RIGHTS: Final[Mapping[pb.GrantedRight, Right]] = {
    pb.GRANTED_RIGHT_READ: "read",
    pb.GRANTED_RIGHT_WRITE: "write",
    pb.GRANTED_RIGHT_ADMIN: "admin",
}
_WORDS: Final = {right: number for number, right in _RIGHTS.items()}


def built_in(plugins: Iterable[str]) -> Mapping[str, Sequence[Grant]]:
    """Return the grants of the built-in roles on a node that serves these plugins."""
    kept = tuple(plugins)
    return {
        ADMIN: (Grant(right="admin", domain=EVERY),),
        "operator": (*_READER, *_write(OPERATIONS, "tenant", "resource")),
        "reader": _READER,
        "broker": (*_READER, *_write(*_BROKERS, *kept)),
        "loader": (*_READER, *_write(*_LOADS, *kept)),
    }


def grants_of(role: pb.Role) -> Sequence[Grant]:
    """Return the grants in a role's row, but those of rights from a later release."""
    return tuple(
        Grant(
            right=_RIGHTS[each.right],
            domain=each.domain,
            tenant=each.tenant,
            prefix=each.prefix,
        )
        for each in role.grants
        if each.right in _RIGHTS
    )


def within(grants: Sequence[Grant], tenants: Sequence[str]) -> Iterator[Grant]:
    """Yield grants restricted to some tenants; without tenants, all of them as they are."""
    if not tenants:
        yield from grants
        return
    for grant in grants:
        for tenant in tenants:
            if grant.tenant in ("", tenant):
                yield replace(grant, tenant=tenant)


def shown(grants: Iterable[Grant]) -> Iterator[pb.RoleGrant]:
    """Yield grants as messages."""
    for each in grants:
        yield pb.RoleGrant(
            right=_WORDS[each.right],
            domain=each.domain,
            tenant=each.tenant,
            prefix=each.prefix,
        )


def _write(*domains: str) -> Iterator[Grant]:
    return (Grant(right="write", domain=each) for each in domains)
