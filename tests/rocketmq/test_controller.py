"""Stock brokers elect their master on Quorate, and lose no acknowledged message."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from quorate.testing.waiting import until

from tests.support.rocketmq import stock
from tests.support.rocketmq.cluster import Doors
from tests.support.rocketmq.peers import IN_SYNC, Peer

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MESSAGES = 2_000


def replicas(controller: str) -> dict[str, Any]:
    """Return what a controller tells of the replicas of broker-a."""

    async def asking() -> dict[str, Any]:
        host, port = controller.split(":")
        peer = Peer(*await asyncio.open_connection(host, int(port)))
        answer = await peer.ask(IN_SYNC, json.dumps(["broker-a"]).encode())
        await peer.close()
        found: dict[str, Any] = answer.json["replicasInfoTable"] if answer.code == 0 else {}
        return dict(found.get("broker-a", {}))

    return asyncio.run(asking())


def test_a_master_that_is_killed_is_replaced_without_a_lost_message(tmp_path: Path) -> None:
    """What was acknowledged is consumed from the replica that was elected; the killed one comes
    back into the set, and the stock tools make it the master again."""
    with ExitStack() as running:
        cluster = running.enter_context(Doors(tmp_path / "quorate")).ready()
        controllers = list(cluster.controllers.values())
        brokers: dict[str, stock.Part] = {}
        for name in ("one", "two"):
            part, address = stock.broker(
                tmp_path / name,
                cluster.name_servers,
                brokerId=None,
                brokerRole=None,
                enableControllerMode="true",
                controllerAddr=";".join(controllers),
                allAckInSyncStateSet="true",
            )
            brokers[address] = running.enter_context(part)

        def in_sync() -> str | None:
            found = replicas(controllers[0])
            ready = len(found.get("inSyncReplicas", ())) == len(brokers)
            return str(found["masterAddress"]) if ready else None

        master = until(in_sync)
        topic = (cluster.name_servers, "T1", MESSAGES)
        traffic = running.enter_context(stock.traffic(tmp_path / "traffic", *topic))

        def half() -> bool | None:
            return f"sent {MESSAGES // 2}\n" in traffic.said or None

        until(half)
        brokers[master].kill()
        [other] = {*brokers} - {master}

        def elected() -> bool | None:
            found = {each.get("masterAddress") for each in map(replicas, controllers)}
            return found == {other} or None

        until(elected)

        def sent() -> bool | None:
            return f"sent {MESSAGES}\n" in traffic.said or None

        until(sent)
        reading = stock.traffic(tmp_path / "reading", *topic, "reading")
        running.enter_context(reading)

        def arrived() -> bool | None:
            return f"arrived {MESSAGES}" in reading.said or None

        until(arrived)

        brokers[master].start()

        assert until(in_sync) == other
        admin = running.enter_context(stock.Admin(tmp_path / "admin"))

        def tell(command: str, *arguments: str) -> str:
            own = ("-a", controllers[1], *arguments)
            return admin.run(cluster.name_servers, command, *own)

        assert f"#ControllerLeaderAddress\t{controllers[1]}" in tell("getControllerMetaData")
        told = tell("getSyncStateSet", "-b", "broker-a")
        assert f"#MasterAddr\t{other}" in told
        assert told.count("InSyncReplica:\t") == len(brokers)
        assert "notifyBrokerRoleChanged" in tell("getControllerConfig")
        [number] = (
            str(each["brokerId"])
            for each in replicas(controllers[0])["inSyncReplicas"]
            if each["brokerAddress"] == master
        )
        names = ("-bn", "broker-a", "-c", "C1")
        assert f"#BrokerMasterAddr\t{master}" in tell("electMaster", "-b", number, *names)
        assert "CODE: 2009" in tell("cleanBrokerMetadata", "-b", number, *names)
