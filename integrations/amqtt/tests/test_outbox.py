"""What waits for a client comes in its order, and is not lost with a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from quorate_amqtt.messages import Message
from quorate_amqtt.outbox import WINDOW, Outbox


def message(number: int, qos: int = 1) -> Message:
    return Message("t", str(number).encode(), qos)


class Network:
    """A connection of a client that acknowledges when it is told to."""

    def __init__(self, outbox: Outbox) -> None:
        self.sent: list[Message] = []
        self.acknowledge = asyncio.Event()
        self.task = asyncio.create_task(outbox.send(self._deliver))

    async def _deliver(self, message: Message) -> bool:
        self.sent.append(message)
        if message.qos:
            await self.acknowledge.wait()
        return True

    async def has_sent(self, count: int) -> None:
        while len(self.sent) < count:
            await asyncio.sleep(0)

    async def lose(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_messages_come_in_their_order() -> None:
    outbox = Outbox(100)
    network = Network(outbox)
    network.acknowledge.set()
    for number in range(80):
        outbox.put(message(number, qos=number % 3))

    await network.has_sent(80)
    await settle()

    for qos in range(3):
        sent = [int(each.payload) for each in network.sent if each.qos == qos]
        assert sent == sorted(sent)
    assert len(outbox) == 0
    await network.lose()


async def test_what_is_not_acknowledged_goes_to_the_next_connection_first() -> None:
    outbox = Outbox(100)
    before = Network(outbox)
    outbox.extend(message(number) for number in range(3))
    await before.has_sent(3)
    await before.lose()
    outbox.put(message(3))
    assert len(outbox) == 4

    after = Network(outbox)
    await after.has_sent(4)

    assert [each.payload for each in after.sent] == [b"0", b"1", b"2", b"3"]
    assert [each.again for each in after.sent] == [True, True, True, False]
    await after.lose()


async def test_what_comes_back_wakes_a_connection_that_has_begun_already() -> None:
    outbox = Outbox(100)
    before = Network(outbox)
    outbox.put(message(1))
    await before.has_sent(1)
    after = Network(outbox)
    await settle()

    await before.lose()

    await after.has_sent(1)
    assert after.sent[0].again
    await after.lose()
    assert len(outbox) == 1


async def test_no_more_than_a_window_is_sent_without_acknowledgements() -> None:
    outbox = Outbox(1_000)
    network = Network(outbox)
    outbox.extend(message(number) for number in range(WINDOW + 5))

    await network.has_sent(WINDOW)
    await settle()
    assert len(network.sent) == WINDOW

    network.acknowledge.set()
    await network.has_sent(WINDOW + 5)
    await network.lose()


async def test_the_oldest_is_dropped_where_there_is_no_room() -> None:
    outbox = Outbox(3)
    outbox.extend(message(number) for number in range(5))

    assert outbox.dropped == 2
    assert [each.payload for each in outbox.take_all()] == [b"2", b"3", b"4"]


async def test_messages_of_quality_0_do_not_wait_for_another_broker() -> None:
    outbox = Outbox(10)
    outbox.extend([message(1, qos=0), message(2), message(3, qos=2)])

    assert [each.payload for each in outbox.take_all()] == [b"2", b"3"]
    assert len(outbox) == 0


@pytest.mark.parametrize("lost", [True, False])
async def test_a_message_whose_acknowledgement_did_not_come_is_kept(lost: bool) -> None:
    outbox = Outbox(10)
    tried: list[Message] = []

    def deliver(answer: bool) -> Callable[[Message], Awaitable[bool]]:
        async def each(message: Message) -> bool:
            tried.append(message)
            return answer

        return each

    outbox.put(message(1))
    task = asyncio.create_task(outbox.send(deliver(not lost)))
    await settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert len(tried) == 1
    assert len(outbox) == int(lost)
