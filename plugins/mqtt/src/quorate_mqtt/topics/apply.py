"""The handlers: pure functions of a transaction and a command, run on every replica."""

from typing import Final

from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.tenants.rows import LIMIT_REACHED, limit_of, there
from quorate_mqtt.topics.families import (
    COUNTS,
    DELETIONS,
    IDS,
    LIMIT,
    TOPICS,
    Named,
    count_key,
    key_of,
)
from quorate_mqtt.v1.topics_pb2 import (
    TOPIC_SOURCE_MQTT,
    TOPIC_STORAGE_ENGINE_SEGMENT,
    CreateTopicsCommand,
    FinishTopicsCommand,
    GrowTopicRequest,
    GrowTopicsCommand,
    MarkTopicsCommand,
    Topic,
    TopicConfig,
    TopicCount,
    TopicDeletion,
    TopicFinish,
    TopicMark,
    UpdateTopicRequest,
    UpdateTopicsCommand,
)

SEGMENT_BYTES: Final = 1 << 30
RETENTION_S: Final = 7 * 86_400


def create_topics(txn: Txn, command: CreateTopicsCommand) -> BatchReply:
    """Make topics, as long as their tenants may have more."""
    return answer_each(txn, command.topics, _create)


def update_topics(txn: Txn, command: UpdateTopicsCommand) -> BatchReply:
    """Replace descriptions and configurations."""
    return answer_each(txn, command.topics, _update)


def grow_topics(txn: Txn, command: GrowTopicsCommand) -> BatchReply:
    """Give topics more partitions than they have."""
    return answer_each(txn, command.topics, _grow)


def mark_topics(txn: Txn, command: MarkTopicsCommand) -> BatchReply:
    """Mark topics for deletion with what is to be done before; with nothing, delete them."""
    return answer_each(txn, command.topics, _mark)


def finish_topics(txn: Txn, command: FinishTopicsCommand) -> BatchReply:
    """Take finalizers off topics that are being deleted; the last one takes the topic along."""
    return answer_each(txn, command.topics, _finish)


def _create(txn: Txn, wanted: Topic) -> Topic:
    stored = _read(txn, wanted)
    if stored is not None:
        deleting = " and is being deleted: wait until it is gone" if stored.deleting_at_ms else ""
        raise Rejected(
            "ALREADY_EXISTS",
            f"topic {wanted.name} of {wanted.tenant} is there already{deleting}",
        )
    tenant = there(txn, wanted.tenant)
    count, limit = _count(txn, wanted.tenant), limit_of(tenant, LIMIT)
    if limit is not None and count >= limit:
        raise Rejected(
            LIMIT_REACHED,
            f"tenant {wanted.tenant} has {count} topics, and its limit {LIMIT} is {limit}: "
            "delete topics, or raise the limit",
        )
    _set_count(txn, wanted.tenant, count + 1)
    topic = Topic(
        tenant=wanted.tenant,
        name=wanted.name,
        id=txn.next_id(IDS),
        description=wanted.description,
        storage=wanted.storage or TOPIC_STORAGE_ENGINE_SEGMENT,
        source=wanted.source or TOPIC_SOURCE_MQTT,
        partitions=wanted.partitions,
        replication=wanted.replication,
        config=_completed(wanted.config),
        created_at_ms=txn.proposed_at_ms,
    )
    return _write(txn, topic)


def _update(txn: Txn, update: UpdateTopicRequest) -> Topic:
    topic = _living(txn, update)
    topic.description = update.description
    topic.config.CopyFrom(_completed(update.config))
    return _write(txn, topic)


def _grow(txn: Txn, growth: GrowTopicRequest) -> Topic:
    topic = _living(txn, growth)
    if growth.partitions <= topic.partitions:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"topic {growth.name} of {growth.tenant} has {topic.partitions} partitions, which only "
            f"grow: {growth.partitions} are not more",
        )
    topic.partitions = growth.partitions
    return _write(txn, topic)


def _mark(txn: Txn, mark: TopicMark) -> Topic:
    topic = _there(txn, mark)
    if topic.deleting_at_ms:
        return topic
    # Zero is no mark.
    topic.deleting_at_ms = max(1, txn.proposed_at_ms)
    topic.finalizers.extend(mark.finalizers)
    deletion = TopicDeletion(tenant=topic.tenant, name=topic.name, id=topic.id)
    txn.put(DELETIONS, key_of(topic), deletion.SerializeToString(deterministic=True))
    return _write_or_remove(txn, topic)


def _finish(txn: Txn, finish: TopicFinish) -> None:
    topic = _read(txn, finish)
    if topic is not None and topic.id == finish.id and finish.finalizer in topic.finalizers:
        topic.finalizers.remove(finish.finalizer)
        _write_or_remove(txn, topic)


def _completed(config: TopicConfig) -> TopicConfig:
    return TopicConfig(
        segment_bytes=config.segment_bytes or SEGMENT_BYTES,
        records=config.records,
        retention_s=config.retention_s or RETENTION_S,
    )


def _read(txn: Txn, named: Named) -> Topic | None:
    value = txn.get(TOPICS, key_of(named))
    return None if value is None else Topic.FromString(value)


def _there(txn: Txn, named: Named) -> Topic:
    topic = _read(txn, named)
    if topic is None:
        raise Rejected("NOT_FOUND", f"there is no topic {named.name} of {named.tenant}")
    return topic


def _living(txn: Txn, named: Named) -> Topic:
    topic = _there(txn, named)
    if topic.deleting_at_ms:
        raise Rejected(
            "FAILED_PRECONDITION", f"topic {named.name} of {named.tenant} is being deleted"
        )
    return topic


def _write(txn: Txn, topic: Topic) -> Topic:
    topic.updated_at_ms = txn.proposed_at_ms
    txn.put(TOPICS, key_of(topic), topic.SerializeToString(deterministic=True))
    return topic


def _write_or_remove(txn: Txn, topic: Topic) -> Topic:
    if topic.finalizers:
        return _write(txn, topic)
    txn.delete(TOPICS, key_of(topic))
    txn.delete(DELETIONS, key_of(topic))
    _set_count(txn, topic.tenant, _count(txn, topic.tenant) - 1)
    return topic


def _count(txn: Txn, tenant: str) -> int:
    return TopicCount.FromString(txn.get(COUNTS, count_key(tenant)) or b"").topics


def _set_count(txn: Txn, tenant: str, topics: int) -> None:
    if topics:
        count = TopicCount(topics=topics)
        txn.put(COUNTS, count_key(tenant), count.SerializeToString(deterministic=True))
    else:
        txn.delete(COUNTS, count_key(tenant))
