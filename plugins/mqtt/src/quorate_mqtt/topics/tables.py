"""Topics as rows of a table, for whoever loads or reads many of them."""

from typing import Final

from quorate.plugin import Column, Table, keys
from quorate.plugin.checking import check_name

from quorate_mqtt.columns import LARGEST_UINT32, Choice, unsigned
from quorate_mqtt.names import check_topic_name
from quorate_mqtt.topics.validation import check_topic
from quorate_mqtt.v1 import topics_pb2 as pb

_STORAGE: Final = Choice("storage", pb.TopicStorage)
_SOURCE: Final = Choice("source", pb.TopicSource)


def to_item(
    tenant: str,
    name: str,
    partitions: int,
    replication: int,
    description: str | None,
    storage: str | None,
    source: str | None,
    segment_bytes: int | None,
    records: int | None,
    retention_s: int | None,
) -> pb.Topic:
    """Return a topic that is not there yet."""
    topic = pb.Topic(
        tenant=tenant,
        name=name,
        description=description or "",
        storage=_STORAGE.constant(storage),
        source=_SOURCE.constant(source),
        partitions=unsigned("partitions", partitions, LARGEST_UINT32),
        replication=unsigned("replication", replication, LARGEST_UINT32),
        config=pb.TopicConfig(
            segment_bytes=unsigned("segment_bytes", segment_bytes),
            records=unsigned("records", records),
            retention_s=unsigned("retention_s", retention_s),
        ),
    )
    check_name("tenant", tenant)
    check_topic_name("name", name)
    check_topic(topic)
    return topic


def from_row(key: bytes, value: bytes) -> tuple[object, ...]:
    """Return a topic as its columns."""
    topic = pb.Topic.FromString(value)
    return (
        *keys.unpack(key),
        topic.partitions,
        topic.replication,
        topic.description or None,
        _STORAGE.name(topic.storage),
        _SOURCE.name(topic.source),
        topic.config.segment_bytes,
        topic.config.records or None,
        topic.config.retention_s,
    )


#: Topics are created and not replaced: a row of a topic that is there is refused.
TABLE: Final = Table(
    family="mqtt.topics",
    columns=(
        Column(name="tenant", type="string"),
        Column(name="name", type="string"),
        Column(name="partitions", type="int"),
        Column(name="replication", type="int"),
        Column(name="description", type="string", nullable=True),
        Column(name="storage", type="string", nullable=True),
        Column(name="source", type="string", nullable=True),
        Column(name="segment_bytes", type="long", nullable=True),
        Column(name="records", type="long", nullable=True),
        Column(name="retention_s", type="long", nullable=True),
    ),
    key=("tenant", "name"),
    write=pb.CreateTopics,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
)
