"""The services of identities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from quorate.v1 import auth_pb2 as pb

from tests.integration.rows.row import MANY, NOT_FOUND, STRANGE, TEXT, InPlace, Row

_GRANT: Final = pb.RoleGrant(right=pb.GRANTED_RIGHT_READ, domain="kv")


def _grant(**changes: object) -> pb.Role:
    grant = pb.RoleGrant()
    grant.CopyFrom(_GRANT)
    grant.MergeFrom(pb.RoleGrant(**changes))  # type: ignore[arg-type]
    return pb.Role(name="r", grants=[grant])


AUTH: Final = {
    "Enable": Row(
        empty="administrator",
        large=(
            (pb.EnableAuth(administrator=TEXT), "administrator"),
            (pb.EnableAuth(administrator="a", ttl_ms=1 << 62), "ttl_ms"),
        ),
        wrong=(
            (pb.EnableAuth(administrator=STRANGE), "administrator"),
            (pb.EnableAuth(administrator="a", ttl_ms=-1), "ttl_ms"),
            (pb.EnableAuth(administrator="root"), "administrator.token.name"),
        ),
    ),
    "Disable": Row(empty=None),
    "Status": Row(empty=None),
}
USER: Final = {
    "Create": Row(
        empty="name",
        large=(
            (pb.User(name=TEXT), "name"),
            (pb.User(name="u", description=TEXT), "description"),
        ),
        wrong=((pb.User(name=STRANGE), "name"), (pb.User(name="root"), "name")),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((pb.CreateUsers(users=[pb.User(name="u")] * MANY), "users"),),
        wrong=((pb.CreateUsers(users=[pb.User()]), InPlace("users[0].name")),),
    ),
    "Update": Row(
        empty="name",
        large=((pb.UserChange(name=TEXT), "name"),),
        wrong=((pb.UserChange(name=STRANGE), "name"),),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((pb.UpdateUsers(users=[pb.UserChange(name="u")] * MANY), "users"),),
        wrong=((pb.UpdateUsers(users=[pb.UserChange()]), InPlace("users[0].name")),),
    ),
    "Delete": Row(
        empty="name",
        large=((pb.DeleteUser(name=TEXT), "name"),),
        wrong=((pb.DeleteUser(name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((pb.DeleteUsers(users=[pb.DeleteUser(name="u")] * MANY), "users"),),
        wrong=((pb.DeleteUsers(users=[pb.DeleteUser()]), InPlace("users[0].name")),),
    ),
    "Get": Row(
        empty="name",
        large=((pb.GetUser(name=TEXT), "name"),),
        wrong=((pb.GetUser(name=STRANGE), "name"), (pb.GetUser(name="nobody"), NOT_FOUND)),
    ),
    "List": Row(
        empty=None,
        large=((pb.ListUsers(page_size=1_001), "page_size"), (pb.ListUsers(prefix=TEXT), "prefix")),
        wrong=((pb.ListUsers(page_token=b"\xff"), "page_token"),),
    ),
}
TOKEN: Final = {
    "Issue": Row(
        empty="user",
        large=(
            (pb.IssueToken(user=TEXT), "user"),
            (pb.IssueToken(user="u", description=TEXT), "description"),
            (pb.IssueToken(user="u", ttl_ms=1 << 62), "ttl_ms"),
        ),
        wrong=(
            (pb.IssueToken(user=STRANGE), "user"),
            (pb.IssueToken(user="u", ttl_ms=-1), "ttl_ms"),
        ),
    ),
    "Delete": Row(
        empty="user",
        large=((pb.DeleteToken(user=TEXT, id="i"), "user"),),
        wrong=((pb.DeleteToken(user="u", id=STRANGE), "id"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((pb.DeleteTokens(tokens=[pb.DeleteToken(user="u", id="i")] * MANY), "tokens"),),
        wrong=((pb.DeleteTokens(tokens=[pb.DeleteToken()]), InPlace("tokens[0].user")),),
    ),
    "Get": Row(
        empty="user",
        large=((pb.GetToken(user="u", id=TEXT), "id"),),
        wrong=((pb.GetToken(user="u", id="i"), NOT_FOUND),),
    ),
    "List": Row(
        empty=None,
        large=((pb.ListTokens(page_size=1_001), "page_size"), (pb.ListTokens(user=TEXT), "user")),
        wrong=((pb.ListTokens(prefix="p"), "prefix"),),
    ),
}
_WRONG_ROLES: Final = (
    (pb.Role(name=STRANGE), "name"),
    (pb.Role(name="admin"), "name"),
    (_grant(domain="nothing"), "grants[0].domain"),
    (_grant(domain=STRANGE), "grants[0].domain"),
    (_grant(tenant=STRANGE), "grants[0].tenant"),
    (pb.Role(name="r", grants=[pb.RoleGrant(domain="kv")]), "grants[0].right"),
)
_LARGE_ROLES: Final = (
    (pb.Role(name=TEXT), "name"),
    (pb.Role(name="r", description=TEXT), "description"),
    (pb.Role(name="r", grants=[_GRANT] * 101), "grants"),
    (_grant(prefix=TEXT), "grants[0].prefix"),
)
ROLE: Final = {
    "Create": Row(empty="name", large=_LARGE_ROLES, wrong=_WRONG_ROLES),
    "CreateBatch": Row(
        empty=None,
        large=((pb.CreateRoles(roles=[pb.Role(name="r")] * MANY), "roles"),),
        wrong=((pb.CreateRoles(roles=[pb.Role()]), InPlace("roles[0].name")),),
    ),
    "Put": Row(empty="name", large=_LARGE_ROLES, wrong=_WRONG_ROLES),
    "PutBatch": Row(
        empty=None,
        large=((pb.PutRoles(roles=[pb.Role(name="r")] * MANY), "roles"),),
        wrong=((pb.PutRoles(roles=[pb.Role()]), InPlace("roles[0].name")),),
    ),
    "Delete": Row(
        empty="name",
        large=((pb.DeleteRole(name=TEXT), "name"),),
        wrong=((pb.DeleteRole(name=STRANGE), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((pb.DeleteRoles(roles=[pb.DeleteRole(name="r")] * MANY), "roles"),),
        wrong=((pb.DeleteRoles(roles=[pb.DeleteRole()]), InPlace("roles[0].name")),),
    ),
    "Get": Row(
        empty="name",
        large=((pb.GetRole(name=TEXT), "name"),),
        wrong=((pb.GetRole(name="none"), NOT_FOUND),),
    ),
    "List": Row(
        empty=None,
        large=((pb.ListRoles(page_size=1_001), "page_size"), (pb.ListRoles(prefix=TEXT), "prefix")),
    ),
}
BINDING: Final = {
    "Put": Row(
        empty="user",
        large=(
            (pb.Binding(user=TEXT, role="r"), "user"),
            (pb.Binding(user="u", role="r", tenants=["t"] * 1_001), "tenants"),
        ),
        wrong=(
            (pb.Binding(user="u", role=STRANGE), "role"),
            (pb.Binding(user="u", role="r", tenants=[STRANGE]), "tenants[0]"),
        ),
    ),
    "PutBatch": Row(
        empty=None,
        large=((pb.PutBindings(bindings=[pb.Binding(user="u", role="r")] * MANY), "bindings"),),
        wrong=((pb.PutBindings(bindings=[pb.Binding()]), InPlace("bindings[0].user")),),
    ),
    "Delete": Row(
        empty="user",
        large=((pb.DeleteBinding(user=TEXT, role="r"), "user"),),
        wrong=((pb.DeleteBinding(user="u", role=STRANGE), "role"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=(
            (
                pb.DeleteBindings(bindings=[pb.DeleteBinding(user="u", role="r")] * MANY),
                "bindings",
            ),
        ),
        wrong=((pb.DeleteBindings(bindings=[pb.DeleteBinding()]), InPlace("bindings[0].user")),),
    ),
    "Get": Row(
        empty="user",
        large=((pb.GetBinding(user=TEXT, role="r"), "user"),),
        wrong=((pb.GetBinding(user="u", role="r"), NOT_FOUND),),
    ),
    "List": Row(
        empty=None,
        large=(
            (pb.ListBindings(page_size=1_001), "page_size"),
            (pb.ListBindings(user=TEXT), "user"),
        ),
        wrong=((pb.ListBindings(prefix="p"), "prefix"),),
    ),
}

SERVICES: Final[Mapping[str, Mapping[str, Row]]] = {
    "quorate.v1.AuthService": AUTH,
    "quorate.v1.UserService": USER,
    "quorate.v1.TokenService": TOKEN,
    "quorate.v1.RoleService": ROLE,
    "quorate.v1.BindingService": BINDING,
}
