"""Where the time of a write went."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.consensus.status import Proposed
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError
from quorate.shards.shard.writes import Fate, Flight, Flights, Stage, Write

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World


def write_begun(at: float) -> Write:
    world = World(1)
    loop = VirtualLoop(world, Clock(world))  # type: ignore[abstract]
    future: asyncio.Future[tuple[()]] = loop.create_future()
    return Write(future, [LoggedCommand("toy", b"")], 64, None, at, at + 30)  # type: ignore[arg-type]


def flights_at(now: float, ended: Callable[[Write], None] = lambda _: None) -> Flights:
    return Flights(
        ShardId("toy", 0),
        lambda: now,
        1.0,
        ended,
        patience_s=1.0,
        max_entries=2,
        max_bytes=100,
    )


@pytest.mark.parametrize(
    ("times", "stage"),
    [
        ((5.0, 5.1, 5.2, 5.3), Stage.QUEUE),
        ((0.1, 5.0, 5.1, 5.2), Stage.APPEND),
        ((0.1, 0.2, 5.0, 5.1), Stage.REPLICATE),
        ((0.1, 0.2, 0.3, 5.0), Stage.APPLY),
        # A majority was faster than this node's own disk.
        ((0.1, 4.0, 0.2, 5.0), Stage.APPLY),
    ],
)
def test_the_slowest_stage_is_named(times: tuple[float, float, float, float], stage: Stage) -> None:
    proposed, synced, committed, ended = times
    write = write_begun(0.0)
    flight = Flight(1, 1, [write], [()], 1, proposed, 0.0)
    flight.synced_at, flight.committed_at = synced, committed

    spent = flight.spent(write, ended)
    assert max(spent, key=lambda each: spent[each]) is stage
    assert sum(spent.values()) == pytest.approx(ended)


def test_a_flight_goes_through_its_stages() -> None:
    flight = Flight(1, 1, [write_begun(0.0)], [()], 1, 1.0, 0.0)
    stages = [flight.stage]
    flight.synced_at = 2.0
    stages.append(flight.stage)
    flight.committed_at = 3.0
    stages.append(flight.stage)

    assert stages == [Stage.APPEND, Stage.REPLICATE, Stage.APPLY]


def test_slow_writes_of_an_entry_are_warned_about_together(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended: list[Write] = []
    flights = flights_at(5.0, ended.append)
    writes = [write_begun(at) for at in (1.0, 2.0, 4.5)]
    outcomes = [(Outcome(number),) for number in range(3)]
    flights.begin(Proposed(1, 1), writes, outcomes, 9)
    flights.applied(1, 1)

    assert [write.future.result() for write in writes] == outcomes
    assert ended == writes
    [warning] = caplog.records
    assert (warning.__dict__["ms"], warning.__dict__["others"]) == (4_000, 1)
    assert warning.__dict__["stage"] == "queue"


def test_the_pipeline_is_full_by_entries_or_bytes_until_they_are_committed() -> None:
    flights = flights_at(0.0)
    states = [(flights.idle, flights.full)]
    flights.begin(Proposed(1, 1), [write_begun(0.0)], [()], 9)
    states.append((flights.idle, flights.full))
    flights.begin(Proposed(2, 1), [write_begun(0.0)], [()], 9)
    states.append((flights.idle, flights.full))
    assert flights.advance(synced=2, committed=1)
    states.append((flights.idle, flights.full))
    assert not flights.advance(synced=2, committed=1)
    assert flights.advance(synced=2, committed=2)
    states.append((flights.idle, flights.full))

    assert states == [(True, False), (False, False), (False, True), (False, False), (True, False)]


@pytest.mark.parametrize(("evaluated_s", "code"), [(0.9, None), (3.0, "TOO_SLOW")])
def test_what_unseated_its_leader_is_not_tried_again(evaluated_s: float, code: str | None) -> None:
    flights = flights_at(0.0)
    first, last = [write_begun(0.0), write_begun(0.0)]
    flights.begin(Proposed(1, 1), [first, last], [(), ()], 9, evaluated_s)
    flights.applied(1, 2)

    assert isinstance(first.future.exception(), NotProposedError)
    refusal = last.future.exception()
    assert getattr(refusal, "code", None) == (code or NotProposedError.code)
    assert isinstance(refusal, Rejected if code else NotProposedError)


APPLIED, DISCARDED, UNKNOWN = Fate.APPLIED, Fate.DISCARDED, Fate.UNKNOWN
Positions = list[tuple[int, int]]


@pytest.mark.parametrize(
    ("proposed", "ends", "fates"),
    [
        pytest.param([(5, 2)], [(4, 2)], {}, id="an entry before it is applied"),
        pytest.param([(5, 2)], [(5, 2), (5, 2)], {(5, 2): APPLIED}, id="it is applied"),
        pytest.param([(5, 2)], [(5, 1)], {(5, 2): DISCARDED}, id="an older entry has its index"),
        pytest.param(
            [(5, 2), (5, 3)],
            [(5, 3)],
            {(5, 2): DISCARDED, (5, 3): APPLIED},
            id="it was overwritten by this leader itself",
        ),
        pytest.param(
            [(8, 2), (9, 2), (9, 3), (9, 4)],
            [(7, 3)],
            {(8, 2): DISCARDED, (9, 2): DISCARDED},
            id="an entry of a later term stands before it",
        ),
        pytest.param(
            [(9, 3), (9, 4)],
            [(7, 3), (9, 3)],
            {(9, 3): APPLIED, (9, 4): DISCARDED},
            id="an entry of an earlier term has its index",
        ),
        pytest.param(
            [(5, 2), (6, 2), (7, 2)],
            [6, (7, 2)],
            {(5, 2): UNKNOWN, (6, 2): UNKNOWN, (7, 2): APPLIED},
            id="a snapshot overtakes it",
        ),
        pytest.param(
            [(5, 2), (60, 2)], [None, None], {(5, 2): UNKNOWN, (60, 2): UNKNOWN}, id="it stops"
        ),
    ],
)
def test_every_proposal_is_settled_once(
    proposed: Positions,
    ends: list[tuple[int, int] | int | None],
    fates: dict[tuple[int, int], Fate],
) -> None:
    """Gap 10: with what happened; by entries applied, a snapshot's index, or the end."""
    flights = flights_at(0.0)
    flights.abandon()
    found: list[tuple[tuple[int, int], Fate]] = []
    for position in proposed:
        settled = partial(lambda at, fate: found.append((at, fate)), position)
        flights.follow(Proposed(*position), settled)
    assert flights.idle
    for end in ends:
        if end is None:
            flights.abandon()
        elif isinstance(end, int):
            flights.overtaken(end)
        else:
            flights.applied(*end)

    assert len(found) == len(fates)
    assert dict(found) == fates
    assert len(flights) == len(proposed) - len(fates)
