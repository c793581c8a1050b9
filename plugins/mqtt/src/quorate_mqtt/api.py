"""What other plugins may import: how they take part in the deletion of a topic."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from quorate.plugin import NodeApi

from quorate_mqtt.v1.topics_pb2 import Topic

#: The extension point that takes a `TopicFinalizer`; the extension's name is the finalizer's.
TOPIC_FINALIZERS = "mqtt.topic_finalizers"


@dataclass(frozen=True, slots=True)
class TopicFinalizer:
    """What a plugin gives to `mqtt.topic_finalizers`.

    A topic that is marked for deletion has the finalizer's name in its row. `finish` is called with
    a page of topics, again and again, on the leader of the group's first shard, until it has
    returned a topic among those that it finished: then nothing that the plugin holds of the topic
    is left, and the name is taken off. With the last name the topic goes. It must do no harm when
    it is called for a topic that it finished before. When it raises for a page, it is called again
    for each topic of that alone.
    """

    finish: Callable[[NodeApi, Sequence[Topic]], Awaitable[Sequence[Topic]]]
