"""MQTT for Python programs: `Mqtt(q)` over an `AsyncClient`, and its twin."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Client, Records, SyncRecords, blocking

from quorate_mqtt.authorisation import Access, Action, Decision, Reason
from quorate_mqtt.authorisation.messages import decision_of, request_of
from quorate_mqtt.client.access import AccessCache, following
from quorate_mqtt.client.logins import LoginCache, following_logins
from quorate_mqtt.client.sessions import Sessions, SyncSessions
from quorate_mqtt.client.subscriptions import SubscriptionsOfClients
from quorate_mqtt.client.users import SyncUsers, Users
from quorate_mqtt.client.wills import SyncWills, Wills
from quorate_mqtt.queues.resource import QUEUED_MESSAGE
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.rules import ACL_RULE, AUTO_SUBSCRIPTION, BLACKLIST_ENTRY, REWRITE_RULE
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.acl_rules_pb2 import AclRule
from quorate_mqtt.v1.authorisation_pb2 import AccessDecision
from quorate_mqtt.v1.auto_subscriptions_pb2 import AutoSubscription
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry
from quorate_mqtt.v1.rewrite_rules_pb2 import RewriteRule
from quorate_mqtt.v1.subscriptions_pb2 import KeyedSubscription
from quorate_mqtt.v1.topics_pb2 import Topic

__all__ = [
    "Access",
    "AccessCache",
    "Action",
    "Decision",
    "LoginCache",
    "Mqtt",
    "Reason",
    "SyncMqtt",
]


class Mqtt:
    """All rows that an MQTT broker stores in the cluster."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self.users: Final = Users(q)
        self.acl_rules: Final[Records[AclRule]] = q.records(ACL_RULE)
        self.blacklist: Final[Records[BlacklistEntry]] = q.records(BLACKLIST_ENTRY)
        self.rewrite_rules: Final[Records[RewriteRule]] = q.records(REWRITE_RULE)
        self.auto_subscriptions: Final[Records[AutoSubscription]] = q.records(AUTO_SUBSCRIPTION)
        self.topics: Final[Records[Topic]] = q.records(TOPIC)
        self.retained_messages: Final[Records[Any]] = q.records(RETAINED_MESSAGE)
        self.sessions: Final = Sessions(q)
        self.subscriptions: Final[Records[Any]] = q.records(SUBSCRIPTION)
        self._of_clients: Final = SubscriptionsOfClients(q)
        self.queued_messages: Final[Records[Any]] = q.records(QUEUED_MESSAGE)
        self.wills: Final = Wills(q)
        self.shared_groups: Final[Records[Any]] = q.records(SHARED_GROUP)
        self.shared_group_members: Final[Records[Any]] = q.records(SHARED_GROUP_MEMBER)

    def following_access(
        self, *, allow_unmatched: bool = True
    ) -> AbstractAsyncContextManager[AccessCache]:
        """Provide a cache that decides locally, and follows the rules of the cluster meanwhile.

        `allow_unmatched` decides where no rule matches.
        """
        return following(self._q, allow_unmatched=allow_unmatched)

    def following_logins(self) -> AbstractAsyncContextManager[LoginCache]:
        """Provide a cache that answers locally for recently verified passwords.

        It follows the users of the cluster, and forgets users that are changed or deleted.
        """
        return following_logins(self._q)

    async def subscriptions_of(self, tenant: str, client_id: str) -> list[KeyedSubscription]:
        """Return all subscriptions of a client that has connected.

        Calls of many coroutines at the same time share calls to the cluster.
        """
        return await self._of_clients.read(tenant, client_id)

    async def check_access(
        self, tenant: str, access: Access, *, allow_unmatched: bool = True
    ) -> Decision:
        """Have a node decide, over all rules of the tenant: for tools, not for every message."""
        message = await self._q.call(
            "/quorate_mqtt.v1.AuthorisationService/CheckAccess",
            request_of(tenant, access, allow_unmatched=allow_unmatched),
            AccessDecision,
            group=GROUP,
            shard_key=tenant_shard(tenant),
            read=True,
        )
        return decision_of(message)


class SyncMqtt(Blocking[Mqtt]):
    """The same over a `Client`, without `await`; the local caches are for event loops."""

    def __init__(self, q: Client) -> None:
        mqtt = Mqtt(q.asynchronous)
        super().__init__(q.thread, mqtt)
        self.users: Final = SyncUsers(q.thread, mqtt.users)
        self.acl_rules: Final[SyncRecords[AclRule]] = q.records(ACL_RULE)
        self.blacklist: Final[SyncRecords[BlacklistEntry]] = q.records(BLACKLIST_ENTRY)
        self.rewrite_rules: Final[SyncRecords[RewriteRule]] = q.records(REWRITE_RULE)
        self.auto_subscriptions: Final[SyncRecords[AutoSubscription]] = q.records(AUTO_SUBSCRIPTION)
        self.topics: Final[SyncRecords[Topic]] = q.records(TOPIC)
        self.retained_messages: Final[SyncRecords[Any]] = q.records(RETAINED_MESSAGE)
        self.sessions: Final = SyncSessions(q.thread, mqtt.sessions)
        self.subscriptions: Final[SyncRecords[Any]] = q.records(SUBSCRIPTION)
        self.queued_messages: Final[SyncRecords[Any]] = q.records(QUEUED_MESSAGE)
        self.wills: Final = SyncWills(q.thread, mqtt.wills)
        self.shared_groups: Final[SyncRecords[Any]] = q.records(SHARED_GROUP)
        self.shared_group_members: Final[SyncRecords[Any]] = q.records(SHARED_GROUP_MEMBER)

    subscriptions_of = blocking(Mqtt.subscriptions_of)
    check_access = blocking(Mqtt.check_access)
