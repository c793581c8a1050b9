"""Topics: their configuration, partitions that only grow, and deletion in two phases."""

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import (
    Admission,
    ColumnFamily,
    ExtensionPoint,
    Invalid,
    Item,
    Life,
    NodeApi,
    Rejected,
    Resource,
    Serving,
    Storage,
    Txn,
    Verb,
    View,
    keys,
)
from quorate.plugin.advanced import Column, Table, find_row, get_row, remove_row, write_row
from quorate.plugin.checking import (
    check_choice,
    check_description,
    check_most,
    check_name,
    check_range,
)
from quorate.plugin.resource import column_of, from_columns

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.names import check_topic_filter, check_topic_name
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.topic_filters import matches
from quorate_mqtt.v1 import topics_pb2 as pb

MOST_PARTITIONS: Final = 1_024
MOST_COPIES: Final = 9
#: Limit on the fields of a configuration: larger numbers do not fit the engines' signed integers.
_LARGEST: Final = (1 << 63) - 1
_STORAGES: Final = frozenset(pb.TopicStorage.values())
_SOURCES: Final = frozenset(pb.TopicSource.values())


def check_topic(topic: pb.Topic, path: str = "") -> None:
    """Reject a topic with an invalid number of partitions or copies, or invalid settings."""
    check_description(f"{path}description", topic.description)
    if topic.storage not in _STORAGES:
        raise Invalid(f"{path}storage", f"{topic.storage} is no storage that this version knows")
    if topic.source not in _SOURCES:
        raise Invalid(f"{path}source", f"{topic.source} is no source that this version knows")
    check_growth(topic, path)
    check_range(f"{path}replication", topic.replication, MOST_COPIES)
    _check_config(f"{path}config", topic.config)


def check_update(update: pb.UpdateTopicRequest, path: str) -> None:
    """Reject an invalid description or configuration."""
    check_description(f"{path}description", update.description)
    _check_config(f"{path}config", update.config)


def check_growth(growth: pb.GrowTopicRequest | pb.Topic, path: str) -> None:
    """Reject an invalid number of partitions."""
    check_range(f"{path}partitions", growth.partitions, MOST_PARTITIONS)


def _check_config(field: str, config: pb.TopicConfig) -> None:
    for name in ("segment_bytes", "records", "retention_s"):
        check_most(f"{field}.{name}", getattr(config, name), _LARGEST)


_COLUMNS: Final = (
    Column(name="tenant", type="string"),
    Column(name="name", type="string"),
    Column(name="partitions", type="int"),
    Column(name="replication", type="int"),
    Column(name="description", type="string", nullable=True),
    Column(name="storage", type="string", nullable=True),
    Column(name="source", type="string", nullable=True),
    Column(name="segment_bytes", type="long", nullable=True),
    Column(name="records", type="long", nullable=True),
    Column(name="retention_s", type="long", nullable=True),
)
#: The columns that are fields of the topic's configuration.
_CONFIG: Final = ("segment_bytes", "records", "retention_s")


def to_item(*values: Any) -> pb.Topic:
    """Return a new topic from its columns."""
    given = {column.name: value for column, value in zip(_COLUMNS, values, strict=True)}
    config = from_columns(pb.TopicConfig, {name: given.pop(name) for name in _CONFIG})
    topic = from_columns(pb.Topic, given)
    topic.config.CopyFrom(config)
    check_name("tenant", topic.tenant)
    check_topic_name("name", topic.name)
    check_topic(topic)
    return topic


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a topic as its columns."""
    topic = pb.Topic.FromString(value)
    return (
        *keys.unpack(key),
        topic.partitions,
        topic.replication,
        topic.description or None,
        column_of(topic, "storage"),
        column_of(topic, "source"),
        topic.config.segment_bytes,
        topic.config.records or None,
        topic.config.retention_s,
    )


#: Topics are created and not replaced: a row of an existing topic is refused.
TABLE: Final = Table(
    family="mqtt.topics",
    columns=_COLUMNS,
    key=("tenant", "name"),
    write=pb.CreateTopics,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
)


#: The topics that are being deleted, so that no scan of all topics is needed to find them.
DELETIONS: Final = ColumnFamily(
    name="mqtt.topic_deletions", group=GROUP, row=pb.TopicDeletion, shard_key=tenant_shard_of
)
#: The sequence of the topics' ids.
IDS: Final = "mqtt.topic_ids"
#: The limit on the topics of a tenant, including topics that are being deleted.
LIMIT: Final = "mqtt.topics"
FINALIZERS: Final = ExtensionPoint(name=TOPIC_FINALIZERS, type=TopicFinalizer)
SEGMENT_BYTES: Final = 1 << 30
RETENTION_S: Final = 7 * 86_400


def complete(txn: Txn, before: pb.Topic | None, after: pb.Topic | None) -> None:
    """Fill in the defaults of a topic; reject changes of immutable fields."""
    if after is None:
        return
    after.storage = after.storage or pb.TOPIC_STORAGE_ENGINE_SEGMENT
    after.source = after.source or pb.TOPIC_SOURCE_MQTT
    after.config.segment_bytes = after.config.segment_bytes or SEGMENT_BYTES
    after.config.retention_s = after.config.retention_s or RETENTION_S
    if before is None:
        after.id = txn.next_id(IDS)
        return
    _refuse_deleting(before)
    for field in ("storage", "source", "replication"):
        if getattr(after, field) != getattr(before, field):
            raise Rejected(
                "FAILED_PRECONDITION",
                f"topic {after.name} of {after.tenant} has another {field}, which stays: leave it "
                "as it is, or delete the topic first",
            )
    if after.partitions < before.partitions:
        raise _not_more(before, after.partitions)


def grow(txn: Txn, growth: pb.GrowTopicRequest) -> pb.Topic:
    """Give a topic more partitions than it has."""
    topic = get_row(txn, TOPIC, growth)
    _refuse_deleting(topic)
    if growth.partitions <= topic.partitions:
        raise _not_more(topic, growth.partitions)
    topic.partitions = growth.partitions
    return write_row(txn, TOPIC, topic)


def delete(txn: Txn, deletion: pb.DeleteTopic) -> pb.Topic:
    """Mark a topic for deletion with its finalizers; without finalizers, delete it."""
    if deletion.missing_ok and find_row(txn, TOPIC, deletion) is None:
        return pb.Topic()
    topic = get_row(txn, TOPIC, deletion)
    if topic.deleting_at_ms:
        return topic
    # Zero is no mark.
    topic.deleting_at_ms = max(1, txn.proposed_at_ms)
    topic.finalizers.extend(deletion.finalizers)
    mark = pb.TopicDeletion(tenant=topic.tenant, name=topic.name, id=topic.id)
    txn.put(DELETIONS.name, _key(topic), mark.SerializeToString(deterministic=True))
    return _write_or_remove(txn, topic)


def finish(txn: Txn, finish: pb.TopicFinish) -> None:
    """Remove a finalizer from a topic that is being deleted; delete the topic with the last one."""
    topic = find_row(txn, TOPIC, finish)
    if topic is not None and topic.id == finish.id and finish.finalizer in topic.finalizers:
        topic.finalizers.remove(finish.finalizer)
        _write_or_remove(txn, topic)


async def name_finalizers(node: NodeApi, _: object, command: pb.DeleteTopics) -> pb.DeleteTopics:
    """Name the finalizers of this node in a command that deletes topics, and no others."""
    finalizers = sorted(node.extensions(TOPIC_FINALIZERS, TopicFinalizer))
    named = pb.DeleteTopics()
    named.CopyFrom(command)
    for each in named.topics:
        each.finalizers[:] = finalizers
    return named


def keep(request: pb.ListTopicsRequest) -> Callable[[pb.Topic], bool] | None:
    """Return the filter of a list request, None for all topics; reject an invalid condition."""
    if request.topic_filter:
        check_topic_filter("topic_filter", request.topic_filter)
    if request.source:
        check_choice("source", request.source, pb.TopicSource)
    if not request.topic_filter and not request.HasField("deleting"):
        return None
    return lambda topic: (
        (not request.topic_filter or matches(request.topic_filter, topic.name))
        and (not request.HasField("deleting") or bool(topic.deleting_at_ms) == request.deleting)
    )


def _refuse_deleting(topic: pb.Topic) -> None:
    """Refuse to change a topic that is being deleted."""
    if topic.deleting_at_ms:
        raise Rejected(
            "FAILED_PRECONDITION", f"topic {topic.name} of {topic.tenant} is being deleted"
        )


def _not_more(topic: pb.Topic, partitions: int) -> Rejected:
    return Rejected(
        "FAILED_PRECONDITION",
        f"topic {topic.name} of {topic.tenant} has {topic.partitions} partitions, which only "
        f"grow: {partitions} are not more",
    )


def _write_or_remove(txn: Txn, topic: pb.Topic) -> pb.Topic:
    if topic.finalizers:
        return write_row(txn, TOPIC, topic)
    txn.delete(DELETIONS.name, _key(topic))
    remove_row(txn, TOPIC, topic)
    return topic


def _key(named: pb.Topic) -> bytes:
    return keys.pack(named.tenant, named.name)


_ORDERS: Final[dict[str, Any]] = {"tenant": "acme", "name": "orders/new"}

TOPIC: Final[Resource[pb.Topic]] = Resource(
    family="mqtt.topics",
    group=GROUP,
    row=pb.Topic,
    service=pb.DESCRIPTOR.services_by_name["TopicService"],
    key=("tenant", "name"),
    check_key={"name": check_topic_name},
    shard_by=("tenant",),
    tenant="tenant",
    life=Life(limit=LIMIT),
    serving=Serving(internal=("id", "deleting_at_ms", "finalizers"), keep=keep),
    check=check_topic,
    storage=Storage(changed=complete),
    verbs={
        "Update": Verb(
            check=check_update,
            examples=(pb.UpdateTopicRequest(**_ORDERS, config=pb.TopicConfig(retention_s=60)),),
        ),
        "Grow": Verb(
            apply=grow, check=check_growth, examples=(pb.GrowTopicRequest(**_ORDERS, partitions=4),)
        ),
        "Delete": Verb(
            apply=delete,
            admission=Admission(admit=name_finalizers),
            examples=(
                pb.DeleteTopic(tenant="globex", name="parcels"),
                pb.DeleteTopic(**_ORDERS, finalizers=["one", "two"]),
            ),
        ),
        "Finish": Verb(
            apply=finish,
            message=pb.FinishTopics,
            item=Item(key=lambda finish: keys.pack(finish.tenant, finish.name, finish.finalizer)),
            examples=(
                pb.TopicFinish(**_ORDERS, id=1, finalizer="two"),
                pb.TopicFinish(**_ORDERS, id=2, finalizer="one"),
            ),
        ),
    },
    view=View(table=TABLE, takes_along="its data, such as records and retained messages"),
    examples=(
        pb.Topic(
            tenant="globex",
            name="parcels",
            partitions=1,
            replication=3,
            config=pb.TopicConfig(records=9),
        ),
        pb.Topic(**_ORDERS, partitions=2, replication=1),
    ),
)
