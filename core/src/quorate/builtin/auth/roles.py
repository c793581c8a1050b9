"""Roles: the built-in ones, and what rows of others grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from quorate.plugin import Grant
from quorate.plugin.access import EVERY, OPERATIONS, Right
from quorate.v1 import auth_pb2 as pb

ADMIN: Final = "admin"

_READER: Final = (
    Grant(right="read", domain=EVERY),
    # What nodes and controllers do is no secret.
    Grant(right="read", domain=OPERATIONS),
)
#: The builtin domains that brokers, and what loads data, write.
_BROKERS: Final = ("cluster", "kv")
_LOADS: Final = ("kv",)

#: By name, with what each is for.
BUILT_IN: Final[Mapping[str, str]] = {
    ADMIN: "may do everything",
    "operator": "reads everything, writes tenants and settings, and carries out operations",
    "reader": "reads everything",
    "broker": "reads everything, registers in clusters, and writes pairs and what plugins keep",
    "loader": "reads everything, and writes pairs and what plugins keep",
}

_RIGHTS: Final[Mapping[pb.GrantedRight, Right]] = {
    pb.GRANTED_RIGHT_READ: "read",
    pb.GRANTED_RIGHT_WRITE: "write",
    pb.GRANTED_RIGHT_ADMIN: "admin",
}
_WORDS: Final = {right: number for number, right in _RIGHTS.items()}


def built_in(plugins: Iterable[str]) -> Mapping[str, Sequence[Grant]]:
    """Return what the built-in roles grant where these plugins are served beside the domains."""
    kept = tuple(plugins)
    return {
        ADMIN: (Grant(right="admin", domain=EVERY),),
        "operator": (*_READER, *_write(OPERATIONS, "tenant", "resource")),
        "reader": _READER,
        "broker": (*_READER, *_write(*_BROKERS, *kept)),
        "loader": (*_READER, *_write(*_LOADS, *kept)),
    }


def grants_of(role: pb.Role) -> Sequence[Grant]:
    """Return what a role's row grants; what a later release wrote there grants nothing here."""
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
    """Yield what is left of grants in some tenants; without any, all of it."""
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
