"""Changes and queries of users, roles and alarms: a store without space takes no more pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from quorate.plugin import Reader, Row, Txn, keys

from quorate_etcd import errors
from quorate_etcd.auth.permissions import ROOT, demand_root, is_range
from quorate_etcd.auth.rows import (
    GUARDS,
    ROLES,
    SECRETS,
    USERS,
    guard_of,
    named_key,
    role_of,
    user_of,
)
from quorate_etcd.families import end_of, store_key
from quorate_etcd.store.view import View
from quorate_etcd.v1 import guard_pb2 as pb
from quorate_etcd.wire import auth_pb2 as auth

#: Users and roles of a store.
_MOST: Final = 10_000


def administer(txn: Txn, command: pb.Administer) -> pb.Administered:
    """Change a user or a role, or whether they count; each change raises the auth revision."""
    guard = guard_of(txn, command.store)
    if guard.auth_enabled:
        demand_root(txn, command.store, command.user)
    kind = command.WhichOneof("change")
    if kind is not None and _CHANGES[kind](Change(txn, command, guard)):
        guard.auth_revision = max(guard.auth_revision, 1) + (kind != "enable" or not command.enable)
        txn.put(GUARDS, store_key(command.store), guard.SerializeToString())
    key = store_key(command.store)
    if command.secret and txn.get(SECRETS, key) is None:
        txn.put(SECRETS, key, pb.Secret(key=command.secret).SerializeToString())
    return pb.Administered(revision=View(txn, command.store).revision)


def set_alarm(txn: Txn, command: pb.SetAlarm) -> pb.Alarmed:
    """Raise an alarm, or end it; doing so again changes nothing, and is answered alike."""
    guard = guard_of(txn, command.store)
    alarms = [each for each in guard.alarms if each != command.alarm]
    if command.active:
        alarms.append(command.alarm)
    changed = len(alarms) != len(guard.alarms)
    if changed:
        del guard.alarms[:]
        guard.alarms.extend(alarms)
        txn.put(GUARDS, store_key(command.store), guard.SerializeToString())
    answered = [command.alarm] if changed or command.active else []
    return pb.Alarmed(alarms=answered, revision=View(txn, command.store).revision)


def find_guard(reader: Reader, query: pb.FindGuard) -> Iterable[pb.Guarded]:
    """Answer the rows against which requests are checked."""
    store = query.store
    secret = reader.get(SECRETS, store_key(store))
    users = (user_of(reader, store, name) for name in query.users)
    roles = (role_of(reader, store, name) for name in query.roles)
    yield pb.Guarded(
        guard=guard_of(reader, store),
        secret=b"" if secret is None else pb.Secret.FromString(secret).key,
        users=[each for each in users if each is not None],
        roles=[each for each in roles if each is not None],
        user_names=_names(reader, USERS, store) if query.names else (),
        role_names=_names(reader, ROLES, store) if query.names else (),
        revision=View(reader, store).revision,
    )


class Change:
    """A change under way."""

    def __init__(self, txn: Txn, command: pb.Administer, guard: pb.Guard) -> None:
        self.txn: Final = txn
        self.store: Final = command.store
        self.command: Final = command
        self.guard: Final = guard
        #: That of the rows which it writes.
        self.revision: Final = max(guard.auth_revision, 1) + 1

    def user(self, name: str) -> pb.User:
        """Return a user; refuses an unknown name."""
        found = user_of(self.txn, self.store, name)
        return found if found is not None else errors.USER_NOT_FOUND.refuse()

    def role(self, name: str) -> pb.Role:
        """Return a role; refuses an unknown name."""
        found = role_of(self.txn, self.store, name)
        return found if found is not None else errors.ROLE_NOT_FOUND.refuse()

    def put_user(self, user: pb.User) -> None:
        """Write a user."""
        self.txn.put(USERS, named_key(self.store, user.name), user.SerializeToString())

    def put_role(self, role: pb.Role) -> None:
        """Write a role."""
        self.txn.put(ROLES, named_key(self.store, role.name), role.SerializeToString())

    def protect_root(self, name: str) -> None:
        """Refuse to take the role root from the user root while users count."""
        if self.guard.auth_enabled and name == ROOT:
            errors.INVALID_AUTH.refuse()


def _enable(change: Change) -> bool:
    guard, wanted = change.guard, change.command.enable
    if guard.auth_enabled == wanted:
        return False
    if wanted:
        root = user_of(change.txn, change.store, ROOT)
        if root is None:
            errors.ROOT_MISSING.refuse()
        if ROOT not in root.roles:
            errors.ROOT_ROLE_MISSING.refuse()
    guard.auth_enabled = wanted
    return True


def _add_user(change: Change) -> bool:
    user = change.command.user_add
    if not user.name:
        errors.EMPTY_USER.refuse()
    if user_of(change.txn, change.store, user.name) is not None:
        errors.USER_EXISTS.refuse()
    user.password_revision = change.revision
    change.put_user(user)
    return True


def _delete_user(change: Change) -> bool:
    name = change.command.user_delete
    change.protect_root(name)
    change.user(name)
    change.txn.delete(USERS, named_key(change.store, name))
    return True


def _set_password(change: Change) -> bool:
    given = change.command.password
    user = change.user(given.name)
    user.salt, user.hash, user.password_revision = given.salt, given.hash, change.revision
    change.put_user(user)
    return True


def _grant(change: Change) -> bool:
    grant = change.command.user_grant
    user = change.user(grant.user)
    if grant.role != ROOT:
        change.role(grant.role)
    if grant.role in user.roles:
        return False
    user.roles[:] = sorted([*user.roles, grant.role])
    change.put_user(user)
    return True


def _revoke(change: Change) -> bool:
    grant = change.command.user_revoke
    if grant.user == ROOT:
        change.protect_root(grant.role)
    user = change.user(grant.user)
    if grant.role not in user.roles:
        errors.ROLE_NOT_GRANTED.refuse()
    user.roles.remove(grant.role)
    change.put_user(user)
    return True


def _add_role(change: Change) -> bool:
    name = change.command.role_add
    if not name:
        errors.EMPTY_ROLE.refuse()
    if role_of(change.txn, change.store, name) is not None:
        errors.ROLE_EXISTS.refuse()
    change.put_role(pb.Role(name=name))
    return True


def _delete_role(change: Change) -> bool:
    name = change.command.role_delete
    change.protect_root(name)
    change.role(name)
    change.txn.delete(ROLES, named_key(change.store, name))
    for row in _rows(change.txn, USERS, change.store):
        user = pb.User.FromString(row.value)
        if name in user.roles:
            user.roles.remove(name)
            change.put_user(user)
    return True


def _permit(change: Change) -> bool:
    grant = change.command.role_grant
    if not grant.HasField("permission"):
        errors.PERMISSION_NOT_GIVEN.refuse()
    given = grant.permission
    if not is_range(given.key, given.range_end):
        errors.INVALID_AUTH.refuse()
    role = change.role(grant.role)
    kept = [each for each in role.permissions if not _same_range(each, given)]
    ordered = sorted([*kept, given], key=lambda each: each.key)
    if ordered == list(role.permissions):
        return False
    del role.permissions[:]
    role.permissions.extend(ordered)
    change.put_role(role)
    return True


def _forbid(change: Change) -> bool:
    grant = change.command.role_revoke
    role = change.role(grant.role)
    kept = [each for each in role.permissions if not _same_range(each, grant.permission)]
    if len(kept) == len(role.permissions):
        errors.PERMISSION_NOT_GRANTED.refuse()
    del role.permissions[:]
    role.permissions.extend(kept)
    change.put_role(role)
    return True


_CHANGES: Final[dict[str, Callable[[Change], bool]]] = {
    "enable": _enable,
    "user_add": _add_user,
    "user_delete": _delete_user,
    "password": _set_password,
    "user_grant": _grant,
    "user_revoke": _revoke,
    "role_add": _add_role,
    "role_delete": _delete_role,
    "role_grant": _permit,
    "role_revoke": _forbid,
}


def _same_range(one: auth.Permission, other: auth.Permission) -> bool:
    return (one.key, one.range_end) == (other.key, other.range_end)


def _rows(reader: Reader, family: str, store: str) -> Iterator[Row]:
    start = store_key(store)
    return iter(reader.scan(family, start, end_of(start), limit=_MOST))


def _names(reader: Reader, family: str, store: str) -> list[str]:
    return sorted(str(keys.unpack(row.key)[1]) for row in _rows(reader, family, store))
