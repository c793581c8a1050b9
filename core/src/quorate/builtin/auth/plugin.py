"""Declarations of the domain: users, tokens, roles and bindings, and the switch over them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any, Final

from quorate.builtin.auth import roles
from quorate.builtin.auth.authority import AuthRows
from quorate.builtin.auth.families import BINDINGS, ROLES, SECRETS, SWITCH, TOKENS, USERS
from quorate.builtin.auth.service import AuthServicer, TokenServicer, admit_roles
from quorate.plugin import (
    Access,
    Admission,
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    Declaration,
    Extension,
    GrpcService,
    Invalid,
    Item,
    Reader,
    Rejected,
    Resource,
    Serving,
    Storage,
    Txn,
    Verb,
    hookimpl,
    keys,
)
from quorate.plugin.access import EVERY, is_reserved
from quorate.plugin.advanced import find_row, get_row, remove_row, write_row
from quorate.plugin.checking import check_count, check_description, check_longest, check_name
from quorate.v1 import auth_pb2 as pb

#: One shard holds all rows: a change can read every row that it depends on.
GROUP: Final = "metadata"
MOST_GRANTS: Final = 100
LONGEST_PREFIX: Final = 1_024
MOST_TENANTS: Final = 1_000

_THE_SWITCH: Final = keys.pack("switch")


def check_user(user: pb.User | pb.UserChange, path: str) -> None:
    """Refuse a name reserved for nodes, and a description that is too long."""
    if is_reserved(user.name):
        raise Invalid(f"{path}name", f"{user.name} is reserved: use another name")
    check_description(f"{path}description", user.description)


def check_role(role: pb.Role, path: str) -> None:
    """Refuse invalid grants, and the name of a built-in role."""
    _check_own_role(f"{path}name", role.name)
    check_description(f"{path}description", role.description)
    check_count(f"{path}grants", role.grants, MOST_GRANTS)
    for position, grant in enumerate(role.grants):
        within = f"{path}grants[{position}]."
        if not grant.right or grant.right not in pb.GrantedRight.values():
            raise Invalid(f"{within}right", "must be read, write or admin")
        if grant.domain != EVERY:
            for part in grant.domain.split(".", 1):
                check_name(f"{within}domain", part)
        if grant.tenant:
            check_name(f"{within}tenant", grant.tenant)
        check_longest(f"{within}prefix", grant.prefix, LONGEST_PREFIX)


def check_binding(binding: pb.Binding, path: str) -> None:
    """Refuse too many tenants, and invalid names of tenants."""
    check_count(f"{path}tenants", binding.tenants, MOST_TENANTS)
    for position, tenant in enumerate(binding.tenants):
        check_name(f"{path}tenants[{position}]", tenant)


def _check_own_role(field: str, name: str) -> None:
    if name in roles.BUILT_IN:
        raise Invalid(field, f"{name} is built in, and stays as it is: use another name")


def user_changed(txn: Txn, before: pb.User | None, after: pb.User | None) -> None:
    """Delete a user's tokens and bindings with it; refuse to lose the last administrator."""
    if before is None or (after is not None and not after.disabled):
        return
    _keep_an_administrator(txn, lost=before.name)
    if after is None:
        for family in (TOKENS, SECRETS, BINDINGS):
            for row in list(txn.scan(family, *keys.prefix(before.name))):
                txn.delete(family, row.key)


def role_changed(txn: Txn, before: pb.Role | None, after: pb.Role | None) -> None:
    """Refuse to delete a role that a binding names."""
    if before is not None and after is None:
        for binding in _bindings(txn):
            if binding.role == before.name:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"user {binding.user} has the role {before.name}: delete that binding first",
                )


def binding_changed(txn: Txn, before: pb.Binding | None, after: pb.Binding | None) -> None:
    """Refuse a binding of a missing user or role, and the loss of the last administrator."""
    if after is not None:
        if txn.get(USERS, keys.pack(after.user)) is None:
            raise Rejected("NOT_FOUND", f"there is no user {after.user}: create it")
        if after.role not in roles.BUILT_IN and txn.get(ROLES, keys.pack(after.role)) is None:
            raise Rejected("NOT_FOUND", f"there is no role {after.role}: create it")
    if before is not None and before.role == roles.ADMIN and (after is None or after.tenants):
        _keep_an_administrator(txn, lost=before.user)


def keep_token(txn: Txn, command: pb.KeepToken) -> pb.Token:
    """Store a new token of a user."""
    token = deepcopy(command.token)
    get_row(txn, USER, pb.UserChange(name=token.user))
    token.created_at_ms = txn.proposed_at_ms
    secret = command.secret.SerializeToString(deterministic=True)
    txn.put(SECRETS, keys.pack(token.user, token.id), secret)
    return write_row(txn, TOKEN, token)


def revoke_token(txn: Txn, command: pb.DeleteToken) -> pb.Token | None:
    """Delete a token, unless administrators would be left without any."""
    token = find_row(txn, TOKEN, command)
    if token is None and command.missing_ok:
        return None
    token = get_row(txn, TOKEN, command)
    if not command.force and _enabled(txn):
        administrators = set(_administrators(txn))
        if token.user in administrators and not any(
            each.id != token.id and (not each.ends_at_ms or each.ends_at_ms > txn.proposed_at_ms)
            for user in sorted(administrators)
            for each in _tokens(txn, user)
        ):
            raise Rejected(
                "FAILED_PRECONDITION",
                "it is the last token of any administrator: create another one first, or set force "
                "if administrators have certificates",
            )
    txn.delete(SECRETS, keys.pack(token.user, token.id))
    remove_row(txn, TOKEN, token)
    return token


def switch(txn: Txn, command: pb.SwitchAuth) -> None:
    """Turn authentication on, with a first administrator, or turn it off."""
    if command.enabled:
        if _enabled(txn):
            raise Rejected("ALREADY_EXISTS", "authentication is already enabled")
        name = command.administrator.token.user
        user = find_row(txn, USER, pb.UserChange(name=name)) or pb.User(
            name=name, created_at_ms=txn.proposed_at_ms
        )
        user.disabled = False
        write_row(txn, USER, user)
        write_row(txn, BINDING, pb.Binding(user=name, role=roles.ADMIN))
        keep_token(txn, command.administrator)
    row = pb.AuthSwitch(enabled=command.enabled, updated_at_ms=txn.proposed_at_ms)
    txn.put(SWITCH, _THE_SWITCH, row.SerializeToString(deterministic=True))


def check_switch(command: pb.SwitchAuth) -> None:
    """Refuse to turn authentication on without a valid administrator."""
    if command.enabled:
        check_name("administrator.token.user", command.administrator.token.user)
        check_user(pb.User(name=command.administrator.token.user), "administrator.token.")


def _enabled(reader: Reader) -> bool:
    row = reader.get(SWITCH, _THE_SWITCH)
    return row is not None and pb.AuthSwitch.FromString(row).enabled


def _keep_an_administrator(txn: Txn, *, lost: str) -> None:
    if _enabled(txn) and set(_administrators(txn)) == {lost}:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"{lost} is the last administrator: create another one first, or no caller could "
            "grant access",
        )


def _administrators(reader: Reader) -> Iterator[str]:
    for binding in _bindings(reader):
        if binding.role == roles.ADMIN and not binding.tenants:
            row = reader.get(USERS, keys.pack(binding.user))
            if row is not None and not pb.User.FromString(row).disabled:
                yield binding.user


def _bindings(reader: Reader) -> Iterator[pb.Binding]:
    for row in reader.scan(BINDINGS, b"", b"\xff"):
        yield pb.Binding.FromString(row.value)


def _tokens(reader: Reader, user: str) -> Iterator[pb.Token]:
    for row in reader.scan(TOKENS, *keys.prefix(user)):
        yield pb.Token.FromString(row.value)


def _service(name: str) -> Any:
    return pb.DESCRIPTOR.services_by_name[name]


_ADA: Final = pb.User(name="ada", description="writes programs")
_KEPT: Final = pb.KeepToken(
    token=pb.Token(user="ada", id="00"), secret=pb.TokenSecret(salt=b"salt", hash=b"hash")
)

USER: Final[Resource[pb.User]] = Resource(
    family=USERS,
    row=pb.User,
    service=_service("UserService"),
    key=("name",),
    check=check_user,
    storage=Storage(changed=user_changed),
    examples=(_ADA, pb.User(name="eve")),
)

TOKEN: Final = Resource(
    family=TOKENS,
    row=pb.Token,
    service=_service("TokenService"),
    key=("user", "id"),
    serving=Serving(
        servicer=TokenServicer, access={"Issue": Access(right="write", domain=TOKENS, key="user")}
    ),
    verbs={
        "Keep": Verb(
            apply=keep_token,
            message=pb.KeepTokens,
            item=Item(key=lambda each: keys.pack(each.token.user, each.token.id)),
            examples=(_KEPT,),
        ),
        "Delete": Verb(apply=revoke_token, examples=(pb.DeleteToken(user="ada", id="00"),)),
    },
)

ROLE: Final[Resource[pb.Role]] = Resource(
    family=ROLES,
    row=pb.Role,
    service=_service("RoleService"),
    key=("name",),
    check=check_role,
    storage=Storage(changed=role_changed),
    verbs={
        "Create": Verb(admission=Admission(admit=admit_roles)),
        "Put": Verb(admission=Admission(admit=admit_roles)),
    },
    examples=(
        pb.Role(
            name="shop",
            grants=[pb.RoleGrant(right=pb.GRANTED_RIGHT_WRITE, domain="kv", prefix="shop/")],
        ),
        pb.Role(name="nothing"),
    ),
)

BINDING: Final[Resource[pb.Binding]] = Resource(
    family=BINDINGS,
    row=pb.Binding,
    service=_service("BindingService"),
    key=("user", "role"),
    check=check_binding,
    storage=Storage(changed=binding_changed),
    examples=(
        pb.Binding(user="ada", role="reader"),
        pb.Binding(user="ada", role="broker", tenants=["acme"]),
    ),
)

_ENABLE: Final = pb.SwitchAuth(enabled=True, administrator=_KEPT)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        *(USER, ROLE, BINDING, TOKEN),
        ColumnFamily(name=SECRETS, group=GROUP, row=pb.TokenSecret),
        ColumnFamily(name=SWITCH, group=GROUP, row=pb.AuthSwitch),
        Command(
            message=pb.SwitchAuth,
            group=GROUP,
            apply=switch,
            shard_key=lambda _: b"",
            validate=check_switch,
            examples=(_ENABLE, pb.SwitchAuth()),
        ),
        Cache(
            name="auth.rows",
            group=GROUP,
            families=(USERS, TOKENS, SECRETS, ROLES, BINDINGS, SWITCH),
            factory=AuthRows,
        ),
        GrpcService(
            service=_service("AuthService"),
            servicer=AuthServicer,
            access={
                **dict.fromkeys(("Enable", "Disable"), Access(right="admin")),
                "Status": Access(right="identity"),
            },
        ),
        CliCommand(
            name="auth",
            help="Manage users, tokens and roles.",
            load=lambda: import_module("quorate.builtin.auth.cli").command,
        ),
        Extension(point="cluster.console_groups", name="auth", value="Access"),
    ]
