"""Brokers elect their master by the codes of RocketMQ's controller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from quorate.testing.ports import free_ports
from quorate_name_server.remoting import door
from quorate_name_server.replication.known import KnownReplicas
from quorate_name_server.v1 import replica_sets_pb2 as pb

from tests.support.rocketmq.peers import (
    ALTER,
    APPLY_ID,
    CLEAN,
    CONTROLLER_PROPERTIES,
    ELECT,
    HEARTBEAT,
    IN_SYNC,
    METADATA,
    NEXT_ID,
    REGISTER,
    REGISTER_REPLICA,
    REPLICA_INFO,
    ROLE_CHANGED,
    UPDATE_CONTROLLER,
    Answer,
    Doors,
    Peer,
)

A: dict[str, Any] = {"clusterName": "C1", "brokerName": "broker-a"}
NOTIFYING = "name_server.role_notifying"


@pytest.fixture
async def controller(open_door: Callable[..., Awaitable[Doors]]) -> Doors:
    """Return a node that serves the controller's port alone."""
    [port] = free_ports(0)
    doors = await open_door(remoting_port=0, controller_port=port)
    doors.port = port
    return doors


@dataclass
class Replica:
    """A replica of broker-a with a connection of its own."""

    peer: Peer
    id: int
    address: str

    async def heartbeat(self, **said: Any) -> Answer:
        about = {"brokerAddr": self.address, "brokerId": self.id, "epoch": 0, "maxOffset": 0}
        return await self.peer.ask(HEARTBEAT, **{**A, **about, **said})

    async def elect(self, **said: Any) -> Answer:
        return await self.peer.ask(ELECT, **{**A, "brokerId": self.id, **said})

    async def alter(self, *wanted: int, epoch: int = 1, **said: Any) -> Answer:
        body = json.dumps({"syncStateSet": wanted, "syncStateSetEpoch": epoch}).encode()
        about = {"brokerName": "broker-a", "masterBrokerId": self.id, "masterEpoch": 1}
        return await self.peer.ask(ALTER, body, **{**about, **said})


async def start(controller: Doors, number: int, address: str = "") -> Replica:
    """Let a replica take its id, register, and send a heartbeat."""
    replica = Replica(await controller.connect(), number, address or f"10.0.0.{number}:10911")
    own: dict[str, Any] = {"appliedBrokerId": number, "registerCheckCode": f"{replica.address};1"}
    assert (await replica.peer.ask(APPLY_ID, **A, **own)).code == 0
    said: dict[str, Any] = {"brokerId": number, "brokerAddress": replica.address}
    assert (await replica.peer.ask(REGISTER_REPLICA, **A, **said)).code == 0
    assert (await replica.heartbeat()).code == 0
    return replica


def known(controller: Doors) -> pb.ReplicaSet:
    return controller.node.cache(KnownReplicas).sets["broker-a"]


def nobody_listens() -> str:
    [port] = free_ports(0)
    return f"127.0.0.1:{port}"


async def test_a_broker_comes_from_nothing_to_be_the_master(controller: Doors) -> None:
    peer = await controller.connect()

    metadata = await peer.ask(METADATA)
    here = f"127.0.0.1:{controller.port}"
    assert metadata.fields == {
        "group": "quorate",
        "controllerLeaderId": here,
        "controllerLeaderAddress": here,
        "isLeader": "true",
        "peers": here,
    }
    assert (await peer.ask(NEXT_ID, **A)).fields == {**A, "nextBrokerId": "1"}
    own: dict[str, Any] = {"appliedBrokerId": 1, "registerCheckCode": "10.0.0.1:10911;5"}
    assert (await peer.ask(APPLY_ID, **A, **own)).fields == A
    assert (await peer.ask(NEXT_ID, **A)).fields["nextBrokerId"] == "2"
    said: dict[str, Any] = {"brokerId": 1, "brokerAddress": "10.0.0.1:10911"}
    registered = await peer.ask(REGISTER_REPLICA, **A, **said)
    assert registered.fields == A
    assert registered.json == {"syncStateSet": [], "syncStateSetEpoch": 0}
    replica = Replica(peer, 1, "10.0.0.1:10911")
    assert (await replica.heartbeat()).header["remark"] == "Heart beat success"

    elected = await replica.elect()

    master = {
        "masterBrokerId": "1",
        "masterAddress": "10.0.0.1:10911",
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    assert (elected.code, elected.fields) == (0, master)
    assert elected.json == {
        "brokerMemberGroup": {
            "brokerAddrs": {"1": "10.0.0.1:10911"},
            "brokerName": "broker-a",
            "cluster": "C1",
        },
        "syncStateSet": [1],
    }
    registered = await peer.ask(REGISTER_REPLICA, **A, **said)
    assert registered.fields == A | master
    info = await peer.ask(REPLICA_INFO, brokerName="broker-a")
    del master["syncStateSetEpoch"]
    assert (info.code, info.fields) == (0, master)
    assert info.json == registered.json == {"syncStateSet": [1], "syncStateSetEpoch": 1}


async def test_the_slave_takes_over_when_the_process_of_the_master_has_ended(
    controller: Doors,
) -> None:
    master = await start(controller, 1, nobody_listens())
    slave = await start(controller, 2)
    await master.elect()
    altered = await master.alter(1, 2)
    assert (altered.code, altered.fields) == (0, {"newSyncStateSetEpoch": "2"})
    assert altered.json == {"syncStateSet": [1, 2], "syncStateSetEpoch": 2}
    assert (await slave.elect()).code == 2011

    await master.peer.close()
    while known(controller).master != 2:
        await slave.heartbeat()

    info = await slave.peer.ask(REPLICA_INFO, brokerName="broker-a")
    assert (info.fields["masterBrokerId"], info.fields["masterEpoch"]) == ("2", "2")
    assert info.json == {"syncStateSet": [2], "syncStateSetEpoch": 3}


async def test_who_still_listens_has_lost_its_connection_alone(
    controller: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CONNECT_S", 0.05)
    probed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            await reader.read()
        writer.close()
        probed.set()

    [port] = free_ports(0)
    async with await asyncio.start_server(serve, "127.0.0.1", port):
        master = await start(controller, 1, f"127.0.0.1:{port}")
        slave = await start(controller, 2)
        await master.elect()
        await master.alter(1, 2)

        await master.peer.close()
        await probed.wait()
        await slave.heartbeat()

    assert known(controller).master == 1


async def test_a_replica_that_has_another_connection_by_now_keeps_its_life(
    controller: Doors,
) -> None:
    master = await start(controller, 1, nobody_listens())
    before = master.peer
    master.peer = await controller.connect()
    await master.heartbeat()
    ended = await start(controller, 2, nobody_listens())

    await before.close()
    await ended.peer.close()
    while known(controller).replicas[1].alive:
        await master.heartbeat()

    assert known(controller).replicas[0].alive


@pytest.mark.parametrize(
    ("wanted", "said", "code"),
    [
        ([1], {}, 2013),
        ([1, 2], {"brokerName": "nobody"}, 2013),
        ([1, 2], {"masterBrokerId": 2}, 2002),
        ([1, 2], {"masterEpoch": 7}, 2000),
        ([1, 2], {"epoch": 7}, 2001),
        ([1, 9], {}, 2003),
        ([1, 3], {}, 2006),
        ([2], {}, 2013),
    ],
)
async def test_a_wrong_set_of_replicas_in_sync_is_refused_with_its_code(
    controller: Doors, wanted: list[int], said: dict[str, Any], code: int
) -> None:
    master, _ = await start(controller, 1), await start(controller, 2)
    own: dict[str, Any] = {"appliedBrokerId": 3, "registerCheckCode": "never heard of"}
    await master.peer.ask(APPLY_ID, **A, **own)
    await master.elect()

    answer = await master.alter(*wanted, **said)

    assert (answer.code, answer.fields) == (code, {"newSyncStateSetEpoch": "0"})


async def test_an_id_that_another_process_has_is_refused(controller: Doors) -> None:
    replica = await start(controller, 1)
    own: dict[str, Any] = {"appliedBrokerId": 1, "registerCheckCode": f"{replica.address};1"}

    assert (await replica.peer.ask(APPLY_ID, **A, **own)).code == 0
    own["registerCheckCode"] = "another"
    assert (await replica.peer.ask(APPLY_ID, **A, **own)).code == 2014
    own["brokerName"] = "broker-b"
    own["appliedBrokerId"] = 2
    assert (await replica.peer.ask(APPLY_ID, **{**A, **own})).code == 2014


async def test_replicas_that_nobody_knows_are_told_so(controller: Doors) -> None:
    stranger = Replica(await controller.connect(), 7, "10.0.0.7:10911")
    said: dict[str, Any] = {"brokerId": 7, "brokerAddress": stranger.address}

    assert (await stranger.peer.ask(REGISTER_REPLICA, **A, **said)).code == 2010
    assert (await stranger.heartbeat()).code == 2010
    assert (await stranger.heartbeat(brokerId="")).code == 2005
    assert (await stranger.elect()).code == 2010
    assert (await stranger.peer.ask(REPLICA_INFO, brokerName="broker-a")).code == 2008
    assert (await stranger.peer.ask(CLEAN, **A)).code == 2009
    assert (await stranger.peer.ask(IN_SYNC)).code == 1
    assert (await stranger.peer.ask(APPLY_ID, **A)).code == 1


async def test_without_a_candidate_there_is_no_master(controller: Doors) -> None:
    master = await start(controller, 1, nobody_listens())
    slave = await start(controller, 2)
    await master.elect()
    await master.peer.close()
    while known(controller).master:
        await slave.heartbeat()

    assert (await slave.elect()).code == 2012
    assert (await slave.elect(brokerId=-1)).code == 2004
    await slave.peer.ask(UPDATE_CONTROLLER, b"enableElectUncleanMaster=true\n")
    assert (await slave.elect()).fields["masterBrokerId"] == "2"


async def test_an_operator_designates_the_master(controller: Doors) -> None:
    master, slave = await start(controller, 1), await start(controller, 2)
    await master.elect()

    assert (await slave.elect(designateElect=True)).code == 2012
    await master.alter(1, 2)
    elected = await slave.elect(designateElect=True)

    assert (elected.code, elected.fields["masterBrokerId"]) == (0, "2")


async def test_a_heartbeat_is_proposed_where_it_says_something(controller: Doors) -> None:
    view = controller.node.cache(KnownReplicas)
    now_s = 100.0
    view.clock = lambda: now_s
    replica = await start(controller, 1)

    def proposed() -> int:
        return sum(isinstance(each, pb.SendReplicaHeartbeats) for each in controller.node.proposals)

    for _ in range(5):
        await replica.heartbeat()
    assert proposed() == 1
    now_s += 2.5
    await replica.heartbeat()
    assert proposed() == 2
    await replica.heartbeat(epoch=1)
    assert proposed() == 3
    await controller.node.advance(10_001)
    assert not known(controller).replicas[0].alive
    await replica.heartbeat(epoch=1)
    assert proposed() == 4
    assert known(controller).replicas[0].alive


async def test_the_replicas_of_several_brokers_are_listed(controller: Doors) -> None:
    replica = await start(controller, 1)
    await start(controller, 2)
    await replica.elect()

    answer = await replica.peer.ask(IN_SYNC, b'["broker-a","nobody"]')

    def told(number: int) -> dict[str, Any]:
        address = f"10.0.0.{number}:10911"
        return {
            "alive": True,
            "brokerAddress": address,
            "brokerId": number,
            "brokerName": "broker-a",
        }

    assert answer.json == {
        "replicasInfoTable": {
            "broker-a": {
                "inSyncReplicas": [told(1)],
                "notInSyncReplicas": [told(2)],
                "masterAddress": "10.0.0.1:10911",
                "masterBrokerId": 1,
                "masterEpoch": 1,
                "syncStateSetEpoch": 1,
            }
        }
    }


async def test_replicas_are_removed(controller: Doors) -> None:
    replica = await start(controller, 1)
    await start(controller, 2)

    async def clean(**said: Any) -> int:
        return (await replica.peer.ask(CLEAN, **A, **said)).code

    assert await clean(brokerControllerIdsToClean="two") == 2009
    assert await clean(brokerControllerIdsToClean="2;9") == 2009
    assert await clean(brokerControllerIdsToClean="2") == 2009
    assert await clean(brokerControllerIdsToClean="2", isCleanLivingBroker=True) == 0
    assert [each.id for each in known(controller).replicas] == [1]


async def test_properties_are_the_controllers_own(controller: Doors) -> None:
    peer = await controller.connect()

    assert (await peer.ask(UPDATE_CONTROLLER, b"enableElectUncleanMaster=true\n")).code == 0
    assert (await peer.ask(UPDATE_CONTROLLER, b"configStorePath=/etc/passwd\n")).code == 16
    lines = (await peer.ask(CONTROLLER_PROPERTIES)).body.decode().splitlines()

    assert "enableElectUncleanMaster=true" in lines
    assert f"listenPort={controller.port}" in lines
    assert (await peer.ask(REGISTER)).code == 3


async def test_a_node_without_a_majority_is_no_leader(
    controller: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start(controller, 1)
    monkeypatch.setattr(controller.node, "cache_age_ms", lambda _: 3_000)

    metadata = await replica.peer.ask(METADATA)

    assert (metadata.fields["isLeader"], metadata.fields["controllerLeaderAddress"]) == (
        "false",
        "",
    )
    assert (await replica.peer.ask(NEXT_ID, **A)).code == 2007
    assert (await replica.peer.ask(REPLICA_INFO, brokerName="broker-a")).code == 2007


async def test_living_replicas_are_told_their_master_once(controller: Doors) -> None:
    told: asyncio.Queue[Answer] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.put_nowait(await Peer(reader, writer).answer())
        writer.close()

    [port] = free_ports(0)
    async with await asyncio.start_server(serve, "127.0.0.1", port):
        master = await start(controller, 1, nobody_listens())
        await start(controller, 2, f"127.0.0.1:{port}")
        await controller.node.run_controller(NOTIFYING)
        await master.elect()
        assert NOTIFYING in controller.node.woken
        await controller.node.run_controller(NOTIFYING)
        first = await told.get()
        await controller.node.run_controller(NOTIFYING)
        await master.alter(1, 2)
        await controller.node.run_controller(NOTIFYING)
        second = await told.get()

    assert (first.code, first.header["flag"]) == (ROLE_CHANGED, 2)
    assert first.fields == {
        "masterBrokerId": "1",
        "masterAddress": master.address,
        "masterEpoch": "1",
        "syncStateSetEpoch": "1",
    }
    assert first.json == {"syncStateSet": [1], "syncStateSetEpoch": 1}
    assert second.json == {"syncStateSet": [1, 2], "syncStateSetEpoch": 2}
