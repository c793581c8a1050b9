"""The gRPC service of the decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quorate.plugin import (
    Access,
    GrpcService,
    Invalid,
    Metric,
    NodeApi,
    Query,
    Reader,
    Rejected,
    keys,
)
from quorate.plugin.checking import check_name
from quorate.plugin.resource import TENANTS, tenant_known

from quorate_mqtt.authorisation.access import take_apart
from quorate_mqtt.authorisation.messages import access_of, is_action, message_of
from quorate_mqtt.authorisation.policy import Policy
from quorate_mqtt.names import check_identity
from quorate_mqtt.rules import ACL_RULE, BLACKLIST_ENTRY
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1 import authorisation_pb2, authorisation_pb2 as pb
from quorate_mqtt.v1.authorisation_pb2 import AccessDecision, CheckAccessQuery

DECISIONS: Final = Metric(
    name="quorate_mqtt_access_decisions_total",
    kind="counter",
    help="Answers of this node to CheckAccess, by whether they allow the access.",
    labels=("allowed",),
)


class AuthorisationService:
    """Decides on every node, with or without a replica of the shard."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def CheckAccess(
        self, request: pb.CheckAccessRequest, context: object
    ) -> pb.AccessDecision:
        """Decide on one access."""
        check_name("tenant", request.tenant)
        check_identity("client_id", request.client_id)
        if request.username:
            check_identity("username", request.username)
        if not is_action(request.action):
            raise Invalid("action", "must be CONNECT, PUBLISH or SUBSCRIBE")
        take_apart(access_of(request))
        query = pb.CheckAccessQuery(access=request)
        async for decision in self._node.query(query, pb.AccessDecision):
            self._node.count(DECISIONS.name, allowed=str(decision.allowed).lower())
            return decision
        raise Rejected("NOT_FOUND", f"there is no tenant {request.tenant}: create it")


AUTHORISATION: Final = GrpcService(
    service=authorisation_pb2.DESCRIPTOR.services_by_name["AuthorisationService"],
    servicer=AuthorisationService,
    access={"CheckAccess": Access(right="read", tenant="tenant")},
)


def check_access(reader: Reader, query: CheckAccessQuery) -> Iterator[AccessDecision]:
    """Yield the decision over the current rows of a tenant; nothing for an unknown tenant."""
    asked = query.access
    if tenant_known(reader, asked.tenant) is None:
        reader.refresh(TENANTS)
        return
    policy = Policy()
    if asked.username:
        user = reader.get(USER.family, keys.pack(asked.tenant, asked.username))
        policy.see(USER.family, asked.username, user)
    for family in (ACL_RULE.family, BLACKLIST_ENTRY.family):
        for row in reader.scan(family, *keys.prefix(asked.tenant)):
            policy.see(family, str(keys.unpack(row.key)[1]), row.value)
    decision = policy.decide(access_of(asked), allow_unmatched=not asked.deny_unmatched)
    yield message_of(decision)


CHECK_ACCESS: Final = Query(
    message=CheckAccessQuery,
    group=GROUP,
    run=check_access,
    shard_key=lambda query: tenant_shard(query.access.tenant),
    reads=(TENANTS,),
)
