"""The second phase of a topic's deletion: every plugin with data of the topic deletes it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from quorate.plugin import Controller, Extension, NodeApi, Query, Reader, ShardRef, keys
from quorate.plugin.batches import read_pages
from quorate.plugin.resource import read_rows
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.shards import GROUP
from quorate_mqtt.topics.resource import DELETIONS, TOPIC
from quorate_mqtt.v1 import retained_messages_pb2 as retained, topics_pb2 as pb

INTERVAL_S: Final = 5.0
_PAGE: Final = 1_000


async def delete_topics(node: NodeApi, shard: ShardRef) -> None:
    """Run the finalizers of topics in deletion, and remove the names of those that have finished.

    A finalizer that raises does not stop the others; its exception is raised at the end.
    """
    failures: list[Exception] = []
    looked = 0
    async for page in read_pages(node, _following, pb.TopicDeletion, _PAGE):
        found = await read_rows(node, TOPIC, list(map(_key, page)))
        topics = [each for each in found if each is not None and each.deleting_at_ms]
        finished = await _finished(node, topics, failures)
        if finished:
            await node.propose(pb.FinishTopics(topics=finished), BatchReply, if_leader=shard)
        looked += len(page)
        node.progress(f"checked {looked:,} topics that are being deleted")
    node.progress("")
    if failures:
        raise ExceptionGroup("finalizers of topics failed; they are called again", failures)


def find_deletions(reader: Reader, query: pb.FindTopicDeletions) -> Iterator[pb.TopicDeletion]:
    """Yield the topics that are being deleted, by tenant and name."""
    _, end = keys.prefix()
    found = reader.scan(DELETIONS.name, keys.successor(query.after), end)
    for row, _ in zip(found, range(query.limit), strict=False):
        yield pb.TopicDeletion.FromString(row.value)


async def clear_retained(node: NodeApi, topics: Sequence[pb.Topic]) -> Sequence[pb.Topic]:
    """Delete the retained messages of topics."""
    names = [retained.RetainedName(tenant=each.tenant, topic=each.name) for each in topics]
    clearing = retained.DeleteRetainedMessages(names=names)
    reply = await node.propose(clearing, BatchReply)
    failed = {refusal.item for refusal in reply.refusals if refusal.code != "NOT_FOUND"}
    return [topic for place, topic in enumerate(topics) if place not in failed]


async def _finished(
    node: NodeApi, topics: Sequence[pb.Topic], failures: list[Exception]
) -> list[pb.TopicFinish]:
    finalizers = node.extensions(TOPIC_FINALIZERS, TopicFinalizer)
    named: defaultdict[str, list[pb.Topic]] = defaultdict(list)
    for topic in topics:
        for name in topic.finalizers:
            # The name of a missing plugin stays in the row, visible to operators.
            if name in finalizers:
                named[name].append(topic)
    return [
        pb.TopicFinish(tenant=topic.tenant, name=topic.name, id=topic.id, finalizer=name)
        for name, waiting in named.items()
        for topic in await _finished_by(node, finalizers[name], waiting, failures)
    ]


async def _finished_by(
    node: NodeApi,
    finalizer: TopicFinalizer,
    topics: Sequence[pb.Topic],
    failures: list[Exception],
) -> Sequence[pb.Topic]:
    """Return the topics that a finalizer has finished; a topic that fails does not block others."""
    try:
        return await finalizer.finish(node, topics)
    except Exception as error:  # noqa: BLE001 - another plugin's; it is raised again at the end
        if len(topics) == 1:
            failures.append(error)
            return ()
    done: list[pb.Topic] = []
    for topic in topics:
        done += await _finished_by(node, finalizer, [topic], failures)
    return done


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
#: The plugin's own part: the retained message is deleted with its topic.
RETAINED: Final = Extension(
    point=TOPIC_FINALIZERS, name="mqtt.retained_message", value=TopicFinalizer(clear_retained)
)
