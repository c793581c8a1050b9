"""A registration that is new is waited for; nothing else is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from quorate.client import RejectedError
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal, ShardRevision
from quorate_mqtt.client import settling
from quorate_mqtt.client.settling import settled, settled_each


class Shard:
    """Answers with refusals first, and then with a number."""

    def __init__(self, *refusals: str) -> None:
        self._refusals = list(refusals)
        self.asked = 0

    async def ask(self) -> int:
        self.asked += 1
        if self._refusals:
            raise RejectedError(self._refusals.pop(0))
        return 7


async def test_it_is_asked_again_while_the_broker_is_not_known() -> None:
    shard = Shard("BROKER_UNKNOWN", "BROKER_UNKNOWN")

    assert await settled(shard.ask) == 7
    assert shard.asked == 3


async def test_any_other_refusal_is_told_at_once() -> None:
    shard = Shard("FENCED")

    with pytest.raises(RejectedError, match="FENCED"):
        await settled(shard.ask)

    assert shard.asked == 1


async def test_a_broker_that_stays_unknown_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_PATIENCE_S", 0.0)
    shard = Shard("BROKER_UNKNOWN", "BROKER_UNKNOWN")

    with pytest.raises(RejectedError, match="BROKER_UNKNOWN"):
        await settled(shard.ask)

    assert shard.asked == 1


class Shards:
    """Answer items with their names, and refuse some of them so many times."""

    def __init__(self, *, replies: bool = True, **refused: tuple[str, int]) -> None:
        self._refused = refused
        self._replies = replies
        self.asked: list[list[str]] = []

    async def ask(self, items: Sequence[str]) -> BatchReply:
        self.asked.append(list(items))
        reply = BatchReply(
            items=len(items), revisions=[ShardRevision(shard=1, revision=len(self.asked))]
        )
        for position, item in enumerate(items):
            code, times = self._refused.get(item, ("", 0))
            refused = len(self.asked) <= times
            if refused:
                reply.refusals.add(item=position, code=code, message=item)
            if self._replies:
                reply.replies.append(b"" if refused else item.encode())
        return reply


async def test_items_are_sent_again_while_their_shard_does_not_know_the_broker() -> None:
    shards = Shards(b=("BROKER_UNKNOWN", 2), c=("LIMIT_REACHED", 9), d=("BROKER_UNKNOWN", 1))

    reply = await settled_each(shards.ask, iter("abcd"))

    assert shards.asked == [["a", "b", "c", "d"], ["b", "d"], ["b"]]
    assert reply == BatchReply(
        items=4,
        refusals=[ItemRefusal(item=2, code="LIMIT_REACHED", message="c")],
        replies=[b"a", b"b", b"", b"d"],
        revisions=[ShardRevision(shard=1, revision=3)],
    )


async def test_answers_without_replies_stay_without_them() -> None:
    shards = Shards(replies=False, b=("BROKER_UNKNOWN", 1))

    assert not (await settled_each(shards.ask, "ab")).replies


async def test_an_item_that_is_refused_otherwise_later_on_is_told_in_its_place() -> None:
    shards = Shards(b=("BROKER_UNKNOWN", 1))
    asked = shards.ask

    async def ask(items: Sequence[str]) -> BatchReply:
        reply = await asked(items)
        if len(shards.asked) == 2:
            reply.refusals.add(item=0, code="FENCED", message="b")
        return reply

    reply = await settled_each(ask, "ab")

    assert [(each.item, each.code) for each in reply.refusals] == [(1, "FENCED")]


async def test_items_whose_answers_are_forgotten_are_told_in_their_places() -> None:
    shards = Shards(replies=False, b=("BROKER_UNKNOWN", 1), d=("BROKER_UNKNOWN", 1))
    asked = shards.ask

    async def ask(items: Sequence[str]) -> BatchReply:
        reply = await asked(items)
        reply.forgotten.append(2 if len(shards.asked) == 1 else 1)
        return reply

    assert list((await settled_each(ask, "abcd")).forgotten) == [2, 3]


async def test_items_of_a_broker_that_stays_unknown_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settling, "_PATIENCE_S", 0.0)
    shards = Shards(b=("BROKER_UNKNOWN", 9))

    reply = await settled_each(shards.ask, "ab")

    assert len(shards.asked) == 1
    assert [(each.item, each.code) for each in reply.refusals] == [(1, "BROKER_UNKNOWN")]
