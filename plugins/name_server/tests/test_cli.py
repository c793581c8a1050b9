"""The commands and the client, over a cluster of one node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.cli.main import main
from quorate.client import Client, RejectedError
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_name_server.client import AVAILABLE, CONSISTENT, SyncNameServer
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_offset.client import SyncOffsets, SyncSubscriptionGroups

from plugins.name_server.tests.memory import registration, version

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("names")
    with Cluster(directory, nodes=1, plugins=["name_server", "offset"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="acme"), Tenant)
        yield cluster


@pytest.fixture
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        yield q


@pytest.fixture
def names(q: Client) -> Iterator[SyncNameServer]:
    """Give the name server, with one broker."""
    names = SyncNameServer(q)
    names.register(registration())
    yield names
    for broker in names.brokers(mode=CONSISTENT).brokers:
        for member in broker.members:
            names.unregister(broker.name, member.address)


@pytest.fixture
def run(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, exit_code: int = 0) -> Any:
        code = main([*arguments, "--output", "json", "--endpoints", cluster.endpoints])
        printed = capsys.readouterr()
        assert code == exit_code, printed
        return printed.err if exit_code else json.loads(printed.out or "null")

    return run


def test_routes_brokers_and_topics_are_shown(names: SyncNameServer, run: Run) -> None:
    [row] = run("name-server", "route", "get", "orders", "none", "--mode", "consistent")
    assert row == {
        "topic": "orders",
        "broker": "broker-a",
        "cluster": "C1",
        "read_queues": 8,
        "write_queues": 8,
        "perm": 6,
        "addresses": {"0": "10.0.0.1:10911"},
    }
    [member] = run("name-server", "broker", "list", "--cluster", "C1", "--mode", "consistent")
    assert (member["address"], member["topics"], member["confirmed"]) == (
        "10.0.0.1:10911",
        2,
        True,
    )
    assert run("name-server", "broker", "list", "broker-z", "--mode", "consistent") == []
    topics = run("name-server", "topic", "list", "--mode", "consistent")
    assert topics == [{"topic": "bills"}, {"topic": "orders"}]


def test_permissions_topics_and_members_are_changed(names: SyncNameServer, run: Run) -> None:
    expected = [{"broker": "broker-a", "topics": 2}]
    assert run("name-server", "broker", "wipe-write-permission", "broker-a") == expected
    assert run("name-server", "route", "get", "orders", "--mode", "consistent")[0]["perm"] == 4
    assert run("name-server", "broker", "add-write-permission", "broker-a") == expected
    deleted = run("name-server", "topic", "delete", "orders", "--cluster", "C1")
    assert deleted == [{"topic": "orders", "brokers": 1}]
    [left] = run("name-server", "broker", "unregister", "broker-a", "10.0.0.1:10911")
    assert left["removed"]
    assert run("name-server", "broker", "list", "--mode", "consistent") == []


def test_settings_are_kept_by_namespace(names: SyncNameServer, run: Run) -> None:
    run("name-server", "kv-config", "put", "limits", "rate", "--value", "100")
    row = names.settings.get("limits", "rate")
    assert row is not None
    assert row.value == "100"
    [listed] = run("name-server", "kv-config", "list", "limits")
    assert listed["value"] == "100"
    run("name-server", "kv-config", "delete", "limits", "rate")
    assert names.settings.get("limits", "rate") is None


def test_the_client_registers_reads_and_watches(names: SyncNameServer) -> None:
    assert names.register_all([registration(data_version=version(2))]).items == 1
    names.heartbeat("broker-a", "10.0.0.1:10911")
    with pytest.raises(RejectedError, match="NOT_FOUND"):
        names.heartbeat("broker-z", "10.0.0.9:1")
    with pytest.raises(RejectedError, match="ADDRESS_TAKEN"):
        names.register(registration(name="broker-b"))

    wiped = False
    for route in names.watch_routes(["orders"]):
        perms = [each.queues.perm for each in route.queues]
        if not wiped and perms == [6]:
            assert names.wipe_write_permission("broker-a") == 2
            wiped = True
        elif perms == [4]:
            break

    assert names.route("none", mode=AVAILABLE) is None
    put = pb.BrokerQueues(topic="new", broker="broker-a", queues=rows.Queues(perm=6))
    assert not names.put_queues([put]).refusals
    assert list(names.topics(mode=CONSISTENT)) == ["bills", "new", "orders"]
    assert names.delete_topic("new") == 1


STORE = {
    "topics.json": """{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":1795366419098},
        "topicConfigTable":{
          "orders":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,
            "topicFilterType":"SINGLE_TAG","topicName":"orders","topicSysFlag":0,"writeQueueNums":8},
          "%RETRY%readers":{"perm":6,"readQueueNums":1,"topicName":"%RETRY%readers",
            "topicSysFlag":1,"writeQueueNums":1}}}""",
    "consumerOffset.json": """{"dataVersion":{"counter":1},"offsetTable":{
        "orders@readers":{0:10,1:20},"%RETRY%readers@readers":{0:1},"a,1:b@writers":{0:7}}}""",
    "subscriptionGroup.json": """{"dataVersion":{"counter":1},
        "forbiddenTable":{"readers":{"orders":3}},
        "subscriptionGroupTable":{"readers":{"attributes":{"k":"v"},"brokerId":0,
          "consumeBroadcastEnable":false,"consumeEnable":true,"consumeFromMinEnable":true,
          "consumeMessageOrderly":true,"groupName":"readers","groupSysFlag":0,
          "notifyConsumerIdsChangedEnable":true,"retryMaxTimes":3,"retryQueueNums":1,
          "whichBrokerWhenConsumeSlowly":1}}}""",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    for name, text in STORE.items():
        (tmp_path / "config" / name).write_text(text)
    return tmp_path


def test_the_store_of_a_broker_is_imported(
    names: SyncNameServer, q: Client, run: Run, store: Path
) -> None:
    command = ("name-server", "import", "--store", str(store), "--tenant", "acme")
    assert run(*command, "--broker", "broker-a") == [
        {"what": "topics", "found": 2, "taken": 1, "kept": 1, "refused": 0},
        {"what": "offsets", "found": 4, "taken": 4, "kept": 0, "refused": 0},
        {"what": "groups", "found": 1, "taken": 1, "kept": 0, "refused": 0},
    ]
    route = names.route("%RETRY%readers", mode=CONSISTENT)
    assert route is not None
    assert (route.queues[0].queues.read_queues, route.queues[0].queues.topic_sys_flag) == (1, 1)
    offsets = SyncOffsets(q)
    assert offset_of(offsets, "readers", "orders", 1) == 20
    assert offset_of(offsets, "writers", "a,1:b", 0) == 7
    group = SyncSubscriptionGroups(q).get("acme", "readers")
    assert group is not None
    assert (group.retry_max_times, group.consume_broadcast_enable) == (3, False)
    assert [(each.topic, each.bits) for each in group.forbidden] == [("orders", 3)]
    assert [(each.name, each.value) for each in group.attributes] == [("k", "v")]

    # A consumer goes on, and the import comes again.
    offsets.commit("acme", "readers", "orders", 1, 25)
    taken = run(*command, "--broker", "broker-a")
    assert [(each["taken"], each["kept"]) for each in taken] == [(0, 2), (3, 1), (0, 1)]
    assert offset_of(offsets, "readers", "orders", 1) == 25


def offset_of(offsets: SyncOffsets, group: str, topic: str, queue: int) -> int:
    found = offsets.fetch("acme", group, topic, queue)
    assert found is not None
    return found.offset


def test_a_broker_that_is_not_there_yet_is_registered_by_its_import(
    names: SyncNameServer, run: Run, store: Path
) -> None:
    command = ("name-server", "import", "--store", str(store), "--no-offsets", "--no-groups")
    [refused] = run(*command, "--broker", "broker-b")
    assert refused["refused"] == 2
    at = ("--broker", "broker-b", "--address", "10.0.0.2:10911", "--cluster", "C1")
    assert [each["taken"] for each in run(*command, *at)] == [2]
    assert [each["kept"] for each in run(*command, *at)] == [2]
    route = names.route("orders", mode=CONSISTENT)
    assert route is not None
    assert [each.broker for each in route.queues] == ["broker-a", "broker-b"]


def test_what_is_not_there_or_cannot_be_read_is_said(
    names: SyncNameServer, run: Run, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("name-server", "import", "--store", str(store), "--broker", "broker-a")
    assert "--tenant" in run(*command, exit_code=2)
    (store / "config" / "topics.json").write_text('{"topicConfigTable":{"orders":{}}}')
    assert "topics.json is not in a broker's format" in run(
        *command, "--no-offsets", "--no-groups", exit_code=1
    )
    for name in STORE:
        (store / "config" / name).unlink()
    assert [each["found"] for each in run(*command, "--tenant", "acme")] == [0, 0, 0]
