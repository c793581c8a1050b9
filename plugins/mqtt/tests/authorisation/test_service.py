"""`CheckAccess` decides as the pure function does, over the rows of the asker's tenant alone."""

from __future__ import annotations

import pytest
from quorate.plugin import Invalid, Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.authorisation.service import AUTHORISATION
from quorate_mqtt.v1 import (
    acl_rules_pb2 as acl,
    authorisation_pb2 as messages,
    blacklist_pb2 as blacklist,
)
from quorate_mqtt.v1.acl_rules_pb2 import AclRule, CreateAclRules
from quorate_mqtt.v1.authorisation_pb2 import AccessDecision, CheckAccessRequest
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry, CreateBlacklistEntries
from quorate_mqtt.v1.users_pb2 import CreateUsers, Credential, NewUser, User

CREDENTIAL = Credential(salt=b"s", hash=bytes(64), cost=2, block_size=1, parallelism=1)


def rule(tenant: str, name: str, topic: str, *, allows: bool) -> AclRule:
    return AclRule(
        tenant=tenant,
        name=name,
        subject_kind=acl.ACL_SUBJECT_CLIENT_ID,
        subject="*",
        topic=topic,
        action=acl.ACL_ACTION_ALL,
        permission=acl.ACL_PERMISSION_ALLOW if allows else acl.ACL_PERMISSION_DENY,
    )


@pytest.fixture
async def node() -> MemoryNode:
    node = MemoryNode(["cluster", "mqtt", "tenant"], shards={"mqtt": 2}, at_ms=1_000)
    for tenant in ("north", "south"):
        await node.propose(CreateTenant(name=tenant), Tenant)
    rules = [
        rule("north", "deny-secret", "secret/#", allows=False),
        rule("north", "own", "clients/%c/#", allows=True),
        rule("south", "everything", "#", allows=True),
    ]
    users = [
        NewUser(user=User(tenant="north", name="root", superuser=True), credential=CREDENTIAL),
        NewUser(user=User(tenant="north", name="ann"), credential=CREDENTIAL),
    ]
    eve = BlacklistEntry(
        tenant="north",
        name="no-eve",
        kind=blacklist.BLACKLIST_KIND_CLIENT_ID,
        subject="eve",
        ends_at_ms=5_000,
    )
    for command in (
        CreateAclRules(rules=rules),
        CreateUsers(users=users),
        CreateBlacklistEntries(entries=[eve]),
    ):
        reply = await node.propose(command, BatchReply)
        assert not reply.refusals
    return node


async def check(node: MemoryNode, **asked: object) -> AccessDecision:
    fields = {
        "tenant": "north",
        "client_id": "c1",
        "action": messages.ACCESS_ACTION_PUBLISH,
        "topic": "clients/c1/a",
        **asked,
    }
    request = CheckAccessRequest(**fields)  # type: ignore[arg-type]
    decision: AccessDecision = await node.servicer(AUTHORISATION.full_name).CheckAccess(
        request, None
    )
    return decision


@pytest.mark.parametrize(
    ("asked", "allowed", "reason", "decided_by"),
    [
        ({}, True, messages.ACCESS_REASON_ALLOWED_BY_RULE, "own"),
        ({"topic": "secret/a"}, False, messages.ACCESS_REASON_DENIED_BY_RULE, "deny-secret"),
        (
            {"topic": "secret/a", "username": "root"},
            True,
            messages.ACCESS_REASON_SUPERUSER,
            "root",
        ),
        (
            {"topic": "secret/a", "username": "ann"},
            False,
            messages.ACCESS_REASON_DENIED_BY_RULE,
            "deny-secret",
        ),
        ({"client_id": "eve"}, False, messages.ACCESS_REASON_BLACKLISTED, "no-eve"),
        (
            {"action": messages.ACCESS_ACTION_CONNECT, "topic": ""},
            True,
            messages.ACCESS_REASON_NOT_BLACKLISTED,
            "",
        ),
        (
            {"action": messages.ACCESS_ACTION_SUBSCRIBE, "topic": "#"},
            False,
            messages.ACCESS_REASON_DENIED_BY_RULE,
            "deny-secret",
        ),
        ({"topic": "other"}, True, messages.ACCESS_REASON_NO_RULE, ""),
        (
            {"topic": "other", "deny_unmatched": True},
            False,
            messages.ACCESS_REASON_NO_RULE,
            "",
        ),
        (
            {"tenant": "south", "topic": "secret/a"},
            True,
            messages.ACCESS_REASON_ALLOWED_BY_RULE,
            "everything",
        ),
    ],
)
async def test_a_decision_names_what_decided(
    node: MemoryNode,
    asked: dict[str, object],
    allowed: bool,
    reason: messages.AccessReason,
    decided_by: str,
) -> None:
    assert await check(node, **asked) == AccessDecision(
        allowed=allowed, reason=reason, decided_by=decided_by
    )


async def test_decisions_are_counted(node: MemoryNode) -> None:
    await check(node)
    await check(node, client_id="eve")
    await check(node)

    assert dict(node.metrics) == {
        'quorate_mqtt_access_decisions_total{allowed="true"}': 2,
        'quorate_mqtt_access_decisions_total{allowed="false"}': 1,
    }


async def test_a_blacklist_entry_counts_until_it_ends(node: MemoryNode) -> None:
    await node.advance(3_999)
    assert not (await check(node, client_id="eve")).allowed

    await node.advance(1)

    assert (await check(node, client_id="eve", topic="clients/eve/a")).decided_by == "own"


async def test_nothing_is_decided_for_a_tenant_that_is_not_there(node: MemoryNode) -> None:
    with pytest.raises(Rejected, match="NOT_FOUND: there is no tenant nobody"):
        await check(node, tenant="nobody")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"tenant": ""}, "tenant"),
        ({"tenant": "a/b"}, "tenant"),
        ({"client_id": ""}, "client_id"),
        ({"action": 0}, "action"),
        ({"action": 9}, "action"),
        ({"topic": "a/+"}, "topic"),
        ({"topic": ""}, "topic"),
        ({"qos": 3}, "qos"),
        ({"address": "here"}, "address"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_is_read(
    node: MemoryNode, asked: dict[str, object], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryNode, "query", None)

    with pytest.raises(Invalid) as refusal:
        await check(node, **asked)

    assert refusal.value.field == field
