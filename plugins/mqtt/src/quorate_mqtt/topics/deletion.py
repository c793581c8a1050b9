"""The second phase of a topic's deletion: everybody who holds something of it does their part."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Controller, Extension, NodeApi, Query, Reader, ShardRef, keys, read_range
from quorate.plugin.batches import read_pages
from quorate.plugin.resource import read_rows
from quorate.plugin.singles import only_reply
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.shards import GROUP
from quorate_mqtt.topics.resource import DELETIONS, TOPIC
from quorate_mqtt.v1 import retained_messages_pb2 as retained, topics_pb2 as pb

INTERVAL_S: Final = 5.0
_PAGE: Final = 100


async def delete_topics(node: NodeApi, shard: ShardRef) -> None:
    """Let finalizers do their parts, and take the names of those off that have.

    A finalizer that raises does not keep the others from it; what was raised is raised at the end.
    """
    failures: list[Exception] = []
    async for page in read_pages(node, _following, pb.TopicDeletion, _PAGE):
        finished: list[pb.TopicFinish] = []
        for topic in await read_rows(node, TOPIC, list(map(_key, page))):
            if topic is not None and topic.deleting_at_ms:
                finished += await _finished(node, topic, failures)
        if finished:
            await node.propose(pb.FinishTopics(topics=finished), BatchReply, if_leader=shard)
    if failures:
        raise ExceptionGroup("finalizers of topics failed; they are called again", failures)


def find_deletions(reader: Reader, query: pb.FindTopicDeletions) -> Iterator[pb.TopicDeletion]:
    """Yield the topics that are being deleted, by tenant and name."""
    _, end = keys.prefix()
    found = read_range(reader, DELETIONS.name, keys.successor(query.after), end)
    for row, _ in zip(found, range(query.limit), strict=False):
        yield pb.TopicDeletion.FromString(row.value)


async def clear_retained(node: NodeApi, topic: pb.Topic) -> bool:
    """Delete the retained message of a topic."""
    name = retained.RetainedName(tenant=topic.tenant, topic=topic.name)
    clearing = retained.DeleteRetainedMessages(names=[name])
    only_reply(await node.propose(clearing, BatchReply))
    return True


async def _finished(
    node: NodeApi, topic: pb.Topic, failures: list[Exception]
) -> list[pb.TopicFinish]:
    finalizers = node.extensions(TOPIC_FINALIZERS, TopicFinalizer)
    finished: list[pb.TopicFinish] = []
    for name in topic.finalizers:
        # A name whose plugin is not here stays in the row for all to see.
        finalizer = finalizers.get(name)
        if finalizer is not None and await _is_finished(node, finalizer, topic, failures):
            finished.append(
                pb.TopicFinish(tenant=topic.tenant, name=topic.name, id=topic.id, finalizer=name)
            )
    return finished


async def _is_finished(
    node: NodeApi, finalizer: TopicFinalizer, topic: pb.Topic, failures: list[Exception]
) -> bool:
    try:
        return await finalizer.finish(node, topic)
    except Exception as error:  # noqa: BLE001 - another plugin's; it is raised again at the end
        failures.append(error)
        return False


def _following(last: pb.TopicDeletion | None) -> pb.FindTopicDeletions:
    return pb.FindTopicDeletions(after=_key(last) if last else b"", limit=_PAGE)


def _key(named: pb.TopicDeletion) -> bytes:
    return keys.pack(named.tenant, named.name)


FIND_DELETIONS: Final = Query(
    message=pb.FindTopicDeletions, group=GROUP, run=find_deletions, order=_key
)
DELETION: Final = Controller(
    name="mqtt.topic_deletion",
    group=GROUP,
    run_once=delete_topics,
    interval_s=INTERVAL_S,
    wake_on=(DELETIONS.name,),
)
#: The plugin's own part: a topic that is gone has no retained message.
RETAINED: Final = Extension(
    point=TOPIC_FINALIZERS, name="mqtt.retained_message", value=TopicFinalizer(clear_retained)
)
