from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid, keys
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.serving import check_item_of
from quorate_mqtt.names import LONGEST_IDENTITY
from quorate_mqtt.sessions import validation as sessions
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.shards import client_shard
from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.v1.sessions_pb2 import (
    ConnectSessions,
    DeleteSession,
    DisconnectSession,
    ImportSession,
    SessionConnect,
    UpdateSession,
    UpdateSessions,
)
from quorate_mqtt.v1.shared_groups_pb2 import CreateSharedGroup, JoinSharedGroup
from quorate_mqtt.v1.subscriptions_pb2 import DeleteSubscription, SetSubscription
from quorate_mqtt.v1.wills_pb2 import AcknowledgeWill, Will
from quorate_mqtt.wills.resource import WILL_DELIVERY

ADA: dict[str, Any] = {"tenant": "acme", "client_id": "ada"}
MEMBER: dict[str, Any] = {**ADA, "group": "g", "filter": "a", "broker": "b", "broker_epoch": 1}


def check_of(resource: Resource[Any], verb: str) -> Callable[..., None]:
    write = bind(resource).writes[verb]
    return check_item_of(bind(resource), write)(write.command())


CREATE = check_of(SHARED_GROUP, "Create")
JOIN = check_of(SHARED_GROUP_MEMBER, "Join")
DISCONNECT = check_of(SESSION, "Disconnect")
DELETE = check_of(SESSION, "Delete")
IMPORT = check_of(SESSION, "Import")
SET = check_of(SUBSCRIPTION, "Set")
UNSET = check_of(SUBSCRIPTION, "Delete")
ACKNOWLEDGE = check_of(WILL_DELIVERY, "Acknowledge")


def refused(check: Callable[..., None], item: Any, path: str = "items[3].") -> str:
    with pytest.raises(Invalid) as refusal:
        check(item, path)
    return refusal.value.field


@pytest.mark.parametrize(
    ("check", "item", "field"),
    [
        (sessions.check_arrival, SessionConnect(client_id="ada"), "tenant"),
        (sessions.check_arrival, SessionConnect(tenant="a/b", client_id="ada"), "tenant"),
        (sessions.check_arrival, SessionConnect(tenant="acme"), "client_id"),
        (sessions.check_arrival, SessionConnect(tenant="acme", client_id="a\x00b"), "client_id"),
        (
            sessions.check_arrival,
            SessionConnect(tenant="acme", client_id="é" * LONGEST_IDENTITY),
            "client_id",
        ),
        (sessions.check_arrival, SessionConnect(**ADA, payload=b"x" * 65_537), "payload"),
        (sessions.check_arrival, SessionConnect(**ADA, will=Will()), "will.topic"),
        (sessions.check_arrival, SessionConnect(**ADA, will=Will(topic="a", qos=3)), "will.qos"),
        (
            sessions.check_arrival,
            SessionConnect(**ADA, will=Will(topic="a", payload=b"x" * 65_536)),
            "will.payload",
        ),
        (
            sessions.check_arrival,
            SessionConnect(**ADA, will=Will(topic="a", properties=b"x" * 65_536)),
            "will.properties",
        ),
        (sessions.check_update, UpdateSession(**ADA), "generation"),
        (DISCONNECT, DisconnectSession(**ADA), "generation"),
        (DELETE, DeleteSession(**ADA, generation=0), "generation"),
        (IMPORT, ImportSession(client_id="ada"), "tenant"),
        (IMPORT, ImportSession(**ADA), "expiry_interval_s"),
        (
            IMPORT,
            ImportSession(**ADA, expiry_interval_s=1, payload=b"x" * 65_537),
            "payload",
        ),
        (ACKNOWLEDGE, AcknowledgeWill(**ADA), "id"),
        (SET, SetSubscription(**ADA), "filter"),
        (SET, SetSubscription(**ADA, filter="a/#/b"), "filter"),
        (SET, SetSubscription(**ADA, filter="$share/g"), "filter"),
        (SET, SetSubscription(**ADA, filter="a", qos=3), "qos"),
        (
            SET,
            SetSubscription(**ADA, filter="a", identifier=268_435_456),
            "identifier",
        ),
        (
            SET,
            SetSubscription(**ADA, filter="a", properties=b"x" * 16_385),
            "properties",
        ),
        (
            SET,
            SetSubscription(**ADA, filter="$share/g/a", no_local=True),
            "no_local",
        ),
        (SET, SetSubscription(**ADA, filter="a", generation=0), "generation"),
        (UNSET, DeleteSubscription(**ADA), "filter"),
        (CREATE, CreateSharedGroup(tenant="acme"), "name"),
        (CREATE, CreateSharedGroup(tenant="acme", name="a/b"), "name"),
        (CREATE, CreateSharedGroup(tenant="acme", name="a+"), "name"),
        (
            CREATE,
            CreateSharedGroup(tenant="acme", name="g", parameters=b"x" * 16_385),
            "parameters",
        ),
        (
            JOIN,
            JoinSharedGroup(**{**MEMBER, "broker": ""}),
            "broker",
        ),
        (
            JOIN,
            JoinSharedGroup(**{**MEMBER, "broker_epoch": 0}),
            "broker_epoch",
        ),
        (
            JOIN,
            JoinSharedGroup(**{**MEMBER, "filter": "$share/g/a"}),
            "filter",
        ),
        (
            JOIN,
            JoinSharedGroup(**{**MEMBER, "client_id": ""}),
            "client_id",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    check: Callable[..., None], item: Any, field: str
) -> None:
    assert refused(check, item) == f"items[3].{field}"


@pytest.mark.parametrize(
    ("check", "item"),
    [
        (sessions.check_arrival, SessionConnect(**ADA, will=Will(topic="a/b", qos=2))),
        (sessions.check_arrival, SessionConnect(tenant="acme", client_id="a/b #+ é")),
        (DELETE, DeleteSession(**ADA)),
        (SET, SetSubscription(**ADA, filter="$share/g/+/#")),
        (SET, SetSubscription(**ADA, filter="#", no_local=True)),
        (JOIN, JoinSharedGroup(**MEMBER)),
    ],
)
def test_what_mqtt_allows_is_allowed(check: Callable[..., None], item: Any) -> None:
    check(item, "")


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "wrong",
    [
        SessionConnect(tenant="acme", client_id=""),
        SessionConnect(tenant="acme", client_id="\x85"),
        SessionConnect(tenant="", client_id="ada"),
        SessionConnect(**ADA, payload=b"x" * 65_537),
        SessionConnect(**ADA, will=Will(topic="#")),
    ],
)
def test_the_quick_look_at_connects_misses_nothing(wrong: SessionConnect, place: int) -> None:
    arrivals = [SessionConnect(tenant="acme", client_id=f"c{number}") for number in range(3)]
    arrivals[place] = wrong

    with pytest.raises(Invalid) as refusal:
        sessions.check_connects(ConnectSessions(broker="b", broker_epoch=1, connections=arrivals))

    assert refusal.value.field.startswith(f"connections[{place}].")


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "wrong",
    [
        UpdateSession(tenant="acme", client_id="", generation=1),
        UpdateSession(tenant="a b", client_id="ada", generation=1),
        UpdateSession(**ADA),
        UpdateSession(**ADA, generation=1, payload=b"x" * 65_537),
    ],
)
def test_the_quick_look_at_updates_misses_nothing(wrong: UpdateSession, place: int) -> None:
    updates = [
        UpdateSession(tenant="acme", client_id=f"c{number}", generation=1) for number in range(3)
    ]
    updates[place] = wrong

    with pytest.raises(Invalid) as refusal:
        sessions.check_updates(UpdateSessions(sessions=updates))

    assert refusal.value.field.startswith(f"sessions[{place}].")


@pytest.mark.parametrize("tenant", ["acme", "a\x00", "é"])
@pytest.mark.parametrize("client_id", ["ada", "", "a/b", "\x00", "日本", "a\x00b"])
def test_a_client_is_packed_as_every_key_is(tenant: str, client_id: str) -> None:
    assert client_shard(tenant, client_id) == keys.pack(tenant, client_id)
