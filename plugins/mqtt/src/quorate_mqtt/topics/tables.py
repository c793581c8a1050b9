"""Topics as rows of a table, for bulk loads and scans."""

from typing import Any, Final

from quorate.plugin import Column, Table, keys
from quorate.plugin.checking import check_name
from quorate.plugin.resource import column_of, from_columns

from quorate_mqtt.names import check_topic_name
from quorate_mqtt.topics.validation import check_topic
from quorate_mqtt.v1 import topics_pb2 as pb

_COLUMNS: Final = (
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
)
#: Those that a topic has in its configuration.
_CONFIG: Final = ("segment_bytes", "records", "retention_s")


def to_item(*values: Any) -> pb.Topic:
    """Return a topic that is not there yet."""
    given = {column.name: value for column, value in zip(_COLUMNS, values, strict=True)}
    config = from_columns(pb.TopicConfig, {name: given.pop(name) for name in _CONFIG})
    topic = from_columns(pb.Topic, given)
    topic.config.CopyFrom(config)
    check_name("tenant", topic.tenant)
    check_topic_name("name", topic.name)
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
        column_of(topic, "storage"),
        column_of(topic, "source"),
        topic.config.segment_bytes,
        topic.config.records or None,
        topic.config.retention_s,
    )


#: Topics are created and not replaced: a row of a topic that is there is refused.
TABLE: Final = Table(
    family="mqtt.topics",
    columns=_COLUMNS,
    key=("tenant", "name"),
    write=pb.CreateTopics,
    to_item=to_item,
    from_row=from_row,
    to_key=keys.pack,
    plain=True,
)
