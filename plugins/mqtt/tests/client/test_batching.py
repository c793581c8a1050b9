"""Batches of any length become commands that a shard takes, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.client import AsyncClient, Records
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.client.sessions import Sessions
from quorate_mqtt.v1.sessions_pb2 import ConnectSessions, SessionConnect


class Recording:
    """Stands in for a client, and keeps the commands that it is given."""

    def __init__(self) -> None:
        self.commands: list[Message] = []

    def records(self, resource: Any) -> Records[Any]:
        return Records(cast(AsyncClient, self), resource)

    async def execute(self, command: Message, reply: type[Message], **_: object) -> Message:
        self.commands.append(command)
        return reply()

    async def execute_all(self, commands: Sequence[Message], **_: object) -> BatchReply:
        self.commands += commands
        return BatchReply()


@pytest.mark.parametrize(
    ("items", "payload_bytes", "lengths"),
    [
        (0, 0, []),
        (1_000, 0, [1_000]),
        (2_001, 0, [1_000, 1_000, 1]),
        (3, 600 << 10, [1, 1, 1]),
        (3, 400 << 10, [2, 1]),
        (1, 2 << 20, [1]),
    ],
)
async def test_a_batch_is_cut_by_number_and_by_bytes(
    items: int, payload_bytes: int, lengths: list[int]
) -> None:
    recording = Recording()
    connections = [
        SessionConnect(client_id=str(number), payload=bytes(payload_bytes))
        for number in range(items)
    ]

    await Sessions(cast(AsyncClient, recording)).connect_many("b1", 7, connections)

    sent = [cast(ConnectSessions, each) for each in recording.commands]
    assert [len(each.connections) for each in sent] == lengths
    assert [one.client_id for each in sent for one in each.connections] == [
        one.client_id for one in connections
    ]
    assert {(each.broker, each.broker_epoch) for each in sent} <= {("b1", 7)}
