"""`quorate mqtt` against a real node: what it makes, it lists, and says when there is more."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from click.testing import CliRunner
from quorate.cli.records import group_of
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import until
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.cli import mqtt
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.resources import RESOURCES
from quorate_mqtt.v1.retained_messages_pb2 import PutRetainedMessageRequest
from quorate_mqtt.v1.sessions_pb2 import SessionConnect
from quorate_mqtt.v1.shared_groups_pb2 import JoinSharedGroup
from quorate_mqtt.v1.subscriptions_pb2 import SetSubscription
from quorate_mqtt.v1.wills_pb2 import Will

Row = Mapping[str, object]

COMMAND = group_of("mqtt", [each for each in RESOURCES if each.view.cli], mqtt)


@dataclass
class Asking:
    """Stands in for the host's console: it gives a client, and keeps the rows that it is given."""

    q: Client
    rows: list[Row] = field(default_factory=list)
    said: str = ""
    warned: str = ""

    def client(self) -> Client:
        return self.q

    def print(self, rows: Iterable[Row]) -> None:
        self.rows += rows

    def warn(self, text: str) -> None:
        self.warned += text

    def run(self, *arguments: str, input: str | None = None, exit_code: int = 0) -> list[Row]:
        self.rows, self.warned = [], ""
        result = CliRunner().invoke(COMMAND, arguments, obj=self, input=input)
        assert result.exit_code == exit_code, (result.output, result.exception)
        self.said = result.output
        return self.rows


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    with Cluster(tmp_path_factory.mktemp("cli"), nodes=1, plugins=["mqtt"]) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as q:
            q.execute(CreateTenant(name="north"), Tenant)
            yield Asking(q)


def column(rows: list[Row], name: str) -> list[object]:
    return [row[name] for row in rows]


def test_users(console: Asking) -> None:
    [made] = console.run("user", "create", "north", "ann", "--superuser", input="secret\nsecret\n")
    assert (made["name"], made["superuser"]) == ("ann", True)
    assert "secret" not in console.said
    console.run("user", "create", "north", "ben", "--password", "x")
    console.run("user", "set-password", "north", "ben", "--password", "y")
    assert SyncMqtt(console.q).users.authenticate("north", "ben", b"y").authenticated
    assert column(console.run("user", "list", "north"), "name") == ["ann", "ben"]
    assert column(console.run("user", "list", "north", "--prefix", "b"), "name") == ["ben"]
    for name in ("ann", "ben"):
        console.run("user", "delete", "north", name)
    assert console.run("user", "list") == []


def test_acl_rules_and_what_they_decide(console: Asking) -> None:
    [made] = console.run(
        *("acl-rule", "create", "north", "no-secrets", "--permission", "deny"),
        *("--action", "publish", "--topic", "secret/#"),
        *("--subject-kind", "user", "--subject", "ann", "--ip", "10.0.0.0/8"),
    )
    assert (made["subject_kind"], made["subject"]) == ("user", "ann")
    assert (made["action"], made["permission"]) == ("publish", "deny")
    asked = ("check", "north", "c1", "publish", "secret/a", "--username", "ann")
    assert console.run(*asked, "--address", "10.0.0.1") == [
        {"allowed": False, "reason": "denied_by_rule", "decided_by": "no-secrets"}
    ]
    assert console.run(*asked) == [{"allowed": True, "reason": "no_rule", "decided_by": ""}]
    assert column(console.run(*asked, "--deny-unmatched"), "allowed") == [False]
    assert column(console.run("acl-rule", "list", "north"), "name") == ["no-secrets"]
    console.run("acl-rule", "delete", "north", "no-secrets")
    assert console.run("acl-rule", "list") == []
    console.run("acl-rule", "create", "north", "r", "--permission", "forbid", exit_code=2)


def test_the_blacklist(console: Asking) -> None:
    before_ms = time.time() * 1_000
    entries = "blacklist-entry"
    console.run(entries, "create", "north", "for-good", "client-id-pattern", "bad-*")
    [made] = console.run(entries, "create", "north", "an-hour", "ip", "10.0.0.1", "--for", "3600")
    assert made["kind"] == "ip"
    assert int(str(made["ends_at_ms"])) >= before_ms + 3_599_000
    for never in ("inf", "nan", "1e300", "0"):
        refused = (entries, "create", "north", "never", "ip", "10.0.0.1", "--for", never)
        console.run(*refused, exit_code=2)
    listed = console.run(entries, "list", "north")
    assert column(listed, "kind") == ["ip", "client-id-pattern"]
    assert listed[1]["ends_at_ms"] == 0
    assert column(console.run("check", "north", "bad-1", "connect"), "decided_by") == ["for-good"]
    for name in ("for-good", "an-hour"):
        console.run(entries, "delete", "north", name)
    assert console.run(entries, "list") == []


def test_rewrites_and_automatic_subscriptions(console: Asking) -> None:
    console.run(
        *("rewrite-rules", "create", "north", "w", "--action", "publish"),
        *("--source-topic", "a/#", "--target-topic", "b/$1", "--expression", "a/(.+)"),
    )
    [rewrite] = console.run("rewrite-rule", "list", "north")
    assert (rewrite["action"], rewrite["target_topic"]) == ("publish", "b/$1")
    console.run("rewrite-rule", "delete", "north", "w")
    assert console.run("rewrite-rule", "list") == []
    automatic = ("auto-subscriptions", "create", "north", "news", "--topic", "news/%c")
    console.run(*automatic, "--qos", "1")
    [listed] = console.run("auto-subscription", "list", "north")
    assert (listed["topic"], listed["qos"]) == ("news/%c", 1)
    console.run("auto-subscription", "delete", "north", "news")
    assert console.run("auto-subscription", "list") == []


def test_topics_and_retained_messages(console: Asking) -> None:
    for name in ("a/b", "a/c", "d"):
        console.run("topic", "create", "north", name, *("--partitions", "2", "--replication", "1"))
    [grown] = console.run("topic", "grow", "north", "d", "--partitions", "3")
    assert grown["partitions"] == 3
    assert column(console.run("topic", "list", "north", "--topic-filter", "a/+"), "name") == [
        "a/b",
        "a/c",
    ]
    assert column(console.run("topic", "list", "--limit", "3"), "name") == ["a/b", "a/c", "d"]
    assert "there are more" not in console.warned
    assert column(console.run("topic", "list", "--limit", "2"), "name") == ["a/b", "a/c"]
    assert "there are more than 2; ask for more with --limit" in console.warned
    [marked] = console.run("topic", "delete", "north", "d", "--yes")
    assert isinstance(marked["finalizers"], list)

    message = PutRetainedMessageRequest(tenant="north", topic="a/b", payload=b"on")
    SyncMqtt(console.q).retained_messages.put(message)
    [kept] = console.run("retained-message", "list", "north", "--topic-filter", "a/#")
    assert kept["payload"] == b"on"
    console.run("retained-message", "delete", "north", "a/b")
    assert console.run("retained-message", "list") == []


def test_clients(console: Asking) -> None:
    client = SyncMqtt(console.q)
    with console.q.brokers.registered("b1", "test", roles=["mqtt"]) as registration:
        epoch = registration.broker.epoch
        connection = SessionConnect(
            tenant="north",
            client_id="lamp",
            connection_id=1,
            expiry_interval_s=60,
            will=Will(topic="lamps", payload=b"lost"),
        )
        connected = client.sessions.connect("b1", epoch, connection)
        subscription = SetSubscription(tenant="north", client_id="lamp", filter="a/#")
        client.subscriptions.do("Set", subscription)
        client.shared_group_members.do(
            "Join",
            JoinSharedGroup(
                tenant="north",
                group="crew",
                client_id="lamp",
                filter="jobs",
                broker="b1",
                broker_epoch=epoch,
            ),
        )
        assert console.run("session", "count") == [
            {"broker": "b1", "broker_epoch": epoch, "connections": 1}
        ]
        [session] = console.run("session", "list", "north", "--broker", "b1", "--prefix", "la")
        assert (session["client_id"], session["generation"]) == ("lamp", str(connected.generation))
        assert column(console.run("subscription", "list", "north", "lamp"), "filter") == ["a/#"]
        assert column(console.run("shared-group", "list", "--leader", "b1"), "name") == ["crew"]
        assert column(console.run("shared-group-member", "list", "north", "crew"), "client_id") == [
            "lamp"
        ]
        beside = ("--broker", "b1", "--broker-epoch", str(epoch), "--connection-id", "2")
        console.run("session", "connect", "north", "bell", *beside)
        assert column(console.run("session", "list", "--broker", "b1"), "client_id") == [
            "bell",
            "lamp",
        ]
        console.run("session", "delete", "north", "bell")
        client.sessions.disconnect("north", "lamp", connected.generation)
        wills = until(
            lambda: console.run("will-delivery", "list", "north", "--assignee", "b1") or None
        )
        assert (wills[0]["topic"], wills[0]["assignee"]) == ("lamps", "b1")
        [deleted] = console.run("session", "delete", "north", "lamp")
        assert deleted["deleted"] is True
        assert console.run("session", "list") == []
