from __future__ import annotations

import pytest
from quorate.builtin.cluster import validation
from quorate.plugin import Invalid
from quorate.v1.cluster_pb2 import (
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)


def registration(**given: object) -> RegisterBroker:
    return RegisterBroker(**{"name": "ada", "cluster_name": "north", **given})  # type: ignore[arg-type]


def test_what_is_right_passes() -> None:
    longest = "a" * validation.LONGEST_TEXT
    validation.check_registration(
        registration(
            name=longest,
            roles=["mqtt", longest],
            labels={longest: longest, "flag": ""},
            addresses={"mqtt": "[::1]:1883"},
        )
    )
    for ttl_ms in (0, 100, 3_600_000):
        validation.check_registration(registration(ttl_ms=ttl_ms))
    validation.check_process(SendHeartbeat(name="ada", epoch=1))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (registration(name=""), "name: must not be empty"),
        (registration(name="a" * 256), "name: must have at most 255 characters, not 256"),
        (registration(name="a\nb"), "name: must not hold control characters or line breaks"),
        (registration(cluster_name=""), "cluster_name: must not be empty"),
        (registration(roles=["mqtt", ""]), "roles[1]: must not be empty"),
        (registration(roles=["mqtt", "mqtt"]), "roles: must not name a role twice"),
        (registration(labels={"": "a"}), "labels: must not be empty"),
        (
            registration(labels={"zone": "a\x00"}),
            "labels[zone]: must not hold control characters or line breaks",
        ),
        (registration(addresses={"": "127.0.0.1:1"}), "addresses: must not be empty"),
        (registration(addresses={"mqtt": ""}), "addresses[mqtt]: must not be empty"),
        (registration(ttl_ms=99), "ttl_ms: must be 0 or from 100 to 3600000, not 99"),
        (
            registration(ttl_ms=2**64 - 1),
            f"ttl_ms: must be 0 or from 100 to 3600000, not {2**64 - 1}",
        ),
    ],
)
def test_a_wrong_registration_is_refused_with_its_field(command: RegisterBroker, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        validation.check_registration(command)

    assert str(refusal.value) == said


def test_a_registration_has_its_limit_as_a_whole() -> None:
    labels = {f"label-{number}": "a" * 250 for number in range(40)}
    large = registration(labels=labels)

    with pytest.raises(Invalid) as alone:
        validation.check_registration(large)
    with pytest.raises(Invalid) as among_others:
        validation.check_registrations(RegisterBrokers(brokers=[registration(), large]))

    assert alone.value.field == "command"
    assert f"at most 8192 bytes, not {large.ByteSize()}" in alone.value.reason
    assert among_others.value.field == "brokers[1]"


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (SendHeartbeat(epoch=1), "name"),
        (SendHeartbeat(name="ada"), "epoch"),
        (UnregisterBroker(name="\x7f", epoch=1), "name"),
        (UnregisterBroker(name="ada"), "epoch"),
    ],
)
def test_nobody_is_named_without_name_and_epoch(
    command: SendHeartbeat | UnregisterBroker, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        validation.check_process(command)

    assert refusal.value.field == field


def test_a_wrong_item_of_a_batch_is_refused_with_its_position() -> None:
    beat, leave = SendHeartbeat(name="ada", epoch=1), UnregisterBroker(name="ada", epoch=1)

    with pytest.raises(Invalid) as registrations:
        validation.check_registrations(
            RegisterBrokers(brokers=[registration(), registration(name="")])
        )
    with pytest.raises(Invalid) as heartbeats:
        validation.check_heartbeats(SendHeartbeats(heartbeats=[beat, SendHeartbeat(name="ben")]))
    with pytest.raises(Invalid) as leaves:
        validation.check_leaves(UnregisterBrokers(brokers=[leave, leave, UnregisterBroker()]))

    assert registrations.value.field == "brokers[1].name"
    assert heartbeats.value.field == "heartbeats[1].epoch"
    assert leaves.value.field == "brokers[2].name"
