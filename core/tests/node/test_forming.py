from __future__ import annotations

import asyncio

import pytest
from quorate.consensus.formation import FormationRefusedError, Introduction
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import OTHER_TOKEN, IntroductionRefusedError
from quorate.node.forming import Forming

PEERS = {name: Peer(name, number) for number, name in enumerate("abc", 1)}
FIRST = Configuration.of(map(Member, PEERS.values()))


class Network:
    """Carries introductions between the nodes that are there."""

    def __init__(self) -> None:
        self.nodes: dict[str, Forming] = {}
        self.refusals: dict[str, str] = {}

    async def introduce(self, node: str, own: Introduction) -> Introduction:
        if node in self.refusals:
            raise IntroductionRefusedError(self.refusals[node])
        if node not in self.nodes:
            raise IntroductionRefusedError("nobody listens")
        return self.nodes[node].receive(own)

    def new(self, name: str, members: str = "abc", entry: bytes = b"") -> Forming:
        self.nodes[name] = Forming(PEERS[name], members, entry)
        return self.nodes[name]

    async def found(self, *names: str) -> list[bytes]:
        async with asyncio.timeout(20):
            return await asyncio.gather(
                *(self.nodes[name].first_entry(self.introduce, "abc") for name in names)
            )


async def test_all_initial_members_come_to_the_same_entry() -> None:
    network = Network()
    for name in "abc":
        network.new(name)

    assert await network.found(*"abc") == [FIRST.encode()] * 3
    assert all(node.introduction.first_entry == FIRST.encode() for node in network.nodes.values())


async def test_no_cluster_is_formed_before_all_are_there() -> None:
    network = Network()
    network.new("a")
    network.new("b")
    asking = asyncio.create_task(network.found("a", "b"))
    await asyncio.sleep(0)
    assert not asking.done()
    assert network.nodes["a"].introduction.first_entry == b""

    network.new("c")
    assert await asking == [FIRST.encode()] * 2


async def test_one_that_comes_later_takes_over_what_was_formed() -> None:
    network = Network()
    network.new("a", entry=FIRST.encode())
    network.new("b", entry=FIRST.encode())
    network.new("c")

    assert await network.found("c") == [FIRST.encode()]


async def test_one_whose_disk_was_emptied_does_not_come_back_by_itself() -> None:
    network = Network()
    network.new("a", entry=Configuration.of([Member(PEERS["a"]), Member(Peer("c", 99))]).encode())
    network.new("c")

    with pytest.raises(FormationRefusedError, match="quorate member replace"):
        await network.found("c")


async def test_another_token_ends_it() -> None:
    network = Network()
    network.new("a")
    network.refusals["b"] = OTHER_TOKEN

    with pytest.raises(FormationRefusedError, match=r"different \[cluster\] tokens"):
        await network.found("a")


async def test_a_node_alone_asks_nobody() -> None:
    network = Network()
    network.new("a", "a")

    [entry] = await network.found("a")
    assert Configuration.decode(entry).voters == (PEERS["a"],)


async def test_a_node_without_initial_members_asks_those_that_are_there() -> None:
    network = Network()
    network.new("a", entry=FIRST.encode())
    network.new("c", "")

    assert await network.found("c") == [FIRST.encode()]
    assert network.nodes["c"].introduction.initial_members == ()
