"""How a shard takes many commands: `FakeShard` counts the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.plugin import Invalid
from quorate.shards.refusals import (
    ExhaustedError,
    FencedError,
    NoLeaderError,
    OutcomeUnknownError,
)
from quorate.shards.routing.proposing import ENTRY_BYTES, Result, propose_in_order

if TYPE_CHECKING:
    from core.tests.shards.routing.conftest import Cluster, FakeShard


#: A command, and its timeout in seconds.
Timed = tuple[LoggedCommand, float]


def timed(payloads: str | list[bytes], timeout_s: float = 5.0) -> list[Timed]:
    found = [each.encode() for each in payloads] if isinstance(payloads, str) else payloads
    return [(LoggedCommand("a.Command", each), timeout_s) for each in found]


def propose(cluster: Cluster, commands: list[Timed], **options: Any) -> list[Result]:
    now = cluster.loop.time()
    return cluster.run(
        propose_in_order(
            cast(Any, cluster.shard()),
            [command for command, _ in commands],
            [now + timeout_s for _, timeout_s in commands],
            cluster.loop.time,
            **options,
        )
    )


def names(results: list[Result]) -> list[str]:
    return [
        each.reply.decode() if isinstance(each, Outcome) else type(each).__name__
        for each in results
    ]


@pytest.fixture
def shard(cluster: Cluster) -> FakeShard:
    cluster.host(1)
    found = cluster.shard()
    found.answer = lambda logged: Outcome(1, logged.payload)
    return found


def test_a_thousand_commands_are_one_call(cluster: Cluster, shard: FakeShard) -> None:
    results = propose(cluster, timed("x" * 1_000))
    assert names(results) == ["x"] * 1_000
    assert shard.calls == [(1_000, 5.0)]


def test_none_is_no_call(cluster: Cluster, shard: FakeShard) -> None:
    assert propose(cluster, []) == []
    assert shard.calls == []


def test_each_has_its_own_time_and_the_order_stays(cluster: Cluster, shard: FakeShard) -> None:
    commands = [*timed("ab", 1.0), *timed("c", 2.0), *timed("d", 1.0)]
    assert names(propose(cluster, commands)) == ["a", "b", "c", "d"]
    assert shard.calls == [(2, 1.0), (1, 2.0), (1, 1.0)]


def test_an_entry_is_not_overfilled(cluster: Cluster, shard: FakeShard) -> None:
    third = b"x" * (ENTRY_BYTES // 3)
    propose(cluster, timed([third, third, third, third, b"x" * (2 * ENTRY_BYTES), b"y"]))
    assert [count for count, _ in shard.calls] == [3, 1, 1, 1]


@pytest.mark.parametrize("room", range(9))
def test_as_many_as_there_is_room_for_are_taken(
    cluster: Cluster, shard: FakeShard, room: int
) -> None:
    shard.room = room
    results = propose(cluster, timed("abcdefgh"))
    assert names(results) == [*"abcdefgh"[:room], *["ExhaustedError"] * (8 - room)]
    assert [each.payload.decode() for each in shard.proposed] == [*"abcdefgh"[:room]]


@pytest.mark.parametrize("room", [0, 1, 600, 999])
def test_a_full_shard_is_not_asked_for_each_command(
    cluster: Cluster, shard: FakeShard, room: int
) -> None:
    asked = 0
    take = shard.propose

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return take(*args, **options)

    shard.room = room
    shard.propose = counted  # type: ignore[method-assign]
    propose(cluster, timed("x" * 1_000))
    assert len(shard.proposed) == room
    assert asked <= 25


def test_what_does_not_fit_into_an_entry_goes_in_several(
    cluster: Cluster, shard: FakeShard
) -> None:
    shard.most = 3
    assert names(propose(cluster, timed("abcdefgh"))) == [*"abcdefgh"]
    assert all(count <= 3 for count, _ in shard.calls)


def test_one_that_fits_nowhere_fails_alone(cluster: Cluster, shard: FakeShard) -> None:
    take = shard.propose

    def picky(commands: Any, **options: Any) -> Any:
        if any(each.payload == b"c" for each in commands):
            raise Invalid("commands", "too large")
        return take(commands, **options)

    shard.propose = picky  # type: ignore[method-assign]
    assert names(propose(cluster, timed("abcdefgh"))) == ["a", "b", "Invalid", *"defgh"]
    assert shard.calls[-1] == (5, 5.0)


def test_what_ends_an_entry_ends_its_commands_alone(cluster: Cluster, shard: FakeShard) -> None:
    shard.next = [OutcomeUnknownError("lost")]
    results = propose(cluster, [*timed("ab", 1.0), *timed("cd", 2.0)])
    assert names(results) == ["OutcomeUnknownError", "OutcomeUnknownError", "c", "d"]


def test_who_does_not_lead_takes_nothing(cluster: Cluster, shard: FakeShard) -> None:
    assert names(propose(cluster, timed("ab"), term=7)) == [FencedError.__name__] * 2
    shard.leads = False
    assert names(propose(cluster, timed("ab"))) == [NoLeaderError.__name__] * 2
    assert shard.proposed == []


def test_no_room_is_told_with_the_time_to_wait(cluster: Cluster, shard: FakeShard) -> None:
    shard.room = 0
    [refused] = propose(cluster, timed("a"))
    assert isinstance(refused, ExhaustedError)
    assert refused.retry_after_ms == 5
