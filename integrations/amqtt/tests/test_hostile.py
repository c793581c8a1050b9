"""Who is not allowed something, or speaks no MQTT, is told so and changes nothing."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from itertools import count

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.tenant_pb2 import Tenant, UpdateTenant
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1 import acl_rules_pb2 as acl, blacklist_pb2 as blacklist
from quorate_mqtt.v1.users_pb2 import CreateUserRequest, UpdateUserRequest

from tests.support.amqtt import TENANT, BrokerProcess, Brokers, Device, until

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def strict(
    cluster: Cluster, q: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A broker that lets in ada alone, who may use topics under `ada/`."""
    mqtt = SyncMqtt(q)
    mqtt.users.create(CreateUserRequest(tenant=TENANT, name="ada", password=b"secret"))
    mqtt.acl_rules.create(
        acl.AclRule(
            tenant=TENANT,
            name="own",
            subject_kind=acl.ACL_SUBJECT_USER,
            subject="*",
            topic="%u/#",
            action=acl.ACL_ACTION_ALL,
            permission=acl.ACL_PERMISSION_ALLOW,
        )
    )
    directory = tmp_path_factory.mktemp("strict")
    with Brokers(directory, cluster.endpoints, anonymous=False, allow_unmatched=False) as brokers:
        [strict] = brokers.start("strict")
        yield strict


def ada(broker: BrokerProcess, client_id: str = "tablet", **more: object) -> Device:
    return Device(broker, client_id, username="ada", password="secret", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("username", "password", "client_id", "code"),
    [
        ("", "", "c", "Not authorized"),
        ("ada", "wrong", "c", "Bad user name or password"),
        ("ada", "", "c", "Bad user name or password"),
        ("eve", "secret", "c", "Bad user name or password"),
        ("x" * 600, "secret", "c", "Bad user name or password"),
        ("ada", "x" * 2_000, "c", "Bad user name or password"),
        ("ada", "secret", "x" * 600, "Client identifier not valid"),
        ("ada", "secret", "line\nfeed", "Client identifier not valid"),
    ],
)
def test_who_may_not_connect_is_told_why(
    strict: BrokerProcess, q: Client, username: str, password: str, client_id: str, code: str
) -> None:
    with Device(strict, client_id, username=username, password=password) as device:
        assert device.refused == code
        device.hung_up()
    known = {each.client_id for each in SyncMqtt(q).sessions.list(tenant=TENANT)}
    assert client_id not in known


def test_a_client_that_is_refused_takes_nothing_over(strict: BrokerProcess, q: Client) -> None:
    with ada(strict, clean=False) as device:
        device.subscribe("ada/#")
        for password in ("wrong", "secret"):
            with Device(
                strict, "tablet", username="ada", password=password, will=("eve/x", b"")
            ) as intruder:
                assert intruder.refused
        device.publish("ada/a", "still here")
        assert device.message() == ("ada/a", b"still here")
    SyncMqtt(q).sessions.delete(TENANT, "tablet")


@pytest.mark.parametrize("topic", ["eve/secret", "a/#", "", "$SYS/x", "x" * 4_000, "ada/#"])
def test_a_will_that_could_not_be_published_is_refused(strict: BrokerProcess, topic: str) -> None:
    flags, body = 0xC6, text("MQTT") + bytes([4, 0xC6, 0, 0])
    assert flags == body[7]
    body += text("wilful") + text(topic) + text("boo") + text("ada") + text("secret")
    assert raw(strict, packet(0x10, body)) == bytes([0x20, 2, 0, 5])


def test_filters_that_are_not_allowed_are_refused_one_by_one(strict: BrokerProcess) -> None:
    with ada(strict) as device:
        filters = [("ada/a", 1), ("eve/a", 1), ("#", 0), ("ada/#", 2), ("$share/g/eve/a", 0)]
        device.paho.subscribe(filters)
        codes = [code.value for code in device._answers.get(timeout=PATIENCE_S)]
        assert codes == [1, 0x80, 0x80, 2, 0x80]


@pytest.mark.parametrize("topic_filter", [b"a/#/b", b"a+", b"", b"$share/g", b"x" * 4_000])
def test_what_is_no_filter_is_refused(strict: BrokerProcess, topic_filter: bytes) -> None:
    subscribe = packet(0x82, b"\0\7" + len(topic_filter).to_bytes(2, "big") + topic_filter + b"\0")
    assert raw(strict, LOGIN + subscribe, end=False)[:9] == ACCEPTED + bytes([0x90, 3, 0, 7, 0x80])


def test_a_message_that_is_not_allowed_goes_nowhere(strict: BrokerProcess, q: Client) -> None:
    with ada(strict) as device:
        device.subscribe("ada/#")
        device.publish("eve/a", "x", retain=True)
        device.publish("ada/a", "y")
        assert device.message() == ("ada/a", b"y")
    assert list(SyncMqtt(q).retained_messages.list(tenant=TENANT)) == []


@pytest.mark.parametrize("topic", [b"a/+", b"#", b"", b"$SYS/a", b"x" * 4_000, b"\xff\xfe"])
def test_what_is_no_topic_ends_the_connection(strict: BrokerProcess, topic: bytes) -> None:
    publish = packet(0x32, len(topic).to_bytes(2, "big") + topic + b"\0\7x")
    assert raw(strict, LOGIN + publish) == ACCEPTED


def test_a_blacklisted_client_is_kept_out_as_soon_as_the_watch_tells(
    strict: BrokerProcess, q: Client
) -> None:
    mqtt = SyncMqtt(q)
    entry = blacklist.BlacklistEntry(
        tenant=TENANT, name="out", kind=blacklist.BLACKLIST_KIND_CLIENT_ID, subject="stolen"
    )
    with ada(strict, "stolen") as device:
        assert not device.refused
    mqtt.blacklist.create(entry)

    def refused() -> str | None:
        with ada(strict, "stolen") as device:
            return device.refused or None

    assert until(refused) == "Not authorized"
    mqtt.blacklist.delete(TENANT, "out")


def test_a_password_that_was_changed_is_refused_as_soon_as_the_watch_tells(
    strict: BrokerProcess, q: Client
) -> None:
    mqtt = SyncMqtt(q)
    mqtt.users.create(CreateUserRequest(tenant=TENANT, name="cyd", password=b"old"))

    def login(password: str) -> str:
        with Device(strict, "of-cyd", username="cyd", password=password) as device:
            return device.refused

    assert [login("old") for _ in range(3)] == [""] * 3
    mqtt.users.update(UpdateUserRequest(tenant=TENANT, name="cyd", password=b"new"))

    assert until(lambda: login("old") or None) == "Bad user name or password"
    assert login("new") == ""


def test_a_tenant_that_is_full_gets_no_more_sessions(strict: BrokerProcess, q: Client) -> None:
    with ada(strict, "first") as first:
        q.execute(UpdateTenant(name=TENANT, limits={"mqtt.sessions": 1}), Tenant)
        others = count()

        def full() -> bool | None:
            with ada(strict, f"other{next(others)}") as other:
                return other.refused == "Server unavailable" or None

        # The shard of the sessions has a copy of the tenant, which follows.
        until(full)
        assert first.is_connected
        q.execute(UpdateTenant(name=TENANT, limits={"mqtt.sessions": 1_000_000}), Tenant)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x10\xff\xff\xff\xff\x7f",
        b"\x10\xff\xff\xff\x7f",
        b"\x10\x00",
        b"\x10\x05\x00\x04MQT",
        b"\x30\x05\x00\x01ax",
        b"\xf0\x00",
        bytes(100),
    ],
)
def test_who_does_not_begin_with_connect_is_hung_up_on(strict: BrokerProcess, said: bytes) -> None:
    assert raw(strict, said) == b""


@pytest.mark.parametrize("seed", range(20))
def test_no_packets_harm_the_broker(strict: BrokerProcess, seed: int) -> None:
    rng = random.Random(seed)
    packets = [
        packet(0x32, text("ada/a") + b"\0\1x"),
        packet(0x34, text("ada/a") + b"\0\1x"),
        packet(0x62, b"\0\1"),
        packet(0x82, b"\0\2" + text("ada/#") + b"\1"),
        packet(0xA2, b"\0\3" + text("ada/#")),
        packet(0xC0, b""),
        packet(0x40, b"\0\1"),
    ]
    said = bytearray()
    for _ in range(6):
        each = bytearray(rng.choice(packets))
        for _ in range(rng.randrange(3)):
            each[rng.randrange(len(each))] = rng.randrange(256)
        said += each[: rng.randrange(1, len(each) + 1)] if rng.random() < 0.2 else each
    raw(strict, LOGIN + bytes(said))

    with ada(strict, "after") as device:
        assert not device.refused
    assert "Traceback" not in strict.said
    assert "exception was never retrieved" not in strict.said


def text(value: str) -> bytes:
    """Return a string as MQTT has it."""
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def packet(head: int, body: bytes) -> bytes:
    """Return a packet."""
    size, length = len(body), bytearray()
    while True:
        size, seven = divmod(size, 128)
        length.append(seven | (0x80 if size else 0))
        if not size:
            return bytes([head]) + bytes(length) + body


def raw(broker: BrokerProcess, said: bytes, *, end: bool = True) -> bytes:
    """Say something to a broker, and return what it answers until it hangs up or is silent."""
    with socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S) as sock:
        sock.sendall(said)
        if end:
            sock.shutdown(socket.SHUT_WR)
        answered = b""
        try:
            while part := sock.recv(4_096):
                answered += part
                if not end and len(answered) >= 9:
                    break
        except ConnectionError:
            pass
        return answered


LOGIN = packet(
    0x10, text("MQTT") + bytes([4, 0xC2, 0, 0]) + text("raw") + text("ada") + text("secret")
)
ACCEPTED = bytes([0x20, 2, 0, 0])
