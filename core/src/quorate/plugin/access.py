"""Access control: the access a call requires, the grants of an identity, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, Literal, Protocol, runtime_checkable

from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.outcomes import Rejected

#: Each includes the ones before it. Every caller that has proved a name has `identity`.
Right = Literal["identity", "read", "write", "admin"]
#: A tenant, "" where rows are the cluster's own; and a key, or the first part of one after the
#: tenant.
Place = tuple[str, str | bytes | int]

RIGHTS: Final[Sequence[Right]] = ("identity", "read", "write", "admin")
#: Grants of every domain end here, but for those of `admin`.
GUARDED: Final = frozenset({"auth", "operations"})
#: Members, shards, backups, controllers: operations on the cluster, not on a plugin.
OPERATIONS: Final = "operations"
EVERY: Final = "*"
#: Names the bearer of a node's root token. The token gives its rights, and no name ever does.
ROOT: Final = "root"
#: Begin the names of callers that are no users: nodes, and clients of ZooKeeper by their digests.
OF_NODES: Final = "node:"
OF_DIGESTS: Final = "digest:"

_LEVELS: Final = {right: level for level, right in enumerate(RIGHTS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The access that a method's caller, or a command's sender, must have been granted.

    Fields are named as in the request, and those of a batch command as in its items.
    """

    #: The right that the operation requires on each place.
    right: Right
    #: A plugin or one of its families; "": the plugin that declares it.
    domain: str = ""
    #: The repeated field of the items to check, one by one; "": the request itself is the item.
    items: str = ""
    #: The field that names the tenant; "": the rows are the cluster's own.
    tenant: str = ""
    #: The field that names the key, or its first part after the tenant, or a prefix of keys;
    #: "": any key. Items that are text or bytes are keys.
    key: str = ""
    #: In place of the fields: the places that a request, or an item, touches.
    places: Callable[[Any], Iterable[Place]] | None = None
    #: The answer leaves out rows that the caller may not read: any grant in the domain suffices.
    filtered: bool = False

    def touched(self, request: Any) -> Iterator[Place]:
        """Yield the places that a request, or an item of a batch command, touches."""
        for item in _items(request, self.items):
            if self.places is not None:
                yield from self.places(item)
            elif isinstance(item, str | bytes):
                yield "", item
            else:
                tenant = attrgetter(self.tenant)(item) if self.tenant else ""
                yield tenant, attrgetter(self.key)(item) if self.key else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A right on a domain, of one tenant and on keys with a prefix."""

    #: With those that it includes.
    right: Right
    #: A plugin, one of its families, or `*`.
    domain: str
    #: "": every one, and the rows of the cluster itself.
    tenant: str = ""
    #: What keys begin with, after the tenant; "": any key.
    prefix: str = ""


@dataclass(eq=False, slots=True)
class Rights:
    """The grants of one identity, indexed in dicts for the frequent checks."""

    #: The name of the identity.
    name: str
    grants: Sequence[Grant]
    _everywhere: dict[str, int] = field(default_factory=dict)
    _narrow: dict[tuple[str, int], tuple[tuple[str, bytes], ...]] = field(default_factory=dict)

    @property
    def tenant(self) -> str:
        """The only tenant of all grants; "": no tenant, or more than one."""
        tenants = {each.tenant for each in self.grants}
        return tenants.pop() if len(tenants) == 1 else ""

    def covers(self, domain: str, right: Right) -> bool:
        """Whether the right holds in all of a domain."""
        level = self._everywhere.get(domain)
        if level is None:
            whole = (each for each in self._of(domain) if not (each.tenant or each.prefix))
            level = max((_LEVELS[each.right] for each in whole), default=0)
            self._everywhere[domain] = level
        return level >= _LEVELS[right]

    def some(self, domain: str, right: Right) -> bool:
        """Whether the right holds in any part of a domain."""
        return self.covers(domain, right) or bool(self._parts(domain, right))

    def reaches(self, domain: str, right: Right, place: Place) -> bool:
        """Whether the right holds at a place."""
        if self.covers(domain, right):
            return True
        tenant, key = place
        begin = key.encode() if isinstance(key, str) else key if isinstance(key, bytes) else b""
        return any(
            of in ("", tenant) and begin.startswith(prefix)
            for of, prefix in self._parts(domain, right)
        )

    def lacks(self, access: Access, domain: str, request: Any) -> str:
        """Return in words the access that a request needs and was not granted; "": all granted."""
        right = access.right
        domain = access.domain or domain
        if right == "identity" or self.covers(domain, right):
            return ""
        if access.filtered and self.some(domain, right):
            named = (tenant for tenant, _ in access.touched(request) if tenant)
            known = {of for of, _ in self._parts(domain, right)}
            missing = next((each for each in named if known.isdisjoint(("", each))), None)
            return "" if missing is None else needed(right, domain, (missing, ""))
        place = None
        for place in access.touched(request):
            if not self.reaches(domain, right, place):
                return needed(right, domain, place)
        # A request that touches no place needs the right at some place of the domain.
        return "" if place is not None or self.some(domain, right) else needed(right, domain)

    def _parts(self, domain: str, right: Right) -> tuple[tuple[str, bytes], ...]:
        level = _LEVELS[right]
        found = self._narrow.get((domain, level))
        if found is None:
            found = self._narrow[domain, level] = tuple(
                (each.tenant, each.prefix.encode())
                for each in self._of(domain)
                if _LEVELS[each.right] >= level
            )
        return found

    def _of(self, domain: str) -> Iterator[Grant]:
        plugin = domain.partition(".")[0]
        for each in self.grants:
            anywhere = each.domain == EVERY and (each.right == "admin" or plugin not in GUARDED)
            if anywhere or each.domain in (domain, plugin):
                yield each


@runtime_checkable
class Authority(Protocol):
    """The identities and grants known to a node; implemented by a cache that every node feeds."""

    @property
    def enabled(self) -> bool | None:
        """Whether callers must authenticate; None: not known yet."""

    def rights(self, name: str) -> Rights:
        """Return the grants of an identity; an unknown one has no grants."""

    def owner_of(self, token: str) -> str:
        """Return the owner of a bearer token; raises `Rejected` (UNAUTHENTICATED)."""

    def host(self, plugins: Iterable[str], domains: Collection[str], obstacle: str) -> None:
        """Record the node's plugins that are not built in, its domains, and the obstacle that makes
        authentication of callers protect nothing; "": no obstacle."""


class Open:
    """The authority of nodes that do not authenticate callers."""

    enabled: bool | None = False

    def rights(self, name: str) -> Rights:
        """Return every right."""
        return all_rights(name)

    def owner_of(self, token: str) -> str:
        """Return "": callers have no names."""
        return ""

    def host(self, plugins: Iterable[str], domains: Collection[str], obstacle: str) -> None:
        """Record nothing."""


def all_rights(name: str) -> Rights:
    """Return every right there is."""
    return Rights(name, (Grant(right="admin", domain=EVERY),))


def is_reserved(name: str) -> bool:
    """Return whether a name is the cluster's own, so that no certificate and no JWT proves it."""
    folded = name.strip().casefold()
    return folded == ROOT or folded.startswith((OF_NODES, OF_DIGESTS))


def needed(right: Right, domain: str, place: Place = ("", "")) -> str:
    """Return in words the access that a caller needs."""
    tenant, key = place
    of = f" of tenant {tenant}" if tenant else ""
    at = f" at {key!r}" if key != "" else ""
    return f"{right} on {domain}{of}{at}"


def denied(name: str, lacking: str) -> Rejected:
    """Return the refusal of a caller that lacks a right."""
    who = name or "a caller without a name"
    return Rejected("PERMISSION_DENIED", f"{who} needs {lacking}: ask for a role that grants it")


def reserved_name(name: str) -> Rejected:
    """Return the refusal of a certificate or a JWT that shows a name of the cluster itself."""
    return Rejected(
        "UNAUTHENTICATED",
        f"{name!r} is the name of a node, or reserved: a node shows its handshake as well, root "
        "its token, and everybody else a name of its own",
    )


def unknown_caller() -> Rejected:
    """Return the refusal of a caller that has proved no name."""
    return Rejected(
        "UNAUTHENTICATED",
        "this cluster authenticates callers: send a token, or show a certificate of a user",
    )


def tenant_place(key: bytes) -> Place:
    """Return the tenant of a packed key, which is its first part, and the part after it."""
    parts = keys.unpack(key)
    return str(parts[0]), parts[1] if len(parts) > 1 else ""


def cluster_place(key: bytes) -> Place:
    """Return the first part of the packed key of a row of the cluster itself."""
    parts = keys.unpack(key)
    return "", parts[0] if parts else ""


def _items(message: Any, path: str) -> Iterator[Any]:
    """Yield the values at the end of a path through repeated fields."""
    if not path:
        yield message
        return
    first, _, rest = path.partition(".")
    found = getattr(message, first)
    for each in (found,) if isinstance(found, Message) else found:
        yield from _items(each, rest)
