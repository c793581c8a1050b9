"""Nodes are added to a running cluster, removed from it and replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2, status_pb2
from quorate.config import load
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import RefusedError
from quorate.node.members import is_being_removed
from quorate.node.node import Node
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.rpc.status import DETAILS_KEY, detail
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.shard.shard import RemovedError, Shard
from quorate.storage.rows import stored
from quorate.topology.changes.members import REMOVED
from quorate.v1 import admin_pb2
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_REMOVE,
    BeginMemberChange,
    FinishMemberChange,
    MemberRow,
)

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

TOYS = [ShardId("toy", 0), ShardId("toy", 1)]
SHARDS = [METADATA, *TOYS]
EVENTUALLY_S = 30.0


async def until(what: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    async with asyncio.timeout(EVENTUALLY_S):
        while not what():
            await asyncio.sleep(0.01)


def address_of(node: Node) -> str:
    return node._settings.node.address


@asynccontextmanager
async def admin(node: Node) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(address_of(node)) as channel:
        yield Stub(channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"])


class Refused(Exception):
    """What a call was refused with."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        details: dict[str, Any] = dict(error.trailing_metadata() or ())  # type: ignore[arg-type]
        status = status_pb2.Status.FromString(details.get(DETAILS_KEY, b""))
        self.reason = detail(status, error_details_pb2.ErrorInfo).reason
        self.text = str(error.details())
        super().__init__(f"{self.reason}: {self.text}")


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise Refused(error) from error


async def add(at: Node, name: str, address: str) -> list[admin_pb2.MemberProgress]:
    with told():
        async with admin(at) as stub:
            request = admin_pb2.AddMemberRequest(node=name, address=address)
            return [each async for each in stub.AddMember(request, timeout=EVENTUALLY_S)]


async def look(at: Node, name: str, address: str) -> admin_pb2.MeetMemberResponse:
    with told():
        async with admin(at) as stub:
            request = admin_pb2.MeetMemberRequest(node=name, address=address)
            met: admin_pb2.MeetMemberResponse = await stub.MeetMember(request, timeout=EVENTUALLY_S)
            return met


async def remove(at: Node, name: str, *, force: bool = False) -> list[admin_pb2.MemberProgress]:
    with told():
        async with admin(at) as stub:
            request = admin_pb2.RemoveMemberRequest(node=name, force=force)
            return [each async for each in stub.RemoveMember(request, timeout=EVENTUALLY_S)]


def voters(node: Node, shard: ShardId = METADATA) -> list[str]:
    found = node.shards.get(shard)
    assert found is not None
    assert found.configuration is not None
    return [peer.node for peer in found.configuration.voters]


def metadata(node: Node) -> Shard:
    found = node.shards.get(METADATA)
    assert found is not None
    return found


def have(node: Node, *expected: str) -> bool:
    """Tell whether these vote in all shards, as far as a node knows."""
    return all(voters(node, shard) == list(expected) for shard in SHARDS)


def replica_of(node: Node, shard: ShardId, name: str) -> Peer | None:
    found = node.shards.get(shard)
    assert found is not None
    assert found.configuration is not None
    return found.configuration.peer_of(name)


async def lead(members: list[Node], shard: ShardId, wanted: Node) -> None:
    """Have a node lead a shard, whoever does now."""

    def leads() -> bool:
        for node in members:
            found = node.shards.get(shard)
            if found is not None and found.leads and node is not wanted:
                with suppress(RefusedError):
                    found.transfer(wanted.me.node)
        found = wanted.shards.get(shard)
        return found is not None and found.leads

    await until(leads)


async def until_silent(members: list[Node], name: str) -> None:
    """Wait until every leader among these has not heard a node for a while."""

    def silent(node: Node, shard: ShardId) -> bool:
        found = node.shards.get(shard)
        followers = () if found is None else found.replica.status().followers
        return all(each.silent_s > 1.0 for each in followers if each.peer.node == name)

    def led(shard: ShardId) -> bool:
        replicas = [node.shards.get(shard) for node in members]
        return any(each is not None and each.leads for each in replicas)

    await until(lambda: all(led(s) and all(silent(n, s) for n in members) for s in SHARDS))


class Writer:
    """Writes one row after the other through the nodes in turn, and remembers what was promised."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = list(nodes)
        self.promised: list[str] = []
        self._task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        number = 0
        while True:
            number += 1
            api = self.nodes[number % len(self.nodes)].api
            value = f"{number:05}"
            with suppress(NotProposedError, OutcomeUnknownError):
                await api.propose(StringValue(value=f"k{value}={value}"), StringValue)
                self.promised.append(value)

    async def goes_on(self) -> None:
        """Wait for more promises than were made so far."""
        enough = len(self.promised) + 20
        await until(lambda: len(self.promised) >= enough)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_a_node_is_added_under_load_and_has_all(nodes: Nodes) -> None:
    there = nodes.files(3)
    path = nodes.joining("n4", *there)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        writer = Writer(*members)
        await writer.goes_on()
        told = await add(members[1], "n4", address_of(newcomer))
        await writer.goes_on()
        await newcomer.ready()
        writer.nodes.append(newcomer)
        await writer.goes_on()
        await writer.stop()

        assert [each.shard for each in told if each.step == "voter"] == list(map(str, SHARDS))
        assert (told[-1].shards_done, told[-1].shards_total) == (3, 3)
        for node in [*members, newcomer]:
            await until(partial(have, node, "n1", "n2", "n3", "n4"))
            assert node.peers.addresses.known["n4"] == address_of(newcomer)
        found = await nodes.values(newcomer.api)
        assert set(writer.promised) <= set(found)


async def test_a_node_serves_for_others_once_metadata_has_come_to_it(nodes: Nodes) -> None:
    there = nodes.files(3)
    path = nodes.joining("n4", *there)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        async with admin(newcomer) as stub:
            assert not (await stub.Status(admin_pb2.NodeStatusRequest())).ready
            for call in (
                stub.Topology(admin_pb2.TopologyRequest()),
                stub.TransferLeader(admin_pb2.TransferLeaderRequest()),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as waits:
                    await call
                assert waits.value.code() is grpc.StatusCode.UNAVAILABLE
                assert "`quorate member add`" in str(waits.value.details())

        async with admin(members[0]) as stub:
            request = admin_pb2.AddMemberRequest(node="n4", address=address_of(newcomer))
            call = stub.AddMember(request)
            async for progress in call:
                if progress.shard == str(METADATA) and progress.step == "voter":
                    break
            call.cancel()
        # Its shards are all but opened; whatever they lack, another node has.
        assert await nodes.say(newcomer.api, "a=1") == "a is 1"
        assert await nodes.values(newcomer.api) == ["1"]


@pytest.mark.ci
@pytest.mark.parametrize("asked", ["itself", "another"])
async def test_the_leader_of_all_is_removed_under_load(nodes: Nodes, asked: str) -> None:
    async with nodes.started(*nodes.files(3, election_ms=300)) as members:
        leaving, *stay = members
        writer = Writer(*stay)
        await writer.goes_on()
        # At the last moment: on a busy machine leaders change by themselves.
        for shard in SHARDS:
            await lead(members, shard, leaving)
        told = await remove(leaving if asked == "itself" else stay[0], "n1")
        await writer.goes_on()
        await writer.stop()

        last = [each for each in told if each.step == "removed"]
        assert [each.shard for each in last] == ["toy/0", "toy/1", "metadata/0"]
        assert any(each.step == "leadership transferred" for each in told)
        with pytest.raises(RemovedError, match=r"n1#.* was removed from shard metadata/0"):
            async with asyncio.timeout(EVENTUALLY_S):
                await leaving.ended()
        for node in stay:
            await until(partial(have, node, "n2", "n3"))
            assert [each.node for each in node.shards.declarations()] == ["n2", "n3"]
            assert all(
                [peer.node for peer in node.shards.slot_map.members(shard)] == ["n2", "n3"]
                for shard in SHARDS
            )
        assert set(writer.promised) <= set(await nodes.values(stay[0].api))
        with pytest.raises(Refused) as gone:
            await remove(stay[0], "n1")
        assert gone.value.reason == "NOT_FOUND"


async def refusal(asked: Node, node: str) -> Refused:
    """Return why a removal is refused; what a change of leaders kept from the log is repeated."""
    async with asyncio.timeout(EVENTUALLY_S):
        while True:
            with pytest.raises(Refused) as refused:
                await remove(asked, node)
            if refused.value.reason != "NOT_PROPOSED":
                return refused.value


@pytest.mark.ci
async def test_a_dead_node_is_removed_and_ends_when_it_comes_back(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as members:
        await nodes.say(members[0].api, "a=1")
        *live, dead = members
        await nodes.end(dead)
        await until_silent(live, "n3")
        unsafe = await refusal(live[0], "n2")
        assert unsafe.reason == "NO_MAJORITY"
        assert "shard toy/0 would have 2 voters, of which n3 do not answer" in unsafe.text
        assert all(have(node, "n1", "n2", "n3") for node in live)

        await remove(live[1], "n3")
        assert await nodes.say(live[0].api, "b=2") == "b is 2"
        async with nodes.running(paths[2]) as again:
            with pytest.raises(RemovedError, match=r"empty its node.dir, .*quorate member add"):
                async with asyncio.timeout(EVENTUALLY_S):
                    await again.ended()


async def test_two_voters_stay_unless_a_removal_is_forced(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as members:
        await remove(members[0], "n3")
        with pytest.raises(Refused) as few:
            await remove(members[0], "n2")
        assert few.value.reason == "TOO_FEW"
        assert "without n2 the cluster would be n1 alone" in few.value.text
        assert have(members[0], "n1", "n2")
        await remove(members[0], "n2", force=True)
        await until(partial(have, members[0], "n1"))
        with pytest.raises(Refused, match="n1 is the last voter"):
            await remove(members[0], "n1", force=True)


@pytest.mark.ci
async def test_a_node_that_lost_its_disk_is_replaced_under_its_name(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths[:3]) as members:
        await nodes.say(members[0].api, "a=1")
        await nodes.end(members[2])
        rmtree(paths[2].parent / "n3")
        await until_silent(members[:2], "n3")
        path = nodes.joining("n3", *paths[:2])
        async with nodes.running(path) as new:
            with pytest.raises(Refused) as twice:
                await add(members[0], "n3", address_of(new))
            assert twice.value.reason == "OTHER_REPLICA"
            assert "`quorate member replace n3 ADDRESS`" in twice.value.text
            await remove(members[0], "n3")
            await add(members[1], "n3", address_of(new))
            await new.ready()

            assert await nodes.values(new.api, consistency="stale") == ["1"]
            for node in [*members[:2], new]:
                for shard in SHARDS:
                    assert replica_of(node, shard, "n3") == new.me
            # The old files still name the old address; what the operator said since counts.
            assert members[0].network.address("n3") == address_of(new)
            # One of the others may go now: the new one votes.
            await nodes.end(members[1])
            assert await nodes.say(members[0].api, "b=2") == "b is 2"


def test_a_replica_in_the_place_of_another_is_not_the_one_that_is_removed() -> None:
    old, new = Peer("n3", 1), Peer("n3", 2)
    row = MemberRow(node="n3", change=MEMBER_CHANGE_REMOVE).SerializeToString()
    first, last = (Configuration.of([Member(Peer("n1", 1)), Member(each)]) for each in (old, new))
    log = SimpleNamespace(configuration_at=lambda index: (1, first) if index < 9 else (9, last))
    data = SimpleNamespace(get=lambda family, key: stored(1, row))
    metadata = cast(Any, SimpleNamespace(data=data, applied=5, replica=SimpleNamespace(log=log)))
    assert is_being_removed(metadata, old)
    # The log of a new replica begins with what led to it.
    assert not is_being_removed(metadata, new)
    metadata.applied = 9
    assert is_being_removed(metadata, new)


@pytest.mark.ci
async def test_only_a_node_that_waits_takes_the_place_of_a_member(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as members:
        before = [metadata(node).membership for node in members]
        with pytest.raises(Refused, match=r"IS_MEMBER.*there is nothing to replace"):
            await look(members[0], "n3", address_of(members[2]))
        with pytest.raises(Refused, match=r"SILENT.*n3 cannot be added"):
            await look(members[0], "n3", "127.0.0.1:9")
        path = nodes.joining("n4", *paths)
        async with nodes.running(path) as new:
            met = await look(members[1], "n4", address_of(new))
            assert (met.replica, met.member, met.member_answers) == (new.me.replica, 0, False)
            # While it is added, and when an addition goes on, it is met as before.
            await add(members[0], "n4", address_of(new))
        assert [metadata(node).membership for node in members] != before


@pytest.mark.ci
async def test_a_removed_node_is_not_added_with_the_data_that_it_has(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as members:
        await remove(members[0], "n3")
        missing = members[2]._lifecycle.missing()
        assert "this node is being removed from its cluster" in str(missing), missing
        with pytest.raises(Refused, match=r"WAS_MEMBER.*has the data of a replica"):
            await add(members[0], "n3", address_of(members[2]))


@pytest.mark.ci
async def test_restarted_nodes_know_the_nodes_that_came_later(nodes: Nodes) -> None:
    there = nodes.files(1)
    path = nodes.joining("n2", *there)
    async with nodes.started(*there) as [first], nodes.running(path) as newcomer:
        await add(first, "n2", address_of(newcomer))
        await newcomer.ready()
    # One of the two has no majority: each has to find the other.
    async with nodes.started(*there, path) as [first, second]:
        assert await nodes.say(first.api, "a=1") == "a is 1"
        assert await nodes.say(second.api, "b=2") == "b is 2"
        await until(lambda: first.peers.clocks("n2") is not None)


@pytest.mark.ci
@pytest.mark.parametrize("left_at", [0, 1, 2, 4, 6])
async def test_a_call_that_was_lost_is_finished_by_another_one(nodes: Nodes, left_at: int) -> None:
    there = nodes.files(3, election_ms=1_000)
    path = nodes.joining("n4", *there, election_ms=1_000)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        async with admin(members[0]) as stub:
            request = admin_pb2.AddMemberRequest(node="n4", address=address_of(newcomer))
            call = stub.AddMember(request)
            seen = 0
            async for _ in call:
                if seen == left_at:
                    break
                seen += 1
            call.cancel()
        await add(members[1], "n4", address_of(newcomer))
        await newcomer.ready()
        assert have(newcomer, "n1", "n2", "n3", "n4")

        async with admin(members[0]) as stub:
            call = stub.RemoveMember(admin_pb2.RemoveMemberRequest(node="n4"))
            seen = 0
            async for _ in call:
                if seen == min(left_at, 1):
                    break
                seen += 1
            call.cancel()
        # The removal that was called first goes on, and may have ended by now.
        with suppress(Refused):
            await remove(members[1], "n4")
        await until(partial(have, members[1], "n1", "n2", "n3"))


async def test_answers_that_are_lost_change_nothing(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[object] = []

    def losing(call: Callable[..., Awaitable[Any]], name: Callable[..., object]) -> Any:
        async def made(*arguments: Any, **options: Any) -> Any:
            answer = await call(*arguments, **options)
            if (named := name(answer, *arguments)) not in lost:
                lost.append(named)
                raise OutcomeUnknownError("the answer was lost")
            return answer

        return made

    there = nodes.files(3)
    path = nodes.joining("n4", *there)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        changing: Any = members[1].operations.admin._members
        logged = losing(changing._router.propose_control, lambda _, shard, sent: type(sent))
        step = losing(
            changing._attempt,
            lambda taken, asked, *_: (asked.shard, asked.number > 0, taken.status),
        )
        monkeypatch.setattr(changing._router, "propose_control", logged)
        monkeypatch.setattr(changing, "_attempt", step)
        await add(members[1], "n4", address_of(newcomer))
        await until(partial(have, members[1], "n1", "n2", "n3", "n4"))
        assert {BeginMemberChange, FinishMemberChange} < {*lost}
        await remove(members[1], "n4")
        await until(partial(have, members[1], "n1", "n2", "n3"))
        # The last step that was taken; `number` is that of a change, and of no preview.
        assert (METADATA, True, REMOVED) in lost


@pytest.mark.ci
@pytest.mark.parametrize("falls", ["the node that serves the call", "a leader"])
async def test_a_node_that_falls_in_the_middle_leaves_what_can_be_finished(
    nodes: Nodes, falls: str
) -> None:
    there = nodes.files(3, election_ms=500)
    path = nodes.joining("n4", *there, election_ms=500)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        for shard in SHARDS:
            await lead(members, shard, members[2])
        serving, falling = members[0], members[0] if falls.startswith("the node") else members[2]
        async with admin(serving) as stub:
            request = admin_pb2.AddMemberRequest(node="n4", address=address_of(newcomer))
            call = stub.AddMember(request, timeout=EVENTUALLY_S)
            with suppress(grpc.aio.AioRpcError):
                async for progress in call:
                    if progress.shard == "toy/0":
                        # As if it were killed: nothing is handed over.
                        for each in falling.shards.all():
                            each.stop()
                        await nodes.end(falling)
        await add(members[1], "n4", address_of(newcomer))
        await newcomer.ready()
        assert have(newcomer, "n1", "n2", "n3", "n4")
        assert await nodes.say(newcomer.api, "a=1") == "a is 1"


@pytest.mark.ci
async def test_there_is_one_change_at_a_time(nodes: Nodes) -> None:
    there = nodes.files(3)
    fourth, fifth = nodes.joining("n4", *there), nodes.joining("n5", *there)
    async with (
        nodes.started(*there) as members,
        nodes.running(fourth) as one,
        nodes.running(fifth) as other,
    ):
        async with admin(members[0]) as stub:
            request = admin_pb2.AddMemberRequest(node="n4", address=address_of(one))
            call = stub.AddMember(request)
            await anext(aiter(call))
            for attempt in (add(members[1], "n5", address_of(other)), remove(members[1], "n2")):
                with pytest.raises(Refused) as second:
                    await attempt
                assert second.value.reason == "CHANGE_UNDER_WAY"
                assert "n4 is being added" in second.value.text
                assert f"`quorate member add n4 {address_of(one)}`" in second.value.text
            call.cancel()
        await remove(members[2], "n4")
        await add(members[1], "n5", address_of(other))
        await until(partial(have, members[1], "n1", "n2", "n3", "n5"))


@pytest.mark.ci
async def test_a_removal_ends_an_addition_that_goes_on(nodes: Nodes) -> None:
    there = nodes.files(3)
    path = nodes.joining("n4", *there)
    async with nodes.started(*there) as members, nodes.running(path) as newcomer:
        adding = asyncio.create_task(add(members[0], "n4", address_of(newcomer)))
        await until(lambda: "n4" in voters(members[1]))
        await remove(members[1], "n4")
        with pytest.raises(Refused) as ended:
            await adding
        assert ended.value.reason == "CHANGE_OVER"
        await until(partial(have, members[1], "n1", "n2", "n3"))
        await until(lambda: "n4" not in members[1].network.addresses)


@pytest.mark.ci
async def test_a_node_that_the_cluster_cannot_take_changes_nothing(nodes: Nodes) -> None:
    there = nodes.files(3)
    path = nodes.joining("n4", *there)
    async with nodes.started(*there) as members:
        before = [metadata(node).membership for node in members]
        with pytest.raises(Refused, match=r"SILENT.*n4 cannot be added .*127.0.0.1:9 reaches it"):
            await add(members[0], "n4", "127.0.0.1:9")
        async with nodes.running(path, nodes.catalog(shards=3)) as odd:
            with pytest.raises(Refused, match=r"OTHER_PLUGINS.*declares 2 shards of group toy"):
                await add(members[0], "n4", address_of(odd))
        for name, address in [("N 4", "127.0.0.1:1"), ("n4", "nowhere"), ("", "a:1"), ("n4", "")]:
            with pytest.raises(Refused, match="INVALID"):
                await add(members[0], name, address)
        with pytest.raises(Refused, match=r"NOT_FOUND.*n9 is not a member"):
            await remove(members[0], "n9")
        assert [metadata(node).membership for node in members] == before


async def test_the_last_node_stays(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        with pytest.raises(Refused, match=r"NO_MAJORITY.*n1 is the last voter of shard toy/0"):
            await remove(node, "n1")
        assert await nodes.say(node.api, "a=1") == "a is 1"


async def test_a_node_of_another_cluster_is_not_taken(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    others = type(nodes)(tmp_path / "other")
    far = others.files(2)
    async with nodes.started(*nodes.files(1)) as [node], others.started(*far) as [_, second]:
        with pytest.raises(Refused, match=r"OTHER_CLUSTER.*give it an empty node.dir"):
            await add(node, "n2", address_of(second))


@pytest.mark.ci
async def test_a_newcomer_that_starts_again_before_it_was_added_waits_on(nodes: Nodes) -> None:
    there = nodes.files(3)
    path = nodes.joining("n4", *there[:1])
    async with nodes.started(*there) as members:
        for shard in SHARDS:
            await lead(members, shard, members[2])
        async with nodes.running(path) as newcomer, admin(members[0]) as stub:
            request = admin_pb2.AddMemberRequest(node="n4", address=address_of(newcomer))
            call = stub.AddMember(request)
            await anext(aiter(call))
            call.cancel()
        async with nodes.running(path) as again:
            assert again.me == newcomer.me
            await add(members[1], "n4", address_of(again))
            await again.ready()
            assert have(again, "n1", "n2", "n3", "n4")


@pytest.mark.ci
async def test_a_newcomer_gets_what_was_cut_from_the_logs(nodes: Nodes) -> None:
    there = nodes.files(1, more="[storage]\nlog_tail_entries = 1")
    path = nodes.joining("n2", *there)
    async with nodes.started(*there) as [first], nodes.running(path) as newcomer:
        for number in range(50):
            await nodes.say(first.api, f"k{number:02}={number:02}")
        logs = [shard.replica for shard in first.shards.all()]
        await until(lambda: all(replica.status().first > 1 for replica in logs))
        await add(first, "n2", address_of(newcomer))
        await newcomer.ready()

        assert await nodes.values(newcomer.api, consistency="stale") == [
            f"{number:02}" for number in range(50)
        ]


async def test_what_operators_said_of_an_address_counts_first(nodes: Nodes) -> None:
    """Then what the file says; what a node reports of itself comes last."""
    paths = nodes.files(2)
    text = paths[1].read_text()
    port = load(paths[1], {"toy": nodes.section}, {}).node.port
    paths[1].write_text(text.replace(f'n2 = "127.0.0.1:{port}"', f'n2 = "localhost:{port}"'))
    async with nodes.started(*paths) as [first, second]:
        await until(lambda: len(list(first.shards.declarations())) == 2)
        assert second.peers.addresses.known["n2"] == f"localhost:{port}"
        assert first.network.address("n2") == f"127.0.0.1:{port}"
        await add(first, "n2", f"localhost:{port}")
        assert first.network.address("n2") == f"localhost:{port}"
        await until(lambda: second.peers.addresses.known["n2"] == f"localhost:{port}")
