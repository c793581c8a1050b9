"""The callers of a store, and the rights that each method demands."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Final

from quorate.plugin import NodeApi, RowEvent

from quorate_etcd import errors, families
from quorate_etcd.auth import callers, tokens
from quorate_etcd.auth.permissions import Need, Rights
from quorate_etcd.auth.rows import GUARDS
from quorate_etcd.config import EtcdConfig
from quorate_etcd.v1 import guard_pb2 as pb
from quorate_etcd.wire import rpc_pb2 as rpc

_log = logging.getLogger(__name__)

_AGAIN_S: Final = 0.5
#: Users whose rows are known.
_MOST_KNOWN: Final = 10_000
#: Methods that nobody needs to be known for.
_OPEN: Final = frozenset(("Authenticate", "AuthStatus"))
#: Methods that check their callers themselves, and those that any user may call.
_OWN: Final = frozenset(
    (
        *("Range", "RangeStream", "Put", "DeleteRange", "Txn", "Watch"),
        *("LeaseGrant", "LeaseRevoke", "LeaseTimeToLive", "LeaseLeases"),
        *("Lock", "Unlock", "Campaign", "Proclaim", "Leader", "Observe", "Resign"),
        *("UserGet", "RoleGet"),
    )
)
_ANY: Final = frozenset(("LeaseKeepAlive", "MemberList", "Status"))


class Gatekeeper:
    """Knows the users of a store as far as their tokens and methods need it.

    What a write or a read needs is checked where it is evaluated, against the rows of that moment.
    """

    def __init__(self, node: NodeApi, store: str) -> None:
        self._node: Final = node
        self._store: Final = store
        self._token_life_s: Final = node.config(EtcdConfig).auth_token_ttl_s
        #: None: not known yet.
        self._enabled: bool | None = None
        self._secret = b""
        self._users: Final[dict[str, pb.Guarded]] = {}

    async def run(self) -> None:
        """Follow the changes of users and roles for ever."""
        prefix = families.store_key(self._store)
        while True:
            try:
                async for seen in self._node.watch(GUARDS, prefix=prefix):
                    self.changed()
                    if isinstance(seen.event, RowEvent):
                        row = pb.Guard.FromString(seen.event.value or b"")
                        self._enabled = row.auth_enabled
                    elif seen.event is None and self._enabled is None:
                        self._enabled = False
            except Exception as error:  # noqa: BLE001 - it may pass
                _log.debug("cannot follow the users of store %r yet: %s", self._store, error)
            self._enabled = None
            self.changed()
            await asyncio.sleep(_AGAIN_S)

    def changed(self) -> None:
        """Forget the cached users."""
        self._users.clear()

    def guards(self, method: str) -> bool:
        """Whether the callers of a method are to `enter`."""
        return self._enabled is not False and method not in _OPEN

    async def enter(self, method: str, request: Any, context: Any) -> None:
        """Record the caller of a method; refuses a caller without the right to it."""
        if not self.guards(method):
            return
        token = _token_of(context)
        if self._enabled is None and not await self.enabled():
            return
        name = await self._named(token) if token else _certified(context)
        callers.user.set(name)
        if method in _OWN:
            return
        if not name:
            errors.EMPTY_USER.refuse()
        reads_alarms = isinstance(request, rpc.AlarmRequest) and request.action == request.GET
        if method not in _ANY and not reads_alarms and not (await self.rights(name)).root:
            errors.PERMISSION_DENIED.refuse()

    async def enabled(self) -> bool:
        """Return whether users count."""
        return (await self.find()).guard.auth_enabled

    async def rights(self, name: str) -> Rights:
        """Return the rights of a user; refuses an unknown name."""
        if not name:
            errors.EMPTY_USER.refuse()
        known = await self._known(name)
        if not known.users:
            errors.PERMISSION_DENIED.refuse()
        user = known.users[0]
        if not known.roles and user.roles:
            known.roles.extend((await self.find(roles=user.roles)).roles)
        return Rights(user, known.roles)

    async def demand(self, need: Need) -> None:
        """Refuse a range to the caller of this task unless its roles cover it."""
        if self._enabled or (self._enabled is None and await self.enabled()):
            (await self.rights(callers.user.get())).demand(need)

    async def find(self, **wanted: Any) -> pb.Guarded:
        """Return the stored users and roles."""
        query = pb.FindGuard(store=self._store, **wanted)
        found = await self._node.read(query, pb.Guarded)
        return found.rows[0]

    async def _known(self, name: str) -> pb.Guarded:
        known = self._users.get(name)
        if known is None:
            if len(self._users) >= _MOST_KNOWN:
                self._users.clear()
            known = self._users[name] = await self.find(users=[name])
            self._secret = known.secret
        return known

    async def _named(self, token: str) -> str:
        """Return the user that a token proves; refuses any other."""
        if not self._secret:
            self._secret = (await self.find()).secret
        claim = tokens.read(token, self._secret, time.time(), self._token_life_s)
        if claim is not None:
            users = (await self._known(claim.user)).users
            if users and users[0].password_revision == claim.password_revision:
                return claim.user
        return errors.INVALID_TOKEN.refuse()


def _token_of(context: Any) -> str:
    metadata = dict(context.invocation_metadata())
    token = str(metadata.get("token") or metadata.get("authorization") or "")
    return token.removeprefix("Bearer ")


def _certified(context: Any) -> str:
    """Return the common name of the certificate that the caller has shown; empty: none."""
    for name in context.auth_context().get("x509_common_name", ()):
        return str(name, "utf-8", "replace")
    return ""
