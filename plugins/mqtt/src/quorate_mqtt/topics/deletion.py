"""The second phase of a topic's deletion: everybody who holds something of it does their part."""

from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.shards import GROUP
from quorate_mqtt.topics.families import DELETION_SHELF, DELETIONS, FINISH, SHELF, key_of
from quorate_mqtt.v1.topics_pb2 import Topic, TopicFinish

INTERVAL_S: Final = 5.0
_PAGE: Final = 100


async def delete_topics(node: NodeApi, shard: ShardRef) -> None:
    """Let finalizers do their parts, and take the names of those off that have.

    A finalizer that raises does not keep the others from it; what was raised is raised at the end.
    """
    failures: list[Exception] = []
    async for deletions, _ in DELETION_SHELF.pages(node, Range(page_size=_PAGE)):
        topics = await SHELF.get_each(node, [key_of(each) for each in deletions])
        finished: list[TopicFinish] = []
        for topic in topics:
            if topic is not None and topic.deleting_at_ms:
                finished += await _finished(node, topic, failures)
        if finished:
            await node.propose(FINISH.of(finished), BatchReply, if_leader=shard)
    if failures:
        raise ExceptionGroup("finalizers of topics failed; they are called again", failures)


async def _finished(node: NodeApi, topic: Topic, failures: list[Exception]) -> list[TopicFinish]:
    finalizers = node.extensions(TOPIC_FINALIZERS, TopicFinalizer)
    finished: list[TopicFinish] = []
    for name in topic.finalizers:
        # A name whose plugin is not here stays in the row for all to see.
        finalizer = finalizers.get(name)
        if finalizer is not None and await _is_finished(node, finalizer, topic, failures):
            finished.append(
                TopicFinish(tenant=topic.tenant, name=topic.name, id=topic.id, finalizer=name)
            )
    return finished


async def _is_finished(
    node: NodeApi, finalizer: TopicFinalizer, topic: Topic, failures: list[Exception]
) -> bool:
    try:
        return await finalizer.finish(node, topic)
    except Exception as error:  # noqa: BLE001 - another plugin's; it is raised again at the end
        failures.append(error)
        return False


DELETION: Final = Controller(
    name="mqtt.topic_deletion",
    group=GROUP,
    run_once=delete_topics,
    interval_s=INTERVAL_S,
    wake_on=(DELETIONS,),
)
