from __future__ import annotations

import asyncio
from typing import Any, cast

from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import TransferRefusedError
from quorate.consensus.status import FollowerStatus
from quorate.node.leader_tasks import hand_over
from quorate.shards.shard.settings import ShardSettings

PEERS = [Peer(name, number) for number, name in enumerate("abcd", 1)]


class Status:
    """As much of a replica's status as is looked at."""

    def __init__(self, configuration: Configuration, heard: dict[str, tuple[int, float]]) -> None:
        self.configuration = configuration
        self.followers = [
            FollowerStatus(
                peer=peer,
                mode="replicate",
                match=heard[peer.node][0],
                next=0,
                silent_s=heard[peer.node][1],
            )
            for peer in PEERS
            if peer.node in heard
        ]


class Replica:
    """A shard led by `a`; d is a learner."""

    def __init__(self, heard: dict[str, tuple[int, float]], refusals: int = 0) -> None:
        self.settings = ShardSettings()
        self.leads = True
        self.stopped: Exception | None = None
        self.asked: list[str] = []
        self.refusals = refusals
        self.replica = self
        members = [Member(peer, peer.node != "d") for peer in PEERS]
        self._status = Status(Configuration.of(members), heard)

    def status(self) -> Status:
        return self._status

    def transfer(self, node: str) -> None:
        self.asked.append(node)
        if self.refusals:
            self.refusals -= 1
            raise TransferRefusedError("one is under way")
        self.leads = False


async def hand(*replicas: Replica, timeout_s: float = 20.0) -> tuple[list[Any], list[Any]]:
    loop = asyncio.get_running_loop()
    return await hand_over(cast(Any, replicas), loop, timeout_s)


async def test_the_voter_that_needs_the_least_takes_over() -> None:
    replica = Replica({"b": (5, 0.0), "c": (7, 0.0), "d": (9, 0.0)})

    assert await hand(replica) == ([replica], [])
    assert replica.asked == ["c"]


async def test_a_voter_that_is_silent_takes_nothing_over() -> None:
    silent_s = ShardSettings().timing.election_max_s
    replica = Replica({"b": (5, silent_s / 2), "c": (7, silent_s), "d": (9, 0.0)})

    assert await hand(replica) == ([replica], [])
    assert replica.asked == ["b"]


async def test_what_nobody_can_lead_is_kept_at_once() -> None:
    replica = Replica({"d": (9, 0.0)})

    assert await hand(replica) == ([], [replica])
    assert replica.asked == []


async def test_what_is_refused_is_asked_again_until_the_time_is_over() -> None:
    patient = Replica({"b": (5, 0.0)}, refusals=2)
    refusing = Replica({"b": (5, 0.0)}, refusals=1_000_000)

    assert await hand(patient) == ([patient], [])
    assert patient.asked == ["b"] * 3
    assert await hand(refusing, timeout_s=0.05) == ([], [refusing])


async def test_only_what_is_led_and_goes_on_is_handed_over() -> None:
    follower, stopped = Replica({"b": (5, 0.0)}), Replica({"b": (5, 0.0)})
    follower.leads = False
    stopped.stopped = OSError("gone")

    assert await hand(follower, stopped) == ([], [])
    assert follower.asked == stopped.asked == []
