"""Subscriptions: they share the shard of their client's session, and end with it."""

from typing import Any, Final

from quorate.plugin import Access, Invalid, Item, Rejected, Resource, Serving, Txn, Verb, View, keys
from quorate.plugin.advanced import Column, Table
from quorate.plugin.checking import check_bytes, check_most, check_name
from quorate.plugin.resource import column_of, from_columns

from quorate_mqtt.names import check_identity, check_qos, check_topic_filter
from quorate_mqtt.sessions.families import SESSIONS, SUBSCRIPTIONS
from quorate_mqtt.sessions.rows import kept_of
from quorate_mqtt.sessions.updating import TAKEN_OVER
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.subscriptions.gathering import SubscriptionGathering
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1 import subscriptions_pb2 as pb

#: MQTT encodes it in four bytes of seven bits.
LARGEST_IDENTIFIER: Final = 268_435_455
LARGEST_PROPERTIES: Final = 16 * 1024


def check_set(command: pb.SetSubscription, path: str) -> None:
    """Reject a subscription with options that MQTT does not define."""
    check_generation(command, path)
    check_qos(f"{path}qos", command.qos)
    if command.retain_handling not in pb.RetainHandling.values():
        raise Invalid(f"{path}retain_handling", f"{command.retain_handling} is none that is known")
    check_most(f"{path}identifier", command.identifier, LARGEST_IDENTIFIER)
    check_bytes(f"{path}properties", command.properties, LARGEST_PROPERTIES)
    if command.no_local and group_of(command.filter):
        raise Invalid(f"{path}no_local", "must not be set for a shared subscription")


def check_generation(command: pb.SetSubscription | pb.DeleteSubscription, path: str) -> None:
    """Reject generation 0, which no connect returns."""
    if command.HasField("generation") and command.generation == 0:
        raise Invalid(f"{path}generation", "must be the one that the connect was answered with")


_COLUMNS: Final = (
    Column(name="tenant", type="string"),
    Column(name="client_id", type="string"),
    Column(name="filter", type="string"),
    Column(name="qos", type="int"),
    Column(name="no_local", type="boolean", nullable=True),
    Column(name="retain_as_published", type="boolean", nullable=True),
    Column(name="retain_handling", type="string", nullable=True),
    Column(name="identifier", type="long", nullable=True),
    Column(name="properties", type="binary", nullable=True),
)


def to_item(*values: Any) -> pb.SetSubscription:
    """Return the subscription of a client that has a session."""
    given = {column.name: value for column, value in zip(_COLUMNS, values, strict=True)}
    item = from_columns(pb.SetSubscription, given)
    check_name("tenant", item.tenant)
    check_identity("client_id", item.client_id)
    check_topic_filter("filter", item.filter)
    check_set(item, "")
    return item


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a subscription as its columns."""
    stored = pb.Subscription.FromString(value)
    return (
        *keys.unpack(key),
        stored.qos,
        stored.no_local,
        stored.retain_as_published,
        column_of(stored, "retain_handling"),
        stored.identifier or None,
        stored.properties or None,
    )


TABLE: Final = Table(
    family=SUBSCRIPTIONS,
    columns=_COLUMNS,
    key=("tenant", "client_id", "filter"),
    write=pb.SetSubscriptions,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
)


def set_subscription(txn: Txn, command: pb.SetSubscription) -> pb.SetSubscriptionReply:
    """Subscribe a client, or replace the options of its subscription."""
    _check_session(txn, command)
    key = keys.pack(command.tenant, command.client_id, command.filter)
    old = txn.get(SUBSCRIPTIONS, key)
    created_at_ms = pb.Subscription.FromString(old).created_at_ms if old else txn.proposed_at_ms
    subscription = pb.Subscription(
        qos=command.qos,
        no_local=command.no_local,
        retain_as_published=command.retain_as_published,
        retain_handling=command.retain_handling,
        identifier=command.identifier,
        properties=command.properties,
        created_at_ms=created_at_ms,
    )
    txn.put(SUBSCRIPTIONS, key, subscription.SerializeToString(deterministic=True))
    return pb.SetSubscriptionReply(created=old is None)


def delete_subscription(txn: Txn, command: pb.DeleteSubscription) -> pb.DeleteSubscriptionReply:
    """End one subscription of a client, and no other."""
    key = keys.pack(command.tenant, command.client_id, command.filter)
    there = txn.get(SUBSCRIPTIONS, key) is not None
    if command.missing_ok and not there:
        return pb.DeleteSubscriptionReply()
    _check_session(txn, command)
    if not there:
        raise Rejected(
            "NOT_FOUND", f"client {command.client_id} has no subscription to {command.filter}"
        )
    txn.delete(SUBSCRIPTIONS, key)
    return pb.DeleteSubscriptionReply()


def _check_session(txn: Txn, command: pb.SetSubscription | pb.DeleteSubscription) -> None:
    row = txn.get(SESSIONS, client_shard(command.tenant, command.client_id))
    if row is None:
        raise Rejected("NOT_FOUND", f"client {command.client_id} has no session; connect it")
    generation = kept_of(row)[0]
    if command.HasField("generation") and command.generation != generation:
        raise Rejected(
            TAKEN_OVER,
            f"the session of client {command.client_id} has generation {generation}, and not "
            f"{command.generation}: it was taken over; close the connection",
        )


_ALARMS: Final[dict[str, Any]] = {"tenant": "acme", "client_id": "ada", "filter": "alarms/#"}
_JOBS: Final[dict[str, Any]] = {
    "tenant": "acme",
    "client_id": "ben",
    "filter": "$share/workers/jobs/+",
}

#: Subscriptions are deleted with their session: a tenant without sessions has no subscriptions.
SUBSCRIPTION: Final[Resource[pb.Subscription]] = Resource(
    family=SUBSCRIPTIONS,
    group=GROUP,
    row=pb.Subscription,
    serving=Serving(
        answer=pb.KeyedSubscription,
        servicer=SubscriptionGathering,
        access={
            "Gather": Access(
                right="read",
                domain=SUBSCRIPTIONS,
                items="clients",
                tenant="tenant",
                key="client_id",
            )
        },
    ),
    service=pb.DESCRIPTOR.services_by_name["SubscriptionService"],
    key=("tenant", "client_id", "filter"),
    check_key={"client_id": check_identity, "filter": check_topic_filter},
    shard_by=("tenant", "client_id"),
    verbs={
        "Set": Verb(
            apply=set_subscription,
            check=check_set,
            item=Item(reply=pb.SetSubscriptionReply),
            examples=(
                pb.SetSubscription(**_JOBS),
                pb.SetSubscription(
                    **_ALARMS,
                    qos=1,
                    retain_handling=pb.RETAIN_HANDLING_ON_NEW_SUBSCRIBE,
                    identifier=4,
                ),
            ),
        ),
        "Delete": Verb(
            apply=delete_subscription,
            check=check_generation,
            item=Item(reply=pb.DeleteSubscriptionReply),
            examples=(pb.DeleteSubscription(**_JOBS), pb.DeleteSubscription(**_ALARMS)),
        ),
    },
    view=View(table=TABLE),
)
