"""A wrong item is refused in its place, also where it is the only one."""

from __future__ import annotations

from asyncio import run
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi
from quorate.plugin.advanced import propose_valid
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate.v1.control_pb2 import AdoptMirror, MirroredRow


class Node:
    """Refuses wrong commands and batches of a wrong row, as a node does, and else wrong rows."""

    async def propose(self, command: AdoptMirror, reply: type[Message]) -> BatchReply:
        names = [each.key for each in command.rows]
        if not command.family:
            raise Invalid("family", "must not be empty")
        if names in ([], [b""]):
            raise Invalid("rows[0].key" if names else "rows", "must not be empty")
        return BatchReply(
            items=len(names),
            refusals=[
                ItemRefusal(item=position, code="INVALID_ARGUMENT")
                for position, name in enumerate(names)
                if not name
            ],
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


def proposed(command: AdoptMirror, checks: Checks) -> BatchReply:
    return run(propose_valid(cast(NodeApi, Node()), command, "rows", checks.check))


@pytest.mark.parametrize(("names", "wrong"), [(("a", "b"), []), (("", "a", ""), [0, 2])])
def test_what_the_node_answers_is_not_looked_at(names: tuple[str, ...], wrong: list[int]) -> None:
    checks = Checks()
    reply = proposed(adopts(*names), checks)
    assert [each.item for each in reply.refusals] == wrong
    assert checks.looks == 0


def test_the_only_item_is_refused_in_its_place() -> None:
    reply = proposed(adopts(""), Checks())
    refusal = ItemRefusal(code="INVALID_ARGUMENT", message="rows[0].key: must not be empty")
    assert reply == BatchReply(items=1, refusals=[refusal])


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
        proposed(command, Checks())

    assert refused.value.field == field
