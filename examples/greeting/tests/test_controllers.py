from asyncio import run

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_greeting.caches import Tallies
from quorate_greeting.controllers import TALLY_KEEPING, keep_tallies
from quorate_greeting.families import GREETINGS, GROUP, TALLIES
from quorate_greeting.v1.commands_pb2 import (
    ExpireGreetingsCommand,
    RecordTallyCommand,
    SayHelloBatchCommand,
    SayHelloCommand,
)
from quorate_greeting.v1.rows_pb2 import Greeting

TOWNS = ["oslo", "bern", "rome", "cork", "lyon", "graz"]


@pytest.fixture
def node() -> MemoryNode:
    return MemoryNode(["greeting"], config={"greeting": {"tally_interval_s": 3}}, shards={GROUP: 4})


def say_hello(node: MemoryNode, name: str, salutation: str, ttl_ms: int) -> None:
    hellos = [
        SayHelloCommand(town=town, name=name, salutation=salutation, ttl_ms=ttl_ms)
        for town in TOWNS
    ]
    run(node.propose(SayHelloBatchCommand(hellos=hellos), BatchReply))


def tallies(node: MemoryNode) -> dict[str, int]:
    return {tally.salutation: tally.greetings for tally in node.cache(Tallies).in_order()}


def test_a_greeting_wears_off_at_its_deadline_and_not_before(node: MemoryNode) -> None:
    say_hello(node, "ada", "hello", ttl_ms=1_000)
    say_hello(node, "ben", "hello", ttl_ms=2_000)

    run(node.advance(999))
    assert len(node.rows(GREETINGS)) == 12
    run(node.advance(1))

    left = {Greeting.FromString(row).name for row in node.rows(GREETINGS).values()}
    assert left == {"ben"}
    assert any(isinstance(proposed, ExpireGreetingsCommand) for proposed in node.proposals)


def test_a_hello_in_time_keeps_the_greeting(node: MemoryNode) -> None:
    say_hello(node, "ada", "hello", ttl_ms=1_000)
    run(node.advance(600))
    say_hello(node, "ada", "hello", ttl_ms=1_000)

    run(node.advance(999))

    assert len(node.rows(GREETINGS)) == 6


def test_the_tallies_follow_the_greetings_of_all_shards(node: MemoryNode) -> None:
    say_hello(node, "ada", "hello", ttl_ms=2_000)
    say_hello(node, "ben", "moin", ttl_ms=1_000)

    run(node.run_controller(TALLY_KEEPING.name))
    assert tallies(node) == {"hello": 6, "moin": 6}

    run(node.advance(1_000))
    run(node.run_controller(TALLY_KEEPING.name))
    assert tallies(node) == {"hello": 6}
    assert len(node.rows(TALLIES)) == 1


def test_tallies_that_are_right_are_left_alone(node: MemoryNode) -> None:
    say_hello(node, "ada", "hello", ttl_ms=2_000)
    run(node.run_controller(TALLY_KEEPING.name))
    before = len(node.proposals)

    run(node.run_controller(TALLY_KEEPING.name))

    assert len(node.proposals) == before


def test_a_leader_of_an_earlier_term_records_nothing(node: MemoryNode) -> None:
    say_hello(node, "ada", "hello", ttl_ms=2_000)
    deposed = node.leader(GROUP)
    node.elect(GROUP)

    with pytest.raises(Rejected, match="ABORTED"):
        run(keep_tallies(node, deposed))

    assert not any(isinstance(proposed, RecordTallyCommand) for proposed in node.proposals)


def test_the_interval_is_the_operators(node: MemoryNode) -> None:
    assert callable(TALLY_KEEPING.interval_s)
    assert TALLY_KEEPING.interval_s(node) == 3.0
