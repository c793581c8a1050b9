"""A batch with wrong items is carried out all the same, and a right one is looked at only once."""

from __future__ import annotations

from asyncio import run
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi
from quorate.plugin.advanced import propose_valid
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow


class Node:
    """Refuses commands with wrong items as a node does, and rows whose key is `taken`."""

    def __init__(self, *, replies: bool) -> None:
        self._replies = replies
        self.proposed: list[Message] = []

    async def propose(self, command: AdoptMirror, reply: type[Message]) -> BatchReply:
        self.proposed.append(command)
        names = [each.key.decode() for each in command.rows]
        if not command.family:
            raise Invalid("family", "must not be empty")
        if "" in names or not names:
            raise Invalid("rows", "is wrong")
        return BatchReply(
            items=len(names),
            replies=[name.encode() for name in names] if self._replies else (),
            refusals=[
                ItemRefusal(item=position, code="TAKEN", message=name)
                for position, name in enumerate(names)
                if name == "taken"
            ],
            revisions=[ShardRevision(shard=1, revision=9)],
        )


class Checks:
    """Refuses rows without a key, and counts its looks."""

    def __init__(self) -> None:
        self.looks = 0

    def check(self, item: Any, path: str) -> None:
        self.looks += 1
        if not item.key:
            raise Invalid(f"{path}key", "must not be empty")


def adopts(*names: str, family: str = "north") -> AdoptMirror:
    return AdoptMirror(
        family=family,
        revision=7,
        rows=[MirroredRow(key=each.encode()) for each in names],
    )


def proposed(node: Node, command: AdoptMirror, checks: Checks) -> BatchReply:
    return run(propose_valid(cast(NodeApi, node), command, "rows", checks.check))


def test_a_batch_that_is_right_is_proposed_as_it_is() -> None:
    node, checks = Node(replies=True), Checks()
    command = adopts("a", "taken", "b")

    reply = proposed(node, command, checks)

    assert node.proposed == [command]
    assert checks.looks == 0
    assert list(reply.replies) == [b"a", b"taken", b"b"]


@pytest.mark.parametrize("replies", [True, False])
def test_what_is_wrong_is_refused_in_its_place(replies: bool) -> None:
    node, checks = Node(replies=replies), Checks()

    reply = proposed(node, adopts("", "a", "", "taken", "b"), checks)

    assert node.proposed[1:] == [adopts("a", "taken", "b")]
    assert reply.items == 5
    assert [(each.item, each.code) for each in reply.refusals] == [
        (0, "INVALID_ARGUMENT"),
        (2, "INVALID_ARGUMENT"),
        (3, "TAKEN"),
    ]
    assert "rows[2].key" in reply.refusals[1].message
    assert list(reply.replies) == ([b"", b"a", b"", b"taken", b"b"] if replies else [])
    assert list(reply.revisions) == [ShardRevision(shard=1, revision=9)]


def test_where_all_is_wrong_nothing_more_is_proposed() -> None:
    node, checks = Node(replies=True), Checks()

    reply = proposed(node, adopts("", ""), checks)

    assert len(node.proposed) == 1
    assert (reply.items, [each.item for each in reply.refusals]) == (2, [0, 1])
    assert not reply.replies


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (adopts("a", family=""), "family"),
        (adopts("a", "", family=""), "family"),
        (adopts(), "rows"),
        (adopts(family=""), "family"),
    ],
)
def test_what_is_wrong_with_the_command_is_raised(command: AdoptMirror, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        proposed(Node(replies=True), command, Checks())

    assert refused.value.field == field
