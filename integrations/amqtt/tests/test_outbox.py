"""What waits for a client comes in its order, and is not lost with a connection."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from quorate_amqtt.messages import Delivery, Message
from quorate_amqtt.outbox import WINDOW, Outbox


def delivery(payload: int, qos: int = 1, **more: Any) -> Delivery:
    message = Message("t", str(payload).encode(), qos, expires_at_ms=more.pop("expires_at_ms", 0))
    return Delivery(message=message, qos=qos, **more)


class Network:
    """A connection of a client that acknowledges when it is told to."""

    def __init__(self, outbox: Outbox, window: int = WINDOW) -> None:
        self._outbox = outbox
        self.sent: list[Delivery] = []
        self.packets: list[tuple[bytes, int, bool]] = []
        self.acknowledges = False
        self.task = asyncio.create_task(outbox.send(self._write, window))

    @property
    def numbers(self) -> list[int]:
        return [int(each.message.payload) for each in self.sent]

    async def _write(self, delivery: Delivery) -> None:
        self.sent.append(delivery)
        self.packets.append((delivery.message.payload, delivery.packet_id, delivery.again))
        await asyncio.sleep(0)
        if self.acknowledges and delivery.qos:
            assert self._outbox.acknowledge(delivery.packet_id, delivery.qos)

    def acknowledge(self) -> None:
        """Acknowledge all that was sent, and what will be."""
        self.acknowledges = True
        for each in self.sent:
            if each.qos:
                self._outbox.acknowledge(each.packet_id, each.qos)

    async def has_sent(self, count: int) -> None:
        while len(self.sent) < count:
            await asyncio.sleep(0)

    async def lose(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
def finished() -> list[int]:
    return []


@pytest.fixture
def outbox(finished: list[int]) -> Outbox:
    return Outbox(100, finished.append)


async def test_messages_come_in_their_order(outbox: Outbox) -> None:
    network = Network(outbox)
    network.acknowledge()
    for number in range(80):
        outbox.put(delivery(number, qos=number % 3))

    await network.has_sent(80)

    assert network.numbers == list(range(80))
    assert len(outbox) == 0
    await network.lose()


async def test_what_is_not_acknowledged_goes_to_the_next_connection_in_the_same_packet(
    outbox: Outbox,
) -> None:
    before = Network(outbox)
    for number in range(3):
        outbox.put(delivery(number))
    await before.has_sent(3)
    outbox.acknowledge(before.sent[1].packet_id, 1)
    await before.lose()
    outbox.put(delivery(3))

    after = Network(outbox)
    await after.has_sent(3)

    ids = [packet_id for _, packet_id, _ in before.packets]
    assert after.packets[:2] == [(b"0", ids[0], True), (b"2", ids[2], True)]
    assert after.packets[2][0] == b"3"
    assert after.packets[2][1] not in (ids[0], ids[2])
    assert not after.packets[2][2]
    await after.lose()


async def test_what_was_received_goes_on_with_its_release(outbox: Outbox) -> None:
    before = Network(outbox)
    outbox.put(delivery(1, qos=2))
    await before.has_sent(1)
    packet_id = before.sent[0].packet_id
    assert not outbox.acknowledge(packet_id, 1)
    assert outbox.receive(packet_id)
    await before.lose()

    [left] = outbox.take_left()

    assert (left.received, left.packet_id) == (True, packet_id)
    assert not outbox.receive(packet_id)
    assert not outbox.acknowledge(packet_id, 2)


async def test_no_more_than_a_window_is_sent_without_acknowledgements(outbox: Outbox) -> None:
    network = Network(outbox)
    for number in range(WINDOW + 5):
        outbox.put(delivery(number))

    await network.has_sent(WINDOW)
    await settle()
    assert len(network.sent) == WINDOW

    network.acknowledge()
    await network.has_sent(WINDOW + 5)
    await network.lose()


async def test_the_window_of_a_client_is_heeded(outbox: Outbox) -> None:
    network = Network(outbox, 2)
    for number in range(5):
        outbox.put(delivery(number))

    await network.has_sent(2)
    await settle()

    assert network.numbers == [0, 1]
    await network.lose()


async def test_what_is_published_now_comes_after_the_queue(
    outbox: Outbox, finished: list[int]
) -> None:
    network = Network(outbox)
    network.acknowledge()
    outbox.read(True)
    outbox.put(delivery(4))
    outbox.put_queued([delivery(2, number=11), delivery(3, number=12)])
    outbox.put_queued([delivery(1, number=10, packet_id=7)])
    await network.has_sent(3)
    await settle()
    assert network.numbers == [1, 2, 3]
    assert network.packets[0][1] == 7

    outbox.read(False)

    await network.has_sent(4)
    await settle()
    assert finished == [10, 11, 12]
    await network.lose()


async def test_what_has_expired_is_not_sent(outbox: Outbox, finished: list[int]) -> None:
    now_ms = int(time.time() * 1_000)
    outbox.put_queued([delivery(1, number=5, expires_at_ms=now_ms - 1)])
    outbox.put_queued([delivery(2, number=6, expires_at_ms=now_ms + 60_000)])
    network = Network(outbox)

    await network.has_sent(1)
    await settle()

    assert network.numbers == [2]
    assert finished == [5]
    await network.lose()


async def test_the_oldest_is_dropped_where_there_is_no_room(finished: list[int]) -> None:
    outbox = Outbox(3, finished.append)
    for number in range(5):
        outbox.put(delivery(number))

    assert outbox.dropped == 2
    assert [each.message.payload for each in outbox.take_left()] == [b"2", b"3", b"4"]


async def test_what_is_left_is_in_the_queue_already_or_goes_there(outbox: Outbox) -> None:
    network = Network(outbox, 1)
    outbox.put_queued([delivery(1, number=5), delivery(2, number=6)])
    outbox.put(delivery(3, qos=0))
    outbox.put(delivery(4))
    await network.has_sent(1)
    await network.lose()

    left = outbox.take_left()

    assert [(each.message.payload, each.number) for each in left] == [(b"1", 5), (b"4", 0)]
    assert left[0].packet_id == network.sent[0].packet_id
    assert len(outbox) == 0


async def test_no_packet_has_the_identifier_of_another_one(outbox: Outbox) -> None:
    outbox.put_queued([delivery(1, number=1, packet_id=1), delivery(2, number=2, packet_id=3)])
    for number in range(3, 8):
        outbox.put(delivery(number))
    network = Network(outbox)

    await network.has_sent(7)

    assert len({packet_id for _, packet_id, _ in network.packets}) == 7
    assert [packet_id for _, packet_id, _ in network.packets[:2]] == [1, 3]
    await network.lose()
