"""Access control lists: validation and the rights that they grant."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from quorate_zookeeper.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_zookeeper.wire.codes import Perm

#: Maximum size of a list: each change of a znode is published with it, and with its parent's.
MOST_BYTES: Final = 1 << 14
#: The size of an entry beside its text.
_ENTRY_BYTES: Final = 16
#: The schemes of identities that `auth` in a list stands for.
_PROVED = ("digest", "sasl", "x509")


def is_everybodys(entry: rows.Acl) -> bool:
    """Return whether an entry grants every right to every client."""
    return entry.scheme == "world" and entry.perms == Perm.ALL and entry.id == "anyone"


def is_open(acl: Sequence[rows.Acl]) -> bool:
    """Return whether a list grants every right to every client; it is stored as an empty list."""
    return any(map(is_everybodys, acl))


def accepted(acl: Iterable[rows.Acl], identities: Iterable[pb.Identity]) -> list[rows.Acl] | None:
    """Return a list in its stored form, each entry once; None if it is refused."""
    found: dict[tuple[int, str, str], rows.Acl] = {}
    room = MOST_BYTES
    for each in acl:
        if each.scheme == "auth":
            entries = [
                rows.Acl(perms=each.perms, scheme=who.scheme, id=who.id)
                for who in identities
                if who.scheme in _PROVED
            ]
            if not entries:
                return None
        elif _is_valid(each):
            entries = [each]
        else:
            return None
        for entry in entries:
            found.setdefault((entry.perms, entry.scheme, entry.id), entry)
            room -= len(entry.scheme) + len(entry.id) + _ENTRY_BYTES
        if room < 0:
            return None
    return list(found.values()) or None


def allows(acl: Sequence[rows.Acl], identities: Sequence[pb.Identity], perms: int) -> bool:
    """Return whether a stored list grants one of these rights to a client with these identities."""
    if not acl:
        return True
    if any(who.scheme == "super" for who in identities):
        return True
    return any(
        each.scheme == "world" or any(_matches(each, who) for who in identities)
        for each in acl
        if each.perms & perms
    )


def shown(acl: Sequence[rows.Acl], identities: Sequence[pb.Identity]) -> Iterable[rows.Acl]:
    """Return a stored list as replied: hashes are shown only to clients that may change it."""
    if not acl:
        return [rows.Acl(perms=Perm.ALL, scheme="world", id="anyone")]
    if allows(acl, identities, Perm.ADMIN):
        return acl
    return [
        rows.Acl(perms=each.perms, scheme=each.scheme, id=each.id.split(":")[0] + ":x")
        if each.scheme == "digest"
        else each
        for each in acl
    ]


def _is_valid(entry: rows.Acl) -> bool:
    match entry.scheme:
        case "world":
            return entry.id == "anyone"
        case "digest":
            return entry.id.count(":") == 1
        case "ip":
            return _network(entry.id) is not None
        case "x509" | "sasl":
            return bool(entry.id)
    return False


def _matches(entry: rows.Acl, who: pb.Identity) -> bool:
    if entry.scheme != who.scheme:
        return entry.scheme == "sasl" and who.scheme == "super"
    if entry.scheme != "ip":
        return entry.id == who.id
    network = _network(entry.id)
    try:
        return network is not None and ipaddress.ip_address(who.id) in network
    except ValueError:
        return False


@lru_cache(1_024)
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
