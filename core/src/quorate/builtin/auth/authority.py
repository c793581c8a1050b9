"""The identities, tokens and roles of the domain's rows, in memory on every node."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from quorate.builtin.auth import families, roles, tokens
from quorate.plugin import Rejected, keys
from quorate.plugin.access import Rights
from quorate.plugin.advanced import Grant
from quorate.v1 import auth_pb2 as pb

T = TypeVar("T")


@dataclass
class _Rows:
    enabled: bool = False
    users: dict[str, pb.User] = field(default_factory=dict)
    tokens: dict[str, pb.Token] = field(default_factory=dict)
    secrets: dict[str, pb.TokenSecret] = field(default_factory=dict)
    roles: dict[str, Sequence[Grant]] = field(default_factory=dict)
    #: By user, then by role.
    bindings: dict[str, dict[str, Sequence[str]]] = field(default_factory=dict)


class AuthRows:
    """The cache of the domain's rows: the `Authority` of its node.

    While it is rebuilt, the previous rows stay in force. Whether callers must authenticate is
    unknown until it has been filled once.
    """

    def __init__(self) -> None:
        self._rows = _Rows()
        self._filling: _Rows | None = None
        self._rights: dict[str, Rights] = {}
        self._built_in: Mapping[str, Sequence[Grant]] = roles.built_in(())
        #: Whether callers must authenticate; None: not known yet.
        self.enabled: bool | None = None
        #: The domains of which rights can be granted.
        self.domains: Collection[str] = ()
        #: Why authentication would protect nothing here, with the remedy; "": it would protect.
        self.obstacle = ""

    def host(self, plugins: Iterable[str], domains: Collection[str], obstacle: str) -> None:
        """Record the plugins, domains and obstacle of the node, before it serves."""
        self._built_in, self.domains = roles.built_in(plugins), domains
        self.obstacle = obstacle
        self._changed()

    # As a cache.

    def reset(self) -> None:
        """Start a refill; the previous rows stay in force until `listed`."""
        self._filling = _Rows()

    def listed(self) -> None:
        """Put the rows received since `reset` in force."""
        if self._filling is not None:
            self._rows, self._filling = self._filling, None
        self._changed()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Store a row."""
        self._take(family, key, row)

    def delete(self, family: str, key: bytes) -> None:
        """Drop a row."""
        self._take(family, key, None)

    def _take(self, family: str, key: bytes, row: bytes | None) -> None:
        rows = self._rows if self._filling is None else self._filling
        parts = keys.unpack(key)
        name, second = str(parts[0]), str(parts[-1])
        match family:
            case families.USERS:
                _set(rows.users, name, row, pb.User.FromString)
            case families.TOKENS:
                _set(rows.tokens, second, row, pb.Token.FromString)
            case families.SECRETS:
                _set(rows.secrets, second, row, pb.TokenSecret.FromString)
            case families.ROLES:
                _set(rows.roles, name, row, lambda row: roles.grants_of(pb.Role.FromString(row)))
            case families.BINDINGS:
                bound = rows.bindings.setdefault(name, {})
                _set(bound, second, row, lambda row: tuple(pb.Binding.FromString(row).tenants))
                if not bound:
                    del rows.bindings[name]
            case families.SWITCH:
                rows.enabled = row is not None and pb.AuthSwitch.FromString(row).enabled
        self._changed()

    def _changed(self) -> None:
        self._rights.clear()
        if self._filling is None:
            self.enabled = self._rows.enabled

    # As an authority.

    def rights(self, name: str) -> Rights:
        """Return the rights of an identity; an unknown or disabled one has none."""
        found = self._rights.get(name)
        if found is None:
            found = self._rights[name] = Rights(name, tuple(self._grants(name)))
        return found

    def owner_of(self, token: str) -> str:
        """Return the user that owns a token; raises `Rejected` (UNAUTHENTICATED)."""
        rows, text = self._rows, tokens.parsed(token)
        known = rows.tokens.get(text.id) if text is not None else None
        secret = rows.secrets.get(text.id) if text is not None else None
        if known is None or secret is None or text is None or not tokens.proves(text, secret):
            raise _refused("it is unknown here, or was revoked: ask for a new one")
        if known.ends_at_ms and known.ends_at_ms <= time.time() * 1_000:
            raise _refused("it has expired: ask for a new one")
        user = rows.users.get(known.user)
        if user is None or user.disabled:
            raise _refused(f"its user {known.user} is disabled: ask an administrator")
        return known.user

    def _grants(self, name: str) -> Iterable[Grant]:
        rows = self._rows
        user = rows.users.get(name)
        if user is None or user.disabled:
            return
        for role, tenants in sorted(rows.bindings.get(name, {}).items()):
            yield from roles.within(self.granted(role), tenants)

    def granted(self, role: str) -> Sequence[Grant]:
        """Return the grants of a role; an unknown one has none."""
        return self._built_in.get(role) or self._rows.roles.get(role, ())


def _set(held: dict[str, T], name: str, row: bytes | None, read: Callable[[bytes], T]) -> None:
    """Keep what is read of a row under a name; None: the row is gone."""
    if row is None:
        held.pop(name, None)
    else:
        held[name] = read(row)


def _refused(why: str) -> Rejected:
    return Rejected("UNAUTHENTICATED", f"the token is not accepted: {why}")
