from __future__ import annotations

from asyncio import run
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings, strategies as st
from quorate.builtin.cluster import brokers
from quorate.builtin.cluster.apply import DEFAULT_TTL_MS
from quorate.builtin.cluster.families import BROKERS
from quorate.plugin import Consistency, Invalid, Rejected, RowEvent, keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.checking import LARGEST_PAGE
from quorate.testing import MemoryNode
from quorate.v1 import cluster_pb2
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import (
    Broker,
    ExpireBrokers,
    GetBrokerRequest,
    ListBrokersRequest,
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)

#: The message that each method takes, to its name.
METHODS: dict[type[Message], str] = {
    getattr(cluster_pb2, method.input_type.name): method.name
    for method in cluster_pb2.DESCRIPTOR.services_by_name["ClusterService"].methods
}
M = TypeVar("M", bound=Message)
LONG = "a" * 256
SERVICE = "quorate.v1.ClusterService"


def call(service: Any, request: Message) -> Any:
    return run(getattr(service, METHODS[type(request)])(request, None))


def broker(name: str, **given: Any) -> RegisterBroker:
    return RegisterBroker(name=name, cluster_name="north", **given)


def test_a_broker_registers_beats_and_leaves(service: Any, node: MemoryNode) -> None:
    registered = call(service, broker("ada", roles=["mqtt"], labels={"zone": "a"}))
    run(node.advance(9_999))
    call(service, SendHeartbeat(name="ada", epoch=registered.epoch))
    run(node.advance(9_999))

    assert call(service, GetBrokerRequest(name="ada")) == registered
    call(service, UnregisterBroker(name="ada", epoch=registered.epoch))
    with pytest.raises(Rejected, match="NOT_FOUND: there is no broker ada"):
        call(service, GetBrokerRequest(name="ada"))


def test_who_is_silent_for_the_ttl_is_gone_and_not_before(service: Any, node: MemoryNode) -> None:
    call(service, broker("ada"))
    call(service, broker("ben", ttl_ms=DEFAULT_TTL_MS + 1))

    run(node.advance(DEFAULT_TTL_MS - 1))
    assert len(node.rows(BROKERS)) == 2
    run(node.advance(1))

    assert [Broker.FromString(row).name for row in node.rows(BROKERS).values()] == ["ben"]
    assert isinstance(node.proposals[-1], ExpireBrokers)
    assert node.events[-1] == RowEvent(family=BROKERS, key=keys.pack("ada"), value=None)


def test_a_new_leader_expires_nobody_who_could_not_beat(service: Any, node: MemoryNode) -> None:
    registered = call(service, broker("ada"))
    node.now_ms += 3 * DEFAULT_TTL_MS
    node.elect("metadata")

    run(node.advance(DEFAULT_TTL_MS - 1))
    call(service, SendHeartbeat(name="ada", epoch=registered.epoch))
    run(node.advance(DEFAULT_TTL_MS - 1))

    assert len(node.rows(BROKERS)) == 1


def test_heartbeats_are_no_events(service: Any, node: MemoryNode) -> None:
    epochs = {name: call(service, broker(name)).epoch for name in ("ada", "ben")}
    before = list(node.events)

    beats = [SendHeartbeat(name=name, epoch=epoch) for name, epoch in epochs.items()]
    response = call(service, SendHeartbeats(heartbeats=[*beats, SendHeartbeat(name="x", epoch=1)]))

    assert [(each.item, each.code) for each in response.refusals] == [(2, "NOT_FOUND")]
    assert node.events == before


def test_the_later_process_of_a_name_fences_the_former(service: Any) -> None:
    old = call(service, broker("ada"))
    new = call(service, broker("ada"))

    assert new.epoch > old.epoch
    for request in (
        SendHeartbeat(name="ada", epoch=old.epoch),
        UnregisterBroker(name="ada", epoch=old.epoch),
    ):
        with pytest.raises(Rejected, match="FENCED"):
            call(service, request)
    assert call(service, GetBrokerRequest(name="ada")) == new


def test_batches_are_answered_in_their_order(service: Any, node: MemoryNode) -> None:
    registered = call(service, RegisterBrokers(brokers=map(broker, ["ben", "ada"])))
    brokers = [Broker.FromString(each) for each in registered.replies]
    assert [each.name for each in brokers] == ["ben", "ada"]
    assert not registered.refusals

    epochs = [each.epoch for each in brokers]
    leaves = [
        UnregisterBroker(name=name, epoch=epoch)
        for name, epoch in zip(["ben", "ada"], reversed(epochs), strict=True)
    ]
    left = call(service, UnregisterBrokers(brokers=leaves))
    assert [(each.item, each.code) for each in left.refusals] == [(0, "FENCED"), (1, "FENCED")]
    assert len(node.rows(BROKERS)) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100_000])
def test_pages_hold_everybody_once_and_in_order(service: Any, size: int) -> None:
    names = ["ada", "adam", "adele", "ben"]
    call(service, RegisterBrokers(brokers=[broker(name) for name in reversed(names)]))
    call(service, RegisterBroker(name="adaline", cluster_name="south"))

    listed, token = [], ""
    for _ in range(-(-len(names) // size)):
        request = ListBrokersRequest(cluster_name="north", page_size=size, page_token=token)
        page = call(service, request)
        listed += [each.name for each in page.brokers]
        token = page.next_page_token

    assert listed == names
    assert token == ""


class AskedNode(MemoryNode):
    """Notes how it is asked, for no node in memory is ever behind."""

    asked: tuple[Consistency, int] = ("linearizable", 0)

    def query(
        self,
        message: Message,
        row: type[M],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[M]:
        self.asked = consistency, min_revision
        return super().query(message, row)


def test_a_list_is_as_fresh_as_it_was_asked_to_be(catalog: Catalog) -> None:
    node = AskedNode(catalog=catalog)
    service = node.servicer(SERVICE)

    call(service, ListBrokersRequest())
    assert node.asked == ("linearizable", 0)

    call(service, ListBrokersRequest(stale=True, min_revision=7))
    assert node.asked == ("stale", 7)


def test_a_page_has_its_limit(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.builtin.cluster.brokers.LARGEST_PAGE", 2)
    call(service, RegisterBrokers(brokers=map(broker, "abc")))

    page = call(service, ListBrokersRequest(page_size=3))

    assert [each.name for each in page.brokers] == ["a", "b"]
    assert page.next_page_token == "b"


def test_a_page_of_no_size_holds_a_hundred(service: Any) -> None:
    names = [f"broker-{number:03}" for number in range(101)]
    call(service, RegisterBrokers(brokers=map(broker, names)))

    page = call(service, ListBrokersRequest())

    assert [each.name for each in page.brokers] == names[:100]
    assert page.next_page_token == names[99]


def test_a_page_is_never_larger_than_a_list_can_be() -> None:
    assert LARGEST_PAGE < brokers.LONGEST_LIST


BAD: list[tuple[Message, str]] = [
    (RegisterBroker(), "name"),
    (broker(LONG), "name"),
    (broker("ada", labels={f"l{n}": "v" * 200 for n in range(50)}), "command"),
    (RegisterBrokers(brokers=map(broker, "abc")), "brokers"),
    (UnregisterBroker(), "name"),
    (UnregisterBroker(name="ada"), "epoch"),
    (UnregisterBroker(name=LONG, epoch=1), "name"),
    (SendHeartbeat(), "name"),
    (SendHeartbeat(name="ada"), "epoch"),
    (SendHeartbeat(name=LONG, epoch=1), "name"),
    (GetBrokerRequest(), "name"),
    (GetBrokerRequest(name=LONG), "name"),
    (ListBrokersRequest(cluster_name=LONG), "cluster_name"),
    (ListBrokersRequest(role=LONG), "role"),
    (ListBrokersRequest(labels={"": "a"}), "labels"),
    (ListBrokersRequest(labels={"zone": LONG}), "labels[zone]"),
    (ListBrokersRequest(page_token=LONG), "page_token"),
    (ListBrokersRequest(page_token="\x00"), "page_token"),
]


@pytest.mark.parametrize(("request_", "field"), BAD)
def test_bad_input_is_refused_with_its_field_and_not_logged(
    catalog: Catalog, request_: Message, field: str
) -> None:
    node = MemoryNode(catalog=catalog, limits={"batch_items": 2})
    service = node.servicer(SERVICE)

    with pytest.raises(Invalid) as refusal:
        call(service, request_)

    assert refusal.value.field == field
    assert node.proposals == []


LARGE = broker("ben", labels={f"l{n}": "v" * 200 for n in range(50)})
IN_PLACE: list[tuple[Message, str]] = [
    (RegisterBrokers(brokers=[broker("ada"), RegisterBroker()]), "brokers[1].name"),
    (RegisterBrokers(brokers=[broker("ada"), LARGE]), "brokers[1]"),
    (UnregisterBrokers(brokers=[UnregisterBroker(name="ada")]), "brokers[0].epoch"),
    (SendHeartbeats(heartbeats=[SendHeartbeat(name=LONG, epoch=1)]), "heartbeats[0].name"),
]


def test_every_method_has_its_bad_input() -> None:
    assert {type(request) for request, _ in (*BAD, *IN_PLACE)} == set(METHODS)


@pytest.mark.parametrize("empty", [RegisterBrokers(), UnregisterBrokers(), SendHeartbeats()])
def test_a_batch_of_nothing_changes_nothing(service: Any, node: MemoryNode, empty: Message) -> None:
    assert not call(service, empty).refusals
    assert node.events == []


@pytest.mark.parametrize(("request_", "field"), IN_PLACE)
def test_what_is_wrong_with_an_item_is_said_in_its_place(
    service: Any, request_: Any, field: str
) -> None:
    reply = call(service, request_)

    [refusal] = reply.refusals
    assert (refusal.item, refusal.code) == (reply.items - 1, "INVALID_ARGUMENT")
    assert refusal.message.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "kind", [RegisterBroker, UnregisterBroker, SendHeartbeat, GetBrokerRequest]
)
def test_a_name_of_another_type_is_no_name(
    service: Any, node: MemoryNode, kind: type[Message]
) -> None:
    # The first field as a number: protobuf keeps it as a field that it does not know.
    request = kind.FromString(b"\x08\x01")

    with pytest.raises(Invalid, match="name: must not be empty"):
        call(service, request)
    assert node.proposals == []


@pytest.mark.parametrize("kind", [RegisterBrokers, UnregisterBrokers, SendHeartbeats])
def test_items_of_another_type_are_no_items(
    service: Any, node: MemoryNode, kind: type[Message]
) -> None:
    assert call(service, kind.FromString(b"\x08\x01")) == BatchReply()
    assert node.proposals == []


def test_filters_of_another_type_restrict_nothing(service: Any) -> None:
    call(service, broker("ada"))

    assert len(call(service, ListBrokersRequest.FromString(b"\x08\x01\x10\x01")).brokers) == 1


RIGHT: list[Message] = [
    broker("ada", roles=["mqtt"], labels={"zone": "a"}, addresses={"mqtt": "127.0.0.1:1"}),
    RegisterBrokers(brokers=[broker("ada"), broker("ben", ttl_ms=500)]),
    SendHeartbeat(name="ada", epoch=1),
    SendHeartbeats(heartbeats=[SendHeartbeat(name="ada", epoch=1)]),
    UnregisterBroker(name="ada", epoch=1),
    UnregisterBrokers(brokers=[UnregisterBroker(name="ada", epoch=1)]),
    GetBrokerRequest(name="ada"),
    ListBrokersRequest(cluster_name="north", role="mqtt", labels={"zone": "a"}, page_token="ad"),
]


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[type[Message], bytes]:
    """Random bytes, alone or in place of some of a request that is right but for them."""
    right = draw(st.sampled_from(RIGHT))
    sent = right.SerializeToString()
    begin = draw(st.integers(0, len(sent)))
    end = draw(st.integers(begin, len(sent)))
    return type(right), sent[:begin] + draw(st.binary(max_size=20)) + sent[end:]


@settings(max_examples=200)
@given(sent=spoilt())
def test_no_bytes_meet_a_bug(catalog: Catalog, sent: tuple[type[Message], bytes]) -> None:
    service = MemoryNode(catalog=catalog).servicer(SERVICE)
    call(service, broker("ada"))
    kind, payload = sent
    # A revision that is ahead is waited for until the deadline.
    with suppress(DecodeError, Invalid, Rejected, TimeoutError):
        call(service, kind.FromString(payload))
