"""The order in which the replicas of a node open after its start."""

from __future__ import annotations

import asyncio

from quorate.consensus.messages import Message, Peer, Wakeup
from quorate.plugin.shard_id import ShardId
from quorate.topology.replicas.unopened import Asked, Unopened

TOYS = [ShardId("toy", number) for number in range(5)]
WAKE = Message(Peer("b", 2), Peer("a", 1), 1, 1, Wakeup())


class Opens:
    """Notes what was opened, and who waited for it."""

    def __init__(self) -> None:
        self.unopened = Unopened(asyncio.get_running_loop())
        self.opened: list[ShardId] = []
        self.asked: list[Asked | None] = []
        self.unopened.begin([(shard, str(shard)) for shard in TOYS], self.open)

    def open(self, shard: ShardId, asked: Asked | None) -> None:
        self.opened.append(shard)
        self.asked.append(asked)


def late() -> float:
    return asyncio.get_running_loop().time() + 20.0


async def test_only_what_is_asked_for_opens_until_all_may() -> None:
    opens = Opens()
    await asyncio.gather(*(opens.unopened.opened(each, late()) for each in (TOYS[3], TOYS[1])))
    assert opens.opened == [TOYS[3], TOYS[1]]
    assert [each in opens.unopened for each in TOYS] == [True, False, True, False, True]

    opens.unopened.open_all()
    async with asyncio.timeout(20):
        while opens.unopened:
            await asyncio.sleep(0)

    assert opens.opened == [TOYS[3], TOYS[1], TOYS[0], TOYS[2], TOYS[4]]
    assert opens.asked[2:] == [None, None, None]


async def test_what_is_asked_for_opens_before_what_waits_for_its_turn() -> None:
    opens = Opens()
    opens.unopened.open_all()
    await opens.unopened.opened(TOYS[4], late())

    assert opens.opened[0] == TOYS[4]


async def test_messages_are_kept_for_a_replica_that_they_open() -> None:
    opens = Opens()
    assert opens.unopened.keep("toy/2", WAKE)
    assert opens.unopened.keep("toy/2", WAKE)
    assert not opens.unopened.keep("toy/2#1", WAKE)
    await opens.unopened.opened(TOYS[2], late())
    assert not opens.unopened.keep("toy/2", WAKE)

    [asked] = opens.asked
    assert asked is not None
    assert asked.messages == [WAKE, WAKE]


async def test_a_replica_keeps_few_messages() -> None:
    opens = Opens()
    for _ in range(100):
        opens.unopened.keep("toy/2", WAKE)
    await opens.unopened.opened(TOYS[2], late())

    [asked] = opens.asked
    assert asked is not None
    assert 0 < len(asked.messages) < 20


async def test_who_waits_for_a_replica_that_is_not_to_be_opened_looks_again() -> None:
    opens = Opens()
    waiting = asyncio.create_task(opens.unopened.opened(TOYS[0], late()))
    await asyncio.sleep(0)
    opens.unopened.discard(TOYS[0])
    await waiting
    await turns()

    assert opens.opened == []
    assert TOYS[0] not in opens.unopened


async def test_a_node_that_stops_opens_no_more_and_nobody_waits_for_it() -> None:
    opens = Opens()
    opens.unopened.open_all()
    waiting = asyncio.create_task(opens.unopened.opened(TOYS[0], late()))
    await asyncio.sleep(0)
    opens.unopened.end()
    async with asyncio.timeout(10):
        await waiting
        await opens.unopened.opened(TOYS[1], late())
    opens.unopened.want(TOYS[2])
    assert not opens.unopened.keep("toy/3", WAKE)
    await turns()

    assert opens.opened == []
    # They are there, and not to be opened by anybody else.
    assert list(opens.unopened) == TOYS


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
