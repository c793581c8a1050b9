"""The decision where the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Query, Reader, keys, read_range
from quorate.plugin.resource import TENANTS, tenant_known

from quorate_mqtt.authorisation.bans import ban_of
from quorate_mqtt.authorisation.messages import access_of, message_of
from quorate_mqtt.authorisation.policy import Policy
from quorate_mqtt.authorisation.rules import rule_of
from quorate_mqtt.rules import ACL_RULE, BLACKLIST_ENTRY
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.authorisation_pb2 import AccessDecision, CheckAccessQuery
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry
from quorate_mqtt.v1.users_pb2 import User


def check_access(reader: Reader, query: CheckAccessQuery) -> Iterator[AccessDecision]:
    """Yield the decision over what is in force now; nothing when there is no such tenant."""
    asked = query.access
    if tenant_known(reader, asked.tenant) is None:
        reader.refresh(TENANTS)
        return
    policy = Policy()
    if asked.username:
        user = reader.get(USER.family, keys.pack(asked.tenant, asked.username))
        if user is not None and User.FromString(user).superuser:
            policy.put_superuser(asked.username)
    for row in _rows_of(reader, ACL_RULE.family, asked.tenant):
        policy.put_rule(rule_of(AclRule.FromString(row)))
    for row in _rows_of(reader, BLACKLIST_ENTRY.family, asked.tenant):
        policy.put_ban(ban_of(BlacklistEntry.FromString(row)))
    decision = policy.decide(access_of(asked), allow_unmatched=not asked.deny_unmatched)
    yield message_of(decision)


def _rows_of(reader: Reader, family: str, tenant: str) -> Iterator[bytes]:
    return (row.value for row in read_range(reader, family, *keys.prefix(tenant)))


CHECK_ACCESS: Final = Query(
    message=CheckAccessQuery,
    group=GROUP,
    run=check_access,
    shard_key=lambda query: tenant_shard(query.access.tenant),
    reads=(TENANTS,),
)
