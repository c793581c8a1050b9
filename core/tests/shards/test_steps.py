"""How the steps of a change are taken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Final

import pytest
from google.protobuf.message import Message
from quorate.observe.failpoints import arm
from quorate.plugin import Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError
from quorate.shards.steps import (
    OVER,
    CatchUp,
    Change,
    ChangeMembers,
    Flush,
    Log,
    Order,
    Step,
    Steps,
    Transfer,
)
from quorate.v1.control_pb2 import FinishMove

SHARD, OTHER = ShardId("toy", 0), ShardId("toy", 1)
COMMAND: Final = FinishMove(group="toy", number=0, move=6)
MEMBERS: Final[Any] = object()


class Leader:
    """Leads toy/0, beside a replica of toy/1, and notes what is asked of it."""

    def __init__(self) -> None:
        self.leads, self.term = True, 3
        self.done: list[object] = []
        self.data = SimpleNamespace(flush=lambda: self.done.append("flushed"))
        self.steps = Steps(
            {SHARD: self.replica(SHARD), OTHER: self.replica(OTHER)}.get,
            self.submit,
            asyncio.get_running_loop(),
        )

    def replica(self, shard: ShardId) -> Any:
        leader = self

        class Replica:
            id = shard
            data = leader.data

            @property
            def leads(self) -> bool:
                return leader.leads

            @property
            def term(self) -> int:
                return leader.term

            async def read_barrier(self, timeout_s: float) -> None:
                leader.done.append(("read", self.id, timeout_s))

            async def change_membership(self, configuration: object, timeout_s: float) -> None:
                leader.done.append((configuration, timeout_s))

            def transfer(self, heir: str) -> None:
                leader.done.append(("transferred", heir))

        return Replica()

    async def submit(self, shard: ShardId, message: Message) -> None:
        self.done.append((shard, message))


class Told(Change):
    """Takes the steps that a test tells, or fails as it tells."""

    waits = "the change of shard %s waits: %s"
    again_s = 0.001

    def __init__(self, leader: Leader, told: list[Step | Exception]) -> None:
        replica = leader.steps.replica(SHARD)
        super().__init__(leader.steps, replica)
        self.left = iter(told)
        self.failures: list[Exception] = []

    async def _step(self) -> Step:
        step = next(self.left)
        if isinstance(step, Exception):
            raise step
        return step

    async def _failed(self, error: Exception) -> None:
        self.failures.append(error)


@pytest.fixture
def passed() -> Iterator[Callable[[Leader, str], None]]:
    """Note each time that a failpoint is passed."""
    with ExitStack() as armed:

        def note(leader: Leader, name: str) -> None:
            armed.enter_context(arm(name, lambda: leader.done.append(name)))

        yield note


async def test_acts_are_carried_out_in_their_order(
    passed: Callable[[Leader, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    leader = Leader()
    passed(leader, "toy.ordering")
    acts = (
        Flush(),
        "toy.ordering",
        Order(COMMAND, OTHER),
        CatchUp(OTHER),
        ChangeMembers(MEMBERS),
        Transfer("b"),
        Log("it is done"),
    )
    with caplog.at_level(logging.INFO, "quorate.shards.steps"):
        await leader.steps.take(Step(acts), leader.steps.replica(SHARD), 3)
    assert leader.done == [
        "flushed",
        "toy.ordering",
        (OTHER, COMMAND),
        ("read", OTHER, 5.0),
        (MEMBERS, 5.0),
        ("transferred", "b"),
    ]
    assert caplog.messages == ["it is done"]


async def test_a_change_goes_on_until_it_is_over_and_says_once_why_it_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leader = Leader()
    lost, refused = NotProposedError("no leader"), Rejected("MOVING", "it moves")
    change = Told(
        leader,
        [lost, lost, Step((Transfer("b"),), status="handing over"), refused, lost, OVER],
    )
    with caplog.at_level(logging.INFO, "quorate.shards.steps"):
        await change.run()
    assert caplog.messages == [
        "the change of shard toy/0 waits: no leader",
        "the change of shard toy/0 waits: handing over",
        f"the change of shard toy/0 waits: {refused}",
        "the change of shard toy/0 waits: no leader",
    ]
    assert change.failures == [lost, lost, refused, lost]
    assert leader.done == [("transferred", "b")]


async def test_a_bug_ends_a_change() -> None:
    change = Told(Leader(), [KeyError("a bug"), OVER])
    with pytest.raises(KeyError):
        await change.run()


async def test_no_step_is_taken_where_the_shard_is_not_led() -> None:
    leader = Leader()
    leader.leads = False
    change = Told(leader, [])
    await change.run()
    leader.steps.carry_out(change)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_change_runs_once_and_ends_with_its_node() -> None:
    leader = Leader()
    endless: list[Step | Exception] = [Step(pause_s=60.0)]
    first, second = Told(leader, endless), Told(leader, endless)
    leader.steps.carry_out(first)
    leader.steps.carry_out(second)
    await asyncio.sleep(0)
    assert (next(first.left, None), next(second.left, None)) == (None, endless[0])
    await leader.steps.close()
    leader.steps.carry_out(second)
    assert asyncio.all_tasks() == {asyncio.current_task()}
