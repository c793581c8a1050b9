"""The first phase of a topic's deletion: the mark that says whose parts are to be done."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.plugin import Extension, NodeApi, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.batches import only_reply
from quorate_mqtt.resource import Holding
from quorate_mqtt.retained_messages.families import DELETION as RETAINED_DELETION
from quorate_mqtt.topics.families import MARK, TOPICS
from quorate_mqtt.v1.retained_messages_pb2 import RetainedName
from quorate_mqtt.v1.topics_pb2 import Topic, TopicMark


def name_finalizers(node: NodeApi, command: Message) -> None:
    """Add the names of all finalizers of this node to a command that marks topics."""
    finalizers = sorted(node.extensions(TOPIC_FINALIZERS, TopicFinalizer))
    for mark in MARK.items(command):
        mark.finalizers.extend(finalizers)


async def _clear_retained(node: NodeApi, topic: Topic) -> bool:
    clearing = RETAINED_DELETION.of([RetainedName(tenant=topic.tenant, topic=topic.name)])
    only_reply(await node.propose(clearing, BatchReply), Empty)
    return True


def _erase(rows: Sequence[bytes]) -> Message:
    named = map(keys.unpack, rows)
    return MARK.of(
        [TopicMark(tenant=str(tenant), name=str(name), missing_ok=True) for tenant, name in named]
    )


#: The plugin's own part: a topic that is gone has no retained message.
RETAINED: Final = Extension(
    point=TOPIC_FINALIZERS, name="mqtt.retained_message", value=TopicFinalizer(_clear_retained)
)

#: Topics of a tenant that is deleted are deleted in two phases as well.
HOLDING: Final = Holding(family=TOPICS, erase=_erase, complete=name_finalizers)
