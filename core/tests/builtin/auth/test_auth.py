"""Users, tokens, roles and bindings: what they make of each other, and what is never lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.builtin.auth import families, plugin
from quorate.builtin.auth.authority import AuthRows
from quorate.plugin import Invalid, Rejected, keys
from quorate.plugin.catalog import build
from quorate.plugin.discovery import Plugin
from quorate.testing import MemoryNode
from quorate.v1 import auth_pb2 as pb
from quorate.v1.batch_pb2 import BatchReply

OWN = build([Plugin(name="auth", distribution="quorate", version="1", module=plugin)])


class Site:
    """A node in memory, and its services."""

    def __init__(self) -> None:
        self.node = MemoryNode(catalog=OWN, at_ms=1_000)
        self.rows = self.node.cache(AuthRows)
        self.rows.host(["mqtt"], ["kv", "mqtt", "mqtt.topics"], "")

    def call(self, method: str, request: Any) -> Awaitable[Any]:
        service, _, name = method.partition(".")
        answered: Awaitable[Any] = getattr(
            self.node.servicer(f"quorate.v1.{service}Service"), name
        )(request, None)
        return answered

    def asks(self) -> bool | None:
        """Whether callers are asked who they are."""
        return self.rows.enabled

    async def enabled(self) -> str:
        """Ask callers who they are; return the token of `admin`."""
        made: pb.NewToken = await self.call("Auth.Enable", pb.EnableAuth(administrator="admin"))
        return made.text

    async def user(self, name: str, *roles: str, tenants: tuple[str, ...] = ()) -> str:
        """Make a user with roles; return a token of it."""
        await self.call("User.CreateBatch", pb.CreateUsers(users=[pb.User(name=name)]))
        bindings = [pb.Binding(user=name, role=role, tenants=tenants) for role in roles]
        if bindings:
            await self.call("Binding.PutBatch", pb.PutBindings(bindings=bindings))
        made: pb.NewToken = await self.call("Token.Issue", pb.IssueToken(user=name))
        return made.text


@pytest.fixture
def site() -> Site:
    return Site()


def refusals(reply: BatchReply) -> list[str]:
    return [each.code for each in reply.refusals]


async def test_a_token_is_its_users_and_is_kept_as_a_hash(site: Site) -> None:
    text = await site.user("eve")

    assert site.rows.owner_of(text) == "eve"
    kept = (families.USERS, families.TOKENS, families.SECRETS)
    stored = b"".join(row for each in kept for row in site.node.rows(each).values())
    assert text.rpartition("_")[2].encode() not in stored
    assert text.rpartition("_")[2] not in str(site.node.proposals)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: text.replace("quorate_", "quorate_0"),
        lambda text: text + "_",
        lambda text: "",
        lambda text: "quorate__",
        lambda text: "\udcff_\x00_é",
    ],
)
async def test_what_is_no_token_proves_nothing(site: Site, change: Callable[[str], str]) -> None:
    text = await site.user("eve")

    with pytest.raises(Rejected) as refused:
        site.rows.owner_of(change(text))

    assert refused.value.code == "UNAUTHENTICATED"
    assert "eve" not in refused.value.message


async def test_a_token_ends(site: Site) -> None:
    await site.user("eve")
    made = await site.call("Token.Issue", pb.IssueToken(user="eve", ttl_ms=1))

    while time.time() * 1_000 < made.token.ends_at_ms:
        await asyncio.sleep(0)

    with pytest.raises(Rejected, match="it has expired"):
        site.rows.owner_of(made.text)


async def test_a_revoked_token_and_one_of_a_disabled_user_prove_nothing(site: Site) -> None:
    first, second = await site.user("eve"), await site.user("bob")
    [token] = (await site.call("Token.List", pb.ListTokens(user="eve"))).tokens

    await site.call(
        "Token.DeleteBatch", pb.DeleteTokens(tokens=[pb.DeleteToken(user="eve", id=token.id)])
    )
    await site.call(
        "User.UpdateBatch", pb.UpdateUsers(users=[pb.UserChange(name="bob", disabled=True)])
    )

    for text in (first, second):
        with pytest.raises(Rejected, match="UNAUTHENTICATED"):
            site.rows.owner_of(text)


async def test_a_user_leaves_with_its_tokens_and_bindings(site: Site) -> None:
    await site.user("eve", "reader")

    await site.call("User.DeleteBatch", pb.DeleteUsers(users=[pb.DeleteUser(name="eve")]))

    for family in (families.USERS, families.TOKENS, families.SECRETS, families.BINDINGS):
        assert not site.node.rows(family)
    assert not site.rows.rights("eve").some("kv", "read")


async def test_the_rights_of_a_user_are_those_of_its_roles_at_once(site: Site) -> None:
    await site.user("eve")
    assert not site.rows.rights("eve").some("kv", "read")

    bound = pb.Binding(user="eve", role="reader")
    await site.call("Binding.PutBatch", pb.PutBindings(bindings=[bound]))
    assert site.rows.rights("eve").covers("kv", "read")
    assert not site.rows.rights("eve").some("kv", "write")

    gone = pb.DeleteBinding(user="eve", role="reader")
    await site.call("Binding.DeleteBatch", pb.DeleteBindings(bindings=[gone]))
    assert not site.rows.rights("eve").some("kv", "read")


async def test_a_role_of_ones_own_reaches_as_far_as_it_says(site: Site) -> None:
    grant = pb.RoleGrant(right=pb.GRANTED_RIGHT_WRITE, domain="kv", prefix="shop/")
    await site.call(
        "Role.CreateBatch", pb.CreateRoles(roles=[pb.Role(name="shop", grants=[grant])])
    )
    await site.user("eve", "shop")

    rights = site.rows.rights("eve")
    assert rights.reaches("kv.pairs", "write", ("", b"shop/1"))
    assert not rights.reaches("kv.pairs", "write", ("", b"shoe"))
    assert not rights.reaches("mqtt.topics", "read", ("", ""))

    await site.call("Role.PutBatch", pb.PutRoles(roles=[pb.Role(name="shop")]))
    assert not site.rows.rights("eve").some("kv", "read")


async def test_a_binding_to_tenants_reaches_no_other(site: Site) -> None:
    await site.user("eve", "broker", tenants=("acme",))

    rights = site.rows.rights("eve")
    assert rights.reaches("mqtt.topics", "write", ("acme", "a"))
    assert not rights.reaches("mqtt.topics", "write", ("bolt", "a"))
    assert not rights.reaches("mqtt.topics", "read", ("bolt", "a"))
    assert not rights.reaches("cluster.brokers", "write", ("", "a"))


async def test_nobody_reads_identities_but_admins(site: Site) -> None:
    for role in ("operator", "reader", "broker", "loader"):
        await site.user(role, role)
        assert site.rows.rights(role).covers("kv", "read")
        assert not site.rows.rights(role).some("auth.secrets", "read")
    # The root token gives its rights, and the name none.
    assert not site.rows.rights("root").grants


async def test_a_role_of_an_unknown_domain_is_refused_with_those_there_are(site: Site) -> None:
    grant = pb.RoleGrant(right=pb.GRANTED_RIGHT_READ, domain="kvv")

    with pytest.raises(Invalid, match=r"roles\[0\]\.grants\[0\]\.domain: 'kvv' .* kv, mqtt"):
        await site.node.execute(
            pb.CreateRoles(roles=[pb.Role(name="shop", grants=[grant])]), BatchReply
        )


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        (pb.Binding(user="nobody", role="reader"), "NOT_FOUND"),
        (pb.Binding(user="eve", role="nothing"), "NOT_FOUND"),
    ],
)
async def test_a_binding_is_of_what_there_is(site: Site, binding: pb.Binding, code: str) -> None:
    await site.user("eve")

    reply = await site.call("Binding.PutBatch", pb.PutBindings(bindings=[binding]))

    assert refusals(reply) == [code]


async def test_a_role_that_somebody_has_stays(site: Site) -> None:
    await site.call("Role.CreateBatch", pb.CreateRoles(roles=[pb.Role(name="shop")]))
    await site.user("eve", "shop")
    gone = pb.DeleteRoles(roles=[pb.DeleteRole(name="shop")])

    assert refusals(await site.call("Role.DeleteBatch", gone)) == ["FAILED_PRECONDITION"]

    await site.call("User.DeleteBatch", pb.DeleteUsers(users=[pb.DeleteUser(name="eve")]))
    assert not refusals(await site.call("Role.DeleteBatch", gone))


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("User.DeleteBatch", pb.DeleteUsers(users=[pb.DeleteUser(name="admin")])),
        ("User.UpdateBatch", pb.UpdateUsers(users=[pb.UserChange(name="admin", disabled=True)])),
        (
            "Binding.DeleteBatch",
            pb.DeleteBindings(bindings=[pb.DeleteBinding(user="admin", role="admin")]),
        ),
        (
            "Binding.PutBatch",
            pb.PutBindings(bindings=[pb.Binding(user="admin", role="admin", tenants=["acme"])]),
        ),
    ],
)
async def test_the_last_administrator_stays(site: Site, method: str, request_: Any) -> None:
    await site.enabled()

    assert refusals(await site.call(method, request_)) == ["FAILED_PRECONDITION"]

    # Once there is another one, it may go.
    await site.user("ada", "admin")
    assert not refusals(await site.call(method, request_))


async def test_the_last_token_of_administrators_stays_unless_it_is_forced(site: Site) -> None:
    await site.enabled()
    [token] = (await site.call("Token.List", pb.ListTokens(user="admin"))).tokens
    gone = pb.DeleteToken(user="admin", id=token.id)

    assert refusals(await site.call("Token.DeleteBatch", pb.DeleteTokens(tokens=[gone]))) == [
        "FAILED_PRECONDITION"
    ]

    gone.force = True
    assert not refusals(await site.call("Token.DeleteBatch", pb.DeleteTokens(tokens=[gone])))


async def test_callers_are_asked_from_the_first_administrator_on(site: Site) -> None:
    assert site.asks() is False

    text = await site.enabled()

    assert site.asks() is True
    assert site.rows.owner_of(text) == "admin"
    assert site.rows.rights("admin").covers("auth", "admin")
    with pytest.raises(Rejected, match="ALREADY_EXISTS"):
        await site.enabled()

    await site.call("Auth.Disable", pb.DisableAuth())
    assert site.asks() is False


async def test_where_anybody_could_be_a_node_identities_are_refused(site: Site) -> None:
    site.rows.host([], [], "set a secret token")

    with pytest.raises(Rejected, match="FAILED_PRECONDITION: set a secret token"):
        await site.enabled()
    assert site.asks() is False


def test_while_rows_come_anew_those_of_before_count() -> None:
    rows, seen = AuthRows(), []
    switch = pb.AuthSwitch(enabled=True).SerializeToString()
    seen.append(rows.enabled)
    rows.reset()
    rows.put(families.SWITCH, keys.pack("switch"), switch)
    seen.append(rows.enabled)
    rows.listed()
    seen.append(rows.enabled)
    rows.reset()
    seen.append(rows.enabled)
    rows.listed()
    seen.append(rows.enabled)

    assert seen == [None, None, True, True, False]


@pytest.mark.parametrize("name", ["root", "Root", ""])
async def test_the_name_of_the_root_token_is_nobodys(site: Site, name: str) -> None:
    with pytest.raises(Invalid):
        await site.node.execute(pb.CreateUsers(users=[pb.User(name=name)]), BatchReply)
    with pytest.raises(Invalid):
        await site.node.execute(
            pb.SwitchAuth(enabled=True, administrator=pb.KeepToken(token=pb.Token(user=name))),
            Empty,
        )


@pytest.mark.parametrize("name", ["admin", "operator", "reader", "broker", "loader"])
async def test_built_in_roles_stay_as_they_are(site: Site, name: str) -> None:
    with pytest.raises(Invalid, match="built in"):
        await site.node.execute(pb.PutRoles(roles=[pb.Role(name=name)]), BatchReply)
