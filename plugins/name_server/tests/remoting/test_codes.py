"""What each code is answered with, beside what was recorded."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import ExhaustedError, NoLeaderError, OutcomeUnknownError
from quorate.testing.ports import free_ports
from quorate_name_server.remoting import register_body
from quorate_name_server.routes.known import KnownRoutes
from quorate_name_server.service import NameService
from quorate_name_server.v1 import commands_pb2 as pb

from tests.support.rocketmq.peers import (
    ADD,
    ALL_TOPICS,
    CLUSTERS,
    DATA_VERSION,
    DELETE,
    DELETE_TOPIC,
    GET,
    HEARTBEAT,
    KV_LIST,
    MEMBERS,
    NO_UNIT,
    OF_CLUSTER,
    PROPERTIES,
    PUT,
    REGISTER,
    REGISTER_TOPIC,
    ROUTE,
    SUBSCRIPTIONS,
    SYSTEM,
    TOPICS,
    UNITS,
    UNREGISTER,
    UPDATE,
    VERSION,
    WIPE,
    Answer,
    Doors,
    Peer,
    body,
    register,
    topic,
)


async def topics_of(peer: Peer, code: int, **fields: Any) -> list[str]:
    answer = await peer.ask(code, **fields)
    assert answer.code == 0
    return sorted(answer.json["topicList"])


# Registration.


async def test_slaves_are_told_their_master_and_all_the_order_of_topics(peer: Peer) -> None:
    await peer.ask(PUT, namespace="ORDER_TOPIC_CONFIG", key="T1", value="broker-a:4")

    master = await register(peer)
    slave = await register(peer, member=1, address="10.0.0.2:10911")

    assert (master.code, master.fields) == (0, {})
    assert slave.fields == {"masterAddr": "10.0.0.1:10911", "haServerAddr": "10.0.0.1:10912"}
    assert master.json == slave.json == {"table": {"T1": "broker-a:4"}}


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"bodyCrc32": 1}, "crc32 not match"),
        ({"brokerId": "one"}, "brokerId"),
        ({"brokerName": ""}, "name"),
    ],
)
async def test_a_registration_that_cannot_be_right_is_refused(
    peer: Peer, fields: dict[str, Any], remark: str
) -> None:
    said: dict[str, Any] = {
        "brokerName": "b",
        "brokerId": 0,
        "brokerAddr": "h:1",
        "clusterName": "C1",
    } | fields

    answer = await peer.ask(REGISTER, TOPICS, **said)

    assert answer.code == 1
    assert remark in answer.header["remark"]


async def test_a_first_registration_with_one_topic_is_refused(peer: Peer) -> None:
    answer = await register(peer, body(topic("T1")))

    assert (answer.code, answer.header["remark"]) == (1, "register broker failed")


async def test_who_has_an_older_state_is_answered_and_not_registered(peer: Peer) -> None:
    await register(peer, body(topic("T1"), topic("T2"), stateVersion=7))

    answer = await register(peer, address="10.0.0.9:10911")

    assert (answer.code, answer.fields) == (0, {})
    members = (await peer.ask(MEMBERS, brokerName="broker-a")).json["brokerMemberGroup"]
    assert members["brokerAddrs"] == {"0": "10.0.0.1:10911"}


async def test_an_address_of_another_broker_is_refused(peer: Peer) -> None:
    await register(peer)

    answer = await register(peer, broker="broker-b")

    assert answer.code == 1
    assert "10.0.0.1:10911 belongs to broker broker-a" in answer.header["remark"]


async def test_a_broker_that_unregisters_has_no_routes(peer: Peer) -> None:
    await register(peer)

    answer = await peer.ask(
        UNREGISTER, brokerName="broker-a", brokerAddr="10.0.0.1:10911", brokerId=0, clusterName="C1"
    )

    assert answer.code == 0
    assert (await peer.ask(ROUTE, topic="T1")).code == 17


async def test_a_data_version_is_compared_with_the_stored_one(peer: Peer) -> None:
    await register(peer)
    member: dict[str, Any] = {
        "brokerName": "broker-a",
        "brokerAddr": "10.0.0.1:10911",
        "brokerId": 0,
    }

    same = await peer.ask(DATA_VERSION, json.dumps(VERSION).encode(), **member)
    newer = await peer.ask(DATA_VERSION, json.dumps(VERSION | {"counter": 2}).encode(), **member)
    without = await peer.ask(DATA_VERSION, **member)
    unknown = await peer.ask(DATA_VERSION, **(member | {"brokerAddr": "10.0.0.9:1"}))

    assert [each.fields["changed"] for each in (same, newer, without, unknown)] == [
        "false",
        "true",
        "true",
        "true",
    ]
    assert same.json == newer.json == VERSION
    assert unknown.body == b""


async def test_heartbeats_are_taken_also_of_the_unknown(door: Doors, peer: Peer) -> None:
    await register(peer, heartbeatTimeoutMillis=10_000)
    await door.node.advance(9_000)
    later_s = time.monotonic() + 9
    door.node.cache(KnownRoutes).clock = lambda: later_s

    known = await peer.ask(HEARTBEAT, brokerName="broker-a", brokerAddr="10.0.0.1:10911")
    unknown = await peer.ask(HEARTBEAT, brokerName="broker-z", brokerAddr="10.0.0.9:10911")
    await door.node.advance(9_000)

    assert known.code == unknown.code == 0
    assert (await peer.ask(ROUTE, topic="T1")).code == 0


# Connections.


async def test_a_broker_is_unregistered_when_its_connection_closes(door: Doors, peer: Peer) -> None:
    await register(peer)
    watching = await door.connect()

    await peer.close()

    while (await watching.ask(ROUTE, topic="T1")).code == 0:
        pass


async def test_a_broker_stays_that_has_registered_by_another_connection(
    door: Doors, peer: Peer
) -> None:
    later = await door.connect()
    await register(peer)
    await register(peer, broker="broker-b", address="10.0.0.2:10911")
    await register(later)

    await peer.close()

    while "broker-b" in (await later.ask(CLUSTERS)).json["brokerAddrTable"]:
        pass
    assert (await later.ask(ROUTE, topic="T1")).code == 0


async def test_a_broker_stays_whose_next_connection_registers_it(
    door: Doors, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registration is on its way when the loss of the earlier connection is seen."""
    await register(peer)
    propose, proposed, answered = door.node.propose, asyncio.Event(), asyncio.Event()

    async def answer_late(command: Any, reply: Any, **others: Any) -> Any:
        said = await propose(command, reply, **others)
        proposed.set()
        await answered.wait()
        return said

    monkeypatch.setattr(door.node, "propose", answer_late)
    later = await door.connect()
    asked = asyncio.create_task(register(later))
    await proposed.wait()
    monkeypatch.setattr(door.node, "propose", propose)

    await peer.close()
    # It is closed before another one is served.
    other = await door.connect()
    await other.ask(HEARTBEAT, brokerName="b", brokerAddr="h:1")
    answered.set()

    assert (await asked).code == 0
    assert (await later.ask(ROUTE, topic="T1")).code == 0


@pytest.mark.parametrize("code", [UNREGISTER, PUT, UPDATE, WIPE, DATA_VERSION])
@pytest.mark.parametrize("error", [NoLeaderError, OutcomeUnknownError, ExhaustedError])
async def test_without_a_majority_requests_fail_and_nothing_is_logged(
    door: Doors,
    peer: Peer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
    error: type[Exception],
) -> None:
    await register(peer)
    raised = {
        NoLeaderError: NoLeaderError(ShardId("name_server", 0)),
        OutcomeUnknownError: OutcomeUnknownError("lost"),
        ExhaustedError: ExhaustedError("full", 1),
    }[error]

    async def fail(command: Any, reply: Any, **others: Any) -> Any:
        raise raised

    monkeypatch.setattr(door.node, "propose", fail)
    door.node.cache(KnownRoutes)._prolonged.clear()
    said: dict[str, Any] = {
        "namespace": "N",
        "key": "K",
        "brokerName": "broker-a",
        "brokerAddr": "10.0.0.1:10911",
    }

    answer = await peer.ask(code, b"clusterTest=false" if code == UPDATE else b"", **said)

    assert answer.code == (2 if error is ExhaustedError else 1)
    assert not caplog.messages


async def test_a_connection_that_is_lost_without_a_majority_is_not_logged(
    door: Doors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = await door.connect()
    await register(peer)
    failed = asyncio.Event()

    async def fail(command: Any, reply: Any, **others: Any) -> Any:
        failed.set()
        raise NoLeaderError(ShardId("name_server", 0))

    monkeypatch.setattr(door.node, "propose", fail)
    await peer.close()
    await failed.wait()
    await (await door.connect()).ask(CLUSTERS)

    assert not caplog.messages


# Routes.


@pytest.mark.parametrize(
    ("version", "fields", "quoted"),
    [
        (479, {}, True),
        (401, {}, True),
        (400, {}, False),
        (0, {}, False),
        (0, {"acceptStandardJsonOnly": "true"}, True),
        (479, {"__ZONE_MODE": "true", "__ZONE_NAME": "z"}, False),
    ],
)
async def test_who_cannot_read_standard_json_gets_bare_keys(
    peer: Peer, version: int, fields: dict[str, Any], quoted: bool
) -> None:
    await register(peer, __ZONE_NAME="z")

    answer = await peer.ask(ROUTE, topic="T1", version=version, **fields)

    assert (b'{"0":"10.0.0.1:10911"}' in answer.body) is quoted
    assert (b'{0:"10.0.0.1:10911"}' in answer.body) is not quoted


async def test_a_zone_gets_its_own_brokers(peer: Peer) -> None:
    await register(peer, __ZONE_NAME="z1")
    await register(peer, broker="broker-b", address="10.0.0.2:10911", __ZONE_NAME="Z2")
    await register(peer, broker="broker-c", address="10.0.0.3:10911", member=1)

    answer = await peer.ask(ROUTE, topic="T1", __ZONE_MODE="true", __ZONE_NAME="z2")

    # And those that have no master.
    assert [each["brokerName"] for each in answer.json["brokerDatas"]] == ["broker-b", "broker-c"]
    assert [each["brokerName"] for each in answer.json["queueDatas"]] == ["broker-b", "broker-c"]
    assert answer.json["brokerDatas"][0]["zoneName"] == "Z2"


async def test_a_slave_acts_for_a_master_that_is_gone(peer: Peer) -> None:
    member: dict[str, Any] = {"enableActingMaster": "true"}
    await register(peer, member=1, **member)
    without = await peer.ask(ROUTE, topic="T1")

    await peer.ask(UPDATE, b"supportActingMaster=true\n")

    acting = await peer.ask(ROUTE, topic="T1")
    assert without.json["brokerDatas"][0]["brokerAddrs"] == {"1": "10.0.0.1:10911"}
    assert acting.json["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:10911"}
    assert acting.json["queueDatas"][0]["perm"] == 4


async def test_a_route_follows_what_it_was_made_of(peer: Peer) -> None:
    await register(peer)
    before = await peer.ask(ROUTE, topic="T1")

    wiped = await peer.ask(WIPE, brokerName="broker-a")
    while_wiped = await peer.ask(ROUTE, topic="T1")
    added = await peer.ask(ADD, brokerName="broker-a")
    after = await peer.ask(ROUTE, topic="T1")

    assert (wiped.fields, added.fields) == ({"wipeTopicCount": "2"}, {"addTopicCount": "2"})
    perms = [each.json["queueDatas"][0]["perm"] for each in (before, while_wiped, after)]
    assert perms == [6, 4, 6]
    unknown = await peer.ask(WIPE, brokerName="broker-z")
    assert (unknown.code, unknown.fields) == (0, {"wipeTopicCount": "0"})


async def test_consistent_reads_answer_the_same(
    open_door: Callable[..., Awaitable[Doors]],
) -> None:
    answers = []
    for reads in ("consistent", "available"):
        peer = await (await open_door(reads=reads)).connect()
        await register(peer)
        route = await peer.ask(ROUTE, topic="T1")
        others = [await peer.ask(code) for code in (CLUSTERS, ALL_TOPICS, SYSTEM)]
        answers.append([each.json for each in (route, *others)])

    assert answers[0] == answers[1]


# Topics.


async def test_topics_are_listed_by_what_they_are(peer: Peer) -> None:
    await register(peer, body(topic("plain"), topic("unit", flags=1)))
    flagged = body(topic("both", flags=3), topic("subscribed", flags=2))
    await register(peer, flagged, broker="broker-b", address="10.0.0.2:10911")

    assert await topics_of(peer, ALL_TOPICS) == ["both", "plain", "subscribed", "unit"]
    assert await topics_of(peer, OF_CLUSTER, cluster="C1") == await topics_of(peer, ALL_TOPICS)
    assert await topics_of(peer, OF_CLUSTER, cluster="C2") == []
    assert await topics_of(peer, UNITS) == ["both", "unit"]
    assert await topics_of(peer, SUBSCRIPTIONS) == ["both", "subscribed"]
    assert await topics_of(peer, NO_UNIT) == ["subscribed"]
    system = await peer.ask(SYSTEM)
    assert system.json["topicList"] == ["C1", "broker-a", "broker-b"]
    assert system.json["brokerAddr"] == "10.0.0.1:10911"


@pytest.mark.parametrize(
    ("setting", "codes"),
    [("enableAllTopicList", [ALL_TOPICS]), ("enableTopicList", [OF_CLUSTER, 311, 312, 313])],
)
async def test_lists_of_topics_can_be_turned_off(
    peer: Peer, setting: str, codes: list[int]
) -> None:
    await peer.ask(UPDATE, f"{setting}=false\n".encode())

    for code in codes:
        answer = await peer.ask(code)
        assert (answer.code, answer.header["remark"]) == (1, "disable")


async def test_queues_are_put_on_brokers_and_deleted(peer: Peer) -> None:
    await register(peer)
    queue = {"perm": 6, "readQueueNums": 2, "writeQueueNums": 2, "topicSysFlag": 0}
    rows = [{"brokerName": name, **queue} for name in ("broker-a", "broker-z")]

    put = await peer.ask(REGISTER_TOPIC, json.dumps({"queueDatas": rows}).encode(), topic="T2")
    found = await peer.ask(ROUTE, topic="T2")
    elsewhere = await peer.ask(DELETE_TOPIC, topic="T2", clusterName="C2")
    still = await peer.ask(ROUTE, topic="T2")
    here = await peer.ask(DELETE_TOPIC, topic="T2")

    assert put.code == elsewhere.code == here.code == 0
    assert found.json["queueDatas"] == [rows[0]]
    assert still.code == 0
    assert (await peer.ask(ROUTE, topic="T2")).code == 17


# Settings.


async def test_settings_are_put_listed_and_deleted(peer: Peer) -> None:
    key: dict[str, Any] = {"namespace": "N", "key": "K"}

    assert (await peer.ask(PUT, key="K", value="V")).code == 1
    assert (await peer.ask(PUT, **key, value="V")).code == 0
    assert (await peer.ask(GET, **key)).fields == {"value": "V"}
    assert (await peer.ask(KV_LIST, namespace="N")).json == {"table": {"K": "V"}}
    assert (await peer.ask(DELETE, **key)).code == 0
    assert (await peer.ask(DELETE, **key)).code == 0
    missing = await peer.ask(GET, **key)
    assert (missing.code, missing.fields) == (22, {})
    assert missing.header["remark"] == "No config item, Namespace: N Key: K"
    assert (await peer.ask(KV_LIST, namespace="N")).code == 22


async def test_properties_are_changed_where_they_may_be(peer: Peer) -> None:
    said = b"#\nserverWorkerThreads=9\nserverSelectorThreads=many\nunheardOf=1\nlistenPort=1\n"

    assert (await peer.ask(UPDATE, said)).code == 0
    assert (await peer.ask(UPDATE)).code == 0
    refused = await peer.ask(UPDATE, b"kvConfigPath=/etc/passwd\n")

    assert refused.code == 16
    lines = (await peer.ask(PROPERTIES)).body.decode().splitlines()
    assert "serverWorkerThreads=9" in lines
    assert "serverSelectorThreads=3" in lines
    assert "kvConfigPath=" in lines
    assert not {"unheardOf=1", "listenPort=1"} & set(lines)
    assert lines == sorted(lines)


async def test_other_codes_are_not_supported(peer: Peer) -> None:
    answer = await peer.ask(9_999)

    assert (answer.code, answer.header["remark"]) == (3, " request type 9999 not supported")


# Notifications.


async def test_members_are_told_who_has_the_smallest_id(door: Doors, peer: Peer) -> None:
    await peer.ask(UPDATE, b"notifyMinBrokerIdChanged=true\n")
    [port] = free_ports(0)
    told: asyncio.Queue[Answer] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.put_nowait(await Peer(reader, writer).answer())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        slave: dict[str, Any] = {
            "member": 1,
            "address": f"127.0.0.1:{port}",
            "enableActingMaster": "true",
        }
        await register(peer, **slave)
        await register(peer, enableActingMaster="true")
        smaller = await told.get()
        await peer.ask(UNREGISTER, brokerName="broker-a", brokerAddr="10.0.0.1:10911")
        gone = await told.get()

    assert (smaller.code, smaller.header["flag"]) == (905, 2)
    assert smaller.fields == {
        "minBrokerId": "0",
        "minBrokerAddr": "10.0.0.1:10911",
        "haBrokerAddr": "10.0.0.1:10912",
    }
    assert gone.fields == {
        "minBrokerId": "1",
        "minBrokerAddr": f"127.0.0.1:{port}",
        "offlineBrokerAddr": "10.0.0.1:10911",
    }


async def test_what_a_broker_repeats_is_not_read_again(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    reading = register_body.read_body

    def counted(said: Any, content: bytes, *, version: int) -> None:
        read.append(len(content))
        reading(said, content, version=version)

    monkeypatch.setattr(register_body, "read_body", counted)

    def made_at(time_ms: int) -> bytes:
        version = f'"mappingDataVersion":{{"counter":0,"stateVersion":0,"timestamp":{time_ms}}},'
        return TOPICS.replace(b'"topicConfigTable"', version.encode() + b'"topicConfigTable"')

    for time_ms in range(4):
        assert (await register(peer, made_at(time_ms))).code == 0
    assert len(read) == 1

    await peer.ask(DELETE_TOPIC, topic="T1")
    assert (await register(peer, made_at(4))).code == 0
    assert (await peer.ask(ROUTE, topic="T1")).code == 0
    assert len(read) == 2

    await register(peer, body(topic("T1", 4), topic("TBW102", 7), counter=2))
    assert len(read) == 3
    assert (await peer.ask(ROUTE, topic="T1")).json["queueDatas"][0]["perm"] == 4


async def test_a_broker_whose_connection_closes_while_it_registers_is_unregistered(
    door: Doors, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    registering, closed = asyncio.Event(), asyncio.Event()
    register_at_once = NameService.Register

    async def slowly(self: NameService, request: Any, context: object) -> Any:
        registering.set()
        await closed.wait()
        return await register_at_once(self, request, context)

    monkeypatch.setattr(NameService, "Register", slowly)
    task = asyncio.create_task(register(peer, address="127.0.0.1:9"))
    await registering.wait()
    await peer.close()
    with pytest.raises(asyncio.IncompleteReadError):
        await task
    watching = await door.connect()
    closed.set()

    known = door.node.cache(KnownRoutes)
    while not door.node.proposals:
        await watching.ask(CLUSTERS)
    while "broker-a" in known.brokers:
        await watching.ask(CLUSTERS)
    assert isinstance(door.node.proposals[-1], pb.UnregisterBrokers)
