"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Rejected, Txn, answer_each, read_values
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.topics import counts
from quorate_mqtt.topics.creating import Creation, completed
from quorate_mqtt.topics.families import DELETIONS, TOPICS, Named, key_of
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopicsCommand,
    FinishTopicsCommand,
    GrowTopicRequest,
    GrowTopicsCommand,
    MarkTopicsCommand,
    Topic,
    TopicDeletion,
    TopicFinish,
    TopicMark,
    UpdateTopicRequest,
    UpdateTopicsCommand,
)


def create_topics(txn: Txn, command: CreateTopicsCommand) -> BatchReply:
    """Make topics, no two of one name, as long as their tenants may have more."""
    topics = list(command.topics)
    creation, answer = Creation(txn), BatchReply(items=len(topics))
    names = list(map(key_of, topics))
    rows: dict[bytes, bytes] = {}
    replies = []
    stored = read_values(txn, TOPICS, names)
    for position, (wanted, key, row) in enumerate(zip(topics, names, stored, strict=True)):
        try:
            reply = rows[key] = creation.row(wanted, row)
        except Rejected as refusal:
            reply = b""
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        replies.append(reply)
    txn.put_each(TOPICS, rows)
    creation.close()
    answer.replies.extend(replies)
    return answer


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


def _update(txn: Txn, update: UpdateTopicRequest) -> Topic:
    topic = _living(txn, update)
    topic.description = update.description
    topic.config.CopyFrom(completed(update.config))
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
    counts.write(txn, topic.tenant, counts.read(txn, topic.tenant) - 1)
    return topic
