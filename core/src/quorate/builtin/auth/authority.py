"""What every node knows of identities: the rows of the domain, ready to be asked."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.builtin.auth import families, roles, tokens
from quorate.plugin import Grant, Rejected, keys
from quorate.plugin.access import Rights
from quorate.v1 import auth_pb2 as pb


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

    While it is rebuilt the rows of before count. It is not known whether callers are asked until
    it was filled once.
    """

    def __init__(self) -> None:
        self._rows = _Rows()
        self._filling: _Rows | None = None
        self._rights: dict[str, Rights] = {}
        self._built_in: Mapping[str, Sequence[Grant]] = roles.built_in(())
        #: Whether callers are asked who they are; None: not known yet.
        self.enabled: bool | None = None
        #: What can be granted.
        self.domains: Collection[str] = ()
        #: Why callers' identities would protect nothing here, and what to do; "": they would.
        self.obstacle = ""

    def host(self, plugins: Iterable[str], domains: Collection[str], obstacle: str) -> None:
        """Record what the node serves, before it does."""
        self._built_in, self.domains = roles.built_in(plugins), domains
        self.obstacle = obstacle
        self._changed()

    # As a cache.

    def reset(self) -> None:
        """Begin anew; the rows of before count until all have come."""
        self._filling = _Rows()

    def listed(self) -> None:
        """Let the rows count that came since."""
        if self._filling is not None:
            self._rows, self._filling = self._filling, None
        self._changed()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Take a row."""
        rows = self._rows if self._filling is None else self._filling
        parts = keys.unpack(key)
        name, second = str(parts[0]), str(parts[-1])
        match family:
            case families.USERS:
                rows.users[name] = pb.User.FromString(row)
            case families.TOKENS:
                rows.tokens[second] = pb.Token.FromString(row)
            case families.SECRETS:
                rows.secrets[second] = pb.TokenSecret.FromString(row)
            case families.ROLES:
                rows.roles[name] = roles.grants_of(pb.Role.FromString(row))
            case families.BINDINGS:
                bound = pb.Binding.FromString(row)
                rows.bindings.setdefault(name, {})[second] = tuple(bound.tenants)
            case families.SWITCH:
                rows.enabled = pb.AuthSwitch.FromString(row).enabled
        self._changed()

    def delete(self, family: str, key: bytes) -> None:
        """Forget a row."""
        rows = self._rows if self._filling is None else self._filling
        parts = keys.unpack(key)
        name, second = str(parts[0]), str(parts[-1])
        match family:
            case families.USERS:
                rows.users.pop(name, None)
            case families.TOKENS:
                rows.tokens.pop(second, None)
            case families.SECRETS:
                rows.secrets.pop(second, None)
            case families.ROLES:
                rows.roles.pop(name, None)
            case families.BINDINGS:
                if bound := rows.bindings.pop(name, None):
                    bound.pop(second, None)
                    if bound:
                        rows.bindings[name] = bound
            case families.SWITCH:
                rows.enabled = False
        self._changed()

    def _changed(self) -> None:
        self._rights.clear()
        if self._filling is None:
            self.enabled = self._rows.enabled

    # As an authority.

    def rights(self, name: str) -> Rights:
        """Return what an identity was granted; nothing, for one that is unknown or disabled."""
        found = self._rights.get(name)
        if found is None:
            found = self._rights[name] = Rights(name, tuple(self._grants(name)))
        return found

    def owner_of(self, token: str) -> str:
        """Return whose a token is; raises `Rejected` (UNAUTHENTICATED)."""
        rows, text = self._rows, tokens.parsed(token)
        known = rows.tokens.get(text.id) if text is not None else None
        secret = rows.secrets.get(text.id) if text is not None else None
        if known is None or secret is None or text is None or not tokens.proves(text, secret):
            raise _refused("it is unknown here, or was revoked: ask for a new one")
        if known.ends_at_ms and known.ends_at_ms <= time.time() * 1_000:
            raise _refused("it has ended: ask for a new one")
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
        """Return what a role grants; nothing, for one that is unknown."""
        return self._built_in.get(role) or self._rows.roles.get(role, ())


_WHAT: Final = "the token is not taken"


def _refused(why: str) -> Rejected:
    return Rejected("UNAUTHENTICATED", f"{_WHAT}: {why}")
