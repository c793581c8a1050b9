"""Where the rows are, and the commands that change them."""

from typing import Final

from quorate.plugin import ColumnFamily, ExtensionPoint, keys

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.batches import Batch
from quorate_mqtt.rows.reading import Shelf, value_as
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopics,
    FinishTopics,
    GrowTopicRequest,
    GrowTopics,
    MarkTopics,
    PutTopics,
    Topic,
    TopicDeletion,
    TopicFinish,
    TopicMark,
    TopicName,
    UpdateTopicRequest,
    UpdateTopics,
)

TOPICS: Final = "mqtt.topics"
#: The topics that are being deleted, so that nobody looks for them among all.
DELETIONS: Final = "mqtt.topic_deletions"
#: How many topics each tenant has.
COUNTS: Final = "mqtt.topic_counts"
#: The sequence of the topics' ids.
IDS: Final = "mqtt.topic_ids"
#: The limit of a tenant: how many topics it may have.
LIMIT: Final = "mqtt.topics"

FINALIZERS: Final = ExtensionPoint(name=TOPIC_FINALIZERS, type=TopicFinalizer)

CREATION: Final = Batch[Topic](message=CreateTopics, field="topics")
PUT: Final = Batch[Topic](message=PutTopics, field="topics")
CHANGE: Final = Batch[UpdateTopicRequest](message=UpdateTopics, field="topics")
GROWTH: Final = Batch[GrowTopicRequest](message=GrowTopics, field="topics")
MARK: Final = Batch[TopicMark](message=MarkTopics, field="topics")
FINISH: Final = Batch[TopicFinish](message=FinishTopics, field="topics")

FAMILIES: Final = (
    ColumnFamily(name=TOPICS, group=GROUP, row=Topic, shard_key=tenant_shard_of),
    ColumnFamily(name=DELETIONS, group=GROUP, row=TopicDeletion, shard_key=tenant_shard_of),
    ColumnFamily(name=COUNTS, group=GROUP, shard_key=tenant_shard_of),
)
SHELF: Final = Shelf(family=TOPICS, shard_of=tenant_shard_of, show=value_as(Topic))
DELETION_SHELF: Final = Shelf(
    family=DELETIONS, shard_of=tenant_shard_of, show=value_as(TopicDeletion)
)

Named = Topic | UpdateTopicRequest | GrowTopicRequest | TopicMark | TopicFinish | TopicName


def key_of(named: Named | TopicDeletion) -> bytes:
    """Return the key of a topic: those of a tenant lie together, by name."""
    return keys.pack(named.tenant, named.name)
