"""Gaps 7, 10, 15: turns by events, entries applied once, and a stop that is a stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.driver import Alarms, Driver
from quorate.consensus.journal import Position
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    ReadRequest,
)
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.refusals import NotLeaderError

if TYPE_CHECKING:
    from core.tests.consensus.conftest import Group, MemoryJournal


class HeldAlarms(Alarms):
    """Alarms that ring when a test says so."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self._rings: list[Callable[[int], None]] = []

    def set(self, delay_s: float, ring: Callable[[int], None]) -> int:
        self.delays.append(delay_s)
        self._rings.append(ring)
        return len(self._rings) - 1

    def ring(self, which: int = -1) -> None:
        number = range(len(self._rings))[which]
        self._rings[number](number)


class Host:
    """A node of one replica, with a disk that syncs at once unless it is told not to."""

    def __init__(self, journal: MemoryJournal) -> None:
        self.journal = journal
        self.driver: Driver
        self.alarms = HeldAlarms()
        #: How often it was given messages, which each turn does.
        self.turns = 0
        self.sent: list[Message] = []
        self.applied: list[list[Entry]] = []
        self.outcomes: list[ReadOutcome] = []
        self.peers: list[Peer] = []
        self.errors: list[Exception] = []
        self.syncs = 0
        self.slow_disk = False
        self.on_apply: Callable[[], None] = lambda: None
        #: How many entries it applies at once.
        self.portion = 1_000

    def send(self, messages: Sequence[Message]) -> None:
        self.turns += 1
        self.sent += messages

    def sync(self) -> None:
        self.syncs += 1
        if not self.slow_disk:
            written = self.journal.written
            self.driver.call(lambda: self.driver.replica.synced(written))

    def apply(self, entries: Sequence[Entry]) -> int:
        self.on_apply()
        taken = list(entries[: self.portion])
        if taken:
            self.applied.append(taken)
        return len(taken)

    def reads(self, outcomes: Sequence[ReadOutcome]) -> None:
        self.outcomes += outcomes

    def snapshots_needed(self, peers: Sequence[Peer]) -> None:
        self.peers += peers

    def stopped(self, error: Exception) -> None:
        self.errors.append(error)

    @property
    def payloads(self) -> list[bytes]:
        return [entry.payload for entries in self.applied for entry in entries][2:]


@pytest.fixture
async def host(new_group: Callable[..., Group]) -> AsyncIterator[Host]:
    """One voter that is about to campaign; its clock stands where the test leaves it."""
    group = new_group("a")
    group.now = group.replicas["a"].election_deadline
    host = Host(group.journals["a"])
    host.driver = Driver(group.replicas["a"], host, asyncio.get_running_loop(), host.alarms)
    host.driver.wake()
    yield host
    host.driver.stop()


async def turns(number: int = 12) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_an_election_and_a_proposal_need_no_time(host: Host) -> None:
    await turns()
    host.driver.call(lambda: host.driver.replica.propose(b"one"))
    host.driver.call(lambda: host.driver.replica.read_index(5))
    await turns()

    assert host.payloads == [b"one"]
    assert host.outcomes == [ReadOutcome(5, 2)]
    assert host.driver.replica.applied == 3


async def test_a_sync_is_asked_for_once_a_write(host: Host) -> None:
    await turns()
    asked = host.syncs
    host.slow_disk = True
    for _ in range(3):
        host.driver.call(lambda: host.driver.replica.propose(b"x"))
    await turns()
    host.driver.wake()
    await turns()

    assert host.syncs == asked + 1
    assert host.payloads == []


async def test_each_turn_applies_a_bounded_portion(host: Host) -> None:
    await turns()
    replica = host.driver.replica
    for _ in range(5):
        host.driver.call(lambda: replica.propose(b"x" * (600 << 10)))
    await turns(20)

    assert len(host.payloads) == 5
    assert [len(entries) for entries in host.applied[-5:]] == [1] * 5


async def test_a_follower_applies_when_its_sync_has_ended_and_behind_others_at_once(
    new_group: Callable[..., Group],
) -> None:
    """What waits for another sync each time would never be applied while entries come."""
    group = new_group("ab")
    replica, journal = group.replicas["b"], group.journals["b"]
    host = Host(journal)
    host.slow_disk = True
    host.driver = Driver(replica, host, asyncio.get_running_loop(), host.alarms)

    async def take(index: int) -> None:
        entry = Entry(index, 1, EntryKind.COMMAND, b"%d" % index)
        before = replica.log.last
        append = Append(before.index, before.term, (entry,), before.index)
        message = Message(group.replicas["a"].me, replica.me, 1, 1, append)
        host.driver.call(lambda: replica.receive(message))
        await turns()

    async def sync(sequence: int) -> None:
        host.driver.call(lambda: replica.synced(sequence))
        await turns()

    def indexes() -> list[int]:
        return [entry.index for entries in host.applied for entry in entries]

    await take(2)
    await sync(journal.written)
    assert indexes() == [1]
    await take(3)
    assert indexes() == [1]
    running = journal.written
    await take(4)
    await sync(running)
    assert replica.log.synced_sequence < journal.written
    assert indexes() == [1, 2, 3]
    await sync(journal.written)
    await take(5)
    await sync(journal.written)
    host.driver.stop()

    assert indexes() == [1, 2, 3, 4]


async def test_a_host_may_apply_a_part_and_is_given_the_rest(host: Host) -> None:
    await turns()
    host.portion = 2
    for name in (b"1", b"2", b"3", b"4", b"5"):
        host.driver.call(partial(host.driver.replica.propose, name))
    await turns(20)

    assert host.payloads == [b"1", b"2", b"3", b"4", b"5"]
    assert [len(entries) for entries in host.applied[-3:]] == [2, 2, 1]


async def test_a_host_that_applies_nothing_is_asked_again_when_it_wakes_the_driver(
    host: Host,
) -> None:
    await turns()
    host.portion = 0
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1

    host.on_apply = count
    host.driver.call(lambda: host.driver.replica.propose(b"one"))
    await turns()
    before = asked
    await turns()
    held_back = (asked, host.driver.replica.applied)
    host.portion = 1
    host.driver.wake()
    await turns()

    assert held_back == (before, 2)
    assert (asked, host.payloads) == (before + 1, [b"one"])


async def test_what_a_snapshot_overtook_is_not_applied(host: Host) -> None:
    await turns()
    replica = host.driver.replica
    host.portion = 0
    host.driver.call(lambda: replica.propose(b"one"))
    await turns()
    host.portion = 1
    configuration = replica.log.configuration
    assert configuration is not None
    position = Position(replica.commit + 1, replica.term)
    host.driver.call(lambda: replica.snapshot_installed(position, configuration))
    await turns()

    assert (host.payloads, replica.applied) == ([], position.index)


async def test_an_exception_in_apply_stops_the_replica_and_applies_nothing_twice(
    host: Host,
) -> None:
    await turns()
    before = host.driver.replica.applied

    def fail() -> None:
        raise OSError("no space left")

    host.on_apply = fail
    host.driver.call(lambda: host.driver.replica.propose(b"one"))
    await turns()
    host.on_apply = lambda: None
    host.driver.wake()
    host.driver.call(lambda: pytest.fail("a stopped replica is given nothing"))
    await turns()

    assert [str(error) for error in host.errors] == ["no space left"]
    assert (host.payloads, host.driver.replica.applied) == ([], before)


async def test_an_exception_in_the_replica_stops_it(host: Host) -> None:
    await turns()

    def fail() -> None:
        raise ValueError("broken")

    host.driver.call(fail)
    assert [str(error) for error in host.errors] == ["broken"]


async def test_a_refusal_is_the_callers_and_the_replica_goes_on(host: Host) -> None:
    await turns()
    replica = host.driver.replica
    with pytest.raises(NotLeaderError):
        host.driver.call(lambda: replica.propose(b"one", 99))
    host.driver.call(lambda: replica.propose(b"two"))
    await turns()

    assert (host.errors, host.payloads) == ([], [b"two"])


async def test_a_host_that_stops_it_within_a_turn_is_not_woken_again(host: Host) -> None:
    await turns()
    host.on_apply = host.driver.stop
    host.driver.call(lambda: host.driver.replica.propose(b"one"))
    await turns()

    asked = host.turns
    host.alarms.ring()
    await turns()
    assert host.turns == asked


async def test_a_deadline_that_moves_away_leaves_the_alarm_and_one_that_comes_nearer_does_not(
    host: Host,
) -> None:
    await turns()
    replica, alarms = host.driver.replica, host.alarms
    before = len(alarms.delays)
    replica.heartbeat_deadline += 1.0
    host.driver.wake()
    await turns()
    assert len(alarms.delays) == before

    replica.heartbeat_deadline -= 1.02
    host.driver.wake()
    await turns()
    assert len(alarms.delays) == before + 1
    assert alarms.delays[-1] < alarms.delays[-2]


async def test_an_alarm_that_another_took_the_place_of_wakes_nobody(host: Host) -> None:
    await turns()
    host.driver.replica.heartbeat_deadline -= 0.02
    host.driver.wake()
    await turns()

    asked = host.turns
    host.alarms.ring(-2)
    await turns()
    assert host.turns == asked
    host.driver.replica.heartbeat_deadline = host.driver.replica.clock()
    host.alarms.ring()
    await turns()
    assert host.turns > asked


async def test_an_alarm_that_was_left_is_followed_by_another(host: Host) -> None:
    await turns()
    before, taken = host.alarms.delays[-1], host.turns
    host.driver.replica.heartbeat_deadline += 1.0
    host.alarms.ring()
    await turns()

    assert host.alarms.delays[-1] > before + 0.5
    assert host.turns == taken


async def test_time_alone_wakes_it(new_group: Callable[..., Group]) -> None:
    loop = asyncio.get_running_loop()
    group = new_group("a")
    replica = group.replicas["a"]
    host = Host(group.journals["a"])
    host.driver = Driver(replica, host, loop, host.alarms)
    host.driver.wake()
    await turns()
    assert host.applied == []

    assert host.alarms.delays == [replica.deadline - group.now]
    group.now = replica.deadline
    host.alarms.ring()
    await turns()
    assert replica.status().role == "leader"
    host.driver.stop()


async def test_a_leader_takes_no_turn_for_what_changes_nothing(
    new_group: Callable[..., Group],
) -> None:
    """The first answer makes no majority with this disk, and the last one is beyond it."""
    group = new_group("abc")
    replica = group.elect("a")
    followers = [peer for peer in group.first.voters if peer != replica.me]
    host = Host(group.journals["a"])
    host.slow_disk = True
    host.driver = Driver(replica, host, asyncio.get_running_loop(), host.alarms)
    host.driver.call(lambda: replica.propose(b"one"))
    await turns()
    index, before = replica.log.last.index, host.turns

    def acknowledge(follower: Peer) -> bool:
        reply = AppendReply(True, index - 1, index)
        message = Message(follower, replica.me, replica.term, 1, reply)
        return host.driver.tell(replica.receive, message)

    assert not acknowledge(followers[0])
    await turns()
    assert host.turns == before
    assert host.payloads == []
    assert host.driver.tell(replica.synced, host.journal.written)
    await turns()
    assert host.applied[-1][-1].payload == b"one"
    before = host.turns
    # A turn was due to tell the first of them of the commit.
    assert replica.deadline <= group.now + group.timing.heartbeat_s
    acknowledge(followers[1])
    await turns()
    host.driver.stop()

    assert host.turns <= before + 1
    assert not host.driver.tell(replica.synced, host.journal.written)


async def test_what_a_leader_hears_has_a_turn_if_there_is_something_to_do(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("abc")
    replica = group.elect("a")
    host = Host(group.journals["a"])
    host.driver = Driver(replica, host, asyncio.get_running_loop(), host.alarms)
    host.driver.wake()
    await turns()
    other = next(peer for peer in group.first.voters if peer != replica.me)

    def hear(term: int, body: Body) -> bool:
        message = Message(other, replica.me, term, 1, body)
        return host.driver.tell(replica.receive, message)

    assert not hear(replica.term, HeartbeatReply(0, 1))
    assert hear(replica.term, ReadRequest(1))
    await turns()
    assert not hear(replica.term, HeartbeatReply(0, 1))
    assert hear(replica.term + 1, Heartbeat(1, 0))
    host.driver.stop()


async def test_an_error_in_what_a_replica_is_told_stops_it(host: Host) -> None:
    await turns()

    def fail(_: int) -> None:
        raise OSError("gone")

    assert not host.driver.tell(fail, 1)
    assert [str(error) for error in host.errors] == ["gone"]


@pytest.mark.parametrize("busy", [False, True])
async def test_what_others_wait_for_leaves_before_entries_are_applied(
    new_group: Callable[..., Group], busy: bool
) -> None:
    group = new_group("abc")
    leader = group.elect("a")
    replica = group.replicas["b"]
    loop, order, host = asyncio.get_running_loop(), list[str](), Host(group.journals["b"])
    host.slow_disk = True
    host.driver = Driver(replica, host, loop, host.alarms)
    last, term = replica.log.last.index, replica.term
    entry = Entry(last + 1, term, EntryKind.COMMAND, b"one")

    def send(messages: Sequence[Message]) -> None:
        host.turns += 1
        if messages:
            # As a connection does, which sends all of a turn of the loop together.
            loop.call_soon(order.append, "left")
        if messages and busy:
            # There is something to send in the next turn as well.
            beat = Heartbeat(last + 1, host.turns)
            host.driver.tell(replica.receive, Message(leader.me, replica.me, term, 1, beat))

    host.send = send  # type: ignore[method-assign]
    host.on_apply = lambda: order.append("applied")
    append = Append(last, term, (entry,), last + 1)
    host.driver.tell(replica.receive, Message(leader.me, replica.me, term, 1, append))
    await turns()
    assert order == []

    before = host.turns
    assert host.driver.tell(replica.synced, host.journal.written, alone=True)
    assert host.turns == before + 1
    await turns()
    host.driver.stop()

    if busy:
        assert order[:3] == ["left", "applied", "left"]
    else:
        assert order == ["left", "applied"]
        assert host.turns == before + 1
    assert host.applied[-1][-1] == entry
