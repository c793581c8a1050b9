"""Batches: one wrong item never hides the others, and no part is too much for one turn."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate_connector.v1.connectors_pb2 import (
    Connector,
    CreateConnectorRequest,
    CreateConnectorsRequest,
    DeleteConnectorsRequest,
    UpdateConnectorRequest,
    UpdateConnectorsRequest,
)


def creations(bench: Any, *names: str, tasks: int = 1) -> list[CreateConnectorRequest]:
    wanted = bench.definition(tasks)
    return [CreateConnectorRequest(tenant="acme", name=name, definition=wanted) for name in names]


async def test_each_is_answered_in_its_place(bench: Any) -> None:
    await bench.create(name="b")
    wanted = creations(bench, "a", "b", "c", "d", "e")
    wanted[0].definition.type = "nobody"
    wanted[3].name = "no name"

    reply = await bench.service.CreateBatch(CreateConnectorsRequest(connectors=wanted), None)

    assert reply.items == 5
    refused = {each.item: (each.code, each.message) for each in reply.refusals}
    assert {item: code for item, (code, _) in refused.items()} == {
        0: "INVALID_ARGUMENT",
        1: "ALREADY_EXISTS",
        3: "INVALID_ARGUMENT",
    }
    assert refused[0][1].startswith("connectors[0].definition.type: ")
    assert refused[3][1].startswith("connectors[3].name: ")
    made = [Connector.FromString(each).name for each in reply.replies if each]
    assert made == ["c", "e"]
    assert [place for place, each in enumerate(reply.replies) if each] == [2, 4]


async def test_many_are_made_changed_and_deleted_in_parts(bench: Any) -> None:
    names = [f"c{number:02}" for number in range(25)]

    wanted = creations(bench, *names, tasks=150)
    made = await bench.service.CreateBatch(CreateConnectorsRequest(connectors=wanted), None)
    changes = [
        UpdateConnectorRequest(tenant="acme", name=name, definition=bench.definition(1))
        for name in names
    ]
    changed = await bench.service.UpdateBatch(UpdateConnectorsRequest(connectors=changes), None)
    deleted = await bench.service.DeleteBatch(
        DeleteConnectorsRequest(connectors=bench.named(*names, "none")), None
    )

    assert [Connector.FromString(each).name for each in made.replies] == names
    assert [Connector.FromString(each).version for each in changed.replies] == [2] * 25
    assert [each.item for each in deleted.refusals] == [25]
    assert deleted.items == 26
    assert [len(each.revisions) for each in (made, changed, deleted)] == [1, 1, 1]
    parts = [each for each in bench.node.proposals if isinstance(each, CreateConnectorsRequest)]
    assert [len(each.connectors) for each in parts] == [6] * 4 + [1]
    ends = [each for each in bench.node.proposals if isinstance(each, DeleteConnectorsRequest)]
    assert [len(each.connectors) for each in ends] == [10, 10, 6]
    # However small they are to be: each has 150 tasks to change or delete.
    moves = [each for each in bench.node.proposals if isinstance(each, UpdateConnectorsRequest)]
    assert [len(each.connectors) for each in moves] == [10, 10, 5]
    assert "connector.tasks" not in bench.rows()


async def test_large_configurations_are_made_in_parts(bench: Any) -> None:
    headers = {f"h{number}": "v" * 4_000 for number in range(15)}
    large = bench.definition(1, "webhook", topic="t", url="https://h.example/", headers=headers)
    wanted = creations(bench, "a", "b", "c")
    for each in wanted:
        each.definition.CopyFrom(large)

    await bench.service.CreateBatch(CreateConnectorsRequest(connectors=wanted), None)

    parts = [each for each in bench.node.proposals if isinstance(each, CreateConnectorsRequest)]
    assert [len(each.connectors) for each in parts] == [2, 1]
    assert all(each.ByteSize() <= 128 << 10 for each in parts)


async def test_a_batch_that_cannot_be_meant(bench: Any) -> None:
    twice = CreateConnectorsRequest(connectors=creations(bench, "a", "b", "a"))
    many = DeleteConnectorsRequest(connectors=bench.named(*map(str, range(1_001))))

    reply = await bench.service.CreateBatch(twice, None)
    assert (reply.items, [each.item for each in reply.refusals]) == (3, [2])
    assert "connectors[2].name: names 'a' of tenant" in reply.refusals[0].message
    assert "a second time, after connectors[0]" in reply.refusals[0].message
    with pytest.raises(Invalid, match="at most 1000"):
        await bench.service.DeleteBatch(many, None)

    assert bench.rows()["connector.connectors"] == 2
    empty = await bench.service.CreateBatch(CreateConnectorsRequest(), None)
    assert empty.items == 0
