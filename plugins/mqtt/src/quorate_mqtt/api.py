"""The interface for other plugins: how they take part in the deletion of a topic."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from quorate.plugin import NodeApi

from quorate_mqtt.v1.topics_pb2 import Topic

#: The extension point that takes a `TopicFinalizer`; the extension's name is the finalizer's.
TOPIC_FINALIZERS = "mqtt.topic_finalizers"


@dataclass(frozen=True, slots=True)
class TopicFinalizer:
    """An extension of `mqtt.topic_finalizers`.

    A topic that is marked for deletion has the finalizer's name in its row. `finish` is called with
    a page of topics, again and again, on the leader of the group's first shard, until it has
    returned a topic among those that it finished: then the plugin holds no data of the topic any
    more, and the name is removed from the row. The topic is deleted with the last name. `finish`
    must be idempotent: it may be called for a topic that it finished before. When it raises for a
    page, it is called again for each topic of the page separately.
    """

    finish: Callable[[NodeApi, Sequence[Topic]], Awaitable[Sequence[Topic]]]
