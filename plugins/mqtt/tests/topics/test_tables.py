"""Topics as rows of a table: what is loaded is read again, and what cannot be right is named."""

from __future__ import annotations

from asyncio import run
from typing import Any

import pytest
from quorate.plugin import Invalid, keys
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.topics import resource
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import CreateTopics

FULL = ("acme", "a/b", 3, 2, "of a", "S3", "KAFKA", 5, 6, 7)
SHORT = ("globex", "a", 1, 1, None, None, None, None, None, None)
COMPLETED = (*SHORT[:5], "ENGINE_SEGMENT", "MQTT", 1 << 30, None, 604_800)


def create(node: MemoryNode, *rows: tuple[Any, ...]) -> BatchReply:
    topics = [resource.to_item(*row) for row in rows]
    return run(node.propose(CreateTopics(topics=topics), BatchReply))


def stored(node: MemoryNode) -> list[tuple[object, ...]]:
    return [resource.from_row(key, value) for key, value in node.rows(TOPIC.family).items()]


def test_topics_are_what_was_written(node: MemoryNode) -> None:
    assert not create(node, FULL, SHORT).refusals
    assert stored(node) == [FULL, COMPLETED]


def test_what_was_read_is_loaded_again(node: MemoryNode) -> None:
    create(node, FULL, COMPLETED)

    assert stored(node) == [FULL, COMPLETED]


def test_a_topic_that_is_there_is_refused(node: MemoryNode) -> None:
    create(node, FULL)
    reply = create(node, (*FULL[:2], 9, *FULL[3:]), SHORT)

    assert [(each.item, each.code) for each in reply.refusals] == [(0, "ALREADY_EXISTS")]
    assert stored(node) == [FULL, COMPLETED]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", ""),
        ("name", "a/+"),
        ("partitions", 0),
        ("partitions", -1),
        ("replication", 10),
        ("description", "d" * 1_025),
        ("storage", "s3"),
        ("source", "UNSPECIFIED"),
        ("segment_bytes", -1),
        ("records", -1),
        ("retention_s", -1),
    ],
)
def test_a_row_that_cannot_be_right_names_its_column(column: str, value: Any) -> None:
    names = [each.name for each in resource.TABLE.columns]
    row: dict[str, Any] = dict(zip(names, FULL, strict=True)) | {column: value}
    with pytest.raises(Invalid) as refused:
        resource.to_item(*row.values())

    assert refused.value.field == column


def test_keys_begin_with_what_is_named() -> None:
    assert resource.TABLE.to_key("acme", "a/b") == keys.pack("acme", "a/b")
    assert resource.TABLE.to_key("acme", "a/b").startswith(resource.TABLE.to_key("acme"))
