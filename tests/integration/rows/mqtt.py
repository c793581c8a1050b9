"""The rows of the services for MQTT brokers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from quorate_mqtt.v1.acl_rules_pb2 import (
    ACL_ACTION_ALL,
    ACL_PERMISSION_ALLOW,
    ACL_SUBJECT_USER,
    AclRule,
    AclRuleRequest,
    CreateAclRules,
    DeleteAclRules,
    ListAclRulesRequest,
    PutAclRules,
    UpdateAclRules,
)
from quorate_mqtt.v1.authorisation_pb2 import (
    ACCESS_ACTION_CONNECT,
    ACCESS_ACTION_PUBLISH,
    CheckAccessRequest,
)
from quorate_mqtt.v1.auto_subscriptions_pb2 import (
    AutoSubscription,
    AutoSubscriptionRequest,
    CreateAutoSubscriptions,
    DeleteAutoSubscriptions,
    ListAutoSubscriptionsRequest,
    PutAutoSubscriptions,
    UpdateAutoSubscriptions,
)
from quorate_mqtt.v1.blacklist_pb2 import (
    BLACKLIST_KIND_USER,
    BlacklistEntry,
    BlacklistEntryRequest,
    CreateBlacklistEntries,
    DeleteBlacklistEntries,
    ListBlacklistEntriesRequest,
    PutBlacklistEntries,
    UpdateBlacklistEntries,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest
from quorate_mqtt.v1.queued_messages_pb2 import (
    AppendMessage,
    AppendMessages,
    DeleteQueuedMessages,
    ListQueuedMessagesRequest,
    QueuedMessageName,
)
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    GetRetainedMessagesRequest,
    ListRetainedMessagesRequest,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedName,
)
from quorate_mqtt.v1.rewrite_rules_pb2 import (
    REWRITE_ACTION_ALL,
    CreateRewriteRules,
    DeleteRewriteRules,
    ListRewriteRulesRequest,
    PutRewriteRules,
    RewriteRule,
    RewriteRuleRequest,
    UpdateRewriteRules,
)
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSession,
    ConnectSessions,
    DeleteSession,
    DeleteSessions,
    DisconnectSession,
    DisconnectSessions,
    GetSessionRequest,
    GetSessionsRequest,
    ImportSession,
    ImportSessions,
    ListSessionsRequest,
    SessionConnect,
    SessionName,
    UpdateSession,
    UpdateSessions,
)
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroups,
    GetSharedGroupRequest,
    GetSharedGroupsRequest,
    JoinSharedGroup,
    JoinSharedGroups,
    LeaveSharedGroup,
    LeaveSharedGroups,
    ListSharedGroupMembersRequest,
    ListSharedGroupsRequest,
    UpdateSharedGroup,
    UpdateSharedGroups,
)
from quorate_mqtt.v1.subscriptions_pb2 import (
    ClientName,
    DeleteSubscription,
    DeleteSubscriptions,
    GatherSubscriptionsRequest,
    GetSubscriptionRequest,
    GetSubscriptionsRequest,
    ListSubscriptionsRequest,
    SetSubscription,
    SetSubscriptions,
)
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopicRequest,
    CreateTopics,
    DeleteTopic,
    DeleteTopics,
    GetTopicsRequest,
    GrowTopicRequest,
    GrowTopics,
    ListTopicsRequest,
    PutTopics,
    Topic,
    TopicConfig,
    TopicName,
    UpdateTopicRequest,
    UpdateTopics,
)
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateUsersRequest,
    CreateUserRequest,
    CreateUsersRequest,
    DeleteUsers,
    ListUsersRequest,
    UpdateUserRequest,
    UpdateUsersRequest,
)
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWills,
    GetWillRequest,
    GetWillsRequest,
    ListWillDeliveriesRequest,
    Will,
)

from tests.integration.rows.row import KEY, MANY, STRANGE, TEXT, Blame, InPlace, Row, by_method

M = TypeVar("M", bound=Message)

#: Behind the longest key that there can be.
TOKEN: Final = KEY + b"k"
NAME: Final = DefinitionName(tenant="t", name="n")
RETAINED: Final = RetainedName(tenant="t", topic="o")
CLIENT: Final[dict[str, Any]] = {"tenant": "t", "client_id": "c"}
PROCESS: Final[dict[str, Any]] = {"broker": "b", "broker_epoch": 1}
GROUP: Final[dict[str, Any]] = {
    "tenant": "t",
    "group": "g",
    "client_id": "c",
    "filter": "f",
    "broker_epoch": 1,
}


def like(given: M, **fields: object) -> M:
    """Return a message with other fields."""
    other = type(given)()
    other.CopyFrom(given)
    for field in fields:
        other.ClearField(field)
    other.MergeFrom(type(given)(**fields))
    return other


def lists(request: type[Message], **wrong: object) -> dict[str, Row]:
    """Return the rows of lists of what lies with its tenant, page by page and as a stream."""
    row = Row(
        empty=None,
        large=(
            (request(tenant=TEXT), "tenant"),
            (request(tenant="t", prefix=TEXT), "prefix"),
            (request(page_size=1_001), "page_size"),
            (request(page_token=TOKEN + TOKEN), "page_token"),
        ),
        wrong=(
            (request(tenant="a/b"), "tenant"),
            (request(prefix="n"), "prefix"),
            (request(tenant="t", prefix=STRANGE), "prefix"),
            *((request(**{field: value}), field) for field, value in wrong.items()),
        ),
    )
    return {"List": row, "StreamList": row}


def named(deletion: type[Message]) -> dict[str, Row]:
    """Return the rows of what is done to definitions by name."""
    large = (
        (DefinitionName(tenant=TEXT, name="n"), "tenant"),
        (DefinitionName(tenant="t", name=TEXT), "name"),
    )
    wrong: tuple[tuple[Message, Blame], ...] = (
        (DefinitionName(tenant="a/b", name="n"), "tenant"),
        (DefinitionName(tenant="t", name=STRANGE), "name"),
    )
    return {
        "Delete": Row(empty="tenant", large=large, wrong=wrong),
        "DeleteBatch": Row(
            empty=None,
            large=((deletion(names=[NAME] * MANY), "names"),),
            wrong=((deletion(names=[DefinitionName()] * 2), InPlace("names[0].tenant")),),
        ),
        "Get": Row(empty="tenant", large=large, wrong=wrong),
        "GetBatch": Row(
            empty=None,
            large=((GetDefinitionsRequest(names=[NAME] * 1_001), "names"),),
            wrong=((GetDefinitionsRequest(names=[NAME, DefinitionName()]), "names[1].tenant"),),
        ),
    }


def written(
    request: type[Message],
    creation: type[Message],
    change: type[Message],
    put: type[Message],
    items: str,
    good: Message,
    **wrong: object,
) -> dict[str, Row]:
    """Return the rows of definitions that are written as they are given."""
    one = Row(
        empty="definition.tenant",
        large=(
            (request(definition=like(good, name=TEXT)), "definition.name"),
            (request(definition=like(good, description=TEXT)), "definition.description"),
        ),
        wrong=tuple(
            (request(definition=like(good, **{field: value})), f"definition.{field}")
            for field, value in wrong.items()
        ),
    )
    unchangeable = request(definition=good, update_mask=FieldMask(paths=["created_at_ms"]))
    # What is empty is not given.
    given = tuple(each for each, value in zip(one.wrong, wrong.values(), strict=True) if value)
    update = replace(one, wrong=(*given, (unchangeable, "update_mask")))
    rows = {"Create": one, "Put": one, "Update": update}
    for method, batch in (("CreateBatch", creation), ("UpdateBatch", change), ("PutBatch", put)):
        nameless = like(good, name="")
        rows[method] = Row(
            empty=None,
            large=(
                (batch(**{items: [good] * MANY}), items),
                (batch(**{items: [like(good, name=TEXT)]}), InPlace(f"{items}[0].name")),
            ),
            wrong=((batch(**{items: [nameless] * 2}), InPlace(f"{items}[0].name")),),
        )
    return rows


ACL_RULE: Final = AclRule(
    tenant="t",
    name="n",
    subject_kind=ACL_SUBJECT_USER,
    subject="u",
    topic="o",
    action=ACL_ACTION_ALL,
    permission=ACL_PERMISSION_ALLOW,
)
ACL_RULES: Final = {
    **named(DeleteAclRules),
    **written(
        AclRuleRequest,
        CreateAclRules,
        UpdateAclRules,
        PutAclRules,
        "rules",
        ACL_RULE,
        subject_kind=77,
        subject=STRANGE,
        topic="a/#/b",
        ip="10.0.0.0/99",
        action=0,
        permission=77,
    ),
    **lists(ListAclRulesRequest, subject_kind=77, subject=STRANGE),
}

AUTO_SUBSCRIPTION: Final = AutoSubscription(tenant="t", name="n", topic="o")
AUTO_SUBSCRIPTIONS: Final = {
    **named(DeleteAutoSubscriptions),
    **written(
        AutoSubscriptionRequest,
        CreateAutoSubscriptions,
        UpdateAutoSubscriptions,
        PutAutoSubscriptions,
        "subscriptions",
        AUTO_SUBSCRIPTION,
        topic="a+",
        qos=3,
        retain_handling=3,
    ),
    **lists(ListAutoSubscriptionsRequest),
}

ENTRY: Final = BlacklistEntry(tenant="t", name="n", kind=BLACKLIST_KIND_USER, subject="u")
BLACKLIST: Final = {
    **named(DeleteBlacklistEntries),
    **written(
        BlacklistEntryRequest,
        CreateBlacklistEntries,
        UpdateBlacklistEntries,
        PutBlacklistEntries,
        "entries",
        ENTRY,
        kind=77,
        subject="",
    ),
    **lists(ListBlacklistEntriesRequest, kind=77, subject=STRANGE),
}

REWRITE_RULE: Final = RewriteRule(
    tenant="t",
    name="n",
    action=REWRITE_ACTION_ALL,
    source_topic="o",
    target_topic="p",
    expression="o",
)
REWRITE_RULES: Final = {
    **named(DeleteRewriteRules),
    **written(
        RewriteRuleRequest,
        CreateRewriteRules,
        UpdateRewriteRules,
        PutRewriteRules,
        "rules",
        REWRITE_RULE,
        action=77,
        source_topic="$share/g/o",
        target_topic="$1",
        expression="(",
    ),
    **lists(ListRewriteRulesRequest, action=77),
}

LOGIN: Final = AuthenticateRequest(tenant="t", name="u", password=b"p")
USER: Final = CreateUserRequest(tenant="t", name="u", password=b"p")
CHANGED_USER: Final = UpdateUserRequest(tenant="t", name="u")
USERS: Final = {
    **named(DeleteUsers),
    "Create": Row(
        empty="tenant",
        large=(
            (like(USER, name=TEXT), "name"),
            (like(USER, description=TEXT), "description"),
            (like(USER, password=KEY), "password"),
        ),
        wrong=((like(USER, tenant="a/b"), "tenant"), (like(USER, password=b""), "password")),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateUsersRequest(users=[USER] * 101), "users"),),
        wrong=((CreateUsersRequest(users=[like(USER, name="")]), InPlace("users[0].name")),),
    ),
    "Put": Row(
        empty="tenant",
        large=(
            (like(USER, name=TEXT), "name"),
            (like(USER, description=TEXT), "description"),
            (like(USER, password=KEY), "password"),
        ),
        wrong=((like(USER, tenant="a/b"), "tenant"), (like(USER, password=b""), "password")),
    ),
    "PutBatch": Row(
        empty=None,
        large=((CreateUsersRequest(users=[USER] * 101), "users"),),
        wrong=((CreateUsersRequest(users=[like(USER, name="")]), InPlace("users[0].name")),),
    ),
    "Update": Row(
        empty="tenant",
        large=(
            (like(CHANGED_USER, name=TEXT), "name"),
            (like(CHANGED_USER, password=KEY), "password"),
        ),
        wrong=((like(CHANGED_USER, password=b""), "password"),),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateUsersRequest(users=[CHANGED_USER] * 101), "users"),),
        wrong=((UpdateUsersRequest(users=[UpdateUserRequest()]), InPlace("users[0].tenant")),),
    ),
    **lists(ListUsersRequest),
    "Authenticate": Row(
        empty="tenant",
        large=(
            (AuthenticateRequest(tenant="t", name=TEXT), "name"),
            (AuthenticateRequest(tenant="t", name="u", password=KEY), "password"),
        ),
        wrong=((AuthenticateRequest(tenant="t", name=STRANGE), "name"),),
    ),
    "AuthenticateBatch": Row(
        empty=None,
        large=((AuthenticateUsersRequest(logins=[LOGIN] * 1_001), "logins"),),
        wrong=(
            (AuthenticateUsersRequest(logins=[AuthenticateRequest()]), InPlace("logins[0].tenant")),
        ),
    ),
}

TOPIC: Final = Topic(tenant="t", name="o", partitions=1, replication=1)
TOPIC_NAME: Final = TopicName(tenant="t", name="o")
CHANGED_TOPIC: Final = UpdateTopicRequest(tenant="t", name="o")
GROWN: Final = GrowTopicRequest(tenant="t", name="o", partitions=2)
TOPICS: Final = {
    "Create": Row(
        empty="topic.tenant",
        large=(
            (CreateTopicRequest(topic=like(TOPIC, name=TEXT)), "topic.name"),
            (CreateTopicRequest(topic=like(TOPIC, description=TEXT)), "topic.description"),
            (CreateTopicRequest(topic=like(TOPIC, partitions=1_025)), "topic.partitions"),
            (CreateTopicRequest(topic=like(TOPIC, replication=10)), "topic.replication"),
            (
                CreateTopicRequest(topic=like(TOPIC, config=TopicConfig(records=1 << 63))),
                "topic.config.records",
            ),
        ),
        wrong=(
            (CreateTopicRequest(topic=like(TOPIC, tenant="a/b")), "topic.tenant"),
            (CreateTopicRequest(topic=like(TOPIC, name="a/#")), "topic.name"),
            (CreateTopicRequest(topic=like(TOPIC, storage=77)), "topic.storage"),
            (CreateTopicRequest(topic=like(TOPIC, source=77)), "topic.source"),
            (CreateTopicRequest(topic=like(TOPIC, partitions=0)), "topic.partitions"),
        ),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateTopics(topics=[TOPIC] * MANY), "topics"),),
        wrong=((CreateTopics(topics=[Topic()]), InPlace("topics[0].tenant")),),
    ),
    "Put": Row(
        empty="topic.tenant",
        large=(
            (CreateTopicRequest(topic=like(TOPIC, name=TEXT)), "topic.name"),
            (CreateTopicRequest(topic=like(TOPIC, description=TEXT)), "topic.description"),
            (CreateTopicRequest(topic=like(TOPIC, partitions=1_025)), "topic.partitions"),
            (CreateTopicRequest(topic=like(TOPIC, replication=10)), "topic.replication"),
            (
                CreateTopicRequest(topic=like(TOPIC, config=TopicConfig(records=1 << 63))),
                "topic.config.records",
            ),
        ),
        wrong=(
            (CreateTopicRequest(topic=like(TOPIC, tenant="a/b")), "topic.tenant"),
            (CreateTopicRequest(topic=like(TOPIC, name="a/#")), "topic.name"),
            (CreateTopicRequest(topic=like(TOPIC, storage=77)), "topic.storage"),
            (CreateTopicRequest(topic=like(TOPIC, source=77)), "topic.source"),
            (CreateTopicRequest(topic=like(TOPIC, partitions=0)), "topic.partitions"),
        ),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutTopics(topics=[TOPIC] * MANY), "topics"),),
        wrong=((PutTopics(topics=[Topic()]), InPlace("topics[0].tenant")),),
    ),
    "Update": Row(
        empty="tenant",
        large=((like(CHANGED_TOPIC, description=TEXT), "description"),),
        wrong=(
            (like(CHANGED_TOPIC, name="+"), "name"),
            (
                like(CHANGED_TOPIC, update_mask=FieldMask(paths=["partitions"])),
                "update_mask",
            ),
        ),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateTopics(topics=[CHANGED_TOPIC] * MANY), "topics"),),
        wrong=((UpdateTopics(topics=[UpdateTopicRequest()]), InPlace("topics[0].tenant")),),
    ),
    "Grow": Row(
        empty="tenant",
        large=((like(GROWN, partitions=1_025), "partitions"),),
        wrong=((like(GROWN, partitions=0), "partitions"),),
    ),
    "GrowBatch": Row(
        empty=None,
        large=((GrowTopics(topics=[GROWN] * MANY), "topics"),),
        wrong=((GrowTopics(topics=[GrowTopicRequest()]), InPlace("topics[0].tenant")),),
    ),
    "Delete": Row(
        empty="tenant",
        large=((DeleteTopic(tenant="t", name=TEXT), "name"),),
        wrong=((DeleteTopic(tenant="t", name="#"), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteTopics(topics=[DeleteTopic(tenant="t", name="o")] * MANY), "topics"),),
        wrong=((DeleteTopics(topics=[DeleteTopic()]), InPlace("topics[0].tenant")),),
    ),
    "Get": Row(
        empty="tenant",
        large=((TopicName(tenant=TEXT, name="o"), "tenant"),),
        wrong=((TopicName(tenant="t", name=STRANGE), "name"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetTopicsRequest(names=[TOPIC_NAME] * 1_001), "names"),),
        wrong=((GetTopicsRequest(names=[TOPIC_NAME, TopicName()]), "names[1].tenant"),),
    ),
    **lists(ListTopicsRequest, topic_filter="a/#/b", source=77),
}

MESSAGE: Final = PutRetainedMessageRequest(tenant="t", topic="o", payload=b"p")
RETAINED_MESSAGES: Final = {
    "Put": Row(
        empty="tenant",
        large=(
            (like(MESSAGE, topic=TEXT), "topic"),
            (like(MESSAGE, expiry_ms=1 << 63), "expiry_ms"),
        ),
        wrong=(
            (like(MESSAGE, topic="a/+"), "topic"),
            (like(MESSAGE, payload=b""), "payload"),
            (like(MESSAGE, qos=3), "qos"),
            (like(MESSAGE, expiry_ms=0), "expiry_ms"),
        ),
    ),
    "PutBatch": Row(
        empty=None,
        large=((PutRetainedMessages(messages=[MESSAGE] * MANY), "messages"),),
        wrong=(
            (
                PutRetainedMessages(messages=[like(MESSAGE, topic="#")]),
                InPlace("messages[0].topic"),
            ),
        ),
    ),
    "Delete": Row(
        empty="tenant",
        large=((RetainedName(tenant="t", topic=TEXT), "topic"),),
        wrong=((RetainedName(tenant="t", topic="#"), "topic"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteRetainedMessages(names=[RETAINED] * MANY), "names"),),
        wrong=((DeleteRetainedMessages(names=[RetainedName()]), InPlace("names[0].tenant")),),
    ),
    "Get": Row(
        empty="tenant",
        large=((RetainedName(tenant=TEXT, topic="o"), "tenant"),),
        wrong=((RetainedName(tenant="t", topic="+"), "topic"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetRetainedMessagesRequest(names=[RETAINED] * 1_001), "names"),),
        wrong=((GetRetainedMessagesRequest(names=[RETAINED, RetainedName()]), "names[1].tenant"),),
    ),
    **lists(ListRetainedMessagesRequest, topic_filter="#/a"),
}

WAITING: Final = AppendMessage(**CLIENT, topic="a", payload=b"p", qos=1)
QUEUED_MESSAGES: Final = {
    "AppendBatch": Row(
        empty=None,
        large=(
            (AppendMessages(messages=[WAITING] * MANY), "messages"),
            (AppendMessages(messages=[WAITING], most_messages=1 << 31), "most_messages"),
        ),
        wrong=(
            (AppendMessages(messages=[like(WAITING, topic="#")]), InPlace("messages[0].topic")),
            (AppendMessages(messages=[like(WAITING, qos=3)]), InPlace("messages[0].qos")),
            (
                AppendMessages(messages=[like(WAITING, packet_id=1 << 16)]),
                InPlace("messages[0].packet_id"),
            ),
        ),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteQueuedMessages(messages=[QueuedMessageName(**CLIENT)] * MANY), "messages"),),
        wrong=(
            (DeleteQueuedMessages(messages=[QueuedMessageName()]), InPlace("messages[0].tenant")),
        ),
    ),
    "List": Row(
        empty=None,
        large=(
            (ListQueuedMessagesRequest(tenant=TEXT), "tenant"),
            (ListQueuedMessagesRequest(page_size=1_001), "page_size"),
            (ListQueuedMessagesRequest(page_token=TOKEN + TOKEN), "page_token"),
        ),
        wrong=((ListQueuedMessagesRequest(client_id="a"), "client_id"),),
    ),
    "Count": Row(
        empty=None,
        large=((ListQueuedMessagesRequest(tenant=TEXT), "tenant"),),
        wrong=((ListQueuedMessagesRequest(client_id="a"), "client_id"),),
    ),
}

ARRIVAL: Final = SessionConnect(**CLIENT, connection_id=1)
UPDATED: Final = UpdateSession(**CLIENT, generation=1)
ENDED: Final = DisconnectSession(**CLIENT, generation=1)
FORGOTTEN: Final = DeleteSession(**CLIENT)
IMPORTED: Final = ImportSession(**CLIENT, expiry_interval_s=1)
LARGE_PAYLOAD: Final = b"p" * ((64 << 10) + 1)


def connect(**fields: object) -> ConnectSession:
    return ConnectSession(**PROCESS, connection=like(ARRIVAL, **fields))


SESSION_LIST: Final = Row(
    empty=None,
    large=(
        (ListSessionsRequest(tenant=TEXT), "tenant"),
        (ListSessionsRequest(tenant="t", prefix=TEXT), "prefix"),
        (ListSessionsRequest(broker=TEXT), "broker"),
        (ListSessionsRequest(page_size=1_001), "page_size"),
        (ListSessionsRequest(page_token=TOKEN), "page_token"),
    ),
    wrong=(
        (ListSessionsRequest(prefix="c"), "prefix"),
        (like(ListSessionsRequest(), state=77), "state"),
    ),
)
SESSIONS: Final = {
    "Connect": Row(
        empty="broker",
        large=(
            (ConnectSession(broker=TEXT, broker_epoch=1, connection=ARRIVAL), "broker"),
            (connect(client_id=TEXT), "connection.client_id"),
            (connect(payload=LARGE_PAYLOAD), "connection.payload"),
            (connect(will=Will(topic="o", payload=LARGE_PAYLOAD)), "connection.will.payload"),
        ),
        wrong=(
            (ConnectSession(broker="b", connection=ARRIVAL), "broker_epoch"),
            (ConnectSession(**PROCESS), "connection.tenant"),
            (connect(client_id=STRANGE), "connection.client_id"),
            (connect(will=Will(topic="#")), "connection.will.topic"),
            (connect(will=Will(topic="o", qos=3)), "connection.will.qos"),
        ),
    ),
    "ConnectBatch": Row(
        empty="broker",
        large=((ConnectSessions(**PROCESS, connections=[ARRIVAL] * MANY), "connections"),),
        wrong=(
            (ConnectSessions(broker="b", connections=[ARRIVAL]), "broker_epoch"),
            (
                ConnectSessions(**PROCESS, connections=[SessionConnect()]),
                InPlace("connections[0].tenant"),
            ),
        ),
    ),
    "Update": Row(
        empty="tenant",
        large=(
            (like(UPDATED, client_id=TEXT), "client_id"),
            (like(UPDATED, payload=LARGE_PAYLOAD), "payload"),
        ),
        wrong=((like(UPDATED, generation=0), "generation"),),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateSessions(sessions=[UPDATED] * MANY), "sessions"),),
        wrong=((UpdateSessions(sessions=[UpdateSession()]), InPlace("sessions[0].tenant")),),
    ),
    "Disconnect": Row(
        empty="tenant",
        large=((like(ENDED, tenant=TEXT), "tenant"),),
        wrong=((like(ENDED, generation=0), "generation"),),
    ),
    "DisconnectBatch": Row(
        empty=None,
        large=((DisconnectSessions(sessions=[ENDED] * MANY), "sessions"),),
        wrong=(
            (DisconnectSessions(sessions=[DisconnectSession()]), InPlace("sessions[0].tenant")),
        ),
    ),
    "Delete": Row(
        empty="tenant",
        large=((like(FORGOTTEN, client_id=TEXT), "client_id"),),
        wrong=((like(FORGOTTEN, generation=0), "generation"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteSessions(sessions=[FORGOTTEN] * MANY), "sessions"),),
        wrong=((DeleteSessions(sessions=[DeleteSession()]), InPlace("sessions[0].tenant")),),
    ),
    "Import": Row(
        empty="tenant",
        large=(
            (like(IMPORTED, client_id=TEXT), "client_id"),
            (like(IMPORTED, payload=LARGE_PAYLOAD), "payload"),
        ),
        wrong=((like(IMPORTED, expiry_interval_s=0), "expiry_interval_s"),),
    ),
    "ImportBatch": Row(
        empty=None,
        large=((ImportSessions(sessions=[IMPORTED] * MANY), "sessions"),),
        wrong=(
            (
                ImportSessions(sessions=[like(IMPORTED, expiry_interval_s=0)]),
                InPlace("sessions[0].expiry_interval_s"),
            ),
        ),
    ),
    "Get": Row(
        empty="tenant",
        large=((GetSessionRequest(tenant="t", client_id=TEXT), "client_id"),),
        wrong=((GetSessionRequest(tenant="a/b", client_id="c"), "tenant"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetSessionsRequest(sessions=[SessionName(**CLIENT)] * 1_001), "sessions"),),
        wrong=(
            (
                GetSessionsRequest(sessions=[SessionName(**CLIENT), SessionName()]),
                "sessions[1].tenant",
            ),
        ),
    ),
    "List": SESSION_LIST,
    "StreamList": SESSION_LIST,
    "CountConnections": Row(empty=None),
}

SUBSCRIPTION: Final = SetSubscription(**CLIENT, filter="f")
SUBSCRIPTION_NAME: Final = DeleteSubscription(**CLIENT, filter="f")
SOUGHT: Final = GetSubscriptionRequest(**CLIENT, filter="f")
SUBSCRIPTION_LIST: Final = Row(
    empty=None,
    large=(
        (ListSubscriptionsRequest(tenant=TEXT), "tenant"),
        (ListSubscriptionsRequest(tenant="t", client_id=TEXT), "client_id"),
        (ListSubscriptionsRequest(page_size=1_001), "page_size"),
        (ListSubscriptionsRequest(page_token=TOKEN), "page_token"),
    ),
    wrong=((ListSubscriptionsRequest(client_id="c"), "client_id"),),
)
SUBSCRIPTIONS: Final = {
    "Set": Row(
        empty="tenant",
        large=(
            (like(SUBSCRIPTION, filter=TEXT), "filter"),
            (like(SUBSCRIPTION, identifier=1 << 28), "identifier"),
            (like(SUBSCRIPTION, properties=LARGE_PAYLOAD), "properties"),
        ),
        wrong=(
            (like(SUBSCRIPTION, filter="a/#/b"), "filter"),
            (like(SUBSCRIPTION, generation=0), "generation"),
            (like(SUBSCRIPTION, qos=3), "qos"),
            (like(SUBSCRIPTION, retain_handling=77), "retain_handling"),
            (like(SUBSCRIPTION, filter="$share/g/f", no_local=True), "no_local"),
        ),
    ),
    "SetBatch": Row(
        empty=None,
        large=((SetSubscriptions(subscriptions=[SUBSCRIPTION] * MANY), "subscriptions"),),
        wrong=(
            (
                SetSubscriptions(subscriptions=[SetSubscription()]),
                InPlace("subscriptions[0].tenant"),
            ),
        ),
    ),
    "Delete": Row(
        empty="tenant",
        large=((like(SUBSCRIPTION_NAME, client_id=TEXT), "client_id"),),
        wrong=((like(SUBSCRIPTION_NAME, filter="$share/g"), "filter"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteSubscriptions(subscriptions=[SUBSCRIPTION_NAME] * MANY), "subscriptions"),),
        wrong=(
            (
                DeleteSubscriptions(subscriptions=[DeleteSubscription()]),
                InPlace("subscriptions[0].tenant"),
            ),
        ),
    ),
    "Get": Row(
        empty="tenant",
        large=((GetSubscriptionRequest(**CLIENT, filter=TEXT), "filter"),),
        wrong=((GetSubscriptionRequest(**CLIENT, filter="+a"), "filter"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetSubscriptionsRequest(subscriptions=[SOUGHT] * 1_001), "subscriptions"),),
        wrong=(
            (
                GetSubscriptionsRequest(subscriptions=[SOUGHT, GetSubscriptionRequest()]),
                "subscriptions[1].tenant",
            ),
        ),
    ),
    "List": SUBSCRIPTION_LIST,
    "StreamList": SUBSCRIPTION_LIST,
    "Gather": Row(
        empty=None,
        large=((GatherSubscriptionsRequest(clients=[ClientName(**CLIENT)] * 1_001), "clients"),),
        wrong=(
            (
                GatherSubscriptionsRequest(clients=[ClientName(**CLIENT), ClientName()]),
                "clients[1].tenant",
            ),
        ),
    ),
}

FOUNDED: Final = CreateSharedGroup(tenant="t", name="g")
CHANGED_GROUP: Final = UpdateSharedGroup(tenant="t", name="g")
DISSOLVED: Final = DeleteSharedGroup(tenant="t", name="g")
JOINED: Final = JoinSharedGroup(**GROUP, broker="b")
LEFT: Final = LeaveSharedGroup(**GROUP)
SOUGHT_GROUP: Final = GetSharedGroupRequest(tenant="t", name="g")
GROUP_LIST: Final = Row(
    empty=None,
    large=(
        (ListSharedGroupsRequest(tenant=TEXT), "tenant"),
        (ListSharedGroupsRequest(leader=TEXT), "leader"),
        (ListSharedGroupsRequest(page_size=1_001), "page_size"),
        (ListSharedGroupsRequest(page_token=TOKEN), "page_token"),
    ),
    wrong=((ListSharedGroupsRequest(leader=STRANGE), "leader"),),
)
SHARED_GROUPS: Final = {
    "Create": Row(
        empty="tenant",
        large=(
            (like(FOUNDED, name=TEXT), "name"),
            (like(FOUNDED, parameters=LARGE_PAYLOAD), "parameters"),
        ),
        wrong=((like(FOUNDED, name="a/b"), "name"),),
    ),
    "CreateBatch": Row(
        empty=None,
        large=((CreateSharedGroups(groups=[FOUNDED] * MANY), "groups"),),
        wrong=((CreateSharedGroups(groups=[CreateSharedGroup()]), InPlace("groups[0].tenant")),),
    ),
    "Update": Row(
        empty="tenant",
        large=((like(CHANGED_GROUP, parameters=LARGE_PAYLOAD), "parameters"),),
        wrong=((like(CHANGED_GROUP, name="a+"), "name"),),
    ),
    "UpdateBatch": Row(
        empty=None,
        large=((UpdateSharedGroups(groups=[CHANGED_GROUP] * MANY), "groups"),),
        wrong=((UpdateSharedGroups(groups=[UpdateSharedGroup()]), InPlace("groups[0].tenant")),),
    ),
    "Delete": Row(
        empty="tenant",
        large=((like(DISSOLVED, name=TEXT), "name"),),
        wrong=((like(DISSOLVED, name="#"), "name"),),
    ),
    "DeleteBatch": Row(
        empty=None,
        large=((DeleteSharedGroups(groups=[DISSOLVED] * MANY), "groups"),),
        wrong=((DeleteSharedGroups(groups=[DeleteSharedGroup()]), InPlace("groups[0].tenant")),),
    ),
    "Join": Row(
        empty="tenant",
        large=(
            (like(JOINED, client_id=TEXT), "client_id"),
            (like(JOINED, filter=TEXT), "filter"),
            (like(JOINED, parameters=LARGE_PAYLOAD), "parameters"),
        ),
        wrong=(
            (like(JOINED, group="a/b"), "group"),
            (like(JOINED, filter="$share/g/f"), "filter"),
            (like(JOINED, broker=""), "broker"),
            (like(JOINED, broker_epoch=0), "broker_epoch"),
        ),
    ),
    "JoinBatch": Row(
        empty=None,
        large=((JoinSharedGroups(members=[JOINED] * MANY), "members"),),
        wrong=((JoinSharedGroups(members=[JoinSharedGroup()]), InPlace("members[0].tenant")),),
    ),
    "Leave": Row(
        empty="tenant",
        large=((like(LEFT, group=TEXT), "group"),),
        wrong=((like(LEFT, broker_epoch=0), "broker_epoch"),),
    ),
    "LeaveBatch": Row(
        empty=None,
        large=((LeaveSharedGroups(members=[LEFT] * MANY), "members"),),
        wrong=((LeaveSharedGroups(members=[LeaveSharedGroup()]), InPlace("members[0].tenant")),),
    ),
    "Get": Row(
        empty="tenant",
        large=((GetSharedGroupRequest(tenant="t", name=TEXT), "name"),),
        wrong=((GetSharedGroupRequest(tenant="t", name="+"), "name"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetSharedGroupsRequest(groups=[SOUGHT_GROUP] * 1_001), "groups"),),
        wrong=(
            (
                GetSharedGroupsRequest(groups=[SOUGHT_GROUP, GetSharedGroupRequest()]),
                "groups[1].tenant",
            ),
        ),
    ),
    "List": GROUP_LIST,
    "StreamList": GROUP_LIST,
    "ListMembers": Row(
        empty=None,
        large=(
            (ListSharedGroupMembersRequest(tenant="t", group=TEXT), "group"),
            (ListSharedGroupMembersRequest(broker=TEXT), "broker"),
            (ListSharedGroupMembersRequest(page_size=1_001), "page_size"),
            (ListSharedGroupMembersRequest(page_token=TOKEN), "page_token"),
        ),
        wrong=((ListSharedGroupMembersRequest(group="g"), "group"),),
    ),
}

PUBLISHED: Final = AcknowledgeWill(**CLIENT, id=1)
WILLS: Final = {
    "Get": Row(
        empty="tenant",
        large=((GetWillRequest(tenant="t", client_id=TEXT), "client_id"),),
        wrong=((GetWillRequest(tenant="a/b", client_id="c"), "tenant"),),
    ),
    "GetBatch": Row(
        empty=None,
        large=((GetWillsRequest(wills=[GetWillRequest(**CLIENT)] * 1_001), "wills"),),
        wrong=(
            (
                GetWillsRequest(wills=[GetWillRequest(**CLIENT), GetWillRequest()]),
                "wills[1].tenant",
            ),
        ),
    ),
    "ListDeliveries": Row(
        empty=None,
        large=(
            (ListWillDeliveriesRequest(tenant=TEXT), "tenant"),
            (ListWillDeliveriesRequest(assignee=TEXT), "assignee"),
            (ListWillDeliveriesRequest(page_size=1_001), "page_size"),
            (ListWillDeliveriesRequest(page_token=TOKEN), "page_token"),
        ),
        wrong=((ListWillDeliveriesRequest(assignee=STRANGE), "assignee"),),
    ),
    "Acknowledge": Row(
        empty="tenant",
        large=((like(PUBLISHED, client_id=TEXT), "client_id"),),
        wrong=((like(PUBLISHED, id=0), "id"),),
    ),
    "AcknowledgeBatch": Row(
        empty=None,
        large=((AcknowledgeWills(wills=[PUBLISHED] * MANY), "wills"),),
        wrong=((AcknowledgeWills(wills=[AcknowledgeWill()]), InPlace("wills[0].tenant")),),
    ),
}

ACCESS: Final = CheckAccessRequest(**CLIENT, action=ACCESS_ACTION_CONNECT)
AUTHORISATION: Final = {
    "CheckAccess": Row(
        empty="tenant",
        large=(
            (like(ACCESS, tenant=TEXT), "tenant"),
            (like(ACCESS, client_id=TEXT), "client_id"),
            (like(ACCESS, username=TEXT), "username"),
            (like(ACCESS, address=TEXT), "address"),
            (like(ACCESS, action=ACCESS_ACTION_PUBLISH, topic="o", qos=3), "qos"),
        ),
        wrong=(
            (like(ACCESS, action=77), "action"),
            (like(ACCESS, client_id=""), "client_id"),
            (like(ACCESS, address="nowhere"), "address"),
            (like(ACCESS, topic="o"), "topic"),
            (like(ACCESS, action=ACCESS_ACTION_PUBLISH, topic="#"), "topic"),
        ),
    ),
}

ROWS: Final = by_method(
    {
        "quorate_mqtt.v1.AclRuleService": ACL_RULES,
        "quorate_mqtt.v1.AuthorisationService": AUTHORISATION,
        "quorate_mqtt.v1.AutoSubscriptionService": AUTO_SUBSCRIPTIONS,
        "quorate_mqtt.v1.BlacklistService": BLACKLIST,
        "quorate_mqtt.v1.QueuedMessageService": QUEUED_MESSAGES,
        "quorate_mqtt.v1.RetainedMessageService": RETAINED_MESSAGES,
        "quorate_mqtt.v1.RewriteRuleService": REWRITE_RULES,
        "quorate_mqtt.v1.SessionService": SESSIONS,
        "quorate_mqtt.v1.SharedGroupService": SHARED_GROUPS,
        "quorate_mqtt.v1.SubscriptionService": SUBSCRIPTIONS,
        "quorate_mqtt.v1.TopicService": TOPICS,
        "quorate_mqtt.v1.UserService": USERS,
        "quorate_mqtt.v1.WillService": WILLS,
    }
)
