"""The handlers: pure functions of a transaction and a command, run on every replica."""

from collections.abc import Callable, Iterable

from quorate.plugin import Rejected, Txn, answer_each, read_values
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.topics import counts
from quorate_mqtt.topics.creating import Creation, completed, placed
from quorate_mqtt.topics.families import DELETIONS, TOPICS, Named, key_of
from quorate_mqtt.topics.validation import UPDATES
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
    UpdateTopicRequest,
    UpdateTopics,
)


def create_topics(txn: Txn, command: CreateTopics) -> BatchReply:
    """Make topics, no two of one name, as long as their tenants may have more."""
    return _write_each(txn, command.topics, _refuse_taken)


def put_topics(txn: Txn, command: PutTopics) -> BatchReply:
    """Make topics as long as their tenants may have more, and replace what there is."""
    return _write_each(txn, command.topics, _replaced)


def _write_each(
    txn: Txn, wanted: Iterable[Topic], replace: Callable[[Txn, Topic, Topic], bytes]
) -> BatchReply:
    topics = list(wanted)
    creation, answer = Creation(txn), BatchReply(items=len(topics))
    names = list(map(key_of, topics))
    rows: dict[bytes, bytes] = {}
    replies = []
    stored = read_values(txn, TOPICS, names)
    for position, (topic, key, row) in enumerate(zip(topics, names, stored, strict=True)):
        try:
            if row is None:
                reply = rows[key] = creation.row(topic)
            else:
                reply = rows[key] = replace(txn, topic, Topic.FromString(row))
        except Rejected as refusal:
            reply = b""
            answer.refusals.add(item=position, code=refusal.code, message=refusal.message)
        replies.append(reply)
    txn.put_each(TOPICS, rows)
    creation.close()
    answer.replies.extend(replies)
    return answer


def update_topics(txn: Txn, command: UpdateTopics) -> BatchReply:
    """Change what is given of descriptions and configurations."""
    return answer_each(txn, command.topics, _update)


def grow_topics(txn: Txn, command: GrowTopics) -> BatchReply:
    """Give topics more partitions than they have."""
    return answer_each(txn, command.topics, _grow)


def mark_topics(txn: Txn, command: MarkTopics) -> BatchReply:
    """Mark topics for deletion with what is to be done before; with nothing, delete them."""
    return answer_each(txn, command.topics, _mark)


def finish_topics(txn: Txn, command: FinishTopics) -> BatchReply:
    """Take finalizers off topics that are being deleted; the last one takes the topic along."""
    return answer_each(txn, command.topics, _finish)


def _update(txn: Txn, update: UpdateTopicRequest) -> Topic:
    topic = UPDATES.write(_living(txn, update), update)
    topic.config.CopyFrom(completed(topic.config))
    return _write(txn, topic)


def _refuse_taken(txn: Txn, wanted: Topic, stored: Topic) -> bytes:
    until = " and is being deleted: wait until it is gone" if stored.deleting_at_ms else ""
    raise Rejected(
        "ALREADY_EXISTS", f"topic {wanted.name} of {wanted.tenant} is there already{until}"
    )


def _replaced(txn: Txn, wanted: Topic, topic: Topic) -> bytes:
    """Return the row of a topic that is there, with what is put in place of it."""
    _refuse_deleting(topic)
    asked = placed(wanted)
    for field in ("storage", "source", "replication"):
        if getattr(asked, field) != getattr(topic, field):
            raise Rejected(
                "FAILED_PRECONDITION",
                f"topic {topic.name} of {topic.tenant} has another {field}, which stays: leave it "
                "as it is, or delete the topic first",
            )
    if asked.partitions < topic.partitions:
        raise _not_more(topic, asked.partitions)
    topic.description, topic.partitions = asked.description, asked.partitions
    topic.config.CopyFrom(asked.config)
    topic.updated_at_ms = txn.proposed_at_ms
    return topic.SerializeToString(deterministic=True)


def _grow(txn: Txn, growth: GrowTopicRequest) -> Topic:
    topic = _living(txn, growth)
    if growth.partitions <= topic.partitions:
        raise _not_more(topic, growth.partitions)
    topic.partitions = growth.partitions
    return _write(txn, topic)


def _mark(txn: Txn, mark: TopicMark) -> Topic:
    if mark.missing_ok and _read(txn, mark) is None:
        return Topic()
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
    _refuse_deleting(topic)
    return topic


def _refuse_deleting(topic: Topic) -> None:
    """Refuse to change a topic that is being deleted."""
    if topic.deleting_at_ms:
        raise Rejected(
            "FAILED_PRECONDITION", f"topic {topic.name} of {topic.tenant} is being deleted"
        )


def _not_more(topic: Topic, partitions: int) -> Rejected:
    return Rejected(
        "FAILED_PRECONDITION",
        f"topic {topic.name} of {topic.tenant} has {topic.partitions} partitions, which only "
        f"grow: {partitions} are not more",
    )


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
